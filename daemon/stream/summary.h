/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "page.h"
#include "queue.h"
#include "ring.h"

/* What a stream says at its end. */
typedef struct Summary {
        const Ring *rings; /* with the counters read after the last byte */
        unsigned n_rings;
        const PageTally *tally;
        bool is_judged, is_limited; /* what of the tally there is to tell */
        int names_fd;               /* "PID NAME" lines; -1: none */
        const char *code, *reason;
} Summary;

/* The last three frames: command names, statistics, end. -ENOMEM. */
int summary_put(Queue *queue, const Summary *summary);
