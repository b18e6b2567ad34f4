/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/ktrace.h"
#include "library/record-queue.h"
#include "trace/live-trace.h"
#include "trace/text-block.h"
#include "trace/trace.h"

struct ktrace_field {
        const EventLayout *layout; /* borrowed from the Decode */
        const EventLayoutField *field;
};

struct ktrace_record {
        ktrace_reader *reader;
        ktrace_record_kind kind;
        Record record;
        int64_t lost;
        const EventLayout *layout; /* NULL: an event with an unknown format */
        bool is_whole;             /* the record has the bytes that the layout describes */
        const char *task;          /* NULL: not looked up */
        const char *instance;
};

struct ktrace_reader {
        int fd;
        Trace *trace; /* of a recording */

        /* Of a stream that arrives. */
        LiveTrace *live;
        RecordQueue queue;
        uint64_t quiet_usec; /* when the records that wait are due; UINT64_MAX: none wait */
        bool is_at_end;

        Decode *decode;        /* NULL: nothing has arrived yet */
        ktrace_field **fields; /* by event id: those of its layout */
        size_t n_fields;
        ktrace_record record;
        TextBlock text, slow;
};

/* Waits until the events of a stream are known, or until it ends. */
int reader_await_events(ktrace_reader *reader, Reason *reason);
/* event: "SYSTEM:NAME". Returns NULL if the trace has no such event. */
const EventLayout *reader_find_event(const ktrace_reader *reader, const char *event);
/* Returns the fields of an event, or NULL when memory is short. */
const ktrace_field *reader_get_fields(ktrace_reader *reader, const EventLayout *layout);
