/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/page.h"
#include "consumer/queue.h"
#include "consumer/ring.h"

/* What a stream says at its end. */
typedef struct Summary {
        const Ring *rings; /* with the counters read after the last byte */
        unsigned n_rings;
        const PageTally *tally;
        uint64_t discarded_bytes;
        bool is_judged, is_limited; /* what of the tally there is to tell */
        uint64_t n_interferences, interference_nsec;
        const char *names;           /* "PID NAME" lines; NULL: none */
        const TaskNames *task_names; /* in place of them, of a judged stream */
        size_t names_max;            /* bytes of their frame; what does not fit is left out */
        const char *code, *reason;
} Summary;

/* The last three frames: command names, statistics, end. -ENOMEM. */
int summary_put(Queue *queue, const Summary *summary);
