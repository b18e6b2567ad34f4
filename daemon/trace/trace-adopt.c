/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Takes over an instance that the previous daemon made: a part of trace.h. The event loop builds
 * the plan; the worker thread runs it.
 *
 * While no daemon ran, the kernel continued to record and the consumer continued to read. In a
 * judged trace the guard continued to watch. No daemon saw the changes that other programs made to
 * the fence in that time. So a watch is installed first, and then the whole fence is read back. If
 * the trace is not judged, its events are enabled again. This changes nothing if they are still
 * enabled. */

#include "trace/trace-adopt.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "kernel/buffer.h"
#include "kernel/instance.h"
#include "kernel/probe-group.h"
#include "trace/trace-borrow.h"
#include "trace/trace-change.h"
#include "trace/trace-condition.h"
#include "trace/trace-counts.h"
#include "trace/trace-fence.h"
#include "trace/trace-locate.h"
#include "trace/trace-pairs.h"
#include "trace/trace-triggers.h"
#include "trace/trace.h"

static int trace_adopt_step_open(void *context, Reason *reason) {
        Trace *trace = context;
        char name[sizeof(KT_INSTANCE_PREFIX) + KT_ID_DIGITS];

        snprintf(name, sizeof(name), KT_INSTANCE_PREFIX "%s", trace->id);
        int r = trace->borrow            ? trace_reopen_borrowed(trace, reason)
                : trace_is_shared(trace) ? trace_reopen_shared(trace)
                                         : instance_open(trace->tracefs, name, &trace->instance);
        if (r < 0) /* no instance: nothing to disable */
                trace->is_live = false;
        if (r == -ENOENT)
                return reason_set(reason,
                                KT_E_FAILED,
                                "another program removed the instance while ktraced was not "
                                "running");
        trace->next = 0;
        trace->arm.instance = trace->instance;
        return r ?: instance_get_subbuf_size(trace->instance, &trace->subbuf_size);
}

static int trace_adopt_find_lost(const Trace *trace, char **lists, const Probe **ret) {
        int r = 0;

        for (size_t i = 0; r == 0 && !*ret && i < trace->n_probes; i++) {
                const Probe *probe = trace->probes[i];
                _cleanup_free_ char *line = NULL;
                char **list = &lists[probe->kind];

                if (probe_is_pair(probe))
                        continue;
                if (!*list)
                        r = probe_read_list(trace->tracefs, probe->kind, list);
                r = r ?: probe_list_find(*list, probe->group, probe->definition->name, &line);
                if (r == 0 && !line)
                        *ret = probe;
        }
        return r;
}

/* A removed probe cannot be defined again: the new event would have another id than the records in
 * the rings and the metadata of the stream. */
static int step_probes_stand(void *context, Reason *reason) {
        const Trace *trace = context;
        char *lists[_PROBE_KIND_N] = {};
        const Probe *lost = NULL;

        int r = trace->is_armed ? trace_adopt_find_lost(trace, lists, &lost) : 0;
        for (size_t i = 0; i < ELEMENTSOF(lists); i++)
                free(lists[i]);
        if (r != 0 || !lost)
                return r;
        return reason_set(reason,
                        KT_E_FAILED,
                        "another program removed probe %s from the kernel while ktraced was not "
                        "running",
                        lost->definition->name);
}

/* The previous daemon may have ended while a call changed the buffer's size, and that call got no
 * answer. So the buffer gets the size that the session states. If the size is already right it is
 * not set, because the kernel stops recording during the change. */
static int trace_adopt_step_size(void *context, Reason *reason _unused_) {
        Trace *trace = context;
        uint64_t wanted = trace->size_kb;

        trace_read_size(trace);
        if (trace->borrow || trace_is_shared(trace) || wanted == 0 || trace->size_kb == wanted ||
                        (trace_is_judged(trace) && trace->is_armed))
                return 0;
        log_write(LOG_NOTICE,
                        &(LogContext){ trace->id, NULL, trace->owner->uid },
                        "the buffer has %" PRIu64 " kB on each CPU, and gets %" PRIu64 " again, "
                        "as before ktraced ended",
                        trace->size_kb,
                        wanted);
        return trace_set_size(trace, trace->spec->buffer_kb);
}

/* The previous daemon may have done some of these steps. Each step may be repeated. */
static int step_stopping(void *context, Reason *reason) {
        const Trace *trace = context;

        if (!trace->is_stopping)
                return 0;
        int r = trace_step_triggers_lifted(context, reason);
        r = r ?: trace_step_disable(context, reason);
        return r ?: trace_step_dropped(context, reason);
}

/* The watch is already installed, so a write during the reading is not missed. The watch and the
 * fence stay for the rest of the session. */
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

static int trace_adopt_step_events(void *context, Reason *reason _unused_) {
        Trace *trace = context;
        const Grant *grant = trace->grant;
        const char *system, *name;

        /* An event that a trigger has disabled must stay disabled. */
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
        if (r == 0 && trace_is_shared(trace))
                trace_adopt_shared_on(trace, i);
        return r ?: PLAN_AGAIN;
}

static const PlanStep adopt_steps[] = {
        { "open", trace_adopt_step_open, NULL },
        { "statistics", trace_step_statistics, NULL },
        { "lifetimes-known", trace_step_lifetimes_known, NULL },
        { "size", trace_adopt_step_size, NULL },
        { "probes-stand", step_probes_stand, NULL },
        { "probes", trace_step_probes, NULL },
        { "pairs", trace_step_pairs_adopted, NULL },
        { "triggers", trace_step_triggers_adopted, NULL },
        { "marker", trace_step_marker, NULL },
        { "metadata", trace_step_metadata, NULL },
        { "counts", trace_step_counts, NULL },
        { "conditions", trace_step_conditions, NULL },
        { "switched-back", trace_step_switched_back, NULL },
        { "stopping", step_stopping, NULL },
        { "watch", trace_step_watch, NULL },
        { "verify", step_verify, NULL },
        { "events", trace_adopt_step_events, NULL },
};

void trace_plan_adopt(Trace *trace, Plan *plan) {
        trace_plan(trace, plan, adopt_steps, ELEMENTSOF(adopt_steps), true);
}

/* The previous daemon may have ended while it changed an event or its filter. So the counts and the
 * filters follow from what the traces want, and trace_reopen_shared() makes the kernel agree. */
static int trace_adopt_shared_event(const Trace *trace, Shared *shared, size_t i) {
        const GrantEvent *event = &trace->grant->events[i];
        _cleanup_free_ char *filter = NULL;

        int r = trace_join_filter(trace, event, &filter);
        return r ?: shared_adopt_event(shared, event->system, event->name, trace->viewer, filter);
}

int trace_adopt_shared(Trace *trace, Shared *shared) {
        size_t n = trace->grant->n_events;
        int r = 0;

        trace->is_wanted = calloc(n + 1, sizeof(bool));
        if (!trace->is_wanted)
                return -ENOMEM;
        shared->is_adopted = true;
        for (size_t i = 0; r == 0 && trace->is_live && i < n; i++) {
                if (trace->is_off && trace->is_off[i])
                        continue;
                r = trace_adopt_shared_event(trace, shared, i);
                trace->is_wanted[i] = r == 0;
        }
        shared->n_inside += r == 0;
        trace->is_inside = r == 0;
        return r;
}
