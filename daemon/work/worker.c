/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The worker thread: runs plans one step at a time, so the event loop never waits for RCU (8 to 100
 * ms in each step). The session floor submits plans. When a plan has ended, an eventfd wakes the
 * event loop.
 *
 * Users take turns step by step (plan-queue.c). There is one thread, because the kernel runs these
 * steps one after the other: mkdir, rmdir and writes of event files hold event_mutex. On Linux 6.18
 * and two CPUs, eight threads made and configured eight instances in 339 ms, one thread in 383 ms,
 * and removed them in 315 and 303 ms.
 *
 * The thread accesses only plans and the objects of their contexts. All other objects belong to the
 * event loop. */

#include "work/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>

#include "work/plan-queue.h"

struct Worker {
        pthread_t thread;
        bool running;
        pthread_mutex_t lock;
        pthread_cond_t wake;
        bool stop;
        PlanQueue waiting; /* under lock; in turn order */
        PlanQueue over;    /* under lock; waiting for the event loop's answer */
        int over_fd;
        sd_event_source *over_source;
};

static void *worker_main(void *userdata) {
        Worker *worker = userdata;

        pthread_mutex_lock(&worker->lock);
        for (;;) {
                while (!worker->stop && TAILQ_EMPTY(&worker->waiting))
                        pthread_cond_wait(&worker->wake, &worker->lock);
                if (TAILQ_EMPTY(&worker->waiting))
                        break;

                Plan *plan = plan_queue_find(&worker->waiting, TAILQ_FIRST(&worker->waiting)->uid);
                if (worker->stop)
                        plan_cancel(plan);

                pthread_mutex_unlock(&worker->lock);
                bool is_over = plan_advance(plan);
                pthread_mutex_lock(&worker->lock);

                plan_queue_rotate(&worker->waiting, plan->uid);
                if (!is_over)
                        continue;
                TAILQ_REMOVE(&worker->waiting, plan, queue);
                TAILQ_INSERT_TAIL(&worker->over, plan, queue);
                (void)eventfd_write(worker->over_fd, 1); /* fails only at 2^64 - 1 */
        }
        pthread_mutex_unlock(&worker->lock);
        return NULL;
}

static void worker_answer(Worker *worker) {
        for (;;) {
                pthread_mutex_lock(&worker->lock);
                Plan *plan = TAILQ_FIRST(&worker->over);
                if (plan)
                        TAILQ_REMOVE(&worker->over, plan, queue);
                pthread_mutex_unlock(&worker->lock);
                if (!plan)
                        return;
                /* Copied: `done` may free or reuse the plan. */
                Reason reason = plan->reason;
                own_writes_end(plan->writes);
                plan->done(plan, plan->result, &reason);
        }
}

static int worker_on_over(sd_event_source *source _unused_,
                int fd,
                uint32_t revents _unused_,
                void *userdata) {
        eventfd_t count;

        (void)eventfd_read(fd, &count); /* only the wake-up matters */
        worker_answer(userdata);
        return 0;
}

static int worker_start_thread(Worker *worker) {
        sigset_t all, old;

        /* Signals belong to the event loop's signalfd. */
        sigfillset(&all);
        int r = pthread_sigmask(SIG_SETMASK, &all, &old);
        if (r != 0)
                return -r;
        r = pthread_create(&worker->thread, NULL, worker_main, worker);
        (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
        if (r != 0)
                return -r;
        worker->running = true;
        return 0;
}

int worker_new(sd_event *event, Worker **ret) {
        _cleanup_(worker_free_cleanup) Worker *worker = calloc(1, sizeof(*worker));

        if (!worker)
                return -ENOMEM;
        worker->over_fd = -1;
        TAILQ_INIT(&worker->waiting);
        TAILQ_INIT(&worker->over);
        pthread_mutex_init(&worker->lock, NULL);
        pthread_cond_init(&worker->wake, NULL);

        worker->over_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (worker->over_fd < 0)
                return -errno;
        int r = sd_event_add_io(event,
                        &worker->over_source,
                        worker->over_fd,
                        EPOLLIN,
                        worker_on_over,
                        worker);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(worker->over_source, "worker");
        r = worker_start_thread(worker);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(worker);
        return 0;
}

static void worker_stop(Worker *worker) {
        pthread_mutex_lock(&worker->lock);
        worker->stop = true;
        pthread_cond_signal(&worker->wake);
        pthread_mutex_unlock(&worker->lock);
}

bool worker_end(Worker *worker, unsigned sec) {
        struct timespec until = {};

        if (!worker || !worker->running)
                return true;
        worker_stop(worker);
        (void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail with this clock */
        until.tv_sec += sec;
        if (pthread_clockjoin_np(worker->thread, NULL, CLOCK_MONOTONIC, &until) == 0) {
                worker->running = false;
                worker_answer(worker);
                return true;
        }
        worker->over_source = sd_event_source_disable_unref(worker->over_source);
        return false;
}

Worker *worker_free(Worker *worker) {
        if (!worker)
                return NULL;
        if (worker->running) {
                worker_stop(worker);
                pthread_join(worker->thread, NULL);
                worker_answer(worker);
        }
        sd_event_source_disable_unref(worker->over_source);
        if (worker->over_fd >= 0)
                close(worker->over_fd);
        pthread_cond_destroy(&worker->wake);
        pthread_mutex_destroy(&worker->lock);
        free(worker);
        return NULL;
}

void worker_submit(Worker *worker, Plan *plan) {
        own_writes_begin(plan->writes);
        pthread_mutex_lock(&worker->lock);
        TAILQ_INSERT_TAIL(&worker->waiting, plan, queue);
        pthread_cond_signal(&worker->wake);
        pthread_mutex_unlock(&worker->lock);
}
