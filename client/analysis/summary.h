/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "analysis/call-table.h"
#include "analysis/io-table.h"
#include "analysis/sched-table.h"

/* How often an event occurred, and which tables take it. */
typedef struct SummaryEvent {
        const struct tep_event *event; /* borrowed */
        uint64_t n;
        bool is_for_calls, is_for_sched, is_for_io;
} SummaryEvent;

/* What a recording contains, in numbers. */
typedef struct Summary {
        const Decode *decode; /* borrowed */
        CallPair *pair;
        CallTable calls;
        SchedTable sched;
        IoTable io;
        NumberMap events;  /* of SummaryEvent, by id */
        NumberMap threads; /* every thread with an event; the values mean nothing */
        uint64_t n_events, n_unknown;
        uint64_t start, end; /* of the first and the last event */
} Summary;

/* by_thread: a row for each thread and call, not only for each call. Returns 0 or -ENOMEM. */
int summary_new(const Decode *decode, bool by_thread, Summary **ret);
Summary *summary_free(Summary *summary);
DEFINE_CLEANUP(Summary, summary_free);
/* Records and losses in time order. They return 0 or -ENOMEM. */
int summary_record(Summary *summary, const Record *record);
int summary_loss(Summary *summary, uint32_t cpu);
/* After the last record. */
int summary_finish(Summary *summary);
/* Returns the events by falling number; free() the list. NULL: memory is short. */
SummaryEvent **summary_sort_events(const Summary *summary, size_t *ret_n);
