/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Decides which traces show the pids of a container, and reads them at the start and at the end: a
 * part of trace.h.
 *
 * A stream has only what was read from /proc at a time. Its reader (client/trace/inner-search.c)
 * derives the rest from records: how long a task had its number, and the numbers of its children.
 * So the stream must have all records of the events below. A trace that lacks one of them, filters
 * it, or could interrupt it, shows no pids of a container, and its stream has no key "inner-pids".
 * After a stop or a change of its events, a session shows none either (session_end_inner_pids). The
 * next stream of a session lacks records that the one before it had, so it shows none. A flight
 * recorder shows none, because it loses old records. */

#include "trace/trace-inner-pids.h"

#include <string.h>

#include "trace/metadata.h"

static const char *const needed[][2] = {
        { "task", "task_newtask" },
        { "sched", "sched_process_exit" },
        { "syscalls", "sys_exit_clone" },
        { "syscalls", "sys_enter_setns" },
        { "syscalls", "sys_enter_unshare" },
};

static bool records_all(const Trace *trace, const char *system, const char *name) {
        for (size_t i = 0; i < trace->grant->n_events; i++) {
                const GrantEvent *event = &trace->grant->events[i];

                if (strcmp(event->name, name) == 0 && strcmp(event->system, system) == 0)
                        return !event->is_unrecorded && !event->is_off && !event->filter &&
                               !event->policy_filter;
        }
        return false;
}

bool trace_may_show_inner_pids(const Trace *trace) {
        const Spec *spec = trace->spec;
        clockid_t clock;

        if (trace->shared || spec->mode != MODE_STREAM || spec->where || spec->cpus ||
                        spec->instance || spec->n_triggers > 0 || spec->spool.is_on ||
                        (spec->scope != SCOPE_CGROUP && !trace->owner->container) ||
                        !metadata_get_clock(spec->clock, &clock))
                return false;
        for (size_t i = 0; i < ELEMENTSOF(needed); i++)
                if (!records_all(trace, needed[i][0], needed[i][1]))
                        return false;
        return true;
}

bool trace_shows_inner_pids(const Trace *trace) {
        return !trace->inner_is_over && trace_may_show_inner_pids(trace);
}

/* The events are on: so the record of each later exit and birth is in the trace. */
int trace_step_inner_pids(void *context, Reason *reason _unused_) {
        Trace *trace = context;
        clockid_t clock;

        if (!trace_shows_inner_pids(trace) || !metadata_get_clock(trace->spec->clock, &clock))
                return 0;
        return inner_pids_read(&trace->inner, &trace->arm, clock);
}

/* The records of a task may begin or end with a loss. So what is known from the start may cover
 * only its first records, and this covers its last ones. */
int trace_step_inner_pids_again(void *context, Reason *reason) {
        Trace *trace = context;

        if (!trace->is_live || !trace_shows_inner_pids(trace))
                return 0;
        if (!trace->inner.tids) /* a new reading */
                inner_pids_clear(&trace->inner);
        int r = trace_step_inner_pids(trace, reason);
        return r == PLAN_AGAIN ? r : 0; /* the stop goes on in any case */
}
