/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Processes that come to the scopes own, unit and cgroup while the session runs: a login, a move
 * into the cgroup, a start by somebody outside. Children of members need nothing of this, the
 * kernel lists them. No file of /proc or of a cgroup wakes anybody when a process joins, so once a
 * second the worker looks, in a plan of its own beside the session's. Finding nothing costs a
 * stat(2) for each process of the machine, or a read for each cgroup.
 *
 * A newcomer is judged, listed, and judged again with whatever it has become (arm.h). Then the time
 * is taken, and whoever has not begun to exit by then is a member from that time on: the record of
 * its exit comes later, so that its number is known to be free again. What the kernel recorded of
 * it before is cut by the consumer, so nothing depends on how the second judgement ends. The events
 * are on and the guard is armed in all this time: a number that was listed in vain stays on the
 * list and is no member.
 *
 * Works on an Arm of its own. The session's belongs to its plans, and to the event loop when none
 * is in flight; this one belongs to the worker while the plan here is in flight. The plans of a
 * user run one after the other, so the two never write to the kernel's list at once. */

#include "newcomers.h"

#include <errno.h>
#include <time.h>

#include "log.h"
#include "metadata.h"
#include "scope.h"

#define NEWCOMERS_TICK_USEC 1000000
#define NEWCOMERS_MAX       16384

struct Newcomers {
        Worker *worker;
        const Trace *trace;
        const NewcomersHandlers *handlers;
        void *userdata;
        sd_event_source *timer;
        clockid_t clock;

        Plan plan;
        bool in_flight;
        bool is_stopped;  /* what is in flight counts for nothing */
        bool is_outdated; /* nor does it after the next start */
        bool is_orphan;   /* freed as soon as nothing is in flight */
        Arm arm;
        TaskSet told; /* members before the plan, and so no news */

        ControlMember *members;
        size_t n_members;
};

static void newcomers_set_timer(Newcomers *newcomers) {
        (void)sd_event_source_set_time_relative(newcomers->timer, NEWCOMERS_TICK_USEC);
        (void)sd_event_source_set_enabled(newcomers->timer, SD_EVENT_ONESHOT);
}

static int step_list(void *context, Reason *reason) {
        Newcomers *newcomers = context;
        _cleanup_(scope_close_group) ArmGroup group = { .cgroup_fd = -1 };
        const Trace *trace = newcomers->trace;

        const ScopeViewer viewer = { trace->owner->uid, !trace->grant->fenced };

        int r = scope_open_group(trace->spec, &viewer, &group, reason);
        if (r == -ENOENT) /* the unit is stopped, it may come back */
                return 0;
        return r ?: arm_list_newcomers(&newcomers->arm, &group);
}

static int step_check(void *context, Reason *reason) {
        Newcomers *newcomers = context;

        return newcomers->arm.has_news ? arm_check(&newcomers->arm, reason) : 0;
}

static int step_prove(void *context, Reason *reason _unused_) {
        Newcomers *newcomers = context;

        return newcomers->arm.has_news ? arm_prove(&newcomers->arm, newcomers->clock) : 0;
}

static const PlanStep steps[] = {
        { "newcomers", step_list, NULL },
        { "newcomers-credentials", step_check, NULL },
        { "newcomers-proof", step_prove, NULL },
};

static int copy_set(TaskSet *dest, const TaskSet *source) {
        task_set_clear(dest);
        return task_set_add(dest, source->tasks, source->n);
}

/* What the session's start has listed and verified. */
static int newcomers_take_over(Newcomers *newcomers) {
        const Arm *source = &newcomers->trace->arm;
        Arm *arm = &newcomers->arm;

        arm_clear(arm);
        *arm = (Arm){
                .instance = source->instance,
                .is_judged = source->is_judged,
                .is_running = true,
                .rule = source->rule,
                .report = source->report,
        };
        int r = copy_set(&arm->listed, &source->listed);
        r = r ?: copy_set(&arm->verified, &source->verified);
        r = r ?: copy_set(&arm->left_out, &source->left_out);
        return r ?: copy_set(&newcomers->told, &source->verified);
}

/* A stream that is opened later learns of those who live then; of the dead as many as fit. */
static void newcomers_forget(Newcomers *newcomers) {
        size_t n_kept = 0;

        for (size_t i = 0; i < newcomers->n_members; i++)
                if (task_set_has_tid(&newcomers->arm.verified, (pid_t)newcomers->members[i].tid))
                        newcomers->members[n_kept++] = newcomers->members[i];
        newcomers->n_members = n_kept;
}

/* Those that were found fit and were proven are members since that proof. */
static int newcomers_add_members(Newcomers *newcomers) {
        const TaskSet *verified = &newcomers->arm.verified;

        ControlMember *bigger = reallocarray(newcomers->members,
                        newcomers->n_members + verified->n + 1,
                        sizeof(ControlMember));
        if (!bigger)
                return -ENOMEM;
        newcomers->members = bigger;
        for (size_t i = 0; i < verified->n; i++)
                if (!task_set_has(&newcomers->told, &verified->tasks[i]))
                        bigger[newcomers->n_members++] = (ControlMember){
                                .tid = (uint32_t)verified->tasks[i].tid,
                                .since_nsec = newcomers->arm.since_nsec,
                        };
        return copy_set(&newcomers->told, verified);
}

static int newcomers_tell(Newcomers *newcomers) {
        if (newcomers->n_members > NEWCOMERS_MAX)
                newcomers_forget(newcomers);
        size_t n_before = newcomers->n_members;

        int r = newcomers->arm.has_news ? newcomers_add_members(newcomers) : 0;
        newcomers->handlers->on_members(newcomers->members ? newcomers->members + n_before : NULL,
                        newcomers->n_members - n_before,
                        &newcomers->arm.report,
                        newcomers->userdata);
        return r;
}

static void newcomers_on_plan(Plan *plan, int result, const Reason *reason) {
        Newcomers *newcomers = plan->userdata;

        newcomers->in_flight = false;
        if (newcomers->is_orphan) {
                newcomers_free(newcomers);
                return;
        }
        bool is_outdated = newcomers->is_outdated;
        newcomers->is_outdated = false;
        if (newcomers->is_stopped)
                return;
        if (is_outdated) {
                newcomers_start(newcomers);
                return;
        }
        int r = result;
        if (r == 0)
                r = newcomers_tell(newcomers);
        if (r < 0)
                log_errno(r,
                                LOG_WARNING,
                                &(LogContext){ newcomers->trace->id,
                                                NULL,
                                                newcomers->trace->owner->uid },
                                "cannot look for processes that came later%s%s",
                                reason->text[0] ? ": " : "",
                                reason->text);
        newcomers_set_timer(newcomers);
}

static int newcomers_on_tick(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        Newcomers *newcomers = userdata;

        newcomers->plan = (Plan){
                .uid = newcomers->trace->owner->uid,
                .context = newcomers,
                .done = newcomers_on_plan,
                .userdata = newcomers,
        };
        plan_init(&newcomers->plan, steps, ELEMENTSOF(steps), newcomers->trace->own_writes);
        newcomers->in_flight = true;
        worker_submit(newcomers->worker, &newcomers->plan);
        return 0;
}

int newcomers_new(sd_event *event,
                Worker *worker,
                const Trace *trace,
                const NewcomersHandlers *handlers,
                void *userdata,
                Newcomers **ret) {
        _cleanup_(newcomers_free_cleanup) Newcomers *newcomers = calloc(1, sizeof(*newcomers));

        if (!newcomers)
                return -ENOMEM;
        int r = sd_event_add_time_relative(event,
                        &newcomers->timer,
                        CLOCK_MONOTONIC,
                        0,
                        NEWCOMERS_TICK_USEC / 4,
                        newcomers_on_tick,
                        newcomers);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(newcomers->timer, "newcomers");
        (void)sd_event_source_set_enabled(newcomers->timer, SD_EVENT_OFF);
        newcomers->worker = worker;
        newcomers->trace = trace;
        newcomers->handlers = handlers;
        if (!metadata_get_clock(trace->spec->clock, &newcomers->clock))
                newcomers->clock = CLOCK_MONOTONIC; /* nobody is judged then */
        newcomers->userdata = userdata;
        newcomers->is_stopped = true;
        *ret = TAKE_PTR(newcomers);
        return 0;
}

Newcomers *newcomers_free(Newcomers *newcomers) {
        if (!newcomers)
                return NULL;
        newcomers->timer = sd_event_source_disable_unref(newcomers->timer);
        if (newcomers->in_flight) {
                plan_cancel(&newcomers->plan);
                newcomers->is_orphan = true;
                return NULL;
        }
        arm_clear(&newcomers->arm);
        task_set_clear(&newcomers->told);
        free(newcomers->members);
        free(newcomers);
        return NULL;
}

void newcomers_start(Newcomers *newcomers) {
        newcomers->is_stopped = false;
        if (newcomers->in_flight) { /* of before the last stop: its end begins anew */
                newcomers->is_outdated = true;
                return;
        }
        int r = newcomers_take_over(newcomers);
        if (r < 0) {
                log_errno(r, LOG_ERR, NULL, "cannot look for processes that come later");
                return;
        }
        newcomers_set_timer(newcomers);
}

void newcomers_stop(Newcomers *newcomers) {
        newcomers->is_stopped = true;
        (void)sd_event_source_set_enabled(newcomers->timer, SD_EVENT_OFF);
        if (newcomers->in_flight)
                plan_cancel(&newcomers->plan);
}

bool newcomers_find(const Newcomers *newcomers, pid_t tid, Task *ret) {
        for (size_t i = 0; i < newcomers->told.n; i++)
                if (newcomers->told.tasks[i].tid == tid) {
                        *ret = newcomers->told.tasks[i];
                        return true;
                }
        return false;
}

size_t newcomers_get_members(const Newcomers *newcomers, const ControlMember **ret) {
        *ret = newcomers->members;
        return newcomers->n_members;
}
