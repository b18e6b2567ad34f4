/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* The command names that the machine's tasks have at the start of a trace. */
typedef struct TraceNames TraceNames;

/* Reads the names of all tasks. Called in arm, when the records of forks and renames are on and the
 * events are not. PLAN_AGAIN: not finished, call again. */
int trace_read_names(Trace *trace);
/* Borrowed, until the next start. ret_n is 0 if the trace needs no names. */
const ControlMember *trace_get_names(const Trace *trace, size_t *ret_n);
void trace_clear_names(Trace *trace);
