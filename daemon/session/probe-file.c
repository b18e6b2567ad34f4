/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A program's file with a probe in it. Called by probe-verbs.c, probe-set.c and catalogue.c in the
 * event loop. The daemon has an O_PATH descriptor of it and what the confined process has said of
 * it before it read a byte; it never opens or asks the file itself, which may lie on a file system
 * that somebody has made to hang whoever does.
 *
 * It relies on these behaviours of the kernel:
 * - readlink of /proc/self/fd/N gives the path by which the descriptor was opened, from what its
 *   own process has mounted, " (deleted)" behind it once no name leads there; nothing is looked up;
 * - fdinfo of a descriptor has its mount, and /proc/1/mountinfo those of the machine: whoever makes
 *   a mount namespace of their own can put any file under any path, under mounts of other numbers;
 * - a mount of the machine's own was made by its administrator, an overlay of files of FUSE can be
 *   made by anybody in a namespace of theirs. */

#include "probe-file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>

#include "defence.h"
#include "fd.h"
#include "quote.h"

#define DELETED       " (deleted)"
#define MOUNTINFO_MAX ((size_t)16 * 1024 * 1024)

char *probe_file_name(const ProbeFile *file, char name[static PROBE_FILE_NAME_MAX]) {
        (void)snprintf(name, PROBE_FILE_NAME_MAX, "/proc/self/fd/%d", file->inspected->fd);
        return name;
}

static bool ends_with(const char *text, const char *end) {
        size_t n = strlen(text), m = strlen(end);

        return n >= m && strcmp(text + n - m, end) == 0;
}

static int read_path(const ProbeFile *file, char path[static PATH_MAX]) {
        char name[PROBE_FILE_NAME_MAX];
        ssize_t n = readlink(probe_file_name(file, name), path, PATH_MAX - 1);

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
        char path[PROBE_FILE_NAME_MAX];

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

static int check(const ProbeFile *file, uid_t uid, Reason *reason) {
        if (ends_with(file->path, DELETED))
                return reason_set(reason,
                                KT_E_FAILED,
                                "on: %s: nobody could find it again: it needs a name",
                                quote(file->path).text);
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

int probe_file_new(Inspected *inspected, uid_t uid, ProbeFile **ret, Reason *reason) {
        _cleanup_(probe_file_free_cleanup) ProbeFile *file = calloc(1, sizeof(*file));
        char path[PATH_MAX];

        if (!file) {
                inspected_free(inspected);
                return -ENOMEM;
        }
        file->inspected = inspected;
        int r = read_path(file, path);
        if (r < 0)
                return r;
        file->path = strdup(path);
        if (!file->path)
                return -ENOMEM;
        file->is_ours = is_of_machine(file);
        r = check(file, uid, reason);
        if (r == 0)
                *ret = TAKE_PTR(file);
        return r;
}

ProbeFile *probe_file_free(ProbeFile *file) {
        if (!file)
                return NULL;
        inspected_free(file->inspected);
        free(file->path);
        free(file);
        return NULL;
}
