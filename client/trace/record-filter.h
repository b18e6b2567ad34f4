/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/decode.h"

/* Of an event. */
typedef enum RecordChoice {
        RECORD_LEFT_OUT,
        RECORD_CHOSEN,
        RECORD_FOLLOWS, /* a stack: as the record before it on the same CPU */
} RecordChoice;

/* Which records of a trace are read. */
typedef struct RecordFilter {
        uint64_t from, until; /* of the trace's clock; a record at `until` is not read */
        uint8_t *events;      /* a RecordChoice by event id; NULL: all */
        size_t n_events;
        const int *pids; /* borrowed; NULL: all */
        size_t n_pids;
} RecordFilter;

void record_filter_clear(RecordFilter *filter);
/* Judges the event and the thread, not the time. is_before_accepted: the record before it on the
 * same CPU was. */
bool record_filter_accepts(const RecordFilter *filter,
                const Decode *decode,
                const Record *record,
                bool is_before_accepted);
