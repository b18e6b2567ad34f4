/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sends descriptors over a socket and writes bytes to a descriptor. Called by code that passes a
 * file to the daemon or copies one. The socket has room for the single message, so the call does
 * not block. */

#include "interfaces/descriptor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "interfaces/cleanup.h"

#define COPY_BYTES ((size_t)256 * 1024)

int descriptor_send(int socket_fd, int fd) {
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(sizeof(int))];
        } control = {};

        char byte = 0;
        struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
        struct msghdr message = {
                .msg_iov = &iov,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);

        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &fd, sizeof(fd));
        return sendmsg(socket_fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int descriptor_write_all(int fd, const void *data, size_t size) {
        const char *rest = data;

        while (size > 0) {
                ssize_t n = write(fd, rest, size);

                if (n < 0 && errno != EINTR)
                        return -errno;
                rest += n > 0 ? n : 0;
                size -= n > 0 ? (size_t)n : 0;
        }
        return 0;
}

int descriptor_copy(int from, int to) {
        _cleanup_free_ char *buffer = malloc(COPY_BYTES);
        int r = buffer ? 0 : -ENOMEM;

        while (r == 0) {
                ssize_t n = read(from, buffer, COPY_BYTES);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : 0;
                r = descriptor_write_all(to, buffer, (size_t)n);
        }
        return r;
}
