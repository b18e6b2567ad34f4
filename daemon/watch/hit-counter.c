/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Counts how often the notify triggers of a session were hit. session-notice.c makes it at the
 * first start of a session that has such triggers. It runs in the event loop. Only the opening of
 * the files is a plan of its own on the worker, beside the session's plans, as in newcomers.c.
 *
 * The kernel counts the hits in histograms and does not wake any reader. Therefore a process of
 * ktrace-consumer reads the histograms every LOOK_MSEC as long as the session has that process
 * (hist-reader.c), and reports the increases.
 *
 * A new process replaces one that ended. The new process first reports all hits since the
 * beginning, and then the end of that first report. The hits that are already known are subtracted,
 * so each hit is reported exactly once. After TRIES_MAX failed attempts in a row the counter gives
 * up and calls on_failed.
 *
 * In a judged trace, hits are dropped after the guard has fired. Therefore tracing_on is read
 * before each report. */

#include "watch/hit-counter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "interfaces/defence.h"
#include "interfaces/spec-trigger.h"
#include "trace/trace-notify.h"

/* A hit is reported within 100 ms. That includes the pace of notices and the bus. */
#define LOOK_MSEC  50
#define TRIES_MAX  5
#define RETRY_USEC 100000

typedef struct Count {
        uint64_t known;    /* hits, reported or above the trigger's own count */
        uint64_t catching; /* hits in a new process's first report */
        uint64_t dropped;  /* hits without room in the kernel's table */
        uint32_t pid;
} Count;

struct HitCounter {
        const ConsumerLauncher *launcher;
        Worker *worker;
        const HitCounterHandlers *handlers;
        void *userdata;
        TraceNotify notify;
        Plan plan;
        bool in_flight, is_orphan;
        Consumer *consumer;
        bool is_catching_up; /* until the process has made its first report */
        bool is_stopping;    /* the process ends after its next report */
        bool is_failed;
        unsigned n_tries; /* attempts in a row without a report */
        sd_event_source *timer;
        Count *counts; /* one for each trigger of the spec */
};

static const Trace *get_trace(const HitCounter *counter) {
        return counter->notify.trace;
}

static bool may_report(const HitCounter *counter) {
        char text[8] = "";

        if (counter->notify.tracing_fd < 0 || !defence_is_on("guard-hist"))
                return true;
        return pread(counter->notify.tracing_fd, text, sizeof(text) - 1, 0) > 0 && text[0] == '1';
}

/* A trigger with a count limit is reported at most that often. The kernel's histogram counts on. */
static void take_hits(HitCounter *counter, size_t trigger, uint64_t n) {
        uint64_t most = get_trace(counter)->spec->triggers[trigger].count;
        Count *count = &counter->counts[trigger];
        uint64_t before = count->known;

        count->known += n;
        if (most > 0)
                n = before < most ? MIN_OF(n, most - before) : 0;
        if (n > 0 && may_report(counter))
                counter->handlers->on_hits(trigger, n, count->pid, counter->userdata);
}

static void on_rose(HitCounter *counter, const ControlMessage *message) {
        if (message->rose.table >= counter->notify.n)
                return;
        size_t trigger = counter->notify.tables[message->rose.table].trigger;
        Count *count = &counter->counts[trigger];
        uint64_t n = message->rose.delta;

        count->pid = (uint32_t)message->rose.key;
        if (message->rose.dropped > count->dropped) {
                n += message->rose.dropped - count->dropped;
                count->dropped = message->rose.dropped;
        }
        if (counter->is_catching_up)
                count->catching += n;
        else
                take_hits(counter, trigger, n);
}

static void on_all_reported(HitCounter *counter) {
        bool was_catching_up = counter->is_catching_up;

        counter->n_tries = 0;
        counter->is_catching_up = false;
        for (size_t i = 0; was_catching_up && i < counter->notify.n; i++) {
                size_t trigger = counter->notify.tables[i].trigger;
                Count *count = &counter->counts[trigger];

                if (count->catching > count->known)
                        take_hits(counter, trigger, count->catching - count->known);
                count->catching = 0;
        }
        if (counter->is_stopping) {
                counter->consumer = consumer_free(counter->consumer);
                trace_notify_clear(&counter->notify);
        }
}

static void give_up(HitCounter *counter, const char *why) {
        if (counter->is_failed)
                return;
        counter->is_failed = true;
        counter->handlers->on_failed(why, counter->userdata);
}

static void hit_counter_try_again(HitCounter *counter, const char *why) {
        LogContext context = { get_trace(counter)->id, NULL, get_trace(counter)->owner->uid };

        counter->consumer = consumer_free(counter->consumer);
        trace_notify_clear(&counter->notify);
        if (counter->is_stopping)
                return;
        if (++counter->n_tries == TRIES_MAX) {
                give_up(counter, why);
                return;
        }
        log_write(LOG_NOTICE, &context, "hits are counted by a new process: %s", why);
        (void)sd_event_source_set_time_relative(counter->timer, RETRY_USEC * counter->n_tries);
        (void)sd_event_source_set_enabled(counter->timer, SD_EVENT_ONESHOT);
}

static int hit_counter_send_table(HitCounter *counter, size_t i) {
        const ControlMessage message = {
                .type = CONTROL_TABLE,
                .version = CONTROL_VERSION,
                .table = {
                        .index = (uint32_t)i,
                        .n_in_file = counter->notify.tables[i].n_in_file,
                        .layout = {
                                .n_keys = 1,
                                .keys = { { .name = "common_pid", .kind = HIST_NUMBER } },
                        },
                },
        };

        return consumer_send(counter->consumer, &message, counter->notify.tables[i].fds, 2);
}

static int send_flush(HitCounter *counter) {
        return consumer_send(counter->consumer,
                        &(ControlMessage){ .type = CONTROL_FLUSH, .version = CONTROL_VERSION },
                        NULL,
                        0);
}

static void send_tables(HitCounter *counter) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < counter->notify.n; i++)
                r = hit_counter_send_table(counter, i);
        r = r ?: send_flush(counter);
        trace_notify_close_tables(&counter->notify);
        if (r < 0)
                hit_counter_try_again(counter, strerror(-r));
}

static void hit_counter_on_message(Consumer *consumer _unused_,
                const ControlMessage *message,
                void *userdata) {
        HitCounter *counter = userdata;
        char text[CONTROL_TEXT_MAX];

        switch (message->type) {
        case CONTROL_READY:
                send_tables(counter);
                break;
        case CONTROL_ROSE:
                on_rose(counter, message);
                break;
        case CONTROL_FLUSHED:
                on_all_reported(counter);
                break;
        case CONTROL_REFUSED:
                snprintf(text, sizeof(text), "%.*s", CONTROL_TEXT_MAX - 1, message->status.text);
                hit_counter_try_again(counter, text);
                break;
        default:
                break;
        }
}

static void hit_counter_on_closed(Consumer *consumer _unused_, void *userdata) {
        hit_counter_try_again(userdata, "the previous one has ended");
}

static int hit_counter_begin(HitCounter *counter, Reason *reason) {
        static const ConsumerHandlers handlers = { hit_counter_on_message, hit_counter_on_closed };
        const ControlMessage message = {
                .type = CONTROL_TABLES,
                .version = CONTROL_VERSION,
                .tables = { .n = (uint32_t)counter->notify.n, .interval_msec = LOOK_MSEC },
        };

        for (size_t i = 0; i < counter->notify.n; i++) {
                Count *count = &counter->counts[counter->notify.tables[i].trigger];

                count->catching = count->dropped = 0;
        }
        counter->is_catching_up = true;
        int r = consumer_spawn(counter->launcher, &handlers, counter, &counter->consumer, reason);
        return r ?: consumer_send(counter->consumer, &message, NULL, 0);
}

static void hit_counter_on_opened(Plan *plan, int result, const Reason *reason) {
        HitCounter *counter = plan->userdata;
        Reason why = *reason;

        counter->in_flight = false;
        if (counter->is_orphan) {
                hit_counter_free(counter);
                return;
        }
        if (result == KT_E_CANCELLED || (result == 0 && counter->notify.n == 0))
                return;
        result = result ?: hit_counter_begin(counter, &why);
        if (result != 0)
                hit_counter_try_again(counter, result < 0 ? strerror(-result) : why.text);
}

void hit_counter_set_known(HitCounter *counter, size_t trigger, uint64_t n) {
        counter->counts[trigger].known = n;
}

void hit_counter_start(HitCounter *counter) {
        if (counter)
                counter->is_stopping = false;
        if (!counter || counter->in_flight || counter->consumer || counter->is_failed)
                return;
        trace_plan_notify(&counter->notify, &counter->plan);
        counter->plan.done = hit_counter_on_opened;
        counter->plan.userdata = counter;
        counter->in_flight = true;
        worker_submit(counter->worker, &counter->plan);
}

void hit_counter_stop(HitCounter *counter) {
        if (counter)
                counter->is_stopping = true;
        /* If the message cannot be sent, the process is about to be reported as closed. */
        if (counter && counter->consumer)
                (void)send_flush(counter);
}

static int hit_counter_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        hit_counter_start(userdata);
        return 0;
}

int hit_counter_new(const ConsumerLauncher *launcher,
                Worker *worker,
                const Trace *trace,
                const HitCounterHandlers *handlers,
                void *userdata,
                HitCounter **ret) {
        _cleanup_(hit_counter_free_cleanup) HitCounter *counter = calloc(1, sizeof(*counter));

        if (!counter)
                return -ENOMEM;
        trace_notify_init(&counter->notify, trace);
        counter->launcher = launcher;
        counter->worker = worker;
        counter->handlers = handlers;
        counter->userdata = userdata;
        counter->counts = calloc(trace->spec->n_triggers, sizeof(*counter->counts));
        if (!counter->counts)
                return -ENOMEM;
        int r = sd_event_add_time_relative(launcher->event,
                        &counter->timer,
                        CLOCK_MONOTONIC,
                        0,
                        RETRY_USEC / 10,
                        hit_counter_on_timer,
                        counter);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(counter->timer, "hit-counter");
        r = sd_event_source_set_enabled(counter->timer, SD_EVENT_OFF);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(counter);
        return 0;
}

HitCounter *hit_counter_free(HitCounter *counter) {
        if (!counter)
                return NULL;
        counter->consumer = consumer_free(counter->consumer);
        counter->timer = sd_event_source_disable_unref(counter->timer);
        if (counter->in_flight) {
                plan_cancel(&counter->plan);
                counter->is_orphan = true;
                return NULL;
        }
        trace_notify_clear(&counter->notify);
        free(counter->counts);
        free(counter);
        return NULL;
}
