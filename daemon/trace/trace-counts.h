/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* Histograms and notify triggers that the consumer counts, instead of the kernel. */

/* True for a trace whose consumer counts. spec, grant and tracefs are sufficient. The answer is
 * always the same. */
bool trace_counts(const Trace *trace);
/* True if the event is recorded for the consumer to count. */
bool trace_counts_event(const Trace *trace, const GrantEvent *event);
/* True if a histogram shows command names. The consumer reads them from the records of these
 * events. */
bool trace_counts_names(const Trace *trace);

#define TRACE_NAME_SOURCES 2

typedef struct TraceNameSource {
        const char *system, *name;
} TraceNameSource;

extern const TraceNameSource trace_name_sources[TRACE_NAME_SOURCES];

/* Rejects histograms that a session of the user's own processes cannot have. Runs in the event loop
 * before anything is created. */
int trace_check_counts(const Spec *spec, const Grant *grant, Reason *reason);
/* Rejects a histogram if its counter, the kernel or the consumer, is no sink of the rule. spec,
 * grant and tracefs are sufficient. */
int trace_check_sink(const Trace *trace, size_t trigger, Reason *reason);
/* Rejects what only the kernel can count, on a kernel that has no histograms. */
int trace_check_counted(const Trace *trace, size_t trigger, Reason *reason);
/* Returns the caller's part of the filter of a counted event: the kernel has to record what it
 * matches. NULL: all records. */
int trace_join_counted(const Trace *trace, const GrantEvent *event, char **ret);
/* Step of create, after metadata: makes the plan for the consumer. */
int trace_step_counts(void *context, Reason *reason);
