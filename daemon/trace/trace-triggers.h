/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/trigger.h"
#include "trace/trace.h"

/* A session's triggers: a trace's share of them, for trace.c and trace-fence.c. */

/* What the kernel or the fence cannot do of them, said before anything is made. Event loop. */
int trace_check_triggers(const Spec *spec, const Grant *grant, Reason *reason);
/* Has this kernel what the trigger needs on its event, or on all events: an instance has the files
 * of the top directory. KT_E_KERNEL_REFUSED: no. */
int trace_check_trigger_known(const Instance *instance,
                const SpecTrigger *wanted,
                const char *system,
                const char *name,
                Reason *reason);
/* Memory that the kernel takes to count for histograms, about: counts as buffers do. Event loop. */
uint64_t trace_count_hists_kb(const Spec *spec, const Grant *grant);
/* Does the session begin with nothing recorded, until a trigger says start? */
bool trace_begins_closed(const Spec *spec);

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
/* Has a trigger taken a snapshot since this was asked last? */
int trace_look_for_caught(Trace *trace);
/* Before the guard is lifted, on which they hang. */
int trace_lift_twins(Trace *trace);
void trace_clear_triggers(Trace *trace);

/* The histogram of the spec's trigger `origin`, as the kernel has it. KT_E_WRONG_STATE: it is not
 * laid. */
int trace_find_hist(const Trace *trace,
                size_t origin,
                Trigger *ret,
                const char **ret_system,
                const char **ret_name,
                Reason *reason);
/* Worker thread. The lists have room. */
int trace_look_at_windows(Trace *trace, TraceWindows *ret);
/* "system:event" of each event whose histograms the guard has to pause; free the array only. */
int trace_list_twins(const Trace *trace, const char ***ret, size_t *ret_n);
/* Hangs one of them on this event, or turns one it on or off? */
bool trace_event_has_triggers(const Trace *trace, const char *system, const char *name);
/* One of the trace's own, unless it is laid; a histogram that is paused goes on. */
int trace_install_trigger(Trace *trace, TraceTrigger *trigger, Reason *reason);
/* May a trigger have turned it on or off? */
bool trace_event_has_window(const Trace *trace, const char *system, const char *name);
/* How many lines of the event's trigger file are these; *ret_stand: all that should be are. */
size_t trace_count_triggers(const Trace *trace,
                const char *system,
                const char *name,
                const char *text,
                bool *ret_stand);
