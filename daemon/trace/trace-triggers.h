/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/trigger.h"
#include "trace/trace.h"

/* The steps for a session's triggers, for trace.c and trace-fence.c. */

/* True if start and stop enable and disable each event. tracing_on is then the latch. */
bool trace_windows_are_switches(const Trace *trace);

/* Step of create: makes the kernel's command of each trigger. */
int trace_step_triggers_made(void *context, Reason *reason);
/* For a trace that is taken over: the state after the last start or stop. */
int trace_step_triggers_adopted(void *context, Reason *reason);
/* Step of start, before events are enabled: sets the window of a session that needs no fence. */
int trace_step_window(void *context, Reason *reason);
/* The last step of start: installs one trigger at a time. */
int trace_step_triggers(void *context, Reason *reason);
void trace_undo_triggers(void *context);
/* Step of stop, before events are disabled: an installed trigger can enable events again.
 * Histograms keep their counts. */
int trace_step_triggers_lifted(void *context, Reason *reason);
/* Call it before the guard is removed: the twins are on the guard's event. */
int trace_lift_twins(Trace *trace);
void trace_clear_triggers(Trace *trace);

/* Installs one of the trace's triggers, if it is not installed. Continues a paused histogram. */
int trace_install_trigger(Trace *trace, TraceTrigger *trigger, Reason *reason);
