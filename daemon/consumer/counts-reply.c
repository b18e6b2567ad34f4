/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sends the rows of a histogram to the daemon. Each question has its own socket. The module sends
 * as much as the socket takes at a time, because the rings must be read in between. Used by the
 * consumer's loop, which waits for room. The rows are a copy from the moment of the question.
 *
 * Sends with write(2): the sandbox allows sendmsg(2) for the control socket only. */

#include "consumer/counts-reply.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int send_message(int fd, const ControlMessage *message) {
        ssize_t n = write(fd, message, sizeof(*message));

        return n < 0 ? -errno : 0;
}

int counts_reply_begin(CountsReply *reply,
                const Counts *counts,
                uint32_t table,
                uint64_t lost,
                int fd) {
        counts_reply_end(reply);
        int r = counts_list(counts, table, &reply->rows, &reply->n_rows);
        if (r < 0) {
                close(fd);
                return r;
        }
        reply->fd = fd;
        reply->table = table;
        counts_put_totals(counts, table, lost, &reply->totals);
        return 0;
}

int counts_reply_continue(CountsReply *reply, const Counts *counts) {
        int r = 0;

        while (r == 0 && reply->at < reply->n_rows) {
                ControlMessage message;

                counts_put_entry(counts, reply->table, &reply->rows[reply->at], &message);
                r = send_message(reply->fd, &message);
                reply->at += r == 0;
        }
        if (r == 0 && reply->totals.type != 0) {
                r = send_message(reply->fd, &reply->totals);
                if (r == 0)
                        reply->totals.type = 0;
        }
        if (r == 0)
                r = send_message(reply->fd,
                                &(ControlMessage){ .type = CONTROL_ANSWER,
                                                .version = CONTROL_VERSION });
        if (r == -EAGAIN)
                return 1;
        counts_reply_end(reply);
        return 0;
}

void counts_reply_end(CountsReply *reply) {
        for (size_t i = 0; i < reply->n_rows; i++)
                count_row_clear(&reply->rows[i]);
        free(reply->rows);
        close_cleanup(&reply->fd);
        *reply = COUNTS_REPLY_NONE;
}

void counts_reply_send_answer(int fd, int error, const char *text) {
        ControlMessage message = {
                .type = error == 0 ? CONTROL_ANSWER : CONTROL_REFUSED,
                .version = CONTROL_VERSION,
                .status = { .error = error },
        };

        (void)snprintf(message.status.text, sizeof(message.status.text), "%s", text);
        (void)send_message(fd, &message); /* the daemon may have closed it */
}
