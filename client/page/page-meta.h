/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "page/number-set.h"
#include "trace/trace.h"

/* What the page must know beside its events and calls. */
typedef struct PageMeta {
        const Trace *trace;
        const char *name; /* of the recording */
        const char *missing;
        uint64_t n_events, n_losses, n_calls, n_lost;
        uint64_t start;             /* the time of the first item, in the trace's clock */
        const bool *seen;           /* by event id: the page has such events */
        const NumberSet *calls;     /* addresses of the names of calls */
        const NumberSet *functions; /* addresses in kernel stacks */
} PageMeta;

/* Appends it as JSON. Returns 0 or -ENOMEM. */
int page_meta_add(TextBlock *block, const PageMeta *meta);
