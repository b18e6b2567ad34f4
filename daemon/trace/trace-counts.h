/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* Histograms and notify triggers of a trace whose records are judged: its consumer counts them. */

/* Is this such a trace? spec and grant are enough. */
bool trace_counts(const Trace *trace);
/* Is it recorded so that the consumer can count it? */
bool trace_counts_event(const Trace *trace, const GrantEvent *event);
/* Does a histogram show the names of commands? */
bool trace_counts_names(const Trace *trace);
/* What a session of one's own processes cannot count by. Event loop, before anything is made. */
int trace_check_counts(const Spec *spec, const Grant *grant, Reason *reason);
/* What the kernel has to record of a counted event: the caller's part of its filter. NULL: all. */
int trace_join_counted(const Trace *trace, const GrantEvent *event, char **ret);
/* Step of create, after metadata: the plan for the consumer. */
int trace_step_counts(void *context, Reason *reason);
