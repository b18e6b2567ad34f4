/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Ends a session that records more than its limit. Made by session-run.c at the first start of a
 * session that has one; in the event loop. The counters are the kernel's own, per_cpu/cpuN/stats,
 * read once a second while the session runs and at each start: nothing is added to an event. Events
 * that found the ring full count as well, since they cost nearly as much.
 *
 * A token bucket: so many a second, and what was left over from earlier seconds up to one second's.
 * Who stops before the look that would end the session finds it at the next start. Does not slow a
 * session down: the kernel has no means for that but turning events off.
 */

#include "watch/meter.h"

#include <errno.h>
#include <inttypes.h>

#include "base/log.h"

#define TICK_USEC 1000000

/* A session whose events cannot be counted has no limit. */
#define FAILURES_MAX 3

struct Meter {
        const Trace *trace;
        uint64_t max_rate;
        MeterHandler handler;
        void *userdata;
        sd_event_source *timer;
        uint64_t n_events; /* at the last look */
        uint64_t at_usec;  /* of it; 0: none yet */
        int64_t level;     /* tokens; below zero: a debt */
        uint64_t n_all;    /* since the first start */
        unsigned n_failures;
};

static int count_events(const Trace *trace, uint64_t *ret) {
        uint64_t n = 0;

        for (unsigned cpu = 0; cpu < trace->n_cpus; cpu++) {
                CpuStatistics s = {};
                int r = trace_read_statistics(trace, cpu, &s);

                if (r < 0)
                        return r;
                n += s.read + s.entries + s.overrun + s.dropped + s.commit_overrun;
        }
        *ret = n;
        return 0;
}

static uint64_t meter_get_now(const Meter *meter) {
        uint64_t now;

        return sd_event_now(sd_event_source_get_event(meter->timer), CLOCK_MONOTONIC, &now) < 0
                               ? meter->at_usec
                               : now;
}

static void arm(Meter *meter) {
        (void)sd_event_source_set_time_relative(meter->timer, TICK_USEC);
        (void)sd_event_source_set_enabled(meter->timer, SD_EVENT_ONESHOT);
}

/* Fills the bucket by the time that has gone by and takes what was recorded in it. */
static int meter_look(Meter *meter) {
        uint64_t n_events, now = meter_get_now(meter);

        int r = count_events(meter->trace, &n_events);
        if (r < 0)
                return r;
        /* Both only grow, but for a kernel that is told to forget. */
        uint64_t n = n_events > meter->n_events ? n_events - meter->n_events : 0;
        uint64_t usec = now > meter->at_usec ? now - meter->at_usec : 0;
        bool is_first = meter->at_usec == 0;

        meter->n_events = n_events;
        meter->at_usec = now;
        if (is_first)
                return 0;
        int64_t earned = (int64_t)((double)meter->max_rate * (double)usec / TICK_USEC);

        /* One second's at most, or as long as this look was late. */
        meter->level = MIN_OF(meter->level + earned, MAX_OF(earned, (int64_t)meter->max_rate));
        meter->level -= (int64_t)n;
        meter->n_all += n;
        return 0;
}

uint64_t meter_get_cost_usec(uint64_t n_events) {
        return n_events * METER_RECORD_NSEC / 1000;
}

static void meter_report(Meter *meter) {
        char text[256];

        snprintf(text,
                        sizeof(text),
                        "%" PRIi64 " events more than the %" PRIu64
                        " a second that are allowed (max-event-rate): it recorded %" PRIu64
                        ", which took about %" PRIu64
                        " ms of the processors' time; record fewer events or use a filter",
                        -meter->level,
                        meter->max_rate,
                        meter->n_all,
                        meter_get_cost_usec(meter->n_all) / 1000);
        /* May free it. */
        meter->handler(text, meter->userdata);
}

/* True: told, and the meter may be gone. */
static bool meter_fail(Meter *meter, int r) {
        if (++meter->n_failures < FAILURES_MAX)
                return false;
        log_errno(r,
                        LOG_ERR,
                        &(LogContext){ meter->trace->id, NULL, meter->trace->owner->uid },
                        "cannot count what the session records");
        meter->handler("what it records cannot be counted, and max-event-rate not be kept",
                        meter->userdata);
        return true;
}

static int meter_on_tick(sd_event_source *source _unused_, uint64_t usec _unused_, void *userdata) {
        Meter *meter = userdata;
        int r = meter_look(meter);
        if (r < 0 && meter_fail(meter, r))
                return 0;
        if (r == 0)
                meter->n_failures = 0;
        if (r == 0 && meter->level < 0)
                meter_report(meter);
        else
                arm(meter);
        return 0;
}

void meter_start(Meter *meter) {
        (void)meter_look(meter); /* the next one takes it in */
        /* A long rest is no credit for the time after it. */
        meter->level = MIN_OF(meter->level, (int64_t)meter->max_rate);
        arm(meter);
}

void meter_stop(Meter *meter) {
        (void)sd_event_source_set_enabled(meter->timer, SD_EVENT_OFF);
}

int meter_new(sd_event *event,
                const Trace *trace,
                uint64_t max_rate,
                MeterHandler handler,
                void *userdata,
                Meter **ret) {
        _cleanup_(meter_free_cleanup) Meter *meter = calloc(1, sizeof(*meter));

        if (!meter)
                return -ENOMEM;
        meter->trace = trace;
        meter->max_rate = max_rate;
        meter->handler = handler;
        meter->userdata = userdata;
        int r = sd_event_add_time_relative(event,
                        &meter->timer,
                        CLOCK_MONOTONIC,
                        TICK_USEC,
                        TICK_USEC / 20,
                        meter_on_tick,
                        meter);
        r = r < 0 ? r : sd_event_source_set_enabled(meter->timer, SD_EVENT_OFF);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(meter->timer, "meter");
        *ret = TAKE_PTR(meter);
        return 0;
}

Meter *meter_free(Meter *meter) {
        if (!meter)
                return NULL;
        sd_event_source_disable_unref(meter->timer);
        free(meter);
        return NULL;
}
