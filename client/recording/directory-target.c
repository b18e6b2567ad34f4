/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A directory that convert writes. It is what target.c is for one file: output-place.c decides
 * where, and the directory has a hidden random name until it is complete. A rename publishes it and
 * replaces at most an empty directory, because rename(2) refuses others.
 *
 * The content may come as parts from a process that reads an untrusted recording. So this file
 * checks each number and size, and the process never chooses a name. Or the caller makes files, and
 * the process gets only their descriptors.
 *
 * Owns the place, the descriptor, and the directory until it is published. */

#include "recording/directory-target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/part.h"
#include "recording/hidden-name.h"
#include "recording/output-place.h"

#define COPY_SIZE ((size_t)128 * 1024)

struct DirectoryTarget {
        OutputPlace *place;
        int fd;
        char hidden[HIDDEN_NAME_SIZE]; /* empty: it is published, or was not made */
        uint8_t copy[COPY_SIZE];
};

static int directory_target_refuse(const DirectoryTarget *target, int error, Reason *reason) {
        return output_place_refuse_path(target->place, strerror(error), reason);
}

/* Returns 1, 0 if it has no entries, or -errno. consumes fd */
static int directory_target_has_entries(int fd) {
        DIR *entries = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *entry;
        int r = 0;

        if (!entries)
                return -errno;
        while (r == 0 && (entry = readdir(entries)))
                r = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
        (void)closedir(entries);
        return r;
}

static int directory_target_check(const DirectoryTarget *target, Reason *reason) {
        const OutputPlace *place = target->place;

        if (place->kind == OUTPUT_PLACE_NEW)
                return 0;
        if (place->kind != OUTPUT_PLACE_DIRECTORY)
                return output_place_refuse_path(place,
                                "the format is a directory, and a file has this name",
                                reason);
        int r = directory_target_has_entries(openat(place->dir_fd,
                        place->name,
                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        return r == 0 ? 0 : directory_target_refuse(target, r < 0 ? -r : ENOTEMPTY, reason);
}

static int directory_target_create(DirectoryTarget *target) {
        int dir_fd = target->place->dir_fd;

        int r = hidden_name_make(target->hidden);
        if (r == 0 && mkdirat(dir_fd, target->hidden, 0700) < 0)
                r = -errno;
        if (r < 0) {
                target->hidden[0] = '\0';
                return r;
        }
        target->fd = openat(
                        dir_fd, target->hidden, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return target->fd < 0 ? -errno : 0;
}

int directory_target_open(const char *path, DirectoryTarget **ret, Reason *reason) {
        _cleanup_(directory_target_free_cleanup) DirectoryTarget *target =
                        calloc(1, sizeof(*target));
        _cleanup_free_ char *name = strdup(path);

        if (!target || !name)
                return -ENOMEM;
        target->fd = -1;
        for (size_t n = strlen(name); n > 1 && name[n - 1] == '/'; n--)
                name[n - 1] = '\0';
        int r = output_place_find(name, &target->place, reason);
        r = r ?: directory_target_check(target, reason);
        if (r != 0)
                return r;
        r = directory_target_create(target);
        if (r < 0)
                return directory_target_refuse(target, -r, reason);
        *ret = TAKE_PTR(target);
        return 0;
}

/* Reads the whole size. Returns 1, 0 at the end, or -errno. */
static int directory_target_read(int fd, void *data, size_t size) {
        for (size_t done = 0; done < size;) {
                ssize_t n = read(fd, (uint8_t *)data + done, size - done);

                if (n == 0 || (n < 0 && errno != EINTR))
                        return n == 0 ? 0 : -errno;
                done += n < 0 ? 0 : (size_t)n;
        }
        return 1;
}

static int directory_target_write(int fd, const uint8_t *data, size_t size) {
        for (size_t done = 0; done < size;) {
                ssize_t n = write(fd, data + done, size - done);

                if (n < 0 && errno != EINTR)
                        return -errno;
                done += n < 0 ? 0 : (size_t)n;
        }
        return 0;
}

static int directory_target_append(DirectoryTarget *target,
                const PartHeader *header,
                int from,
                Reason *reason) {
        PartName name = part_get_name(header->number);
        _cleanup_close_ int fd = openat(target->fd,
                        name.text,
                        O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                        0600);
        int r = 1;

        if (fd < 0)
                return directory_target_refuse(target, errno, reason);
        for (size_t left = header->size; left > 0;) {
                size_t n = MIN_OF(left, COPY_SIZE);

                r = directory_target_read(from, target->copy, n);
                if (r <= 0)
                        return r;
                r = directory_target_write(fd, target->copy, n);
                if (r < 0)
                        return directory_target_refuse(target, -r, reason);
                left -= n;
        }
        return 0;
}

/* A part that ends too early needs no message: the status of its process says what failed. */
int directory_target_fill(DirectoryTarget *target, int fd, Reason *reason) {
        PartHeader header;
        int r;

        while ((r = directory_target_read(fd, &header, sizeof(header))) > 0) {
                if (header.number >= PART_FILES_MAX || header.size > PART_SIZE_MAX)
                        return reason_set(reason,
                                        KT_E_FAILED,
                                        "the process that read the recording wrote a damaged part: "
                                        "expected a recording, got a hostile file");
                r = directory_target_append(target, &header, fd, reason);
                if (r != 0)
                        return r;
        }
        return r;
}

int directory_target_open_file(DirectoryTarget *target,
                const char *name,
                FILE **ret,
                Reason *reason) {
        _cleanup_close_ int fd = openat(
                        target->fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

        if (!out)
                return directory_target_refuse(target, errno, reason);
        (void)TAKE_FD(fd);
        *ret = out;
        return 0;
}

int directory_target_remove_file(DirectoryTarget *target, const char *name, Reason *reason) {
        return unlinkat(target->fd, name, 0) == 0 ? 0
                                                  : directory_target_refuse(target, errno, reason);
}

/* In a directory that other users can change, they may have put another directory there. */
static bool directory_target_is_own(const DirectoryTarget *target) {
        struct stat own, named;

        return fstat(target->fd, &own) == 0 &&
               fstatat(target->place->dir_fd, target->hidden, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
               own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

int directory_target_publish(DirectoryTarget *target, Reason *reason) {
        const OutputPlace *place = target->place;

        if (!directory_target_is_own(target))
                return output_place_refuse_path(
                                place, "another user exchanged the new directory", reason);
        if (renameat(place->dir_fd, target->hidden, place->dir_fd, place->name) < 0)
                return directory_target_refuse(target, errno, reason);
        target->hidden[0] = '\0';
        return 0;
}

static void directory_target_remove_entries(int fd) {
        DIR *entries = fdopendir(fd);
        struct dirent *entry;

        if (!entries)
                return;
        while ((entry = readdir(entries)))
                (void)unlinkat(dirfd(entries), entry->d_name, 0);
        (void)closedir(entries);
}

DirectoryTarget *directory_target_free(DirectoryTarget *target) {
        if (!target)
                return NULL;
        if (target->hidden[0] && target->fd >= 0) {
                directory_target_remove_entries(TAKE_FD(target->fd));
                (void)unlinkat(target->place->dir_fd, target->hidden, AT_REMOVEDIR);
        }
        close_cleanup(&target->fd);
        output_place_free(target->place);
        free(target);
        return NULL;
}
