/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* Reads the format of an event of the grant. */
int trace_read_format(const Trace *trace, const GrantEvent *event, Format **ret, Reason *reason);
/* Describes a compiled filter for a process that evaluates it (consumer/records/condition.c). */
int trace_describe_filter(const Trace *trace,
                const GrantEvent *event,
                const char *filter,
                json_object **ret,
                Reason *reason);
/* Step of create, after metadata: describes the filters of a trace in a shared instance for the
 * process that reads it. */
int trace_step_conditions(void *context, Reason *reason);
