/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* The steps for probes that are made of two events, for trace.c. */

/* Returns the approximate kernel memory for the pairs of a grant. It counts like buffer memory.
 * Event loop. */
uint64_t trace_count_pairs_kb(ProbeSet *set, const Grant *grant);
/* Step of create, after the probes are defined: defines an event for each pair. The events are
 * removed with the instance. */
int trace_step_pairs_defined(void *context, Reason *reason);
/* For a trace that is taken over: the results of create and of the first start exist already. */
int trace_step_pairs_adopted(void *context, Reason *reason);
/* Steps of arm, after the pids are judged and the filters are set: install the triggers. */
int trace_step_pairs(void *context, Reason *reason);
void trace_undo_pairs(void *context);
/* Step of stop: reads how many events were dropped. */
int trace_step_dropped(void *context, Reason *reason);
uint64_t trace_get_n_dropped(const Trace *trace);
/* Call it before the instance is removed, because the triggers would keep it. */
void trace_lift_pairs(Trace *trace);
/* Call it before the instance is removed: also removes the triggers on the resulting events. */
void trace_end_pairs(Trace *trace);
void trace_undefine_pairs(Trace *trace);
void trace_clear_pairs(Trace *trace);

/* True if a trigger of a pair is on this event. */
bool trace_has_trigger(const Trace *trace, const char *system, const char *name);
/* True if the event has exactly its expected triggers. text: content of its trigger file. */
bool trace_triggers_stand(const Trace *trace,
                const char *system,
                const char *name,
                const char *text);
