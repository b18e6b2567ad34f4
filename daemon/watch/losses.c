/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Counts the lost events of a running session, so that its owner learns of them in time to react.
 * session-notice.c makes it at the first start. It runs in the event loop.
 *
 * The kernel does not notify anyone when it drops an event, and a ring of 8 MB is full 40 ms after
 * its reader stalls. Therefore the counters, per_cpu/cpuN/stats, are read every LOOK_USEC, also
 * when another process reads the stream. The readings rest while the rings are empty and nothing is
 * recorded (activity.c). A reading takes no lock, because the files stay open, and costs 2 us for
 * each CPU. The readings use at most one COST_MAX-th of a processor: with hundreds of CPUs they
 * become rarer. Flight recorders have no lost events, because they are meant to
 * overwrite old events. */

#include "watch/losses.h"

#include <errno.h>
#include <time.h>

#include "trace/trace-statistics.h"

#define LOOK_USEC 80000
#define COST_MAX  50

struct Losses {
        Activity *activity;
        ActivityWaiter waiter;
        const Trace *trace;
        LossesHandler handler;
        void *userdata;
        sd_event_source *timer;
        uint64_t *lost;
};

static uint64_t losses_get_cpu_usec(void) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* cannot fail with this clock */
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void losses_look(Losses *losses) {
        if (!losses)
                return;
        for (unsigned cpu = 0; cpu < losses->trace->n_cpus; cpu++) {
                CpuStatistics s = {};

                /* The users of exact numbers (meter.c, GetStatistics) report the failure. */
                if (trace_read_statistics(losses->trace, cpu, &s) < 0)
                        return;
                losses->lost[cpu] = s.dropped + s.commit_overrun;
        }
        losses->handler(losses->lost, losses->userdata);
}

static void look_and_wait(Losses *losses) {
        uint64_t before = losses_get_cpu_usec();

        losses_look(losses);
        if (activity_rest(losses->activity, &losses->waiter))
                return;
        uint64_t cost = losses_get_cpu_usec() - before;
        (void)sd_event_source_set_time_relative(
                        losses->timer, MAX_OF((uint64_t)LOOK_USEC, cost * COST_MAX));
        (void)sd_event_source_set_enabled(losses->timer, SD_EVENT_ONESHOT);
}

static int losses_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        look_and_wait(userdata);
        return 0;
}

static void losses_on_record(void *userdata) {
        look_and_wait(userdata);
}

void losses_start(Losses *losses) {
        if (losses)
                look_and_wait(losses);
}

void losses_stop(Losses *losses) {
        if (!losses)
                return;
        (void)sd_event_source_set_enabled(losses->timer, SD_EVENT_OFF);
        activity_forget(losses->activity, &losses->waiter);
        losses_look(losses);
}

int losses_new(Activity *activity,
                const Trace *trace,
                LossesHandler handler,
                void *userdata,
                Losses **ret) {
        _cleanup_(losses_free_cleanup) Losses *losses = calloc(1, sizeof(*losses));

        if (!losses)
                return -ENOMEM;
        losses->activity = activity;
        losses->waiter = (ActivityWaiter){ .handler = losses_on_record, .userdata = losses };
        losses->trace = trace;
        losses->handler = handler;
        losses->userdata = userdata;
        losses->lost = calloc(trace->n_cpus, sizeof(*losses->lost));
        if (!losses->lost)
                return -ENOMEM;
        int r = sd_event_add_time_relative(activity_get_event(activity),
                        &losses->timer,
                        CLOCK_MONOTONIC,
                        0,
                        LOOK_USEC / 8,
                        losses_on_timer,
                        losses);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(losses->timer, "losses");
        r = sd_event_source_set_enabled(losses->timer, SD_EVENT_OFF);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(losses);
        return 0;
}

Losses *losses_free(Losses *losses) {
        if (!losses)
                return NULL;
        sd_event_source_disable_unref(losses->timer);
        activity_forget(losses->activity, &losses->waiter);
        free(losses->lost);
        free(losses);
        return NULL;
}
