/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "trace/decode.h"

typedef enum PerfettoForm {
        PERFETTO_KNOWN,     /* Perfetto has a message for it */
        PERFETTO_DESCRIBED, /* a descriptor in the first bundle names its fields */
        PERFETTO_GENERIC,   /* each record names its fields: for viewers before v50 */
} PerfettoForm;

typedef struct PerfettoField {
        const EventLayoutField *source;
        unsigned number; /* in the message */
        bool is_list;    /* an array as a repeated field; other arrays are text */
} PerfettoField;

/* How the records of one event become messages. */
typedef struct PerfettoEvent {
        const EventLayout *layout;
        PerfettoForm form;
        unsigned number; /* of the field of FtraceEvent */
        PerfettoField *fields;
        size_t n_fields;
        bool is_described; /* its descriptor was written */
} PerfettoEvent;

/* Returns 0 or -ENOMEM. */
int perfetto_event_new(const EventLayout *layout, bool is_compatible, PerfettoEvent **ret);
PerfettoEvent *perfetto_event_free(PerfettoEvent *event);
DEFINE_CLEANUP(PerfettoEvent, perfetto_event_free);

/* Appends the record as an event of a FtraceEventBundle. event NULL: a record that cannot be
 * decoded. ts: in nanoseconds of CLOCK_BOOTTIME. The record must fit the event's layout. */
void perfetto_event_add(const PerfettoEvent *event,
                TextBlock *block,
                const Record *record,
                uint64_t ts);
/* Appends the descriptor of a PERFETTO_DESCRIBED event to a FtraceEventBundle. */
void perfetto_event_add_descriptor(const PerfettoEvent *event, TextBlock *block);
