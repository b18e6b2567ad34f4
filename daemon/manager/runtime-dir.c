/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Creates the runtime directory if it is missing, and locks it for one daemon. The manager calls it
 * before any step that a second daemon could harm: the second one would take the instances of the
 * first for orphans. The bus name cannot prevent a second daemon, because the bus may come later.
 *
 * Uses a record lock (fcntl(2)), not flock(2): it belongs to the process, so that forked children
 * do not keep it, and the kernel reports the pid of its owner. Closing any descriptor of the file
 * releases the lock, so no other code may open the file. */
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
                /* mkdirat() applies the umask. */
                return fchmodat(dirfd, path, mode, 0) < 0 ? -errno : 0;
        if (errno == EEXIST)
                return 0;
        return reason_set(reason, KT_E_FAILED, "%s: cannot be made: %s", path, strerror(errno));
}

static int runtime_dir_refuse(const char *path, int fd, Reason *reason) {
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

        /* 0: the owner has just ended, or is in another pid namespace. */
        if (fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
                lock.l_pid = 0;
        return reason_set(reason,
                        KT_E_FAILED,
                        "%s: another ktraced is running there, with pid %d",
                        path,
                        (int)lock.l_pid);
}

/* The bus starts the next daemon as soon as our name is free. That daemon waits here until the
 * previous one has saved its sessions and their files. */
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
