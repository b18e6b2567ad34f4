/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The destination of a stream: the daemon's pipe, or an fd from a client. The consumer uses it
 * inside its sandbox. The daemon must never use it: fstat, write and even close of a file on a FUSE
 * server that does not answer hang the caller, and SIGKILL does not help. Only file systems that
 * need no other program are accepted. For all others the client must use the pipe of OpenStream. */

#include "consumer/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

#define XFS_MAGIC 0x58465342 /* fs/xfs/libxfs/xfs_format.h */

static bool is_known_file_system(long type) {
        static const long known[] = {
                EXT4_SUPER_MAGIC,
                XFS_MAGIC,
                BTRFS_SUPER_MAGIC,
                TMPFS_MAGIC,
                OVERLAYFS_SUPER_MAGIC,
        };

        for (size_t i = 0; i < ELEMENTSOF(known); i++)
                if (type == known[i])
                        return true;
        return false;
}

static int examine_file(int fd, OutletKind *ret, char *text, size_t size) {
        struct statfs fs;

        if (fstatfs(fd, &fs) < 0)
                return -errno;
        if (!is_known_file_system(fs.f_type)) {
                snprintf(text,
                                size,
                                "the sink's file system is not ext4, xfs, btrfs, tmpfs or "
                                "overlay: use OpenStream");
                return -EMEDIUMTYPE;
        }
        *ret = OUTLET_FILE;
        return 0;
}

static int examine_socket(int fd, OutletKind *ret, char *text, size_t size) {
        int type;
        socklen_t length = sizeof(type);

        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) < 0)
                return -errno;
        if (type != SOCK_STREAM) {
                snprintf(text, size, "the sink is not a stream socket");
                return -EPROTOTYPE;
        }
        *ret = OUTLET_SOCKET;
        return 0;
}

int outlet_examine(int fd, OutletKind *ret, char *text, size_t size) {
        struct stat st;

        int flags = fcntl(fd, F_GETFL);
        if (flags < 0)
                return -errno;
        if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH)) {
                snprintf(text, size, "the sink is not open for writing");
                return -EBADF;
        }
        int r = fd_stat(fd, &st);
        if (r < 0)
                return r;
        if (S_ISREG(st.st_mode))
                return examine_file(fd, ret, text, size);
        if (S_ISSOCK(st.st_mode))
                return examine_socket(fd, ret, text, size);
        if (S_ISFIFO(st.st_mode)) {
                *ret = OUTLET_FOREIGN_PIPE;
                return 0;
        }
        snprintf(text,
                        size,
                        "the sink is not a regular file, pipe or stream socket: use OpenStream");
        return -EINVAL;
}

static ssize_t write_foreign_pipe(int fd, const struct iovec *iov, int n_iov) {
        struct pollfd p = { .fd = fd, .events = POLLOUT };

        ssize_t taken = pwritev2(fd, iov, n_iov, -1, RWF_NOWAIT);
        if (taken >= 0 || errno != EOPNOTSUPP)
                return taken < 0 ? -errno : taken;
        /* For kernels before 6.4. POLLOUT means room for PIPE_BUF bytes. A write of that size does
         * not block in a blocking pipe, unless another writer writes first. */
        if (poll(&p, 1, 0) <= 0)
                return -EAGAIN;
        ssize_t n = write(fd, iov->iov_base, MIN_OF(iov->iov_len, (size_t)PIPE_BUF));
        return n < 0 ? -errno : n;
}

ssize_t outlet_write(int fd, OutletKind kind, const struct iovec *iov, int n_iov) {
        ssize_t n;

        switch (kind) {
        case OUTLET_FOREIGN_PIPE:
                return write_foreign_pipe(fd, iov, n_iov);
        case OUTLET_SOCKET:
                /* The filter forbids sendmsg(), which passes descriptors. The caller writes the
                 * rest in its next call. */
                n = send(fd, iov->iov_base, iov->iov_len, MSG_DONTWAIT | MSG_NOSIGNAL);
                break;
        default:
                n = writev(fd, iov, n_iov);
        }
        return n < 0 ? -errno : n;
}
