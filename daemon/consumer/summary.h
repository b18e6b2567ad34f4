/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/inner-list.h"
#include "consumer/queue.h"
#include "consumer/records/page.h"
#include "consumer/records/ring.h"

/* The data of a stream's last frames. */
typedef struct Summary {
        const Ring *rings; /* with the counters read after the last byte */
        unsigned n_rings;
        const PageTally *tally;
        uint64_t discarded_bytes;
        bool is_judged, is_limited; /* which parts of the tally to report */
        uint64_t n_interferences, interference_nsec;
        const char *names;           /* "PID NAME" lines; NULL: no names */
        const TaskNames *task_names; /* for a judged stream, instead of names */
        const InnerList *inner;      /* NULL: none */
        size_t names_max; /* limit of the frame with the names; names that do not fit are left out
                           */
        const char *code, *reason;
} Summary;

/* Writes the last three frames: command names, statistics, end. Fails with -ENOMEM. */
int summary_put(Queue *queue, const Summary *summary);
