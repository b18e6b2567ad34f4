/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A session's triggers in the kernel: a part of trace.h, on the worker thread.
 * trace-triggers-check.c checks them before they exist; trace-triggers-look.c reads the state of
 * the installed ones.
 *
 * A trigger ignores its event's filter and the guard. So the condition of each trigger contains the
 * requested filter, the rule's filter and the fence's context. Start and stop have two forms:
 *
 * - In a session that needs no fence, tracing_on is the window. The window is closed at first if
 *   one of the session's triggers is a start trigger.
 * - In a fenced session tracing_on is the latch: a trigger that sets it to 1 would continue a trace
 *   that the guard has ended. So start and stop enable and disable each recorded event there. The
 *   events that show which records belong to members stay enabled.
 *
 * Histograms continue to count after the guard has ended the trace, even if a privileged program
 * runs then. So each event with a histogram gets a twin on the guard's event, which pauses the
 * histograms at the same moment.
 *
 * The last step of each start installs the triggers, with the counts of the spec. The first step of
 * each stop removes them: while a trigger exists, it can enable a disabled event again. Histograms
 * stay, paused.
 *
 * To add an action: interfaces/spec-trigger.c, policy/grant-trigger.c, this file, and
 * trace-triggers-check.c for what is impossible; ktrace-session(5); tests/e2e/triggers.sh. */

#include "trace/trace-triggers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "interfaces/defence.h"
#include "interfaces/spec-trigger.h"
#include "kernel/cred-guard.h"
#include "trace/trace-counts.h"
#include "trace/trace-fence.h"
#include "trace/trace-locate.h"
#include "trace/trace-triggers-check.h"
#include "trace/trace-triggers-look.h"
#include "trace/trace.h"

/* True for each task that can be on the list: pid 0 belongs to the idle tasks. */
#define LISTED "common_pid != 0"
/* True for every task, including the idle tasks. */
#define ANY_TASK "common_pid >= 0"
/* For notify: only the number of hits matters. */
#define NOTIFY_LISTED "keys=common_pid:vals=hitcount:sort=hitcount:size=2048"
#define NOTIFY        "hist:" NOTIFY_LISTED

bool trace_windows_are_switches(const Trace *trace) {
        return trace->grant->fenced && defence_is_on("latch");
}

/* The kernel's commands */

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

/* The kernel calls a trigger without a condition before it writes the event's record, and before it
 * looks for the task in the pid list (trace_trigger_soft_disabled() in linux/trace_events.h). Such
 * a trigger would count hits of other tasks, and a snapshot would lack its own event. traceoff runs
 * after the record anyway (EVENT_CMD_FL_POST_TRIGGER). */
static int add_condition(const Trace *trace, TraceTrigger *t) {
        const char *condition = NULL;

        if (t->condition)
                return 0;
        if (trace->spec->scope != SCOPE_SYSTEM && defence_is_on("context"))
                condition = LISTED;
        else if (trace->spec->triggers[t->origin].action == ACTION_SNAPSHOT)
                condition = ANY_TASK;
        if (!condition)
                return 0;
        t->condition = strdup(condition);
        return t->condition ? 0 : -ENOMEM;
}

/* Takes ownership of *command. */
static int trace_triggers_add_trigger(Trace *trace,
                size_t i,
                size_t target,
                char **command,
                Reason *reason) {
        const GrantTrigger *granted = &trace->grant->triggers[i];
        TraceTrigger *t = &trace->triggers[trace->n_triggers];
        const char *system, *name;

        *t = (TraceTrigger){ .event = granted->event,
                .origin = i,
                .target = target,
                .count = trace->spec->triggers[i].count,
                .is_hist = spec_trigger_is_counter(&trace->spec->triggers[i]),
                .listed = granted->hist.listed
                                          ?: spec_trigger_is_counter(&trace->spec->triggers[i])
                                             ? NOTIFY_LISTED
                                             : NULL,
                .command = *command };
        *command = NULL;
        trace->n_triggers++;
        /* The daemon applies the count of a notify trigger: a histogram counts without limit. */
        if (t->is_hist)
                t->count = TRIGGER_WITHOUT_END;
        t->left = t->count;
        trace_locate_trigger(trace, t, &system, &name);
        int r = trace_check_trigger_known(
                        trace->instance, &trace->spec->triggers[i], system, name, reason);
        if (r == 0)
                r = trace_join_condition(trace,
                                &trace->grant->events[t->event],
                                granted->filter,
                                &t->condition);
        return r ?: add_condition(trace, t);
}

/* For a fenced session: adds one trigger for each event that start and stop switch. */
static int add_switches(Trace *trace, size_t i, Reason *reason) {
        bool on = trace->spec->triggers[i].action == ACTION_START;
        int r = 0;

        for (size_t k = 0; r == 0 && k < trace->grant->n_events; k++) {
                _cleanup_free_ char *command = NULL;

                if (trace_is_outside_windows(trace, &trace->grant->events[k]))
                        continue;
                r = make_switch(trace, on, k, &command);
                r = r ?: trace_triggers_add_trigger(trace, i, k, &command, reason);
        }
        return r;
}

static size_t count_kernel_triggers(const Trace *trace) {
        size_t n = 0;

        for (size_t i = 0; i < trace->spec->n_triggers; i++)
                n += spec_trigger_is_window(&trace->spec->triggers[i])
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

                if (spec_trigger_is_counter(&trace->spec->triggers[i]) && trace_counts(trace))
                        continue;
                if (spec_trigger_is_window(&trace->spec->triggers[i]) &&
                                trace_windows_are_switches(trace)) {
                        r = add_switches(trace, i, reason);
                        continue;
                }
                r = make_command(trace, i, &command);
                r = r
                                    ?: trace_triggers_add_trigger(trace,
                                                       i,
                                                       trace->grant->triggers[i].target,
                                                       &command,
                                                       reason);
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

/* Installing and removing */

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
                if (spec_trigger_is_window(&trace->spec->triggers[i]))
                        return instance_set_tracing(
                                        trace->instance, !trace_begins_closed(trace->spec));
        return 0;
}

static int install_twin(Trace *trace, TraceTrigger *t) {
        const char *system, *name;

        if (!t->is_hist || !trace->is_guarded || has_twin(trace, t->event))
                return 0;
        trace_locate_trigger(trace, t, &system, &name);
        int r = cred_guard_install_twin(
                        trace->instance, trace->owner->uid, trace->guard_gid, system, name);
        t->has_twin = r == 0;
        return r;
}

int trace_install_trigger(Trace *trace, TraceTrigger *t, Reason *reason) {
        const SpecTrigger *wanted = &trace->spec->triggers[t->origin];
        Trigger trigger = trace_get_trigger(t);
        const char *system, *name;
        Reason inner = {};

        trace_locate_trigger(trace, t, &system, &name);
        int r = install_twin(trace, t);
        if (r < 0 || t->is_laid)
                return r ?: trigger_pause(trace->instance, system, name, &trigger, false);
        r = trigger_install(trace->instance, system, name, &trigger, &inner);
        t->is_laid = r == 0;
        t->left = t->count;
        if (r <= 0)
                return r;
        /* The rule's filter is secret, so the kernel's message about it is not passed on. */
        return reason_set(reason,
                        r,
                        "%s: %s on %s: %s",
                        spec_trigger_place(wanted).text,
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
        int r = trace_install_trigger(trace, &trace->triggers[trace->next_trigger++], reason);
        return r ?: PLAN_AGAIN;
}

/* keep: pauses histograms instead of removing them. */
static int trace_triggers_lift(Trace *trace, TraceTrigger *t, bool keep) {
        Trigger trigger = trace_get_trigger(t);
        const char *system, *name;

        if (!t->is_laid)
                return 0;
        trace_locate_trigger(trace, t, &system, &name);
        if (t->is_hist && keep)
                return trigger_pause(trace->instance, system, name, &trigger, true);
        int r = trace_look_at_trigger(trace, t);
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
        int r = trace_triggers_lift(trace, &trace->triggers[trace->next_trigger++], true);
        return r ?: PLAN_AGAIN;
}

void trace_undo_triggers(void *context) {
        Trace *trace = context;

        trace->next_trigger = 0;
        for (size_t i = 0; i < trace->n_triggers; i++) {
                int r = trace_triggers_lift(trace, &trace->triggers[i], true);

                trace_report_undo(trace, r, "a trigger");
        }
}

int trace_lift_twins(Trace *trace) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < trace->n_triggers; i++) {
                TraceTrigger *t = &trace->triggers[i];
                const char *system, *name;

                if (!t->has_twin)
                        continue;
                trace_locate_trigger(trace, t, &system, &name);
                r = cred_guard_lift_twin(trace->instance, system, name);
                t->has_twin = r < 0;
        }
        return r;
}
