/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Creates, reads and writes the spool's directory. Only the spool's own thread calls this file,
 * because a disk may block for any length of time. The directory belongs to root, but its names are
 * still not trusted: no link is followed, a file is created with O_EXCL, and a name that is not our
 * own directory or our own regular file is left untouched. */

#include "spool/spool-disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "interfaces/ascii.h"
#include "interfaces/json-file.h"

#define SPOOL_JSON_NEW "session.json.new"

int spool_disk_open(SpoolDisk *disk, Reason *reason) {
        if (disk->fd >= 0)
                return 0;
        int r = mkdir(disk->path, 0700) < 0 && errno != EEXIST ? -errno : 0;
        r = r ?: fd_open_own_directory(AT_FDCWD, disk->path, &disk->fd);
        if (r == 0)
                return 0;
        return reason_set(reason,
                        KT_E_FAILED,
                        "%s: %s",
                        disk->path,
                        r == -EPERM ? "other users than root can write to it: nothing is "
                                      "recorded there"
                                    : strerror(-r));
}

void spool_disk_close(SpoolDisk *disk) {
        close_cleanup(&disk->fd);
        free(disk->path);
        disk->path = NULL;
}

int spool_disk_get_free(const SpoolDisk *disk, uint64_t *ret_bytes) {
        struct statvfs status;

        if (fstatvfs(disk->fd, &status) < 0)
                return -errno;
        *ret_bytes = (uint64_t)status.f_bavail * status.f_frsize;
        return 0;
}

static bool is_id(const char *name) {
        return ascii_is_hex(name, KT_ID_DIGITS);
}

/* Consumes fd. */
static int visit_names(int fd, int (*visit)(DIR *dir, const char *name, void *userdata), void *p) {
        struct dirent *entry;
        int r = 0;

        DIR *dir = fdopendir(fd);
        if (!dir) {
                r = -errno;
                close(fd);
                return r;
        }
        while (r == 0 && (errno = 0, entry = readdir(dir)))
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        r = visit(dir, entry->d_name, p);
        r = r ?: -errno;
        closedir(dir);
        return r;
}

typedef struct EntryVisitor {
        void (*visit)(const char *id, void *userdata);
        void *userdata;
} EntryVisitor;

static int spool_disk_visit_entry(DIR *dir, const char *name, void *userdata) {
        const EntryVisitor *visitor = userdata;
        struct stat status;

        if (is_id(name) && fstatat(dirfd(dir), name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                        S_ISDIR(status.st_mode))
                visitor->visit(name, visitor->userdata);
        return 0;
}

int spool_disk_scan(const SpoolDisk *disk,
                void (*visit)(const char *id, void *userdata),
                void *userdata) {
        EntryVisitor visitor = { visit, userdata };

        int fd = openat(disk->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : visit_names(fd, spool_disk_visit_entry, &visitor);
}

typedef struct FileVisitor {
        void (*visit)(const char *name, uint64_t bytes, void *userdata);
        void *userdata;
} FileVisitor;

static int spool_disk_visit_file(DIR *dir, const char *name, void *userdata) {
        const FileVisitor *visitor = userdata;
        struct stat status;

        if (strncmp(name, SPOOL_JSON, strlen(SPOOL_JSON)) != 0 &&
                        fstatat(dirfd(dir), name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                        S_ISREG(status.st_mode))
                visitor->visit(name, (uint64_t)status.st_size, visitor->userdata);
        return 0;
}

int spool_disk_scan_entry(const SpoolDisk *disk,
                const char *id,
                void (*visit)(const char *name, uint64_t bytes, void *userdata),
                void *userdata) {
        FileVisitor visitor = { visit, userdata };
        int fd = -1;

        int r = fd_open_own_directory(disk->fd, id, &fd);
        return r ?: visit_names(fd, spool_disk_visit_file, &visitor);
}

int spool_disk_make_entry(const SpoolDisk *disk, const char *id) {
        if (mkdirat(disk->fd, id, 0700) < 0)
                return -errno;
        return fsync(disk->fd) < 0 ? -errno : 0;
}

static int spool_disk_remove_file(DIR *dir, const char *name, void *userdata _unused_) {
        return unlinkat(dirfd(dir), name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int spool_disk_remove_entry(const SpoolDisk *disk, const char *id) {
        int fd = -1;

        int r = fd_open_own_directory(disk->fd, id, &fd);
        r = r ?: visit_names(fd, spool_disk_remove_file, NULL);
        if (r == 0 && unlinkat(disk->fd, id, AT_REMOVEDIR) < 0)
                r = -errno;
        return r;
}

int spool_disk_load(const SpoolDisk *disk, const char *id, json_object **ret) {
        _cleanup_close_ int dir = -1, fd = -1;
        Reason reason = {};

        int r = fd_open_own_directory(disk->fd, id, &dir);
        if (r < 0)
                return r;
        fd = openat(dir, SPOOL_JSON, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0)
                return -errno;
        r = json_load_fd(SPOOL_JSON, fd, ret, &reason);
        return r > 0 ? -EBADMSG : r;
}

int spool_disk_save(const SpoolDisk *disk, const char *id, const char *text) {
        _cleanup_close_ int dir = -1, fd = -1;

        int r = fd_open_own_directory(disk->fd, id, &dir);
        if (r < 0)
                return r;
        (void)unlinkat(dir, SPOOL_JSON_NEW, 0); /* left by a killed daemon */
        fd = openat(dir,
                        SPOOL_JSON_NEW,
                        O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                        0600);
        if (fd < 0)
                return -errno;
        r = fd_write_all(fd, text, strlen(text));
        if (r == 0 && fsync(fd) < 0)
                r = -errno;
        if (r == 0 && renameat(dir, SPOOL_JSON_NEW, dir, SPOOL_JSON) < 0)
                r = -errno;
        if (r < 0)
                (void)unlinkat(dir, SPOOL_JSON_NEW, 0);
        else
                (void)fsync(dir);
        return r;
}

static int spool_disk_open_regular(const SpoolDisk *disk,
                const char *id,
                const char *name,
                int flags,
                int *ret_fd) {
        _cleanup_close_ int dir = -1, fd = -1;
        struct stat status;

        int r = fd_open_own_directory(disk->fd, id, &dir);
        if (r < 0)
                return r;
        fd = openat(dir, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (fd < 0 || fstat(fd, &status) < 0)
                return -errno;
        if (!S_ISREG(status.st_mode) || status.st_uid != geteuid())
                return -EPERM;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

int spool_disk_create(const SpoolDisk *disk, const char *id, const char *name, int *ret_fd) {
        return spool_disk_open_regular(disk, id, name, O_WRONLY | O_CREAT | O_EXCL, ret_fd);
}

int spool_disk_open_file(const SpoolDisk *disk, const char *id, const char *name, int *ret_fd) {
        return spool_disk_open_regular(disk, id, name, O_RDONLY, ret_fd);
}

int spool_disk_sync(const SpoolDisk *disk, const char *id) {
        _cleanup_close_ int dir = -1;

        int r = fd_open_own_directory(disk->fd, id, &dir);
        return r == 0 && fsync(dir) < 0 ? -errno : r;
}

int spool_disk_unlink(const SpoolDisk *disk, const char *id, const char *name) {
        _cleanup_close_ int dir = -1;

        int r = fd_open_own_directory(disk->fd, id, &dir);
        if (r == 0 && unlinkat(dir, name, 0) < 0)
                r = -errno;
        return r;
}

int spool_disk_get_size(const SpoolDisk *disk,
                const char *id,
                const char *name,
                uint64_t *ret_bytes) {
        _cleanup_close_ int dir = -1;
        struct stat status;

        int r = fd_open_own_directory(disk->fd, id, &dir);
        if (r == 0 && fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
                r = -errno;
        if (r == 0)
                *ret_bytes = (uint64_t)status.st_size;
        return r;
}
