/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "perfetto/perfetto-event.h"

/* Perfetto refuses a recording with a higher CPU number. */
#define PERFETTO_CPUS_MAX 1024

typedef struct PerfettoLane PerfettoLane;

/* The records of each CPU that are not written yet. */
typedef struct PerfettoBundles {
        FILE *out;           /* borrowed */
        PerfettoLane *lanes; /* by CPU */
} PerfettoBundles;

/* Returns 0 or -ENOMEM. */
int perfetto_bundles_init(PerfettoBundles *bundles, FILE *out);
void perfetto_bundles_clear(PerfettoBundles *bundles);
/* Adds a record of a CPU below PERFETTO_CPUS_MAX, see perfetto_event_add(). Returns 0 or -errno. */
int perfetto_bundles_add(PerfettoBundles *bundles,
                PerfettoEvent *event,
                const Record *record,
                uint64_t ts);
/* Notes that events were lost before the next record of the CPU. *ret_from: the time of the record
 * before, or 0. Returns 0 or -errno. */
int perfetto_bundles_lose(PerfettoBundles *bundles, unsigned cpu, uint64_t *ret_from);
/* Writes the rest. Returns 0 or -errno. */
int perfetto_bundles_finish(PerfettoBundles *bundles);
