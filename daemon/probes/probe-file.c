/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A program's file with a probe in it. Called in the event loop by probe-verbs.c, probe-set.c and
 * catalogue.c, and by probe-file-keep.c, which stores the file for the next daemon. The daemon has
 * an O_PATH descriptor of the file, and the facts that the confined process reported before it read
 * the file. The daemon never opens the file itself. It calls fstat only after the confined process
 * has reported that the file is on a file system that cannot block the caller.
 *
 * The kernel takes a path, follows it once, pins the file, and lists the probe by that text as long
 * as the probe exists. So the text identifies the inode by device and number. No other file has
 * both as long as the probe exists, even if another daemon holds the descriptor. The text is the
 * name of a link in a directory that only root can use. The link exists only while the kernel reads
 * it.
 *
 * It relies on these behaviours of the kernel:
 * - readlink of /proc/self/fd/N returns the path by which the descriptor was opened, as seen in the
 *   mounts of the opening process. It appends " (deleted)" once the name was removed. It looks
 *   nothing up.
 * - fdinfo of a descriptor contains its mount, and /proc/1/mountinfo contains the mounts of the
 *   host. In a new mount namespace a user can put any file under any path, but its mounts have
 *   other numbers.
 * - a mount of the host was made by its administrator. Any user can mount an overlay of FUSE files
 *   in a namespace of its own. */

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

        probe_file_hide(file); /* a killed daemon may have left one */
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

/* Each line begins with the number of the mount. */
static bool has_mount(const char *text, unsigned mount) {
        unsigned found;

        for (const char *line = text; *line; line += *line == '\n') {
                if (sscanf(line, "%u ", &found) == 1 && found == mount)
                        return true;
                line += strcspn(line, "\n");
        }
        return false;
}

/* If a file of /proc cannot be read, the mount counts as not of the host. */
static bool is_of_machine(const ProbeFile *file) {
        _cleanup_free_ char *text = NULL;
        unsigned mount;

        return read_mount(file, &mount) == 0 &&
               fd_read_file_at(AT_FDCWD, "/proc/1/mountinfo", MOUNTINFO_MAX, &text, NULL) == 0 &&
               has_mount(text, mount);
}

/* fstat cannot block: the file is local, and an overlay is one of the host. */
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
                                                 "on: %s: the file has no name: a probe "
                                                 "requires one",
                                                 quote(file->path).text)
                               : 0;
}

static int check_place(const ProbeFile *file, uid_t uid, Reason *reason) {
        if (file->is_ours)
                return 0;
        if (file->inspected->facts.fs_type == OVERLAYFS_SUPER_MAGIC)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "on: %s: an overlay in its own mount namespace, of which the "
                                "lower file is unknown",
                                quote(file->path).text);
        if (uid == 0 || probe_file_is_own(file, uid))
                return 0;
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "on: %s: in its own mount namespace, where a path has no meaning: name "
                        "a file that only you can write to, or have root define it",
                        quote(file->path).text);
}

/* Compares the owner and the content with the stored facts, because the decision was based on
 * both. */
static int check_kept(const ProbeFile *file, Reason *reason) {
        const ControlFacts *facts = &file->inspected->facts;
        int flags = fcntl(file->inspected->fd, F_GETFL);
        struct stat status;

        if (flags < 0 || !(flags & O_PATH) || fstat(file->inspected->fd, &status) < 0 ||
                        status.st_dev != facts->dev || status.st_ino != facts->ino)
                return reason_set(reason,
                                KT_E_FAILED,
                                "the stored file is not %s",
                                quote(file->path).text);
        if ((uint64_t)status.st_size != facts->size || status.st_uid != facts->uid ||
                        status.st_gid != facts->gid || status.st_mode != facts->mode ||
                        probe_file_is_changed(file))
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s has changed since its inspection",
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
