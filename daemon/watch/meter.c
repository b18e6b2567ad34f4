/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Ends a session that records more events than its limit allows. session-run.c makes it at the
 * first start of a session that has such a limit. It runs in the event loop. It reads the kernel's
 * own counters, per_cpu/cpuN/stats, once a second while the session runs and at each start, except
 * while nothing is recorded (activity.c). It adds no cost to an event. Events that found the ring
 * full count as well, since they cost nearly as much.
 *
 * In a shared instance, each recorded event counts for all sessions that asked for the event, also
 * if their filters do not let it through: the kernel may have recorded it for any of them. A
 * session gets the same part of the lost events as of those that were read, so that it does not pay
 * for the flood of another one.
 *
 * It is a token bucket. It fills with max_rate tokens a second and holds the tokens of at most one
 * second. A session that stops before the look that would end it ends at the look after the next
 * start. The meter does not slow a session down: the kernel has no means for that except disabling
 * events. */

#include "watch/meter.h"

#include <errno.h>
#include <inttypes.h>

#include "base/log.h"
#include "interfaces/cost.h"
#include "trace/trace-statistics.h"

#define TICK_USEC 1000000

/* After this many failures in a row the session ends, because its limit cannot be enforced. */
#define FAILURES_MAX 3

struct Meter {
        Activity *activity;
        ActivityWaiter waiter;
        const Trace *trace;
        uint64_t max_rate;
        MeterHandler handler;
        void *userdata;
        sd_event_source *timer;
        TraceLoad load;   /* at the last look */
        uint64_t at_usec; /* time of the last look; 0: no look yet */
        int64_t level;    /* tokens; negative: a debt */
        uint64_t n_all;   /* since the first start */
        unsigned n_failures;
};

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

/* The values only grow, except when a program resets the kernel's counters. */
static uint64_t subtract(uint64_t now, uint64_t before) {
        return now > before ? now - before : 0;
}

static uint64_t count_since(const TraceLoad *now, const TraceLoad *before) {
        uint64_t wanted = subtract(now->wanted, before->wanted),
                 read = subtract(now->read, before->read), lost = subtract(now->lost, before->lost);

        if (read > wanted)
                lost = (uint64_t)((double)lost * (double)wanted / (double)read);
        return read > 0 ? wanted + lost : wanted;
}

/* Adds the tokens of the time since the last look and takes one for each event of that time. */
static int meter_look(Meter *meter) {
        TraceLoad load;
        uint64_t now = meter_get_now(meter);

        int r = trace_read_load(meter->trace, &load);
        if (r < 0)
                return r;
        uint64_t n = count_since(&load, &meter->load);
        if (load.read ==
                        meter->load.read) /* the lost ones count with the next ones that are read */
                load.lost = meter->load.lost;
        uint64_t usec = now > meter->at_usec ? now - meter->at_usec : 0;
        bool is_first = meter->at_usec == 0;

        meter->load = load;
        meter->at_usec = now;
        if (is_first)
                return 0;
        int64_t earned = (int64_t)((double)meter->max_rate * (double)usec / TICK_USEC);

        /* At most the tokens of one second, or of the time since the last look if that is longer.
         */
        meter->level = MIN_OF(meter->level + earned, MAX_OF(earned, (int64_t)meter->max_rate));
        meter->level -= (int64_t)n;
        meter->n_all += n;
        return 0;
}

uint64_t meter_get_cost_usec(uint64_t n_events) {
        return n_events * KT_RECORD_NSEC / 1000;
}

static void meter_report(Meter *meter) {
        const char *advice = trace_is_shared(meter->trace)
                                             ? "record fewer events, or use a filter in an "
                                               "instance of its own (share: never)"
                                             : "record fewer events or use a filter";
        char text[320];

        snprintf(text,
                        sizeof(text),
                        "%" PRIi64 " events more than the %" PRIu64
                        " a second that are allowed (max-event-rate): it recorded %" PRIu64
                        ", which took about %" PRIu64 " ms of the processors' time; %s",
                        -meter->level,
                        meter->max_rate,
                        meter->n_all,
                        meter_get_cost_usec(meter->n_all) / 1000,
                        advice);
        /* The handler may free the meter. */
        meter->handler(text, meter->userdata);
}

/* Returns true if the failure was reported. Then the meter may be freed. */
static bool meter_fail(Meter *meter, int r) {
        if (++meter->n_failures < FAILURES_MAX)
                return false;
        log_errno(r,
                        LOG_ERR,
                        &(LogContext){ meter->trace->id, NULL, meter->trace->owner->uid },
                        "cannot count what the session records");
        meter->handler("the session's events cannot be counted, so max-event-rate cannot be "
                       "enforced",
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
        else if (!activity_rest(meter->activity, &meter->waiter))
                arm(meter);
        return 0;
}

static void meter_on_record(void *userdata) {
        meter_start(userdata);
}

void meter_start(Meter *meter) {
        (void)meter_look(meter); /* a failure shows at the next look */
        /* The time while the session was stopped or quiet earns no extra tokens. */
        meter->level = MIN_OF(meter->level, (int64_t)meter->max_rate);
        arm(meter);
}

/* At the next start the trace may be in another instance, whose counters begin again. */
void meter_stop(Meter *meter) {
        (void)meter_look(meter);
        (void)sd_event_source_set_enabled(meter->timer, SD_EVENT_OFF);
        activity_forget(meter->activity, &meter->waiter);
}

int meter_new(Activity *activity,
                const Trace *trace,
                uint64_t max_rate,
                MeterHandler handler,
                void *userdata,
                Meter **ret) {
        _cleanup_(meter_free_cleanup) Meter *meter = calloc(1, sizeof(*meter));

        if (!meter)
                return -ENOMEM;
        meter->activity = activity;
        meter->waiter = (ActivityWaiter){ .handler = meter_on_record, .userdata = meter };
        meter->trace = trace;
        meter->max_rate = max_rate;
        meter->handler = handler;
        meter->userdata = userdata;
        int r = sd_event_add_time_relative(activity_get_event(activity),
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
        activity_forget(meter->activity, &meter->waiter);
        free(meter);
        return NULL;
}
