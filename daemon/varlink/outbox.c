/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The messages waiting to be sent to one client, owned by its connection. Each message is sent
 * separately, so that a descriptor goes with the first byte of its own message only: the kernel
 * keeps data of one send call in one buffer, and a reader that received descriptors gets no data of
 * the next buffer in the same call. The connection limits how much may wait here. */

#include "varlink/outbox.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "interfaces/cleanup.h"

struct VarlinkOut {
        TAILQ_ENTRY(VarlinkOut) entry;
        size_t size, sent;
        int fd; /* -1: none, or sent with the first byte */
        char text[];
};

void varlink_outbox_init(VarlinkOutbox *outbox) {
        TAILQ_INIT(&outbox->messages);
        outbox->n_bytes = 0;
}

static void remove_first(VarlinkOutbox *outbox) {
        VarlinkOut *out = TAILQ_FIRST(&outbox->messages);

        TAILQ_REMOVE(&outbox->messages, out, entry);
        outbox->n_bytes -= out->size;
        close_cleanup(&out->fd);
        free(out);
}

void varlink_outbox_clear(VarlinkOutbox *outbox) {
        while (!varlink_outbox_is_empty(outbox))
                remove_first(outbox);
}

int varlink_outbox_add(VarlinkOutbox *outbox, const char *text, size_t size, int fd) {
        VarlinkOut *out = malloc(sizeof(*out) + size);

        if (!out) {
                close_cleanup(&fd);
                return -ENOMEM;
        }
        out->size = size;
        out->sent = 0;
        out->fd = fd;
        memcpy(out->text, text, size);
        TAILQ_INSERT_TAIL(&outbox->messages, out, entry);
        outbox->n_bytes += size;
        return 0;
}

static ssize_t send_some(VarlinkOut *out, int sock) {
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(sizeof(int))];
        } control = {};
        struct iovec iov = {
                .iov_base = out->text + out->sent,
                .iov_len = out->size - out->sent,
        };
        struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

        if (out->fd >= 0) {
                message.msg_control = &control;
                message.msg_controllen = sizeof(control);
                control.header = (struct cmsghdr){
                        .cmsg_level = SOL_SOCKET,
                        .cmsg_type = SCM_RIGHTS,
                        .cmsg_len = CMSG_LEN(sizeof(int)),
                };
                memcpy(CMSG_DATA(&control.header), &out->fd, sizeof(int));
        }
        return sendmsg(sock, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int varlink_outbox_flush(VarlinkOutbox *outbox, int sock) {
        while (!varlink_outbox_is_empty(outbox)) {
                VarlinkOut *out = TAILQ_FIRST(&outbox->messages);
                ssize_t n = send_some(out, sock);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return errno == EAGAIN ? 0 : -errno;
                close_cleanup(&out->fd);
                out->sent += (size_t)n;
                if (out->sent == out->size)
                        remove_first(outbox);
        }
        return 0;
}
