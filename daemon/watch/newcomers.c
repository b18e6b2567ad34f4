/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds processes that enter the scopes own, unit and cgroup while the session runs: by a login, by
 * a move into the cgroup, or by a start from outside the scope. Children of members do not need
 * this module, because the kernel lists them. The session makes it and runs it in the event loop.
 * The kernel does not report when a process joins: no file of /proc or of a cgroup wakes a reader.
 * Therefore the worker looks once a second, in a plan of its own beside the session's plans. A look
 * that finds nothing costs one stat(2) for each process of the machine, or one read for each
 * cgroup.
 *
 * A newcomer is judged, listed, and judged again, because it may have changed in between (arm.h).
 * Then the time is taken. Every newcomer that has not begun to exit by then is a member from that
 * time on. The record of its exit comes later, and shows that its number is free again. The
 * consumer cuts what the kernel recorded of it before that time, so nothing depends on the
 * result of the second judgement. The events are on and the guard is armed all the time. If a
 * number was listed but its process did not become a member, the number stays on the list.
 *
 * When a consumer has lost records, exits may be among them. Then the same plan checks which
 * members still exist: it judges every task on the kernel's list. A task that has the same start
 * time as when it was admitted is still the same task.
 *
 * This module works on an Arm of its own. The session's Arm belongs to the session's plans, and to
 * the event loop when no plan is in flight. The Arm here belongs to the worker while the plan here
 * is in flight. The plans of a user run one after the other, so the two never write to the kernel's
 * list at the same time. */

#include "watch/newcomers.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "scope/arm-check.h"
#include "scope/arm-group.h"
#include "scope/scope.h"
#include "trace/metadata.h"
#include "trace/trace-inner-pids.h"
#include "trace/trace-rings.h"

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
        bool is_stopped;  /* the result of the plan in flight is ignored */
        bool is_outdated; /* ignored even after the next start */
        bool is_orphan;   /* freed when no plan is in flight */
        bool is_proof;    /* the plan in flight checks who still exists */
        Arm arm;
        bool shows_inner; /* the plan in flight reads the pids of the container */
        uint64_t look_nsec;
        InnerPids inner;     /* not reported yet */
        KnownTask *reported; /* members before the plan, sorted */
        size_t n_reported;

        ControlMember *members;
        size_t n_members;
};

static void newcomers_set_timer(Newcomers *newcomers) {
        if (newcomers->is_stopped || !scope_has_newcomers(newcomers->trace->spec))
                return;
        (void)sd_event_source_set_time_relative(newcomers->timer, NEWCOMERS_TICK_USEC);
        (void)sd_event_source_set_enabled(newcomers->timer, SD_EVENT_ONESHOT);
}

static int newcomers_step_list(void *context, Reason *reason) {
        Newcomers *newcomers = context;
        _cleanup_(scope_close_group) ArmGroup group = { .cgroup_fd = -1 };
        const Trace *trace = newcomers->trace;

        const ScopeViewer viewer = { trace->owner, !trace->grant->fenced };

        newcomers->arm.has_news = false;
        if (newcomers->is_proof)
                return 0;
        int r = scope_open_group(trace->spec, &viewer, &group, reason);
        if (r == -ENOENT) /* the unit is stopped and may start again */
                return 0;
        return r ?: arm_list_newcomers(&newcomers->arm, &group);
}

static bool has_to_judge(const Newcomers *newcomers) {
        return newcomers->is_proof || newcomers->arm.has_news;
}

static int step_check(void *context, Reason *reason) {
        Newcomers *newcomers = context;

        return has_to_judge(newcomers) ? arm_check(&newcomers->arm, reason) : 0;
}

static int step_prove(void *context, Reason *reason _unused_) {
        Newcomers *newcomers = context;

        return has_to_judge(newcomers) ? arm_prove(&newcomers->arm, newcomers->clock) : 0;
}

/* Processes that joined are no children of members, so no record shows their pids. */
static int step_inner_pids(void *context, Reason *reason _unused_) {
        Newcomers *newcomers = context;
        InnerPids *inner = &newcomers->inner;
        int r = 0;

        if (!newcomers->arm.has_news || !newcomers->shows_inner)
                return 0;
        if (!inner->tids) /* the first turn */
                r = inner_pids_add_joined(inner, &newcomers->arm, newcomers->look_nsec);
        return r ?: inner_pids_read(inner, &newcomers->arm, newcomers->clock);
}

static const PlanStep steps[] = {
        { "newcomers", newcomers_step_list, NULL },
        { "newcomers-credentials", step_check, NULL },
        { "newcomers-proof", step_prove, NULL },
        { "newcomers-inner-pids", step_inner_pids, NULL },
};

static int copy_set(TaskSet *dest, const TaskSet *source) {
        task_set_clear(dest);
        return task_set_add(dest, source->tasks, source->n);
}

static int known_compare(const void *a, const void *b) {
        const Task *x = &((const KnownTask *)a)->task, *y = &((const KnownTask *)b)->task;

        if (x->tid != y->tid)
                return x->tid < y->tid ? -1 : 1;
        return x->start_time < y->start_time ? -1 : x->start_time > y->start_time;
}

static int copy_known(Newcomers *newcomers) {
        const Trace *trace = newcomers->trace;
        KnownTask *copy = calloc(trace->n_known + 1, sizeof(*copy));

        if (!copy)
                return -ENOMEM;
        if (trace->n_known > 0)
                memcpy(copy, trace->known, trace->n_known * sizeof(*copy));
        qsort(copy, trace->n_known, sizeof(*copy), known_compare);
        free(newcomers->reported);
        newcomers->reported = copy;
        newcomers->n_reported = trace->n_known;
        return 0;
}

/* Takes over the tasks that the session's start has listed and verified. */
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
        r = r ?: inner_pids_take_over(&newcomers->inner, arm, &newcomers->trace->inner.seen);
        return r ?: copy_known(newcomers);
}

/* A stream that is opened later gets every member that is still alive. Of the dead members, it gets
 * as many as fit. */
static void newcomers_forget(Newcomers *newcomers) {
        size_t n_kept = 0;

        for (size_t i = 0; i < newcomers->n_members; i++)
                if (task_set_has_tid(&newcomers->arm.verified, (pid_t)newcomers->members[i].tid))
                        newcomers->members[n_kept++] = newcomers->members[i];
        newcomers->n_members = n_kept;
}

static const KnownTask *newcomers_find_reported(const Newcomers *newcomers, const Task *task) {
        return newcomers->n_reported > 0 ? bsearch(&(KnownTask){ .task = *task },
                                                           newcomers->reported,
                                                           newcomers->n_reported,
                                                           sizeof(KnownTask),
                                                           known_compare)
                                         : NULL;
}

/* Takes the tasks that were admitted and proven. New ones are members since the time of that proof.
 */
static int newcomers_add_members(Newcomers *newcomers) {
        const TaskSet *verified = &newcomers->arm.verified;
        _cleanup_free_ KnownTask *reported = calloc(verified->n + 1, sizeof(KnownTask));
        ControlMember *bigger = reallocarray(newcomers->members,
                        newcomers->n_members + verified->n + 1,
                        sizeof(ControlMember));

        if (bigger)
                newcomers->members = bigger;
        if (!bigger || !reported)
                return -ENOMEM;
        for (size_t i = 0; i < verified->n; i++) {
                const KnownTask *known = newcomers_find_reported(newcomers, &verified->tasks[i]);

                reported[i] = (KnownTask){
                        verified->tasks[i],
                        known ? known->since_nsec : newcomers->arm.since_nsec,
                };
                if (!known)
                        bigger[newcomers->n_members++] = trace_make_member(&reported[i]);
        }
        free(newcomers->reported);
        newcomers->reported = TAKE_PTR(reported);
        newcomers->n_reported = verified->n;
        return 0;
}

static int newcomers_report_proof(const Newcomers *newcomers) {
        _cleanup_free_ ControlMember *members = calloc(newcomers->n_reported + 1, sizeof(*members));

        if (!members)
                return -ENOMEM;
        for (size_t i = 0; i < newcomers->n_reported; i++)
                members[i] = trace_make_member(&newcomers->reported[i]);
        newcomers->handlers->on_proof(members,
                        newcomers->n_reported,
                        newcomers->arm.since_nsec,
                        newcomers->userdata);
        return 0;
}

static int newcomers_report(Newcomers *newcomers) {
        if (newcomers->n_members > NEWCOMERS_MAX)
                newcomers_forget(newcomers);
        size_t n_before = newcomers->n_members;

        int r = has_to_judge(newcomers) ? newcomers_add_members(newcomers) : 0;
        if (newcomers->inner.n > 0)
                newcomers->handlers->on_inner_pids(
                                newcomers->inner.pids, newcomers->inner.n, newcomers->userdata);
        newcomers->inner.n = 0;
        newcomers->handlers->on_members(newcomers->members ? newcomers->members + n_before : NULL,
                        newcomers->n_members - n_before,
                        &newcomers->arm.report,
                        newcomers->userdata);
        return r != 0 || !newcomers->is_proof ? r : newcomers_report_proof(newcomers);
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
        if (newcomers->is_stopped && (result != 0 || !newcomers->is_proof))
                return;
        if (is_outdated) {
                newcomers_start(newcomers);
                return;
        }
        int r = result;
        if (r == 0)
                r = newcomers_report(newcomers);
        if (r < 0)
                log_errno(r,
                                LOG_WARNING,
                                &(LogContext){ newcomers->trace->id,
                                                NULL,
                                                newcomers->trace->owner->uid },
                                "cannot look for processes that joined later%s%s",
                                reason->text[0] ? ": " : "",
                                reason->text);
        if (r != 0 && newcomers->shows_inner) /* some may have joined */
                newcomers->handlers->on_inner_pids(NULL, 0, newcomers->userdata);
        newcomers_set_timer(newcomers);
}

static void newcomers_look(Newcomers *newcomers, bool is_proof) {
        struct timespec now = {};

        newcomers->is_proof = is_proof;
        newcomers->shows_inner = trace_shows_inner_pids(newcomers->trace) &&
                                 clock_gettime(newcomers->clock, &now) == 0;
        newcomers->look_nsec = control_nsec(&now);
        arm_forget_turns(&newcomers->arm); /* of a cancelled look */
        inner_pids_forget_turns(&newcomers->inner);
        newcomers->plan = (Plan){
                .uid = newcomers->trace->owner->uid,
                .context = newcomers,
                .done = newcomers_on_plan,
                .userdata = newcomers,
        };
        plan_init(&newcomers->plan, steps, ELEMENTSOF(steps), newcomers->trace->own_writes);
        newcomers->in_flight = true;
        worker_submit(newcomers->worker, &newcomers->plan);
}

static int newcomers_on_tick(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        newcomers_look(userdata, false);
        return 0;
}

/* The consumer asks again when it gets no answer. */
void newcomers_prove(Newcomers *newcomers) {
        if (newcomers->in_flight)
                return;
        (void)sd_event_source_set_enabled(newcomers->timer, SD_EVENT_OFF);
        newcomers_look(newcomers, true);
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
                newcomers->clock = CLOCK_MONOTONIC; /* not used: no task is judged then */
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
        inner_pids_clear(&newcomers->inner);
        free(newcomers->reported);
        free(newcomers->members);
        free(newcomers);
        return NULL;
}

void newcomers_start(Newcomers *newcomers) {
        newcomers->is_stopped = false;
        if (newcomers->in_flight) { /* begun before the last stop; newcomers_on_plan starts again */
                newcomers->is_outdated = true;
                return;
        }
        int r = newcomers_take_over(newcomers);
        if (r < 0) {
                log_errno(r, LOG_ERR, NULL, "cannot look for processes that join later");
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

static int known_compare_tid(const void *key, const void *element) {
        pid_t tid = *(const pid_t *)key, other = ((const KnownTask *)element)->task.tid;

        return tid < other ? -1 : tid > other;
}

bool newcomers_find(const Newcomers *newcomers, pid_t tid, Task *ret) {
        const KnownTask *known = newcomers->n_reported > 0 ? bsearch(&tid,
                                                                             newcomers->reported,
                                                                             newcomers->n_reported,
                                                                             sizeof(KnownTask),
                                                                             known_compare_tid)
                                                           : NULL;

        if (known)
                *ret = known->task;
        return known != NULL;
}

size_t newcomers_get_members(const Newcomers *newcomers, const ControlMember **ret) {
        *ret = newcomers->members;
        return newcomers->n_members;
}
