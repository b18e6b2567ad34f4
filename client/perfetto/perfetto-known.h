/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/event-layout.h"

#define PERFETTO_KNOWN_FIELDS_MAX 7

/* An event that Perfetto interprets. It has its own message in FtraceEvent. */
typedef struct PerfettoKnown {
        const char *system, *name;
        unsigned number; /* of the field of FtraceEvent */
        /* Fields of the message by number, from 1 on. */
        const char *fields[PERFETTO_KNOWN_FIELDS_MAX];
} PerfettoKnown;

/* Returns NULL for all other events. */
const PerfettoKnown *perfetto_known_find(const struct tep_event *event);
/* The number of the field in the message; 0: the message lacks it. */
unsigned perfetto_known_find_field(const PerfettoKnown *known, const EventLayoutField *field);
