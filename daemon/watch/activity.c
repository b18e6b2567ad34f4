/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tells the timers of a session when they may rest: while its instance records nothing. If all
 * sessions rest, the daemon does not wake up at all. In a shared instance a record wakes all of
 * them, also those that do not get it. The session makes it together with its notices. The users
 * are losses.c, meter.c, interference.c, ledger.c and newcomers.c. It runs in the event loop.
 *
 * The kernel wakes the pollers of trace_pipe when it commits a record to any CPU's ring. Such a
 * wake-up costs the traced task time. So the file is polled only while a timer rests, and the first
 * record ends the poll. The file is never read: the consumer owns the records.
 *
 * It relies on these behaviours of kernel/trace/ring_buffer.c:
 * - trace_pipe ignores buffer_percent, unlike trace_pipe_raw;
 * - each commit wakes an edge-triggered poll, also if the ring was not empty. A flight recorder is
 *   never empty;
 * - a full ring drops events without a wake-up. So only a flight recorder, which overwrites, may
 *   rest with records in its rings;
 * - a poll belongs to the ring that the instance had when the poll began. So it begins again after
 *   each swap. A trigger may swap at any time, so a session with such a trigger never rests. */

#include "watch/activity.h"

#include <errno.h>
#include <sys/epoll.h>

#include "trace/trace-statistics.h"

#define WAITERS_MAX 8

struct Activity {
        sd_event *event; /* the session's registry holds it */
        const Trace *trace;
        sd_event_source *source; /* NULL: nothing may rest */
        ActivityWaiter *waiters[WAITERS_MAX];
        size_t n_waiters;
};

static void activity_set_source(Activity *activity, bool on) {
        (void)sd_event_source_set_enabled(activity->source, on ? SD_EVENT_ON : SD_EVENT_OFF);
}

static void activity_remove(Activity *activity, size_t i) {
        activity->waiters[i]->is_resting = false;
        activity->waiters[i] = activity->waiters[--activity->n_waiters];
}

/* Ends the rest of each waiter that has not seen the newest events. */
static void activity_wake(Activity *activity) {
        ActivityWaiter *woken[WAITERS_MAX];
        uint64_t n_events = 0;
        size_t n = 0;

        int r = trace_count_activity(activity->trace, &n_events);
        for (size_t i = activity->n_waiters; i-- > 0;)
                if (r < 0 || activity->waiters[i]->n_events != n_events) {
                        woken[n++] = activity->waiters[i];
                        activity_remove(activity, i);
                }
        if (activity->n_waiters == 0)
                activity_set_source(activity, false);
        /* The handlers only set timers: none of them frees a waiter. */
        for (size_t i = 0; i < n; i++)
                woken[i]->handler(woken[i]->userdata);
}

static int activity_on_record(sd_event_source *source _unused_,
                int fd _unused_,
                uint32_t revents _unused_,
                void *userdata) {
        activity_wake(userdata);
        return 0;
}

static bool is_drained(const Trace *trace) {
        for (unsigned cpu = 0; cpu < trace->n_cpus; cpu++) {
                CpuStatistics s = {};

                if (trace_read_ring_statistics(trace, cpu, &s) < 0 || s.entries > 0)
                        return false;
        }
        return true;
}

static bool activity_may_rest(const Trace *trace) {
        return trace->spec->mode == MODE_FLIGHT || is_drained(trace);
}

/* Counts again while the poll runs, because events may have come before it. */
static bool activity_begin_rest(Activity *activity, ActivityWaiter *waiter) {
        uint64_t n_events;

        if (!activity->source || activity->n_waiters == WAITERS_MAX)
                return false;
        activity_set_source(activity, true);
        if (trace_count_activity(activity->trace, &n_events) == 0 && n_events == waiter->n_events &&
                        activity_may_rest(activity->trace)) {
                waiter->is_resting = true;
                activity->waiters[activity->n_waiters++] = waiter;
                return true;
        }
        if (activity->n_waiters == 0)
                activity_set_source(activity, false);
        return false;
}

bool activity_rest(Activity *activity, ActivityWaiter *waiter) {
        uint64_t n_events;

        activity_forget(activity, waiter);
        if (!activity || !activity->source || trace_count_activity(activity->trace, &n_events) < 0)
                return false;
        bool is_quiet = !waiter->has_counted || waiter->n_events == n_events;
        waiter->n_events = n_events;
        waiter->has_counted = true;
        return is_quiet && activity_begin_rest(activity, waiter);
}

sd_event *activity_get_event(const Activity *activity) {
        return activity->event;
}

void activity_forget(Activity *activity, ActivityWaiter *waiter) {
        if (!activity || !waiter->is_resting)
                return;
        for (size_t i = 0; i < activity->n_waiters; i++)
                if (activity->waiters[i] == waiter) {
                        activity_remove(activity, i);
                        break;
                }
        if (activity->n_waiters == 0 && activity->source)
                activity_set_source(activity, false);
}

void activity_follow_swap(Activity *activity) {
        if (!activity || activity->n_waiters == 0)
                return;
        activity_set_source(activity, false);
        activity_set_source(activity, true);
        activity_wake(activity);
}

static bool has_swap_trigger(const Spec *spec) {
        for (size_t i = 0; i < spec->n_triggers; i++)
                if (spec->triggers[i].action == ACTION_SNAPSHOT)
                        return true;
        return false;
}

static int activity_open(Activity *activity) {
        const Trace *trace = activity->trace;

        if (trace->pipe_fd < 0 || has_swap_trigger(trace->spec))
                return 0;
        int r = sd_event_add_io(activity->event,
                        &activity->source,
                        trace->pipe_fd,
                        EPOLLIN | EPOLLET,
                        activity_on_record,
                        activity);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(activity->source, "activity");
        activity_set_source(activity, false);
        return 0;
}

int activity_new(sd_event *event, const Trace *trace, Activity **ret) {
        Activity *activity = calloc(1, sizeof(*activity));

        if (!activity)
                return -ENOMEM;
        activity->event = event;
        activity->trace = trace;
        int r = activity_open(activity);
        if (r < 0)
                activity_free(activity);
        else
                *ret = activity;
        return r;
}

int activity_follow_move(Activity *activity) {
        ActivityWaiter *woken[WAITERS_MAX];
        size_t n = 0;

        if (!activity)
                return 0;
        for (; activity->n_waiters > 0; n++) {
                woken[n] = activity->waiters[activity->n_waiters - 1];
                activity_remove(activity, activity->n_waiters - 1);
        }
        activity_close(activity);
        int r = activity_open(activity);
        for (size_t i = 0; i < n; i++)
                woken[i]->handler(woken[i]->userdata);
        return r;
}

void activity_close(Activity *activity) {
        if (!activity)
                return;
        while (activity->n_waiters > 0)
                activity_remove(activity, activity->n_waiters - 1);
        activity->source = sd_event_source_disable_unref(activity->source);
}

Activity *activity_free(Activity *activity) {
        activity_close(activity);
        free(activity);
        return NULL;
}
