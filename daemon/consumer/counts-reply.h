/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/counts.h"

/* The rows of one histogram on their way to the client that asked. */
typedef struct CountsReply {
        int fd; /* SOCK_SEQPACKET; -1: no answer in progress */
        uint32_t table;
        CountRow *rows;
        size_t n_rows, at;
        ControlMessage totals;
} CountsReply;

#define COUNTS_REPLY_NONE ((CountsReply){ .fd = -1 })

/* Consumes fd. An answer in progress is given up. Fails with -ENOMEM. Then no answer is in
 * progress. */
int counts_reply_begin(CountsReply *reply,
                const Counts *counts,
                uint32_t table,
                uint64_t lost,
                int fd);
/* Sends what the socket takes. Returns 1 when there is more, and 0 when all was sent or the
 * receiver has gone. */
int counts_reply_continue(CountsReply *reply, const Counts *counts);
void counts_reply_end(CountsReply *reply);
/* Sends an answer of one message without waiting. error: errno, 0: success. */
void counts_reply_send_answer(int fd, int error, const char *text);
