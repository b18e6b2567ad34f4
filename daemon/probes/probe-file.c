/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A program's file with a probe in it. Called by probe-verbs.c, probe-set.c and catalogue.c in the
 * event loop, and by probe-file-keep.c, which has it outlive the daemon. The daemon has an O_PATH
 * descriptor of it and what the confined process has said of it before it read a byte; it never
 * opens the file itself, and asks it (fstat) only behind that answer, which says that it lies on no
 * file system that somebody has made to hang whoever asks.
 *
 * The kernel takes a path, follows it once, pins what it leads to, and lists the probe by that text
 * for ever. So the text says which inode it is: device and number, which nobody else has as long as
 * the probe stands, be the descriptor of whichever daemon. It is the name of a link, in a directory
 * that is root's alone, and is there only while the kernel reads it.
 *
 * It relies on these behaviours of the kernel:
 * - readlink of /proc/self/fd/N gives the path by which the descriptor was opened, from what its
 *   own process has mounted, " (deleted)" behind it once no name leads there; nothing is looked up;
 * - fdinfo of a descriptor has its mount, and /proc/1/mountinfo those of the machine: whoever makes
 *   a mount namespace of their own can put any file under any path, under mounts of other numbers;
 * - a mount of the machine's own was made by its administrator, an overlay of files of FUSE can be
 *   made by anybody in a namespace of theirs. */

#include "probes/probe-file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "interfaces/defence.h"
#include "interfaces/quote.h"

#define DELETED       " (deleted)"
#define MOUNTINFO_MAX ((size_t)16 * 1024 * 1024)
#define FD_NAME_MAX   32

static char *get_fd_name(const ProbeFile *file, char name[static FD_NAME_MAX]) {
        (void)snprintf(name, FD_NAME_MAX, "/proc/self/fd/%d", file->inspected->fd);
        return name;
}

int probe_file_show(const ProbeFile *file) {
        char target[FD_NAME_MAX];

        probe_file_hide(file); /* what a kill has left */
        return symlink(get_fd_name(file, target), file->name) < 0 ? -errno : 0;
}

void probe_file_hide(const ProbeFile *file) {
        (void)unlink(file->name);
}

static bool ends_with(const char *text, const char *end) {
        size_t n = strlen(text), m = strlen(end);

        return n >= m && strcmp(text + n - m, end) == 0;
}

static int read_path(const ProbeFile *file, char path[static PATH_MAX]) {
        char name[FD_NAME_MAX];
        ssize_t n = readlink(get_fd_name(file, name), path, PATH_MAX - 1);

        if (n < 0)
                return -errno;
        path[n] = '\0';
        return 0;
}

bool probe_file_is_gone(const ProbeFile *file) {
        char path[PATH_MAX];

        return read_path(file, path) == 0 && ends_with(path, DELETED);
}

/* "mnt_id:\t28" */
static int read_mount(const ProbeFile *file, unsigned *ret) {
        _cleanup_free_ char *text = NULL;
        char path[FD_NAME_MAX];

        (void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", file->inspected->fd);
        int r = fd_read_file_at(AT_FDCWD, path, 4096, &text, NULL);
        if (r < 0)
                return r;
        const char *line = strstr(text, "mnt_id:");
        return line && sscanf(line, "mnt_id: %u", ret) == 1 ? 0 : -EBADMSG;
}

/* A mount's number begins its line. */
static bool has_mount(const char *text, unsigned mount) {
        unsigned found;

        for (const char *line = text; *line; line += *line == '\n') {
                if (sscanf(line, "%u ", &found) == 1 && found == mount)
                        return true;
                line += strcspn(line, "\n");
        }
        return false;
}

/* What cannot be read counts as not the machine's. */
static bool is_of_machine(const ProbeFile *file) {
        _cleanup_free_ char *text = NULL;
        unsigned mount;

        return read_mount(file, &mount) == 0 &&
               fd_read_file_at(AT_FDCWD, "/proc/1/mountinfo", MOUNTINFO_MAX, &text, NULL) == 0 &&
               has_mount(text, mount);
}

/* A local file's, and no overlay of somebody's: it answers. */
bool probe_file_is_changed(const ProbeFile *file) {
        struct stat status;

        return fstat(file->inspected->fd, &status) < 0 ||
               control_nsec(&status.st_mtim) != file->inspected->facts.mtime_nsec;
}

bool probe_file_is_own(const ProbeFile *file, uid_t uid) {
        const ControlFacts *facts = &file->inspected->facts;

        if (!defence_is_on("program-files"))
                return true;
        return facts->uid == uid && S_ISREG(facts->mode) &&
               (facts->mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool probe_file_is_same(const ProbeFile *a, const ProbeFile *b) {
        return a->inspected->facts.dev == b->inspected->facts.dev &&
               a->inspected->facts.ino == b->inspected->facts.ino;
}

static int check_named(const ProbeFile *file, Reason *reason) {
        return ends_with(file->path, DELETED)
                               ? reason_set(reason,
                                                 KT_E_FAILED,
                                                 "on: %s: nobody could find it again: it needs a name",
                                                 quote(file->path).text)
                               : 0;
}

static int check_place(const ProbeFile *file, uid_t uid, Reason *reason) {
        if (file->is_ours)
                return 0;
        if (file->inspected->facts.fs_type == OVERLAYFS_SUPER_MAGIC)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "on: %s: on an overlay in a mount namespace of its own, of which "
                                "nobody knows what it lies on",
                                quote(file->path).text);
        if (uid == 0 || probe_file_is_own(file, uid))
                return 0;
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "on: %s: in a mount namespace of its own, where a path says nothing: name a "
                        "file that is yours alone to write, or have root define it",
                        quote(file->path).text);
}

/* Whom it is of, and what is in it: all that the decision was made on. */
static int check_kept(const ProbeFile *file, Reason *reason) {
        const ControlFacts *facts = &file->inspected->facts;
        int flags = fcntl(file->inspected->fd, F_GETFL);
        struct stat status;

        if (flags < 0 || !(flags & O_PATH) || fstat(file->inspected->fd, &status) < 0 ||
                        status.st_dev != facts->dev || status.st_ino != facts->ino)
                return reason_set(reason,
                                KT_E_FAILED,
                                "what is kept is another file than %s",
                                quote(file->path).text);
        if ((uint64_t)status.st_size != facts->size || status.st_uid != facts->uid ||
                        status.st_gid != facts->gid || status.st_mode != facts->mode ||
                        probe_file_is_changed(file))
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s has changed since it was looked into",
                                quote(file->path).text);
        return 0;
}

static int probe_file_make(Inspected *inspected,
                const char *dir,
                const char *path,
                ProbeFile **ret) {
        ProbeFile *file = calloc(1, sizeof(*file));
        char now[PATH_MAX];

        if (!file) {
                inspected_free(inspected);
                return -ENOMEM;
        }
        file->inspected = inspected;
        *ret = file;
        int r = path ? 0 : read_path(file, now);
        if (r < 0)
                return r;
        file->path = strdup(path ?: now);
        if (asprintf(&file->name,
                            "%s/%" PRIx64 "-%" PRIu64,
                            dir,
                            inspected->facts.dev,
                            inspected->facts.ino) < 0)
                file->name = NULL;
        file->is_ours = is_of_machine(file);
        return file->path && file->name ? 0 : -ENOMEM;
}

int probe_file_new(Inspected *inspected,
                uid_t uid,
                const char *dir,
                const char *path,
                ProbeFile **ret,
                Reason *reason) {
        _cleanup_(probe_file_free_cleanup) ProbeFile *file = NULL;

        int r = probe_file_make(inspected, dir, path, &file);
        r = r ?: path ? check_kept(file, reason) : check_named(file, reason);
        r = r ?: check_place(file, uid, reason);
        if (r == 0)
                *ret = TAKE_PTR(file);
        return r;
}

ProbeFile *probe_file_free(ProbeFile *file) {
        if (!file)
                return NULL;
        inspected_free(file->inspected);
        free(file->path);
        free(file->name);
        free(file);
        return NULL;
}

void probe_file_give(ProbeFile *file, Request *request) {
        request->file = file;
        request->free_file = probe_file_free;
}
