/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/decode.h"

/* Which records of a trace are read. */
typedef struct RecordFilter {
        uint64_t from, until; /* of the trace's clock; a record at `until` is not read */
        bool *events;         /* by event id; NULL: all */
        size_t n_events;
        const int *pids; /* borrowed; NULL: all */
        size_t n_pids;
} RecordFilter;

void record_filter_clear(RecordFilter *filter);
/* Judges the event and the thread, not the time. */
bool record_filter_accepts(const RecordFilter *filter, const Decode *decode, const Record *record);
