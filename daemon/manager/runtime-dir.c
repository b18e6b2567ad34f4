/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The runtime directory: made where it is not there, and held by one daemon at a time. Called by
 * the manager before anything that a second daemon could harm: it would take the instances of the
 * first for orphans. The name on the bus cannot keep it away, for the bus may come later.
 *
 * A record lock (fcntl(2)), not flock(2): it is the process's own, so that children which the
 * daemon has forked do not hold it any longer than the daemon, and the kernel tells whose it is.
 * The price: closing any descriptor of the file lets it go, so nobody else opens it. */
#include "manager/runtime-dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define LOCK_FILE       "lock"
#define LOCK_TRIES      50
#define LOCK_RETRY_USEC 20000

static int make_directory(int dirfd, const char *path, mode_t mode, Reason *reason) {
        if (mkdirat(dirfd, path, mode) == 0)
                /* Past the umask. */
                return fchmodat(dirfd, path, mode, 0) < 0 ? -errno : 0;
        if (errno == EEXIST)
                return 0;
        return reason_set(reason, KT_E_FAILED, "%s: cannot be made: %s", path, strerror(errno));
}

static int runtime_dir_refuse(const char *path, int fd, Reason *reason) {
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

        /* 0: it has just ended, or is in another pid namespace. */
        if (fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
                lock.l_pid = 0;
        return reason_set(reason,
                        KT_E_FAILED,
                        "%s: another ktraced is running there, with pid %d",
                        path,
                        (int)lock.l_pid);
}

/* The bus starts the next one as soon as our name is free: it waits until the last one has put its
 * sessions and their files away. */
static int wait_for_lock(int fd) {
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

        for (unsigned i = 0; fcntl(fd, F_SETLK, &lock) < 0; i++) {
                if ((errno != EAGAIN && errno != EACCES) || i == LOCK_TRIES)
                        return -errno;
                (void)usleep(LOCK_RETRY_USEC);
        }
        return 0;
}

static int take_lock(const char *path, int dir, int *ret, Reason *reason) {
        _cleanup_close_ int fd =
                        openat(dir, LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

        if (fd < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s/" LOCK_FILE ": cannot be opened: %s",
                                path,
                                strerror(errno));
        int r = wait_for_lock(fd);
        if (r < 0)
                return r == -EAGAIN || r == -EACCES ? runtime_dir_refuse(path, fd, reason) : r;
        *ret = TAKE_FD(fd);
        return 0;
}

int runtime_dir_take(const char *path, int *ret_lock, Reason *reason) {
        _cleanup_close_ int fd = -1;

        int r = make_directory(AT_FDCWD, path, 0755, reason);
        if (r != 0)
                return r;
        r = fd_open_own_directory(AT_FDCWD, path, &fd);
        if (r < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s: cannot be used: %s",
                                path,
                                r == -EPERM ? "expected a directory of root that no other user may write to"
                                            : strerror(-r));
        r = take_lock(path, fd, ret_lock, reason);
        return r ?: make_directory(fd, RUNTIME_STATE_DIR, 0700, reason);
}
