/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads, writes and passes file descriptors: the loops that every floor needs and that are easy to
 * get wrong. Called from any floor and any thread; holds no state.
 *
 * It relies on SOCK_SEQPACKET keeping message boundaries, on MSG_TRUNC and MSG_CTRUNC reporting
 * that a message did not fit, and on SCM_MAX_FD: the kernel passes at most 253 fds in one message.
 *
 * It does not wait: fd_send and fd_receive return -EAGAIN. On a non-blocking fd, fd_write_all and
 * fd_read_all return -EAGAIN and the data handled so far is lost: they are for files, memfds and
 * new pipes. */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#define SCM_MAX_FD     253
#define READ_STEP_SIZE ((size_t)4096)

int fd_write_all(int fd, const void *data, size_t size) {
        const uint8_t *p = data;

        while (size > 0) {
                ssize_t n = write(fd, p, size);
                if (n < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                p += n;
                size -= (size_t)n;
        }
        return 0;
}

int fd_read_all(int fd, size_t max, char **ret, size_t *ret_size) {
        _cleanup_free_ char *buffer = NULL;
        size_t size = 0, room = 0;

        for (;;) {
                /* Reserve one byte for the NUL and one that is filled only if the file is longer
                 * than max. */
                if (room - size < 2) {
                        room = room ? room * 2 : READ_STEP_SIZE;
                        room = MIN_OF(room, max + 2);
                        char *grown = realloc(buffer, room);
                        if (!grown)
                                return -ENOMEM;
                        buffer = grown;
                }

                ssize_t n = read(fd, buffer + size, room - size - 1);
                if (n < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                if (n == 0)
                        break;
                size += (size_t)n;
                if (size > max)
                        return -EFBIG;
        }

        buffer[size] = '\0';
        *ret = TAKE_PTR(buffer);
        if (ret_size)
                *ret_size = size;
        return 0;
}

int fd_read_file_at(int dirfd, const char *path, size_t max, char **ret, size_t *ret_size) {
        _cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return -errno;
        return fd_read_all(fd, max, ret, ret_size);
}

int fd_stat(int fd, struct stat *ret) {
        return syscall(SYS_fstat, fd, ret) < 0 ? -errno : 0;
}

int fd_open_directory(int dirfd, const char *path, DIR **ret) {
        int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        *ret = fd < 0 ? NULL : fdopendir(fd); /* consumes fd */
        if (*ret)
                return 0;
        int r = -errno;
        if (fd >= 0)
                close(fd);
        return r;
}

void fd_close_all(int **fds, size_t n) {
        for (size_t i = 0; *fds && i < n; i++)
                close_cleanup(&(*fds)[i]);
        free(*fds);
        *fds = NULL;
}

DIR *fd_close_directory(DIR *dir) {
        if (dir)
                closedir(dir);
        return NULL;
}

int fd_open_own_directory(int dirfd, const char *path, int *ret) {
        struct stat status;

        _cleanup_close_ int fd =
                        openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 || fstat(fd, &status) < 0)
                return -errno;
        if (status.st_uid != geteuid() || (status.st_mode & 022))
                return -EPERM;
        *ret = TAKE_FD(fd);
        return 0;
}

int fd_memfd_sealed(const char *name, const void *data, size_t size) {
        _cleanup_close_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0)
                return -errno;

        int r = fd_write_all(fd, data, size);
        if (r < 0)
                return r;
        /* The file offset is shared with the receiver, which must start to read at the
         * beginning. */
        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
                return -errno;
        return TAKE_FD(fd);
}

int fd_reopen_as(int fd, int flags, int *ret) {
        char path[64];

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        int copy = open(path, flags | O_CLOEXEC);
        if (copy < 0)
                return -errno;
        *ret = copy;
        return 0;
}

int fd_reopen(int fd, int *ret) {
        return fd_reopen_as(fd, O_RDONLY, ret);
}

int fd_send(int sock, const void *data, size_t size, const int *fds, size_t n_fds) {
        union {
                struct cmsghdr header;
                char bytes[CMSG_SPACE(sizeof(int) * FD_SEND_MAX)];
        } control = {};
        struct iovec iov = { .iov_base = (void *)data, .iov_len = size };
        struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

        if (n_fds > FD_SEND_MAX)
                return -E2BIG;
        if (n_fds > 0) {
                message.msg_control = control.bytes;
                message.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
                struct cmsghdr *c = CMSG_FIRSTHDR(&message);
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
                memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
        }

        for (;;) {
                if (sendmsg(sock, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
                        return 0;
                if (errno != EINTR)
                        return -errno;
        }
}

static void close_many(const int *fds, size_t n_fds) {
        for (size_t i = 0; i < n_fds; i++)
                close(fds[i]);
}

/* Extracts the fds from the message; the caller owns them. With SO_PASSCRED and similar options the
 * message may contain other control data. */
static size_t fd_take_fds(struct msghdr *message, int fds[static SCM_MAX_FD]) {
        size_t n = 0;

        for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
                if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
                        continue;
                size_t n_here = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                n_here = MIN_OF(n_here, SCM_MAX_FD - n);
                memcpy(fds + n, CMSG_DATA(c), n_here * sizeof(int));
                n += n_here;
        }
        return n;
}

ssize_t fd_receive(int sock, void *data, size_t size, int *fds, size_t max_fds, size_t *ret_n_fds) {
        /* Room for as many fds as the kernel can pass, even if the caller wants fewer: surplus fds
         * are then closed and reported here, never truncated by the kernel. */
        union {
                struct cmsghdr header;
                char bytes[CMSG_SPACE(sizeof(int) * SCM_MAX_FD) + CMSG_SPACE(256)];
        } control;
        struct iovec iov = { .iov_base = data, .iov_len = size };
        struct msghdr message = {
                .msg_iov = &iov,
                .msg_iovlen = 1,
                .msg_control = control.bytes,
                .msg_controllen = sizeof(control.bytes),
        };
        int received[SCM_MAX_FD];
        ssize_t n;

        do
                n = recvmsg(sock, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;

        size_t n_fds = fd_take_fds(&message, received);
        bool cut = message.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
        if (cut || n_fds > max_fds || (n == 0 && n_fds > 0)) {
                close_many(received, n_fds);
                return -EBADMSG;
        }

        if (n_fds > 0)
                memcpy(fds, received, n_fds * sizeof(int));
        if (ret_n_fds)
                *ret_n_fds = n_fds;
        return n;
}
