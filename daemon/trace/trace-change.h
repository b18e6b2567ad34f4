/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* Call trace_begin_switch first, then change wants_off from the current to the requested state,
 * then call trace_plan_switch. */
int trace_begin_switch(Trace *trace);
void trace_forget_switch(Trace *trace);
void trace_plan_switch(Trace *trace, Plan *plan);
/* Sets the buffer to wants_kb on each CPU. Undo restores the spec's size. Not for a judged trace
 * that has been armed: while the kernel changes the size, a guard that fires does not stop the
 * trace. */
void trace_plan_resize(Trace *trace, Plan *plan);
/* Clears the buffers. The event loop handles the window. Not for a judged trace. */
void trace_plan_clear(Trace *trace, Plan *plan);
/* Step of create: determines which events are disabled at first. */
int trace_step_off(void *context, Reason *reason);
/* For a trace whose previous daemon was switching events: sets those events back to their previous
 * state. */
int trace_step_switched_back(void *context, Reason *reason);
/* Sets the size of the buffers, and reads back the size that the kernel has chosen. */
int trace_set_size(Trace *trace, uint64_t kb);
void trace_read_size(Trace *trace);
