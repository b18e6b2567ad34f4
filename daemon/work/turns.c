/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Long work in the event loop: one step of a plan in each turn. Between two steps the loop serves
 * other ready sources, so a call that takes a second delays another user's call by only one step,
 * which is 2 ms. Used for decisions. They need the rules, the probes and the sessions, so they
 * cannot run in the worker thread.
 *
 * Users take turns (plan-queue.c). There is a limit for the time that the calls of one user may
 * take. The steps of a user who has reached it wait until time is available again. A step that
 * needs a result of the worker thread waits as well, and the user's other plans wait for it.
 *
 * The wake-up is an eventfd, not a source of sd_event_add_defer: sd-event serves the source that
 * has waited longest, and a source that is always ready would come first in every turn. */

#include "work/turns.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "work/plan-queue.h"

#define WAIT_USEC     20000
#define ACCURACY_USEC 1000 /* 0 would mean 250 ms */

struct Turns {
        PlanQueue waiting;
        int wake_fd;
        sd_event_source *wake, *timer;
        TurnsHandlers handlers;
        void *userdata;
};

static uint64_t turns_get_cpu_usec(void) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Returns the plan of the first user in the queue who has time left and whose plan can continue. */
static Plan *turns_find_next(const Turns *turns) {
        Plan *any, *plan;

        TAILQ_FOREACH(any, &turns->waiting, queue) {
                plan = plan_queue_find(&turns->waiting, any->uid);
                if (!plan->waits && (!turns->handlers.may_run || turns->handlers.may_run(plan->uid,
                                                                                 turns->userdata)))
                        return plan;
        }
        return NULL;
}

static void turns_end_plan(Turns *turns, Plan *plan) {
        /* Copied: `done` may free or reuse the plan. */
        Reason reason = plan->reason;

        TAILQ_REMOVE(&turns->waiting, plan, queue);
        plan->done(plan, plan->result, &reason);
}

static void turns_advance(Turns *turns, Plan *plan) {
        uint64_t begin = turns_get_cpu_usec();
        uid_t uid = plan->uid;

        bool is_over = plan_advance(plan);
        plan_queue_rotate(&turns->waiting, uid);
        if (is_over)
                turns_end_plan(turns, plan);
        if (turns->handlers.on_spent)
                turns->handlers.on_spent(uid, turns_get_cpu_usec() - begin, turns->userdata);
}

static int turns_on_wake(sd_event_source *source _unused_,
                int fd,
                uint32_t revents _unused_,
                void *userdata) {
        Turns *turns = userdata;
        Plan *plan = turns_find_next(turns);
        eventfd_t n;

        if (plan)
                turns_advance(turns, plan);
        if (plan && !TAILQ_EMPTY(&turns->waiting))
                return 0;
        (void)eventfd_read(fd, &n);
        if (!TAILQ_EMPTY(&turns->waiting)) {
                (void)sd_event_source_set_time_relative(turns->timer, WAIT_USEC);
                (void)sd_event_source_set_enabled(turns->timer, SD_EVENT_ONESHOT);
        }
        return 0;
}

static int turns_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        Turns *turns = userdata;

        (void)eventfd_write(turns->wake_fd, 1);
        return 0;
}

int turns_new(sd_event *event, const TurnsHandlers *handlers, void *userdata, Turns **ret) {
        _cleanup_(turns_free_cleanup) Turns *turns = calloc(1, sizeof(*turns));

        if (!turns)
                return -ENOMEM;
        TAILQ_INIT(&turns->waiting);
        turns->handlers = *handlers;
        turns->userdata = userdata;
        turns->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (turns->wake_fd < 0)
                return -errno;
        int r = sd_event_add_io(event, &turns->wake, turns->wake_fd, EPOLLIN, turns_on_wake, turns);
        if (r < 0)
                return r;
        r = sd_event_add_time_relative(event,
                        &turns->timer,
                        CLOCK_MONOTONIC,
                        WAIT_USEC,
                        ACCURACY_USEC,
                        turns_on_timer,
                        turns);
        if (r < 0)
                return r;
        (void)sd_event_source_set_enabled(turns->timer, SD_EVENT_OFF);
        (void)sd_event_source_set_description(turns->wake, "turns");
        *ret = TAKE_PTR(turns);
        return 0;
}

Turns *turns_free(Turns *turns) {
        Plan *plan;

        if (!turns)
                return NULL;
        while ((plan = TAILQ_FIRST(&turns->waiting))) {
                plan_cancel(plan);
                (void)plan_advance(plan);
                turns_end_plan(turns, plan);
        }
        sd_event_source_disable_unref(turns->wake);
        sd_event_source_disable_unref(turns->timer);
        if (turns->wake_fd >= 0)
                close(turns->wake_fd);
        free(turns);
        return NULL;
}

void turns_submit(Turns *turns, Plan *plan) {
        TAILQ_INSERT_TAIL(&turns->waiting, plan, queue);
        (void)eventfd_write(turns->wake_fd, 1);
}

void turns_resume(Turns *turns) {
        Plan *plan;

        TAILQ_FOREACH(plan, &turns->waiting, queue)
                plan->waits = false;
        (void)eventfd_write(turns->wake_fd, 1);
}

bool turns_is_idle(const Turns *turns) {
        return TAILQ_EMPTY(&turns->waiting);
}
