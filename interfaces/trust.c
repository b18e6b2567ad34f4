/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens files of the administrator: configuration and rules. A file that decides which users may
 * trace is accepted only if root alone, or the user who runs the daemon in a test, can change or
 * replace it: owner and mode of the file and of its directory are read from the opened fd, never
 * from the path again. Does not check access control lists (a write permission in one shows as the
 * group's in the mode), nor the parent directories further up. */
#include "interfaces/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "interfaces/defence.h"

static int check_owner(const struct stat *st, const char *source, Reason *reason) {
        if (!defence_is_on("rules-trust"))
                return 0;
        if (st->st_uid != 0 && st->st_uid != geteuid())
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: belongs to uid %u, not to root; chown it",
                                source,
                                st->st_uid);
        if (st->st_mode & (S_IWGRP | S_IWOTH))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: others than its owner may write it (mode %04o); chmod go-w it",
                                source,
                                st->st_mode & 07777);
        return 0;
}

int trust_open_directory(int dirfd, const char *path, int *ret, Reason *reason) {
        struct stat st;
        int r;

        _cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        r = check_owner(&st, path, reason);
        if (r != 0)
                return r;

        *ret = TAKE_FD(fd);
        return 0;
}

int trust_open_file(int dirfd, const char *name, const char *source, int *ret, Reason *reason) {
        struct stat st;
        int r;

        /* O_NONBLOCK: opening a FIFO must not block before its type is checked. */
        _cleanup_close_ int fd =
                        openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0 && errno == ELOOP)
                return reason_set(reason, KT_E_INVALID_SPEC, "%s: is a symbolic link", source);
        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return reason_set(reason, KT_E_INVALID_SPEC, "%s: is not a regular file", source);
        r = check_owner(&st, source, reason);
        if (r != 0)
                return r;

        *ret = TAKE_FD(fd);
        return 0;
}
