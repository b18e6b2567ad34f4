/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace-counts.h"
#include "trace/trace.h"

/* The fence's steps in the plans of a trace, for trace.c. */

/* This condition is added to the filters of all events of a fenced session, except probes in
 * programs. It excludes interrupt context, because records from there may describe other tasks:
 * hard irq 8, soft irq 16, nmi 64 (include/linux/trace_events.h). For probes in programs the flags
 * are unreliable: the task itself makes the record with preemption on, and the kernel subtracts one
 * from the preemption count, which is 0 and next to the flags (trace_uprobe.c,
 * tracing_gen_ctx_dec). */
#define FENCE_CONTEXT "!(common_flags & 88)"

/* Makes the filter of an event; NULL: the event needs none. */
int trace_join_filter(const Trace *trace, const GrantEvent *event, char **ret);

/* The same for a trigger of the event. filter: requested by the caller, or NULL. */
int trace_join_condition(const Trace *trace,
                const GrantEvent *event,
                const char *filter,
                char **ret);

/* Steps of create. */
int trace_step_guard_probe(void *context, Reason *reason);
int trace_step_lifetimes_known(void *context, Reason *reason);
/* Steps of arm, in this order. Between latch and guard: the pids. */
int trace_step_watch(void *context, Reason *reason);
int trace_step_latch(void *context, Reason *reason);
int trace_step_pid_max(void *context, Reason *reason);
int trace_step_guard(void *context, Reason *reason);
/* Runs before any other event is enabled, and before the members are judged again. */
int trace_step_lifetimes(void *context, Reason *reason);
/* Disables all events except the lifetimes, which must stay enabled longer. Otherwise a task could
 * end without an exit record while other events are still recorded, and its membership would pass
 * to the next task with the same pid. */
int trace_disable_others(const Trace *trace);
/* Opens tracing_on and, if there is a guard, the guard's hist. */
int trace_open_guard(Trace *trace);

/* True if each record is judged by the task that it belongs to. */
bool trace_is_judged(const Trace *trace);
/* True if the kernel's saved command names may be used in the streams. They are keyed by pid alone.
 */
bool trace_has_name_list(const Trace *trace);
/* True for an event of the grant that shows which records belong to members. */
bool trace_needs_event(const Trace *trace, const GrantEvent *event);
/* Returns the next event that is recorded only for the names of tasks (trace-counts.h), or NULL.
 * *next: 0 at first. */
const TraceNameSource *trace_find_name_source(const Trace *trace, size_t *next);
/* True if windows do not enable and disable the event. */
bool trace_is_outside_windows(const Trace *trace, const GrantEvent *event);
/* Rejects requests that a fenced session cannot have. Runs in the event loop before anything is
 * created. */
int trace_check_fence(const Spec *spec, const Grant *grant, Reason *reason);
/* Plan steps: read back the fence, a part at a time (*next: 0 at first). KT_E_FAILED: another
 * program has changed it, or the guard has fired (then *ret_fired is true). */
int trace_verify(const Trace *trace, size_t *next, Reason *reason);
int trace_verify_latch(const Trace *trace, bool *ret_fired, Reason *reason);
