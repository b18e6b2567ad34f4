/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file that ktracectl writes: record, stream, snapshot, convert and spool fetch open theirs here.
 * output-place.c decides where; this file creates, names and removes it.
 *
 * A regular file is always a new one with mode 0600, also where an older file has the name. Other
 * users may have the older file open, or may read it. The new file has no name until it is
 * published (O_TMPFILE), then it replaces the older one by a rename. Where the file system has no
 * O_TMPFILE, it has a hidden random name until then. All names are relative to the directory that
 * output-place.c opened: a rename of that directory redirects nothing.
 *
 * Owns the place, the descriptors and the hidden names.
 *
 * To add a command that writes a file: use this module; tests/client/recording/test-target.c,
 * tests/e2e/outputs.sh. */

#include "recording/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/hidden-name.h"
#include "recording/output-place.h"

#define HIDDEN_TRIES 100
#define BUFFER_SIZE  (64 * 1024)

/* A new file in the directory of the place. */
typedef struct NewFile {
        int fd;
        char hidden[HIDDEN_NAME_SIZE]; /* its name; empty: none */
} NewFile;

struct Target {
        OutputPlace *place;
        NewFile file, draft;
        bool is_published;
};

static int create_hidden(NewFile *file, int dir_fd) {
        int r;

        for (unsigned i = 0; i < HIDDEN_TRIES; i++) {
                r = hidden_name_make(file->hidden);
                if (r < 0)
                        break;
                file->fd = openat(dir_fd,
                                file->hidden,
                                O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                0600);
                r = file->fd < 0 ? -errno : 0;
                if (r != -EEXIST)
                        break;
        }
        if (r < 0)
                file->hidden[0] = '\0';
        return r;
}

static int new_file_create(NewFile *file, int dir_fd) {
        file->fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        return file->fd >= 0 ? 0 : create_hidden(file, dir_fd);
}

/* linkat() does not follow a link with this name and does not replace a file. */
static int new_file_link(const NewFile *file, int dir_fd, const char *name) {
        char proc[64];

        (void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", file->fd);
        return linkat(AT_FDCWD, proc, dir_fd, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* rename() replaces a link with this name, not the file that the link points to. */
static int new_file_replace(NewFile *file, int dir_fd, const char *name) {
        int r = 0;

        for (unsigned i = 0; !file->hidden[0] && i < HIDDEN_TRIES; i++) {
                r = hidden_name_make(file->hidden);
                r = r ?: new_file_link(file, dir_fd, file->hidden);
                if (r < 0)
                        file->hidden[0] = '\0';
                if (r != -EEXIST)
                        break;
        }
        if (r == 0 && renameat(dir_fd, file->hidden, dir_fd, name) < 0)
                r = -errno;
        if (r == 0)
                file->hidden[0] = '\0';
        return r;
}

/* Never replaces an existing file. A file with a hidden name is renamed, because file systems
 * without O_TMPFILE may also lack hard links. Those without this kind of rename (NFS) have hard
 * links. */
static int new_file_name(NewFile *file, int dir_fd, const char *name) {
        if (!file->hidden[0])
                return new_file_link(file, dir_fd, name);
        if (renameat2(dir_fd, file->hidden, dir_fd, name, RENAME_NOREPLACE) == 0) {
                file->hidden[0] = '\0';
                return 0;
        }
        return errno == EINVAL ? new_file_link(file, dir_fd, name) : -errno;
}

static void new_file_close(NewFile *file, int dir_fd) {
        if (file->hidden[0])
                (void)unlinkat(dir_fd, file->hidden, 0);
        file->hidden[0] = '\0';
        close_cleanup(&file->fd);
}

/* O_NONBLOCK was for opening a FIFO without a reader. From now on writes may block. */
static int set_blocking(int fd) {
        int flags = fcntl(fd, F_GETFL);

        return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0 ? -errno : 0;
}

static int target_open_special(Target *target, int flags, Reason *reason) {
        const OutputPlace *place = target->place;

        flags |= O_CLOEXEC | O_NOCTTY | O_NOFOLLOW;
        target->file.fd = openat(place->dir_fd, place->name, flags);
        /* The caller may write the device but not read it. */
        if (target->file.fd < 0 && errno == EACCES && (flags & O_ACCMODE) == O_RDWR)
                target->file.fd =
                                openat(place->dir_fd, place->name, (flags & ~O_ACCMODE) | O_WRONLY);
        if (target->file.fd < 0)
                return output_place_refuse_path(place, strerror(errno), reason);
        return set_blocking(target->file.fd);
}

/* Duplicates the descriptor that the caller has open. The position stays, because the file is not
 * opened again. */
static int target_take_descriptor(Target *target, Reason *reason) {
        const OutputPlace *place = target->place;
        int flags;

        target->file.fd = fcntl(atoi(place->name), F_DUPFD_CLOEXEC, 3);
        if (target->file.fd < 0 || (flags = fcntl(target->file.fd, F_GETFL)) < 0)
                return output_place_refuse_path(place, strerror(errno), reason);
        return (flags & O_ACCMODE) == O_RDONLY
                               ? output_place_refuse_path(
                                                 place, "it is open for reading only", reason)
                               : 0;
}

static int target_create(Target *target, Reason *reason) {
        int r = new_file_create(&target->file, target->place->dir_fd);

        return r < 0 ? output_place_refuse_path(target->place, strerror(-r), reason) : 0;
}

int target_open(const char *path, int special_flags, Target **ret, Reason *reason) {
        _cleanup_(target_free_cleanup) Target *target = calloc(1, sizeof(*target));

        if (!target)
                return -ENOMEM;
        target->file.fd = target->draft.fd = -1;
        int r = output_place_find(path, &target->place, reason);
        if (r != 0)
                return r;
        if (target_is_new_file(target))
                r = target_create(target, reason);
        else if (target->place->kind == OUTPUT_PLACE_DIRECTORY)
                r = target_refuse(target, EISDIR, reason);
        else if (target->place->kind == OUTPUT_PLACE_DESCRIPTOR)
                r = target_take_descriptor(target, reason);
        else
                r = target_open_special(target, special_flags, reason);
        if (r == 0)
                *ret = TAKE_PTR(target);
        return r;
}

int target_get_fd(const Target *target) {
        return target->file.fd;
}

bool target_is_new_file(const Target *target) {
        return target->place->kind == OUTPUT_PLACE_NEW || target->place->kind == OUTPUT_PLACE_FILE;
}

int target_open_stdio(const Target *target, FILE **ret) {
        int fd = fcntl(target->file.fd, F_DUPFD_CLOEXEC, 3);

        if (fd < 0)
                return -errno;
        FILE *out = fdopen(fd, "w");
        if (!out) {
                close(fd);
                return -ENOMEM;
        }
        (void)setvbuf(out, NULL, _IOFBF, BUFFER_SIZE);
        *ret = out;
        return 0;
}

int target_refuse(const Target *target, int error, Reason *reason) {
        return output_place_refuse_path(target->place, strerror(error), reason);
}

int target_open_draft(Target *target, Reason *reason) {
        int r = new_file_create(&target->draft, target->place->dir_fd);

        return r < 0 ? output_place_refuse_path(target->place, strerror(-r), reason) : 0;
}

int target_get_draft_fd(const Target *target) {
        return target->draft.fd;
}

int target_keep_draft(Target *target, char **ret_path) {
        const OutputPlace *place = target->place;
        _cleanup_free_ char *path = NULL, *name = NULL;

        if (asprintf(&path, "%s.kts", place->path) < 0)
                return -ENOMEM;
        if (asprintf(&name, "%s.kts", place->name) < 0)
                return -ENOMEM;
        int r = new_file_name(&target->draft, place->dir_fd, name);
        if (r == 0)
                *ret_path = TAKE_PTR(path);
        return r;
}

int target_check(const Target *target, Reason *reason) {
        return target_is_new_file(target) ? output_place_check_file(target->place, reason) : 0;
}

int target_publish(Target *target, Reason *reason) {
        const OutputPlace *place = target->place;

        if (target->is_published || !target_is_new_file(target))
                return 0;
        int r = target_check(target, reason);
        if (r != 0)
                return r;
        r = new_file_replace(&target->file, place->dir_fd, place->name);
        if (r < 0)
                return output_place_refuse_path(place, strerror(-r), reason);
        target->is_published = true;
        return 0;
}

void target_discard(Target *target) {
        const OutputPlace *place = target->place;
        struct stat own, named;

        /* Another user may have put another file there. Only our own file is removed. */
        if (target->is_published && fstat(target->file.fd, &own) == 0 &&
                        fstatat(place->dir_fd, place->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
                        own.st_dev == named.st_dev && own.st_ino == named.st_ino)
                (void)unlinkat(place->dir_fd, place->name, 0);
        target->is_published = false;
}

Target *target_free(Target *target) {
        if (!target)
                return NULL;
        if (target->place) {
                new_file_close(&target->file, target->place->dir_fd);
                new_file_close(&target->draft, target->place->dir_fd);
        }
        output_place_free(target->place);
        free(target);
        return NULL;
}
