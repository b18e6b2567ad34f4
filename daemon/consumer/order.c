/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Exchanges messages with the daemon one at a time, for the processes of ktrace-consumer that have
 * no stream and no other work (inspector.c, hist-reader.c, spool-reader.c). */

#include "consumer/order.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "base/fd.h"

static int wait_for(int fd, short events) {
        struct pollfd wait = { .fd = fd, .events = events };

        while (poll(&wait, 1, -1) < 0)
                if (errno != EINTR)
                        return -errno;
        return 0;
}

int order_take(int control_fd, ControlType type, ControlMessage *ret, int *ret_fds, size_t n_fds) {
        size_t n_taken = 0;

        int r = wait_for(control_fd, POLLIN);
        if (r < 0)
                return r;
        ssize_t n = fd_receive(control_fd, ret, sizeof(*ret), ret_fds, n_fds, &n_taken);
        if (n == 0)
                return -ECANCELED;
        if (n < 0)
                return (int)n;
        return n == sizeof(*ret) && ret->type == type && ret->version == CONTROL_VERSION &&
                                               n_taken == n_fds
                               ? 0
                               : -EBADMSG;
}

int order_answer(int control_fd, ControlMessage *message) {
        message->version = CONTROL_VERSION;
        for (;;) {
                int r = fd_send(control_fd, message, sizeof(*message), NULL, 0);
                if (r != -EAGAIN)
                        return r;
                r = wait_for(control_fd, POLLOUT);
                if (r < 0)
                        return r;
        }
}

void order_report(int control_fd, ControlType type, int error, const char *text) {
        ControlMessage message = {
                .type = type,
                .status = { .error = error },
        };

        snprintf(message.status.text,
                        sizeof(message.status.text),
                        "%.*s",
                        CONTROL_TEXT_MAX - 1,
                        text);
        /* The daemon may be gone. */
        (void)order_answer(control_fd, &message);
}
