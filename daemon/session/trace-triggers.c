/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A session's triggers as the kernel holds them: a part of trace.h. Runs on the worker thread but
 * for trace_check_triggers and the counting of memory.
 *
 * A trigger knows neither its event's filter nor the guard, so each carries the caller's filter,
 * the rule's and the fence's context as its own condition. What start and stop are differs:
 *
 * - a session that needs no fence has tracing_on for a window; it begins closed when one of its
 *   triggers says start.
 * - where records are judged tracing_on is the latch: a trigger that set it to 1 would let a trace
 *   go on that the guard has ended. There start and stop turn each recorded event on and off, and
 * the events by which the session knows whose records are whose stay on.
 *
 * Histograms count on when the guard has ended the trace, also what a privileged program does; so
 * each event that has one gets a twin on the guard's event, which pauses them at the same moment.
 *
 * They are laid last at each start, with their counts as in the spec, and lifted first at each
 * stop: an event that was turned off while a trigger stands is turned on by it again. Histograms
 * stay, in pause. */

#include "trace-triggers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cred-guard.h"
#include "defence.h"
#include "log.h"
#include "spec-trigger.h"
#include "trace-fence.h"
#include "trace-pairs.h"
#include "trigger.h"

/* Each is evaluated at each hit of its event. */
#define WINDOW_EVENTS_MAX   32
#define KERNEL_TRIGGERS_MAX 256
/* Of each task that may be in the list: 0 is the idle tasks'. */
#define LISTED "common_pid != 0"
/* Of notify: what counts is that it counts. */
#define NOTIFY_LISTED "keys=common_pid:vals=hitcount:sort=hitcount:size=2048"
#define NOTIFY        "hist:" NOTIFY_LISTED
#define NOTIFY_BYTES  ((uint64_t)2048 * 320) /* about; of its rows, see hist_count_bytes() */

bool trace_windows_are_switches(const Trace *trace) {
        return trace->grant->fenced && defence_is_on("latch");
}

static bool is_hist(const SpecTrigger *trigger) {
        return trigger->action == ACTION_HIST || trigger->action == ACTION_NOTIFY;
}

static bool is_window(const SpecTrigger *trigger) {
        return trigger->action == ACTION_START || trigger->action == ACTION_STOP;
}

bool trace_begins_closed(const Spec *spec) {
        for (size_t i = 0; i < spec->n_triggers; i++)
                if (spec->triggers[i].action == ACTION_START)
                        return true;
        return false;
}

uint64_t trace_count_hists_kb(const Spec *spec, const Grant *grant) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < grant->n_triggers; i++)
                if (grant->triggers[i].hist.command)
                        bytes += hist_count_bytes(&grant->triggers[i].hist);
                else if (is_hist(&spec->triggers[i]))
                        bytes += NOTIFY_BYTES;
        return bytes / 1024;
}

/* What is said before anything is made */

/* Stays on, whatever a window says. */
static bool is_bound(const Trace *trace, const GrantEvent *event) {
        return event->is_unrecorded || trace_needs_event(trace, event);
}

static size_t count_window_events(const Trace *trace) {
        size_t n = 0;

        for (size_t i = 0; i < trace->grant->n_events; i++)
                n += !is_bound(trace, &trace->grant->events[i]);
        return n;
}

static int check_target(const Trace *trace, size_t i, Reason *reason) {
        const GrantTrigger *granted = &trace->grant->triggers[i];

        if (granted->target == GRANT_NO_TARGET ||
                        !trace_needs_event(trace, &trace->grant->events[granted->target]))
                return 0;
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "triggers[%zu].event: %s stays on: by it the session knows whose the other "
                        "records are",
                        i,
                        trace->spec->triggers[i].target);
}

static int check_window(const Trace *trace, size_t i, Reason *reason) {
        size_t n = count_window_events(trace);

        if (!is_window(&trace->spec->triggers[i]) || !trace->grant->fenced)
                return 0;
        if (n == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "triggers[%zu].do: %s: the session records no event that it could "
                                "turn on or off",
                                i,
                                spec_action_to_string(trace->spec->triggers[i].action));
        if (n <= WINDOW_EVENTS_MAX)
                return 0;
        return reason_set(reason,
                        KT_E_LIMIT_REACHED,
                        "triggers[%zu].do: %s: turns each of the session's %zu events on or off, "
                        "%d at most in a session of your own processes: name fewer events",
                        i,
                        spec_action_to_string(trace->spec->triggers[i].action),
                        n,
                        WINDOW_EVENTS_MAX);
}

int trace_check_triggers(const Spec *spec, const Grant *grant, Reason *reason) {
        const Trace trace = { .spec = spec, .grant = grant };
        size_t n = 0;
        int r = 0;

        for (size_t i = 0; r == 0 && i < spec->n_triggers; i++) {
                r = check_target(&trace, i, reason);
                r = r ?: check_window(&trace, i, reason);
                n += grant->fenced && is_window(&spec->triggers[i]) ? count_window_events(&trace)
                                                                    : 1;
        }
        if (r == 0 && n > KERNEL_TRIGGERS_MAX)
                r = reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "triggers: they are %zu of the kernel's, %d at most: start and stop "
                                "count as many times as the session has events",
                                n,
                                KERNEL_TRIGGERS_MAX);
        return r;
}

/* What each is in the kernel */

static Trigger get_trigger(const TraceTrigger *t) {
        return (Trigger){ .command = t->command,
                .count = t->count,
                .condition = t->condition,
                .listed = t->listed };
}

static void locate(const Trace *trace,
                const TraceTrigger *t,
                const char **ret_system,
                const char **ret_name) {
        trace_locate(trace, &trace->grant->events[t->event], ret_system, ret_name);
}

static int make_switch(const Trace *trace, bool on, size_t target, char **ret) {
        const char *system, *name;

        trace_locate(trace, &trace->grant->events[target], &system, &name);
        if (asprintf(ret, "%s_event:%s:%s", on ? "enable" : "disable", system, name) < 0) {
                *ret = NULL;
                return -ENOMEM;
        }
        return 0;
}

static int make_command(const Trace *trace, size_t i, char **ret) {
        static const char *const plain[_ACTION_N] = {
                [ACTION_START] = "traceon",
                [ACTION_STOP] = "traceoff",
                [ACTION_SNAPSHOT] = "snapshot",
                [ACTION_STACKTRACE] = "stacktrace",
                [ACTION_NOTIFY] = NOTIFY,
        };

        const GrantTrigger *granted = &trace->grant->triggers[i];
        SpecAction action = trace->spec->triggers[i].action;

        if (granted->target != GRANT_NO_TARGET)
                return make_switch(trace, action == ACTION_ENABLE, granted->target, ret);
        if (asprintf(ret,
                            "%s%s",
                            action == ACTION_HIST ? "hist:" : plain[action],
                            action == ACTION_HIST ? granted->hist.command : "") < 0) {
                *ret = NULL;
                return -ENOMEM;
        }
        return 0;
}

static int refuse_unknown(const Trace *trace, size_t i, Reason *reason) {
        const SpecTrigger *wanted = &trace->spec->triggers[i];
        const char *why = is_hist(wanted) ? "this kernel has no histograms (CONFIG_HIST_TRIGGERS)"
                          : wanted->action == ACTION_SNAPSHOT
                                          ? "this kernel has no snapshot buffers "
                                            "(CONFIG_TRACER_SNAPSHOT): 'ktracectl snapshot' takes "
                                            "what the ring holds"
                                          : "the event takes no triggers";

        return reason_set(reason,
                        KT_E_KERNEL_REFUSED,
                        "triggers[%zu].do: %s on %s: %s",
                        i,
                        spec_action_to_string(wanted->action),
                        wanted->event,
                        why);
}

/* One without any condition the kernel calls before it looks for the task in the pid list: it would
 * count hits of everybody's. */
static int add_listed(const Trace *trace, TraceTrigger *t) {
        if (t->condition || trace->spec->scope == SCOPE_SYSTEM || !defence_is_on("context"))
                return 0;
        t->condition = strdup(LISTED);
        return t->condition ? 0 : -ENOMEM;
}

/* Takes *command. */
static int add_trigger(Trace *trace, size_t i, size_t target, char **command, Reason *reason) {
        const GrantTrigger *granted = &trace->grant->triggers[i];
        TraceTrigger *t = &trace->triggers[trace->n_triggers];
        const char *system, *name;

        *t = (TraceTrigger){ .event = granted->event,
                .origin = i,
                .target = target,
                .count = trace->spec->triggers[i].count,
                .is_hist = is_hist(&trace->spec->triggers[i]),
                .listed = granted->hist.listed
                                          ?: is_hist(&trace->spec->triggers[i]) ? NOTIFY_LISTED
                                                                                : NULL,
                .command = *command };
        *command = NULL;
        trace->n_triggers++;
        /* Which is told how often is the daemon's to count: a hist counts without end. */
        if (t->is_hist)
                t->count = TRIGGER_WITHOUT_END;
        t->left = t->count;
        locate(trace, t, &system, &name);
        if (!trigger_is_known(trace->instance, system, name, t->command))
                return refuse_unknown(trace, i, reason);
        int r = trace_join_condition(
                        trace, &trace->grant->events[t->event], granted->filter, &t->condition);
        return r ?: add_listed(trace, t);
}

/* Of a fenced session: as many as events go on or off. */
static int add_switches(Trace *trace, size_t i, Reason *reason) {
        bool on = trace->spec->triggers[i].action == ACTION_START;
        int r = 0;

        for (size_t k = 0; r == 0 && k < trace->grant->n_events; k++) {
                _cleanup_free_ char *command = NULL;

                if (is_bound(trace, &trace->grant->events[k]))
                        continue;
                r = make_switch(trace, on, k, &command);
                r = r ?: add_trigger(trace, i, k, &command, reason);
        }
        return r;
}

static size_t count_kernel_triggers(const Trace *trace) {
        size_t n = 0;

        for (size_t i = 0; i < trace->spec->n_triggers; i++)
                n += is_window(&trace->spec->triggers[i])
                                     ? MAX_OF(trace->grant->n_events, (size_t)1)
                                     : 1;
        return n;
}

int trace_step_triggers_made(void *context, Reason *reason) {
        Trace *trace = context;
        int r = 0;

        trace_clear_triggers(trace);
        trace->triggers = calloc(count_kernel_triggers(trace) + 1, sizeof(TraceTrigger));
        if (!trace->triggers)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < trace->spec->n_triggers; i++) {
                _cleanup_free_ char *command = NULL;

                if (is_window(&trace->spec->triggers[i]) && trace_windows_are_switches(trace)) {
                        r = add_switches(trace, i, reason);
                        continue;
                }
                r = make_command(trace, i, &command);
                r = r ?: add_trigger(trace, i, trace->grant->triggers[i].target, &command, reason);
        }
        return r;
}

void trace_clear_triggers(Trace *trace) {
        for (size_t i = 0; i < trace->n_triggers; i++) {
                free(trace->triggers[i].command);
                free(trace->triggers[i].condition);
        }
        free(trace->triggers);
        trace->triggers = NULL;
        trace->n_triggers = 0;
}

/* Laying and lifting */

static bool has_twin(const Trace *trace, size_t event) {
        for (size_t i = 0; i < trace->n_triggers; i++)
                if (trace->triggers[i].event == event && trace->triggers[i].has_twin)
                        return true;
        return false;
}

int trace_step_triggers_adopted(void *context, Reason *reason) {
        Trace *trace = context;

        int r = trace_step_triggers_made(trace, reason);
        for (size_t i = 0; r == 0 && trace->is_armed && i < trace->n_triggers; i++) {
                TraceTrigger *t = &trace->triggers[i];

                t->is_laid = trace->is_live || t->is_hist;
                t->has_twin = t->is_hist && trace->is_guarded && !has_twin(trace, t->event);
        }
        return r;
}

int trace_step_window(void *context, Reason *reason _unused_) {
        Trace *trace = context;

        for (size_t i = 0; !trace_windows_are_switches(trace) && i < trace->spec->n_triggers; i++)
                if (is_window(&trace->spec->triggers[i]))
                        return instance_set_tracing(
                                        trace->instance, !trace_begins_closed(trace->spec));
        return 0;
}

static int lay_twin(Trace *trace, TraceTrigger *t) {
        const char *system, *name;

        if (!t->is_hist || !trace->is_guarded || has_twin(trace, t->event))
                return 0;
        locate(trace, t, &system, &name);
        int r = cred_guard_lay_twin(
                        trace->instance, trace->owner->uid, trace->guard_gid, system, name);
        t->has_twin = r == 0;
        return r;
}

static int lay(Trace *trace, TraceTrigger *t, Reason *reason) {
        const SpecTrigger *wanted = &trace->spec->triggers[t->origin];
        Trigger trigger = get_trigger(t);
        const char *system, *name;
        Reason inner = {};

        locate(trace, t, &system, &name);
        int r = lay_twin(trace, t);
        if (r < 0 || t->is_laid)
                return r ?: trigger_pause(trace->instance, system, name, &trigger, false);
        r = trigger_lay(trace->instance, system, name, &trigger, &inner);
        t->is_laid = r == 0;
        t->left = t->count;
        if (r <= 0)
                return r;
        /* Nobody is told what the rule's filter says. */
        return reason_set(reason,
                        r,
                        "triggers[%zu]: %s on %s: %s",
                        t->origin,
                        spec_action_to_string(wanted->action),
                        wanted->event,
                        trace->grant->events[t->event].policy_filter ? "the kernel refuses it"
                                                                     : inner.text);
}

int trace_step_triggers(void *context, Reason *reason) {
        Trace *trace = context;

        if (trace->next_trigger == trace->n_triggers) {
                trace->next_trigger = 0;
                return 0;
        }
        int r = lay(trace, &trace->triggers[trace->next_trigger++], reason);
        return r ?: PLAN_AGAIN;
}

/* How often it may still happen is told after the stop too. */
static int look_at(Trace *trace, TraceTrigger *t) {
        bool is_snapshot = trace->spec->triggers[t->origin].action == ACTION_SNAPSHOT;
        _cleanup_free_ char *text = NULL;
        Trigger trigger = get_trigger(t);
        const char *system, *name;

        if (!t->is_laid || t->count == TRIGGER_WITHOUT_END)
                return 0;
        locate(trace, t, &system, &name);
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
                        r = look_at(trace, &trace->triggers[i]);
        return r;
}

/* keep: histograms are paused. */
static int lift(Trace *trace, TraceTrigger *t, bool keep) {
        Trigger trigger = get_trigger(t);
        const char *system, *name;

        if (!t->is_laid)
                return 0;
        locate(trace, t, &system, &name);
        if (t->is_hist && keep)
                return trigger_pause(trace->instance, system, name, &trigger, true);
        int r = look_at(trace, t);
        r = r ?: trigger_lift(trace->instance, system, name, &trigger);
        t->is_laid = r < 0;
        return r;
}

int trace_step_triggers_lifted(void *context, Reason *reason _unused_) {
        Trace *trace = context;

        if (!trace->instance || trace->next_trigger == trace->n_triggers) {
                trace->next_trigger = 0;
                return 0;
        }
        int r = lift(trace, &trace->triggers[trace->next_trigger++], true);
        return r ?: PLAN_AGAIN;
}

void trace_undo_triggers(void *context) {
        Trace *trace = context;

        trace->next_trigger = 0;
        for (size_t i = 0; i < trace->n_triggers; i++) {
                int r = lift(trace, &trace->triggers[i], true);

                if (r < 0)
                        log_errno(r,
                                        LOG_ERR,
                                        &(LogContext){ trace->id,
                                                        trace->instance->name,
                                                        trace->owner->uid },
                                        "cannot undo a trigger");
        }
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

                ret->has_tracing =
                                ret->has_tracing || (is_window(&trace->spec->triggers[t->origin]) &&
                                                                    t->target == GRANT_NO_TARGET);
                r = look_at_window(trace, t, ret);
                r = r ?: look_at(trace, t);
                ret->left[t->origin] = t->left;
        }
        return r || !ret->has_tracing ? r : instance_get_tracing(trace->instance, &ret->is_tracing);
}

int trace_lift_twins(Trace *trace) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < trace->n_triggers; i++) {
                TraceTrigger *t = &trace->triggers[i];
                const char *system, *name;

                if (!t->has_twin)
                        continue;
                locate(trace, t, &system, &name);
                r = cred_guard_lift_twin(trace->instance, system, name);
                t->has_twin = r < 0;
        }
        return r;
}

/* Reading back */

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
                *ret = get_trigger(t);
                locate(trace, t, ret_system, ret_name);
                return 0;
        }
        return reason_set(reason,
                        KT_E_WRONG_STATE,
                        "the histogram is not there before the session's first start");
}

int trace_list_twins(const Trace *trace, const char ***ret, size_t *ret_n) {
        const char **list = calloc(2 * trace->n_triggers + 1, sizeof(*list));
        size_t n = 0;

        if (!list)
                return -ENOMEM;
        for (size_t i = 0; i < trace->n_triggers; i++)
                if (trace->triggers[i].has_twin) {
                        locate(trace, &trace->triggers[i], &list[2 * n], &list[2 * n + 1]);
                        n++;
                }
        *ret = list;
        *ret_n = n;
        return 0;
}

static bool is_event(const Trace *trace, size_t i, const char *system, const char *name) {
        const char *its_system, *its_name;

        if (i == GRANT_NO_TARGET)
                return false;
        trace_locate(trace, &trace->grant->events[i], &its_system, &its_name);
        return strcmp(its_system, system) == 0 && strcmp(its_name, name) == 0;
}

bool trace_event_has_window(const Trace *trace, const char *system, const char *name) {
        for (size_t i = 0; i < trace->n_triggers; i++)
                if (trace->triggers[i].is_laid &&
                                is_event(trace, trace->triggers[i].target, system, name))
                        return true;
        return false;
}

bool trace_event_has_triggers(const Trace *trace, const char *system, const char *name) {
        for (size_t i = 0; i < trace->n_triggers; i++)
                if ((trace->triggers[i].is_laid || trace->triggers[i].has_twin) &&
                                is_event(trace, trace->triggers[i].event, system, name))
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
                Trigger trigger = get_trigger(t);

                if (!t->is_laid || !is_event(trace, t->event, system, name))
                        continue;
                n++;
                if (!trigger_find(text, &trigger).stands)
                        *ret_stand = false;
        }
        return n;
}
