/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The plans that change the kernel for a session. The session's event loop builds them; the worker
 * thread runs them. A Trace owns the instance, its statistics fds, and the fds that are on their
 * way to a consumer.
 *
 * The order of the steps is the fence. In a fenced session `tracing_on` is 1 from mkdir on, and no
 * step writes it. Nothing is recorded while every event is disabled, and when the guard later sets
 * `tracing_on` to 0, no step can undo that. The steps are:
 *
 * - The sentinel pid is written first, because an empty list means "trace all processes".
 * - event-fork is set, so that children are traced too.
 * - The pids are written and the guard is installed. Then all tasks on the list are judged (arm.c).
 * - Each filter is set while its event is disabled. If the kernel rejected the filter of an enabled
 *   event, the event would record without a filter.
 * - The lifetimes are enabled, and the listed tasks are judged again. A task that ended before has
 *   no exit record, and its pid may belong to another user's task while the kernel's list still
 *   contains it.
 * - Between this plan and the next, the consumer gets the list of members. The other events are
 *   enabled last.
 *
 * Stop disables the events, the lifetimes last. Undoing a start truncates the pid list to the
 * sentinel. The list is empty for an instant, which is harmless while events are disabled. The
 * steps that only a fenced session has are in trace-fence.c. */

#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "interfaces/defence.h"
#include "kernel/buffer.h"
#include "kernel/cred-guard.h"
#include "kernel/filter.h"
#include "probes/probe-batch.h"
#include "scope/arm-check.h"
#include "scope/scope.h"
#include "trace/metadata.h"
#include "trace/shared.h"
#include "trace/trace-borrow.h"
#include "trace/trace-change.h"
#include "trace/trace-condition.h"
#include "trace/trace-counts.h"
#include "trace/trace-fence.h"
#include "trace/trace-inner-pids.h"
#include "trace/trace-kernel.h"
#include "trace/trace-layout.h"
#include "trace/trace-locate.h"
#include "trace/trace-names.h"
#include "trace/trace-pairs.h"
#include "trace/trace-rings.h"
#include "trace/trace-size.h"
#include "trace/trace-triggers.h"

void trace_init(Trace *trace) {
        *trace = (Trace){ .pipe_fd = -1,
                .metadata_fd = -1,
                .counts_fd = -1,
                .conditions_fd = -1,
                .marker_fd = -1,
                .names_fd = -1,
                .taken_names_fd = -1,
                .window_fd = -1,
                .partial_fd = -1,
                .guard_fds = { -1, -1 } };
}

static void trace_forget_instance(Trace *trace) {
        fd_close_all(&trace->stats_fds, trace->n_cpus);
        close_cleanup(&trace->pipe_fd);
        trace_close_rings(trace);
        close_cleanup(&trace->marker_fd);
        trace->watch = watch_free(trace->watch);
        trace->instance = instance_free(trace->instance);
        trace->prepared = instance_free(trace->prepared);
}

void trace_clear(Trace *trace) {
        trace_forget_instance(trace);
        trace_clear_pairs(trace);
        trace_clear_triggers(trace);
        trace_clear_names(trace);
        inner_pids_clear(&trace->inner);
        arm_clear(&trace->arm);
        unit_place_clear(&trace->unit);
        free(trace->pids);
        free(trace->is_off);
        free(trace->is_wanted);
        trace->is_off = trace->is_wanted = NULL;
        free(trace->layouts);
        trace->layouts = NULL;
        trace_forget_switch(trace);
        close_cleanup(&trace->metadata_fd);
        close_cleanup(&trace->counts_fd);
        close_cleanup(&trace->conditions_fd);
        close_cleanup(&trace->names_fd);
        close_cleanup(&trace->taken_names_fd);
        close_cleanup(&trace->window_fd);
        close_cleanup(&trace->partial_fd);
        free(trace->frozen);
        trace->frozen = NULL;
        free(trace->known);
        free(trace->proven);
        trace->known = trace->proven = NULL;
        trace->n_known = trace->n_proven = 0;
}

static bool trace_lists_pids(const Trace *trace) {
        return trace->spec->scope != SCOPE_SYSTEM;
}

/* Also removes the guard's probe, if no other instance uses it. */
static int trace_remove_instance(Trace *trace) {
        char name[sizeof(KT_INSTANCE_PREFIX) + KT_ID_DIGITS];

        if (trace_is_borrowed(trace)) {
                int given = trace_give_back(trace);

                if (given == 0)
                        trace_forget_instance(trace);
                return given;
        }
        trace_end_pairs(trace);
        trace_forget_instance(trace);
        if (trace_is_shared(trace))
                return trace_leave_shared(trace);
        snprintf(name, sizeof(name), KT_INSTANCE_PREFIX "%s", trace->id);
        int r = instance_remove(trace->tracefs, name);
        if (r < 0)
                return r;
        trace_undefine_pairs(trace);
        r = cred_guard_remove_unused(trace->tracefs);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot remove the probe of the guard");
        return 0;
}

void trace_report_undo(const Trace *trace, int r, const char *what) {
        const LogContext context = {
                trace->id,
                trace->instance ? trace->instance->name : NULL,
                trace->owner->uid,
        };

        if (r < 0)
                log_errno(r, LOG_ERR, &context, "cannot undo %s", what);
}

/* Steps of create */

static int step_pid_namespace(void *context, Reason *reason) {
        Trace *trace = context;
        const Spec *spec = trace->spec;

        /* Users in other pid namespaces are refused (auth/place.c). */
        if (spec->n_pids == 0 || !trace->owner->container)
                return 0;
        return pid_namespace_translate(&trace->caller,
                        trace->owner->cgroup,
                        spec->pids,
                        spec->n_pids,
                        &trace->pids,
                        reason);
}

static int step_instance(void *context, Reason *reason) {
        Trace *trace = context;

        if (trace_is_borrowed(trace))
                return trace_borrow(trace, reason);
        if (trace_is_shared(trace))
                return trace_enter_shared(trace, reason);
        if (trace->prepared && instance_get_tracing(trace->prepared, &trace->is_prepared) == 0 &&
                        trace->is_prepared) {
                trace->instance = TAKE_PTR(trace->prepared);
                return 0;
        }
        if (trace->prepared) { /* another program has changed or removed it */
                int r = trace_remove_instance(trace);

                if (r < 0)
                        return r;
        }
        return instance_create(trace->tracefs, trace->id, &trace->instance);
}

static void undo_instance(void *context) {
        Trace *trace = context;

        if (!trace->instance)
                return;
        int r = trace_remove_instance(trace);
        trace->is_leftover = r < 0;
        trace_report_undo(trace, r, "the instance");
}

bool trace_has_leftover(const Trace *trace) {
        return trace->is_leftover || trace->prepared;
}

static int step_buffer(void *context, Reason *reason) {
        Trace *trace = context;
        int r = 0;

        if (trace_is_borrowed(trace))
                return instance_get_subbuf_size(trace->instance, &trace->subbuf_size);
        if (!trace->is_prepared && !trace_is_shared(trace))
                r = trace_size_buffer(trace->instance, trace->spec->buffer_kb);
        if (r == 0 && trace->spec->mode == MODE_FLIGHT) {
                r = instance_allocate_snapshot(trace->instance);
                trace->has_snapshot = r == 0;
                r = r == -EOPNOTSUPP ? 0 : r;
        }
        if (r == -ENOMEM)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "buffer-kb: the kernel has no memory for %" PRIu64
                                " kB on each CPU: ask for less",
                                trace->spec->buffer_kb);
        if (r < 0)
                return r;
        trace_read_size(trace);
        return instance_get_subbuf_size(trace->instance, &trace->subbuf_size);
}

static int step_options(void *context, Reason *reason) {
        Trace *trace = context;

        if (trace_is_borrowed(trace) || trace_is_shared(trace))
                return 0;
        /* In mode stream the kernel keeps unread records, and drops and counts new ones. */
        bool is_flight = trace->spec->mode == MODE_FLIGHT;
        int r = instance_set_option(trace->instance, "overwrite", is_flight);
        if (r == 0 && !trace->is_prepared)
                r = instance_set_clock(trace->instance, trace->spec->clock, reason);
        if (r == 0 && trace_lists_pids(trace))
                r = instance_set_option(trace->instance, "event-fork", true);
        if (r == 0 && trace->spec->stacktrace)
                r = instance_set_option(trace->instance, "stacktrace", true);
        return r;
}

int trace_step_statistics(void *context, Reason *reason _unused_) {
        Trace *trace = context;

        int r = instance_n_cpus(trace->instance, &trace->n_cpus);
        if (r < 0)
                return r;
        if (trace_is_shared(trace) && trace->n_cpus > SHARE_CPUS_MAX)
                return -E2BIG;
        trace->stats_fds = malloc(trace->n_cpus * sizeof(int));
        if (!trace->stats_fds)
                return -ENOMEM;
        for (unsigned i = 0; i < trace->n_cpus; i++)
                trace->stats_fds[i] = -1;
        for (unsigned i = 0; i < trace->n_cpus; i++) {
                char path[64];

                snprintf(path, sizeof(path), "per_cpu/cpu%u/stats", i);
                trace->stats_fds[i] = instance_open_file(trace->instance, path, O_RDONLY);
                if (trace->stats_fds[i] < 0)
                        return trace->stats_fds[i];
        }
        /* While trace_pipe is open, the kernel refuses to change the instance's tracer. In a
         * borrowed instance its maker may want to, or may want to read the file. */
        if (trace->spec->tracer || trace_is_borrowed(trace))
                return 0;
        trace->pipe_fd = trace_is_shared(trace) ? shared_open_pipe(trace->shared)
                                                : instance_open_file(trace->instance,
                                                                  "trace_pipe",
                                                                  O_RDONLY | O_NONBLOCK);
        return trace->pipe_fd == -EBUSY ? 0 : MIN_OF(trace->pipe_fd, 0);
}

int trace_step_probes(void *context, Reason *reason) {
        Trace *trace = context;

        int r = probe_ensure_all(
                        trace->tracefs, trace->probes, trace->n_probes, &trace->next, reason);
        if (r != PLAN_AGAIN)
                trace->next = 0;
        return r;
}

int trace_step_marker(void *context, Reason *reason _unused_) {
        _cleanup_(format_free_cleanup) Format *format = NULL;
        _cleanup_free_ char *text = NULL;
        Trace *trace = context;
        size_t size;

        int r = event_read_format(trace->tracefs, "ftrace", "print", &text, &size);
        r = r ?: format_parse(text, size, &format, NULL);
        if (r < 0)
                return r;
        trace->marker_id = format->id;
        trace->marker_fd = instance_open_file(trace->instance, "trace_marker", O_WRONLY);
        return MIN_OF(trace->marker_fd, 0);
}

int trace_step_metadata(void *context, Reason *reason) {
        Trace *trace = context;

        free(trace->layouts);
        trace->layouts = calloc(trace->grant->n_events + 1, sizeof(*trace->layouts));
        int r = trace->layouts ? metadata_make(trace, &trace->metadata_fd) : -ENOMEM;
        return r ?: trace_note_layouts(trace, reason);
}

static int step_unit(void *context, Reason *reason) {
        Trace *trace = context;

        return unit_place_find(trace->spec, trace->owner->uid, &trace->unit, reason);
}

static const PlanStep create_steps[] = {
        { "pid-namespace", step_pid_namespace, NULL },
        { "unit", step_unit, NULL },
        { "off", trace_step_off, NULL },
        { "instance", step_instance, undo_instance },
        { "guard-probe", trace_step_guard_probe, NULL },
        { "buffer", step_buffer, NULL },
        { "options", step_options, NULL },
        { "statistics", trace_step_statistics, NULL },
        { "cpus", trace_step_cpus, NULL },
        { "tracer", trace_step_tracer, NULL },
        { "lifetimes-known", trace_step_lifetimes_known, NULL },
        { "probes", trace_step_probes, NULL },               /* their last user removes them */
        { "pairs-defined", trace_step_pairs_defined, NULL }, /* removed with the instance */
        { "triggers-made", trace_step_triggers_made, NULL },
        { "marker", trace_step_marker, NULL },
        { "metadata", trace_step_metadata, NULL },
        { "counts", trace_step_counts, NULL },
        { "conditions", trace_step_conditions, NULL },
};

/* Steps of start */

/* Truncating empties the list for an instant. Call it only while every event is disabled. */
static int trace_reset_pids(Trace *trace) {
        char sentinel[16] = "";

        if (defence_is_on("sentinel"))
                snprintf(sentinel, sizeof(sentinel), "%d", ARM_SENTINEL);
        int r = tracefs_write_truncate(trace->instance->fd, "set_event_pid", sentinel);
        trace->has_list = trace->has_list || r == 0;
        return r;
}

static bool trace_makes_list(const Trace *trace) {
        return trace_lists_pids(trace) && (!trace->is_armed || scope_has_newcomers(trace->spec));
}

static int trace_step_list(void *context, Reason *reason _unused_) {
        Trace *trace = context;
        const Spec *spec = trace->spec;
        int r = 0;

        arm_forget_turns(&trace->arm);
        trace_clear_names(trace);
        inner_pids_clear(&trace->inner);
        if (!trace_makes_list(trace))
                return 0;
        if (trace->has_list) /* from a former start: the set of fit processes may have changed */
                r = trace_reset_pids(trace);
        arm_clear(&trace->arm);
        trace->arm = (Arm){
                .instance = trace->instance,
                .is_judged = trace->grant->fenced,
                .needs_sentinel = !trace->has_list,
                .single_thread = spec->scope == SCOPE_COMMAND,
                .rule = { .owner = trace->owner,
                                .needs_no_new_privs =
                                                !trace->owner->container &&
                                                (!trace->has_guard ||
                                                                (spec->scope == SCOPE_COMMAND &&
                                                                                !spec->allow_setuid)) },
        };
        /* True from the first write on, even if that write fails. */
        trace->has_list = true;
        return r;
}

static int step_pids(void *context, Reason *reason) {
        Trace *trace = context;

        return trace_makes_list(trace) ? scope_list(&trace->arm, trace->spec, trace->pids, reason)
                                       : 0;
}

static int step_credentials(void *context, Reason *reason) {
        Trace *trace = context;

        return trace_lists_pids(trace) ? arm_check(&trace->arm, reason) : 0;
}

static void undo_pids(void *context) {
        Trace *trace = context;

        /* In other scopes, later starts use the list of the first start. */
        if (!trace_makes_list(trace))
                return;
        int r = trace_reset_pids(trace);
        trace_report_undo(trace, r, "the pid list");
}

static int step_filters(void *context, Reason *reason) {
        Trace *trace = context;
        _cleanup_free_ char *filter = NULL;
        const char *system, *name;
        Reason hidden = {};

        if (trace->is_armed || trace_is_shared(trace) || trace->next == trace->grant->n_events) {
                trace->next = 0;
                return 0;
        }
        const GrantEvent *event = &trace->grant->events[trace->next++];
        trace_locate(trace, event, &system, &name);
        int r = trace_join_filter(trace, event, &filter);
        if (r == 0 && trace_is_borrowed(trace))
                r = trace_borrow_filter(trace, trace->next - 1, filter, reason);
        else if (r == 0 && filter)
                r = instance_set_filter(trace->instance,
                                system,
                                name,
                                filter,
                                event->policy_filter ? &hidden : reason);
        if (r > 0 && event->policy_filter) /* the filter is secret */
                return reason_set(reason,
                                r,
                                "the kernel refuses the filter of %s:%s",
                                event->system,
                                event->name);
        if (r == -EOPNOTSUPP)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "events: %s:%s takes no filter, leave it out",
                                event->system,
                                event->name);
        return r ?: PLAN_AGAIN;
}

static void undo_filters(void *context) {
        Trace *trace = context;

        if (trace_is_borrowed(trace)) {
                trace_return_filters(trace);
                return;
        }
        if (trace_is_shared(trace))
                return;
        /* "0" removes a filter. The events are disabled. A filter that cannot be removed is
         * replaced before the event is enabled again. */
        for (size_t i = 0; !trace->is_armed && i < trace->grant->n_events; i++) {
                const GrantEvent *event = &trace->grant->events[i];
                const char *system, *name;
                char path[512];

                trace_locate(trace, event, &system, &name);
                snprintf(path, sizeof(path), "events/%s/%s/filter", system, name);
                if (trace->grant->fenced || event->filter || event->policy_filter)
                        (void)tracefs_write(trace->instance->fd, path, "0");
        }
}

static int trace_enable_shared(Trace *trace, size_t i, bool on, Reason *reason) {
        const GrantEvent *event = &trace->grant->events[i];
        _cleanup_free_ char *filter = NULL;

        if (on && trace_meets_stale_event(trace, i)) {
                shared_note_stale(trace->shared);
                return reason_set(reason,
                                KT_E_BUSY,
                                "events: %s:%s has been registered again, and another session of "
                                "the shared instance still has an earlier event in its place: "
                                "create this session again",
                                event->system,
                                event->name);
        }
        int r = on ? trace_join_filter(trace, event, &filter) : 0;
        return r < 0 ? r : trace_switch_shared(trace, i, on, filter);
}

int trace_enable(Trace *trace, size_t i, bool on, Reason *reason) {
        const GrantEvent *event = &trace->grant->events[i];
        const char *system, *name;

        int r = on ? trace_check_layout(trace, i, reason) : 0;
        if (r != 0)
                return r;
        trace_locate(trace, event, &system, &name);
        r = trace_is_shared(trace)     ? trace_enable_shared(trace, i, on, reason)
            : trace_is_borrowed(trace) ? trace_switch_borrowed(trace, i, on)
                                       : instance_enable_event(trace->instance, system, name, on);
        return r == -ENOENT && on ? trace_refuse_event(event, "removed", reason) : r;
}

int trace_step_events(void *context, Reason *reason) {
        Trace *trace = context;
        const Grant *grant = trace->grant;

        if (trace->next == grant->n_events) {
                trace->is_armed = true;
                trace->next_trigger = 0;
                return 0;
        }
        size_t i = trace->next++;
        if (trace->is_off && trace->is_off[i])
                return PLAN_AGAIN;
        int r = trace_enable(trace, i, true, reason);
        return r ?: PLAN_AGAIN;
}

int trace_disable_all(const Trace *trace) {
        if (trace_is_shared(trace)) /* other traces go on */
                return 0;
        int r = trace_disable_others(trace);
        int r2 = instance_disable_all(trace->instance); /* even after an error */

        return r ?: r2;
}

static int trace_disable(Trace *trace) {
        int r = trace->is_live ? trace_run_tracer(trace, false) : 0;

        if (trace->is_live && trace_is_borrowed(trace))
                r = trace_return_events(trace);
        else if (trace->is_live && trace_is_shared(trace))
                r = trace_return_shared(trace);
        else if (trace->is_live && r == 0)
                r = trace_disable_all(trace);
        trace->is_live = r != 0;
        return r;
}

static void undo_events(void *context) {
        Trace *trace = context;

        int r = trace_disable(trace);
        trace_report_undo(trace, r, "the events");
}

/* Proves the tasks that live after exits are recorded. They are members from the time that is read
 * before the check. */
static int step_members(void *context, Reason *reason) {
        Trace *trace = context;
        clockid_t clock;
        int r = 0;

        if (!trace_is_judged(trace))
                return 0;
        if (!metadata_get_clock(trace->spec->clock, &clock))
                return -EINVAL;
        if (trace->arm.since_nsec == 0 || trace->arm.is_proving)
                r = arm_prove(&trace->arm, clock);
        return r ?: defence_is_on("proof") ? arm_check(&trace->arm, reason) : 0;
}

/* Members come with their names. */
static int step_task_names(void *context, Reason *reason _unused_) {
        Trace *trace = context;

        return !trace_is_judged(trace) && trace_counts_names(trace) ? trace_read_names(trace) : 0;
}

static const PlanStep arm_steps[] = {
        { "watch", trace_step_watch, NULL },
        { "latch", trace_step_latch, NULL },
        { "pid-max", trace_step_pid_max, NULL },
        { "list", trace_step_list, undo_pids },
        { "pids", step_pids, NULL },
        { "guard", trace_step_guard, NULL },
        { "credentials", step_credentials, NULL },
        { "filters", step_filters, undo_filters },
        { "pairs", trace_step_pairs, trace_undo_pairs },
        { "lifetimes", trace_step_lifetimes, undo_events },
        { "members", step_members, NULL },
        { "task-names", step_task_names, NULL },
};

static int step_armed(void *context, Reason *reason _unused_) {
        Trace *trace = context;

        trace->next = trace->next_trigger = 0;
        trace->is_live = true; /* assumed until disabled */
        return 0;
}

/* The guard stays, so that tasks that remain on the list cannot change their credentials unnoticed.
 */
static void undo_armed(void *context) {
        undo_events(context);
        trace_undo_pairs(context);
        undo_filters(context);
        undo_pids(context);
}

static const PlanStep start_steps[] = {
        { "armed", step_armed, undo_armed },
        { "window", trace_step_window, NULL },
        { "borrowed-latch", trace_step_borrowed_latch, undo_events },
        { "events", trace_step_events, undo_events },
        { "triggers", trace_step_triggers, trace_undo_triggers },
        { "functions", trace_step_run_tracer, undo_events },
        { "inner-pids", trace_step_inner_pids, NULL },
};

/* Steps of stop and of the end */

int trace_step_disable(void *context, Reason *reason _unused_) {
        return trace_disable(context);
}

static const PlanStep stop_steps[] = {
        { "inner-pids", trace_step_inner_pids_again, NULL },
        { "triggers", trace_step_triggers_lifted, NULL },
        { "disable", trace_step_disable, NULL },
        { "dropped", trace_step_dropped, NULL },
};

static const PlanStep quiesce_steps[] = {
        { "inner-pids", trace_step_inner_pids_again, NULL },
        { "triggers", trace_step_triggers_lifted, NULL },
        { "disable", trace_step_disable, NULL },
        { "dropped", trace_step_dropped, NULL },
        { "names", trace_step_names, NULL },
};

static int trace_step_remove(void *context, Reason *reason _unused_) {
        return trace_remove_instance(context);
}

bool trace_is_over(const Trace *trace) {
        return !trace_is_borrowed(trace) && !trace->is_live && trace->n_pairs == 0 &&
               trace->n_triggers == 0 && !trace->spec->tracer;
}

int trace_remove_now(Trace *trace) {
        return trace_remove_instance(trace);
}

static const PlanStep remove_steps[] = {
        { "remove", trace_step_remove, NULL },
};

void trace_plan(Trace *trace, Plan *plan, const PlanStep *steps, size_t n_steps, bool is_urgent) {
        plan->uid = trace->owner->uid;
        plan->context = trace;
        plan->urgent = is_urgent;
        plan_init(plan, steps, n_steps, trace->own_writes);
}

void trace_plan_create(Trace *trace, Plan *plan) {
        trace_plan(trace, plan, create_steps, ELEMENTSOF(create_steps), false);
}

void trace_plan_arm(Trace *trace, Plan *plan) {
        trace_plan(trace, plan, arm_steps, ELEMENTSOF(arm_steps), false);
}

void trace_plan_start(Trace *trace, Plan *plan) {
        trace_plan(trace, plan, start_steps, ELEMENTSOF(start_steps), false);
}

void trace_plan_stop(Trace *trace, Plan *plan) {
        trace_plan(trace, plan, stop_steps, ELEMENTSOF(stop_steps), true);
}

void trace_plan_quiesce(Trace *trace, Plan *plan) {
        trace_plan(trace, plan, quiesce_steps, ELEMENTSOF(quiesce_steps), true);
}

void trace_plan_remove(Trace *trace, Plan *plan) {
        trace_plan(trace, plan, remove_steps, ELEMENTSOF(remove_steps), true);
}
