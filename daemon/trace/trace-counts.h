/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* Histograms and notify triggers of a trace whose records are judged: its consumer counts them. */

/* True for such a trace. spec and grant are sufficient. */
bool trace_counts(const Trace *trace);
/* True if the event is recorded for the consumer to count. */
bool trace_counts_event(const Trace *trace, const GrantEvent *event);
/* True if a histogram shows command names. */
bool trace_counts_names(const Trace *trace);
/* Rejects histograms that a session of the user's own processes cannot have. Runs in the event loop
 * before anything is created. */
int trace_check_counts(const Spec *spec, const Grant *grant, Reason *reason);
/* Returns the caller's part of the filter of a counted event: the kernel has to record what it
 * matches. NULL: all records. */
int trace_join_counted(const Trace *trace, const GrantEvent *event, char **ret);
/* Step of create, after metadata: makes the plan for the consumer. */
int trace_step_counts(void *context, Reason *reason);
