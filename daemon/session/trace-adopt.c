/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An instance that a daemon before this one has made, taken over: a part of trace.h. A plan that
 * the event loop builds and the worker thread runs.
 *
 * While nobody was there the kernel went on recording, the consumer reading, and in a judged trace
 * the guard watching. What foreign hands did to the fence meanwhile nobody was told of: so all of
 * it is read back, and a watch is laid before that. Of a trace that is not judged the events are
 * turned on again, which costs nothing where they are. */

#include <errno.h>
#include <string.h>

#include "instance.h"
#include "trace-borrow.h"
#include "trace-fence.h"
#include "trace-pairs.h"
#include "trace-parts.h"
#include "trace-triggers.h"

static int step_open(void *context, Reason *reason) {
        Trace *trace = context;
        char name[sizeof(KT_INSTANCE_PREFIX) + KT_ID_DIGITS];

        snprintf(name, sizeof(name), KT_INSTANCE_PREFIX "%s", trace->id);
        int r = trace->borrow ? trace_reopen_borrowed(trace, reason)
                              : instance_open(trace->tracefs, name, &trace->instance);
        if (r < 0) /* nothing is there that could be turned off */
                trace->is_live = false;
        if (r == -ENOENT)
                return reason_set(reason,
                                KT_E_FAILED,
                                "somebody has removed the instance while ktraced was away");
        trace->next = 0;
        trace->arm.instance = trace->instance;
        return r ?: instance_get_subbuf_size(trace->instance, &trace->subbuf_size);
}

/* Both are laid for good: the watch first, so that no write between it and the reading is missed.
 */
static int step_verify(void *context, Reason *reason) {
        Trace *trace = context;
        bool has_fired;

        if (!trace_is_judged(trace) || !trace->is_armed)
                return 0;
        int r = trace->next == 0 ? trace_verify_latch(trace, &has_fired, reason) : 0;
        r = r ?: trace_verify(trace, &trace->next, reason);
        if (r != PLAN_AGAIN)
                trace->next = 0;
        return r;
}

static int step_events(void *context, Reason *reason _unused_) {
        Trace *trace = context;
        const Grant *grant = trace->grant;
        const char *system, *name;

        /* What a trigger has turned off shall stay off. */
        if (trace_is_judged(trace) || !trace->is_live || trace->n_triggers > 0 ||
                        trace->next == grant->n_events) {
                trace->next = 0;
                return 0;
        }
        size_t i = trace->next++;
        if (trace->is_off && trace->is_off[i])
                return PLAN_AGAIN;
        trace_locate(trace, &grant->events[i], &system, &name);
        int r = trace->borrow ? trace_borrow_event(trace, i)
                              : instance_enable_event(trace->instance, system, name, true);
        return r ?: PLAN_AGAIN;
}

static const PlanStep adopt_steps[] = {
        { "open", step_open, NULL },
        { "statistics", trace_step_statistics, NULL },
        { "lifetimes-known", trace_step_lifetimes_known, NULL },
        { "probes", trace_step_probes, NULL },
        { "pairs", trace_step_pairs_adopted, NULL },
        { "triggers", trace_step_triggers_adopted, NULL },
        { "marker", trace_step_marker, NULL },
        { "metadata", trace_step_metadata, NULL },
        { "watch", trace_step_watch, NULL },
        { "verify", step_verify, NULL },
        { "events", step_events, NULL },
};

void trace_plan_adopt(Trace *trace, Plan *plan) {
        trace_plan(trace, plan, adopt_steps, ELEMENTSOF(adopt_steps), true);
}
