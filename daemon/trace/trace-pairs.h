/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* Probes made of two events: a trace's share of them, for trace.c. */

/* Memory that the kernel takes to remember events for the pairs of a grant, about: counts as
 * buffers do. Event loop. */
uint64_t trace_count_pairs_kb(ProbeSet *set, const Grant *grant);
/* Step of create, when the probes stand: an event for each. Gone with the instance. */
int trace_step_pairs_defined(void *context, Reason *reason);
/* Of one that is taken over: what create and the first start have made stands. */
int trace_step_pairs_adopted(void *context, Reason *reason);
/* Steps of arm, behind the pids' judgement and the filters: the triggers. */
int trace_step_pairs(void *context, Reason *reason);
void trace_undo_pairs(void *context);
/* Of stop: looks how many were dropped. */
int trace_step_dropped(void *context, Reason *reason);
uint64_t trace_get_n_dropped(const Trace *trace);
/* Before the instance goes, which they would keep; and after. */
void trace_lift_pairs(Trace *trace);
/* Before the instance goes: what hangs on the resulting events, too. */
void trace_end_pairs(Trace *trace);
void trace_undefine_pairs(Trace *trace);
void trace_clear_pairs(Trace *trace);

/* What the kernel calls a granted event: of a pair another name than everybody else. */
void trace_locate(const Trace *trace,
                const GrantEvent *event,
                const char **ret_system,
                const char **ret_name);
/* NULL: the event is no pair's. */
const TracePair *trace_find_pair(const Trace *trace, const char *system, const char *name);
/* Does a trigger of ours hang on this event? */
bool trace_has_trigger(const Trace *trace, const char *system, const char *name);
/* Are these the event's triggers, and no others? text: of its trigger file. */
bool trace_triggers_stand(const Trace *trace,
                const char *system,
                const char *name,
                const char *text);
