/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sends the rows of a histogram to the daemon. Each question has its own socket. The module sends
 * as much as the socket takes at a time, because the rings must be read in between. Used by the
 * consumer's loop, which waits for room. The rows are a copy from the moment of the question.
 *
 * Sends with send(2), as the sandbox has no sendmsg(2) for sockets other than the control socket.
 */

#include "consumer/counts-teller.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int send_message(int fd, const ControlMessage *message) {
        ssize_t n = write(fd, message, sizeof(*message));

        return n < 0 ? -errno : 0;
}

int counts_teller_begin(CountsTeller *teller,
                const Counts *counts,
                uint32_t table,
                uint64_t lost,
                int fd) {
        counts_teller_end(teller);
        int r = counts_list(counts, table, &teller->rows, &teller->n_rows);
        if (r < 0) {
                close(fd);
                return r;
        }
        teller->fd = fd;
        teller->table = table;
        counts_put_totals(counts, table, lost, &teller->totals);
        return 0;
}

int counts_teller_continue(CountsTeller *teller, const Counts *counts) {
        int r = 0;

        while (r == 0 && teller->at < teller->n_rows) {
                ControlMessage message;

                counts_put_entry(counts, teller->table, &teller->rows[teller->at], &message);
                r = send_message(teller->fd, &message);
                teller->at += r == 0;
        }
        if (r == 0 && teller->totals.type != 0) {
                r = send_message(teller->fd, &teller->totals);
                if (r == 0)
                        teller->totals.type = 0;
        }
        if (r == 0)
                r = send_message(teller->fd,
                                &(ControlMessage){ .type = CONTROL_ANSWER,
                                                .version = CONTROL_VERSION });
        if (r == -EAGAIN)
                return 1;
        counts_teller_end(teller);
        return 0;
}

void counts_teller_end(CountsTeller *teller) {
        for (size_t i = 0; i < teller->n_rows; i++)
                count_row_clear(&teller->rows[i]);
        free(teller->rows);
        close_cleanup(&teller->fd);
        *teller = COUNTS_TELLER_NONE;
}

void counts_teller_answer(int fd, int error, const char *text) {
        ControlMessage message = {
                .type = error == 0 ? CONTROL_ANSWER : CONTROL_REFUSED,
                .version = CONTROL_VERSION,
                .status = { .error = error },
        };

        (void)snprintf(message.status.text, sizeof(message.status.text), "%s", text);
        (void)send_message(fd, &message); /* the daemon may have closed it */
}
