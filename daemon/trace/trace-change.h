/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* Between begin and plan: wants_off, as it is, is changed to what is wanted. */
int trace_begin_switch(Trace *trace);
void trace_forget_switch(Trace *trace);
void trace_plan_switch(Trace *trace, Plan *plan);
/* wants_kb on each CPU. Undone: as the spec says. Not of a judged trace that has been armed: while
 * the kernel changes the size, a guard that goes off does not stop the trace. */
void trace_plan_resize(Trace *trace, Plan *plan);
/* Nothing is in the buffers; the window is the event loop's. Not of a judged trace. */
void trace_plan_clear(Trace *trace, Plan *plan);
/* Of create: which events are off at first. */
int trace_step_off(void *context, Reason *reason);
/* Of a daemon before this one that was switching events: those are as they were. */
int trace_step_switched_back(void *context, Reason *reason);
/* Of the buffers, and reads back what the kernel makes of it. */
int trace_set_size(Trace *trace, uint64_t kb);
void trace_read_size(Trace *trace);
