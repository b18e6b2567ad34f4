/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/trigger.h"
#include "trace/trace.h"

/* A session's triggers: a trace's share of them, for trace.c and trace-fence.c. */

/* Are start and stop what turns each event on and off? tracing_on is the latch then. */
bool trace_windows_are_switches(const Trace *trace);

/* Step of create: what each is in this kernel. */
int trace_step_triggers_made(void *context, Reason *reason);
/* Of one that is taken over: as the last start or stop has left them. */
int trace_step_triggers_adopted(void *context, Reason *reason);
/* Step of start, before events go on: the window of a session that needs no fence. */
int trace_step_window(void *context, Reason *reason);
/* The last step of start, a trigger at a time. */
int trace_step_triggers(void *context, Reason *reason);
void trace_undo_triggers(void *context);
/* Step of stop, before events go off: while they stand they turn events on again. Histograms keep
 * what they counted. */
int trace_step_triggers_lifted(void *context, Reason *reason);
/* Before the guard is lifted, on which they hang. */
int trace_lift_twins(Trace *trace);
void trace_clear_triggers(Trace *trace);

/* One of the trace's own, unless it is laid; a histogram that is paused goes on. */
int trace_install_trigger(Trace *trace, TraceTrigger *trigger, Reason *reason);
