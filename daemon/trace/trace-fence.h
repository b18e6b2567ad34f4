/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* The fence's share of a trace's plans, for trace.c. */

/* Joined to the filters of all events of a fenced session but those of probes in programs, whose
 * flags say nothing: they are made by the task itself, with preemption on, and the kernel takes one
 * from a count of 0 that stands beside them (trace_uprobe.c, tracing_gen_ctx_dec). Not in interrupt
 * context: hard irq 8, soft irq 16, nmi 64 (include/linux/trace_events.h). What runs there speaks
 * of others. */
#define FENCE_CONTEXT "!(common_flags & 88)"

/* NULL filter: none is wanted. */
int trace_join_filter(const Trace *trace, const GrantEvent *event, char **ret);

/* The same of a trigger of the event: filter: the caller's; NULL: none. */
int trace_join_condition(const Trace *trace,
                const GrantEvent *event,
                const char *filter,
                char **ret);

/* Steps of create. */
int trace_step_guard_probe(void *context, Reason *reason);
int trace_step_lifetimes_known(void *context, Reason *reason);
/* Steps of arm, in this order; between watch and latch and the last: the pids, then the guard. */
int trace_step_watch(void *context, Reason *reason);
int trace_step_latch(void *context, Reason *reason);
int trace_step_pid_max(void *context, Reason *reason);
int trace_step_guard(void *context, Reason *reason);
/* Before any other event, and before it is judged again who is a member. */
int trace_step_lifetimes(void *context, Reason *reason);
/* Turns off all events but the lifetimes, which must stay on longer: a task that ended without a
 * record while others are still written would leave its place to whoever gets its number. */
int trace_disable_others(const Trace *trace);
/* tracing_on and, where there is a guard, its hist. */
int trace_open_guard(Trace *trace);

/* Are the records judged one by one, by whose they are? */
bool trace_is_judged(const Trace *trace);
/* Are the kernel's saved command names for its streams? They go by number alone. */
bool trace_has_name_list(const Trace *trace);
/* An event of the grant by which it is known whose records are whose. */
bool trace_needs_event(const Trace *trace, const GrantEvent *event);
/* What cannot be asked of a fenced session. Event loop, before anything is made. */
int trace_check_fence(const Spec *spec, const Grant *grant, Reason *reason);
/* Plan steps: what was laid is read back, a part at a time (*next: 0 at first). KT_E_FAILED:
 * somebody has changed it; *ret_fired: the guard has gone off. */
int trace_verify(const Trace *trace, size_t *next, Reason *reason);
int trace_verify_latch(const Trace *trace, bool *ret_fired, Reason *reason);
