/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the state of a session's installed triggers from the kernel: the rest of their counts, the
 * open windows, and which lines of an event's trigger file are ours. A part of trace-triggers.h, on
 * the worker thread. It changes nothing in the kernel. */

#include "trace/trace-triggers-look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/spec-trigger.h"
#include "kernel/trigger-line.h"
#include "trace/trace-locate.h"

Trigger trace_get_trigger(const TraceTrigger *t) {
        return (Trigger){ .command = t->command,
                .count = t->count,
                .condition = t->condition,
                .listed = t->listed };
}

int trace_look_at_trigger(Trace *trace, TraceTrigger *t) {
        bool is_snapshot = trace->spec->triggers[t->origin].action == ACTION_SNAPSHOT;
        _cleanup_free_ char *text = NULL;
        Trigger trigger = trace_get_trigger(t);
        const char *system, *name;

        if (!t->is_laid || t->count == TRIGGER_WITHOUT_END)
                return 0;
        trace_locate_trigger(trace, t, &system, &name);
        int r = trigger_read(trace->instance, system, name, &text);
        if (r < 0)
                return r;
        TriggerState state = trigger_find(text, &trigger);
        if (!state.stands)
                return 0;
        if (is_snapshot && state.left < t->left)
                trace->has_caught = true;
        t->left = state.left;
        return 0;
}

int trace_look_for_caught(Trace *trace) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < trace->n_triggers; i++)
                if (trace->spec->triggers[trace->triggers[i].origin].action == ACTION_SNAPSHOT)
                        r = trace_look_at_trigger(trace, &trace->triggers[i]);
        return r;
}

static int look_at_window(const Trace *trace, const TraceTrigger *t, TraceWindows *ret) {
        const char *system, *name;

        if (t->target == GRANT_NO_TARGET || ret->has_window[t->target])
                return 0;
        trace_locate(trace, &trace->grant->events[t->target], &system, &name);
        ret->has_window[t->target] = true;
        return trigger_read_enabled(trace->instance, system, name, &ret->is_open[t->target]);
}

int trace_look_at_windows(Trace *trace, TraceWindows *ret) {
        int r = trace->instance ? 0 : -ENODEV;

        for (size_t i = 0; r == 0 && i < trace->n_triggers; i++) {
                TraceTrigger *t = &trace->triggers[i];

                ret->has_tracing = ret->has_tracing ||
                                   (spec_trigger_is_window(&trace->spec->triggers[t->origin]) &&
                                                   t->target == GRANT_NO_TARGET);
                r = look_at_window(trace, t, ret);
                r = r ?: trace_look_at_trigger(trace, t);
                ret->left[t->origin] = t->left;
        }
        return r || !ret->has_tracing ? r : instance_get_tracing(trace->instance, &ret->is_tracing);
}

int trace_find_hist(const Trace *trace,
                size_t origin,
                Trigger *ret,
                const char **ret_system,
                const char **ret_name,
                Reason *reason) {
        for (size_t i = 0; trace->instance && i < trace->n_triggers; i++) {
                const TraceTrigger *t = &trace->triggers[i];

                if (t->origin != origin || !t->is_laid)
                        continue;
                *ret = trace_get_trigger(t);
                trace_locate_trigger(trace, t, ret_system, ret_name);
                return 0;
        }
        return reason_set(reason,
                        KT_E_WRONG_STATE,
                        "the histogram does not exist before the session's first start");
}

int trace_list_twins(const Trace *trace, const char ***ret, size_t *ret_n) {
        const char **list = calloc(2 * trace->n_triggers + 1, sizeof(*list));
        size_t n = 0;

        if (!list)
                return -ENOMEM;
        for (size_t i = 0; i < trace->n_triggers; i++)
                if (trace->triggers[i].has_twin) {
                        trace_locate_trigger(
                                        trace, &trace->triggers[i], &list[2 * n], &list[2 * n + 1]);
                        n++;
                }
        *ret = list;
        *ret_n = n;
        return 0;
}

static bool trace_triggers_look_is_event(const Trace *trace,
                size_t i,
                const char *system,
                const char *name) {
        const char *its_system, *its_name;

        if (i == GRANT_NO_TARGET)
                return false;
        trace_locate(trace, &trace->grant->events[i], &its_system, &its_name);
        return strcmp(its_system, system) == 0 && strcmp(its_name, name) == 0;
}

bool trace_event_has_window(const Trace *trace, const char *system, const char *name) {
        for (size_t i = 0; i < trace->n_triggers; i++)
                if (trace->triggers[i].is_laid &&
                                trace_triggers_look_is_event(
                                                trace, trace->triggers[i].target, system, name))
                        return true;
        return false;
}

bool trace_event_has_triggers(const Trace *trace, const char *system, const char *name) {
        for (size_t i = 0; i < trace->n_triggers; i++)
                if ((trace->triggers[i].is_laid || trace->triggers[i].has_twin) &&
                                trace_triggers_look_is_event(
                                                trace, trace->triggers[i].event, system, name))
                        return true;
        return trace_event_has_window(trace, system, name);
}

size_t trace_count_triggers(const Trace *trace,
                const char *system,
                const char *name,
                const char *text,
                bool *ret_stand) {
        size_t n = 0;

        *ret_stand = true;
        for (size_t i = 0; i < trace->n_triggers; i++) {
                const TraceTrigger *t = &trace->triggers[i];
                Trigger trigger = trace_get_trigger(t);

                if (!t->is_laid || !trace_triggers_look_is_event(trace, t->event, system, name))
                        continue;
                n++;
                if (!trigger_find(text, &trigger).stands)
                        *ret_stand = false;
        }
        return n;
}
