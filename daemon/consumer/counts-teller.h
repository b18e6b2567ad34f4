/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/counts.h"

/* The rows of one histogram on their way to whoever asked. */
typedef struct CountsTeller {
        int fd; /* SOCK_SEQPACKET; -1: nothing is on its way */
        uint32_t table;
        CountRow *rows;
        size_t n_rows, at;
        ControlMessage totals;
} CountsTeller;

#define COUNTS_TELLER_NONE ((CountsTeller){ .fd = -1 })

/* Consumes fd. What was on its way before is given up. -ENOMEM: nothing is on its way. */
int counts_teller_begin(CountsTeller *teller,
                const Counts *counts,
                uint32_t table,
                uint64_t lost,
                int fd);
/* Sends what the socket takes. 1: there is more; 0: all was sent, or whoever asked has gone. */
int counts_teller_continue(CountsTeller *teller, const Counts *counts);
void counts_teller_end(CountsTeller *teller);
/* An answer of one message; error: errno, 0: none. Does not wait. */
void counts_teller_answer(int fd, int error, const char *text);
