/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Ends a fenced session when another program changes its instance. The session makes it at the
 * first start. It runs in the event loop until the session ends, also while the session is stopped.
 *
 * inotify does not report who wrote to a file. We write only in plans, which own-writes.c
 * announces: any write that the watch reports outside of them is another program's. What the watch
 * reports while one of our plans is in flight is dropped when the plan is over, and the whole fence
 * is read back from the kernel. A change that another program makes and undoes within one of our
 * plans is not noticed. The consumer cuts the records of non-members even then.
 *
 * The guard changes tracing_on from within the kernel, and inotify does not report that. Therefore
 * the latch is also read once a second, for sessions without a reader. While nothing is recorded,
 * it is read every ACTIVITY_QUIET_USEC: the guard has then stopped a trace that had nothing to
 * show, and only the report is late. This module works as
 * newcomers.c does: it has a plan of its own, which only reads, and the worker serializes that plan
 * with the session's plans. */

#include "watch/interference.h"

#include <errno.h>
#include <string.h>

#include "trace/trace-fence.h"

#define TICK_USEC 1000000

struct Interference {
        Activity *activity;
        ActivityWaiter waiter;
        Worker *worker;
        Trace *trace;
        InterferenceHandler handler;
        void *userdata;
        sd_event_source *source, *timer, *soon;
        bool is_busy;        /* our plans that write are in flight */
        bool wants_readback; /* when the plan in flight is over */
        bool has_reported;

        Plan plan;
        bool in_flight;
        bool is_readback; /* false: read the latch only */
        size_t next;
        bool has_fired;
        bool is_orphan; /* freed when the plan is over */
};

static int step_latch(void *context, Reason *reason) {
        Interference *interference = context;

        return trace_verify_latch(interference->trace, &interference->has_fired, reason);
}

/* Our own writes are done and queued. Any write after this reading is another program's. */
static int step_drop(void *context, Reason *reason _unused_) {
        Interference *interference = context;
        char name[WATCH_NAME_MAX];

        if (interference->is_readback)
                (void)watch_take(interference->trace->watch, name);
        interference->next = 0;
        return 0;
}

static int step_readback(void *context, Reason *reason) {
        Interference *interference = context;

        return interference->is_readback
                               ? trace_verify(interference->trace, &interference->next, reason)
                               : 0;
}

static const PlanStep steps[] = {
        { "look-drop", step_drop, NULL },
        { "look-latch", step_latch, NULL },
        { "look-back", step_readback, NULL },
};

static void set_sources(Interference *interference, bool on) {
        (void)sd_event_source_set_enabled(interference->source, on ? SD_EVENT_ON : SD_EVENT_OFF);
        if (!on)
                activity_forget(interference->activity, &interference->waiter);
        else
                (void)sd_event_source_set_time_relative(interference->timer,
                                activity_rest(interference->activity, &interference->waiter)
                                                ? ACTIVITY_QUIET_USEC
                                                : TICK_USEC);
        (void)sd_event_source_set_enabled(
                        interference->timer, on ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

static void interference_report(Interference *interference, const char *code, const char *text) {
        if (interference->has_reported)
                return;
        interference->has_reported = true;
        set_sources(interference, false);
        /* The handler may free `interference`. */
        interference->handler(code, text, interference->userdata);
}

/* The plan is submitted from the event loop and not by the caller, because the worker may be gone
 * when the daemon ends. */
static void interference_look_soon(Interference *interference) {
        interference->wants_readback = true;
        if (!interference->in_flight)
                (void)sd_event_source_set_enabled(interference->soon, SD_EVENT_ONESHOT);
}

static void interference_on_plan(Plan *plan, int result, const Reason *reason) {
        Interference *interference = plan->userdata;
        char text[128];

        interference->in_flight = false;
        if (interference->is_orphan) {
                interference_free(interference);
                return;
        }
        if (result == KT_E_CANCELLED) /* the daemon ends */
                return;
        if (result > 0) {
                interference_report(interference,
                                interference->has_fired ? "guard" : "interference",
                                reason->text);
                return;
        }
        if (result < 0) {
                snprintf(text,
                                sizeof(text),
                                "the instance can no longer be read: %s",
                                strerror(-result));
                interference_report(interference, "interference", text);
                return;
        }
        if (interference->is_busy)
                return;
        if (interference->wants_readback)
                interference_look_soon(interference);
        else
                set_sources(interference, true);
}

static void interference_look(Interference *interference) {
        if (interference->has_reported || interference->in_flight || interference->is_busy)
                return;
        interference->is_readback = interference->wants_readback;
        interference->wants_readback = false;
        interference->has_fired = false;
        interference->plan = (Plan){
                .uid = interference->trace->owner->uid,
                .context = interference,
                .done = interference_on_plan,
                .userdata = interference,
        };
        plan_init(&interference->plan, steps, ELEMENTSOF(steps), NULL);
        interference->in_flight = true;
        worker_submit(interference->worker, &interference->plan);
}

static void look_at_watch(Interference *interference) {
        char name[WATCH_NAME_MAX], text[WATCH_NAME_MAX + 64];

        if (!watch_take(interference->trace->watch, name))
                return;
        snprintf(text, sizeof(text), "another program wrote to the session's instance: %s", name);
        interference_report(interference, "interference", text);
}

static int interference_on_watch(sd_event_source *source _unused_,
                int fd _unused_,
                uint32_t revents _unused_,
                void *userdata) {
        look_at_watch(userdata);
        return 0;
}

static int interference_on_tick(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        interference_look(userdata);
        return 0;
}

static void interference_on_record(void *userdata) {
        Interference *interference = userdata;

        (void)sd_event_source_set_time_relative(interference->timer, TICK_USEC);
}

static int on_soon(sd_event_source *source _unused_, void *userdata) {
        interference_look(userdata);
        return 0;
}

static int interference_add_sources(Interference *interference) {
        sd_event *event = activity_get_event(interference->activity);
        int r = sd_event_add_io(event,
                        &interference->source,
                        watch_get_fd(interference->trace->watch),
                        EPOLLIN,
                        interference_on_watch,
                        interference);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(interference->source, "interference");
        r = sd_event_add_time_relative(event,
                        &interference->timer,
                        CLOCK_MONOTONIC,
                        TICK_USEC,
                        TICK_USEC / 4,
                        interference_on_tick,
                        interference);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(interference->timer, "interference");
        set_sources(interference, false);
        r = sd_event_add_defer(event, &interference->soon, on_soon, interference);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(interference->soon, "interference-soon");
        return sd_event_source_set_enabled(interference->soon, SD_EVENT_OFF);
}

int interference_new(Activity *activity,
                Worker *worker,
                Trace *trace,
                InterferenceHandler handler,
                void *userdata,
                Interference **ret) {
        _cleanup_(interference_free_cleanup) Interference *interference =
                        calloc(1, sizeof(*interference));

        if (!interference)
                return -ENOMEM;
        interference->activity = activity;
        interference->waiter = (ActivityWaiter){ .handler = interference_on_record,
                .userdata = interference };
        interference->worker = worker;
        interference->trace = trace;
        interference->handler = handler;
        interference->userdata = userdata;
        int r = interference_add_sources(interference);
        if (r < 0)
                return r;
        interference_look_soon(interference);
        *ret = TAKE_PTR(interference);
        return 0;
}

Interference *interference_free(Interference *interference) {
        if (!interference)
                return NULL;
        interference->source = sd_event_source_disable_unref(interference->source);
        interference->timer = sd_event_source_disable_unref(interference->timer);
        interference->soon = sd_event_source_disable_unref(interference->soon);
        activity_forget(interference->activity, &interference->waiter);
        interference->has_reported = true;
        if (interference->in_flight) {
                plan_cancel(&interference->plan);
                interference->is_orphan = true;
                return NULL;
        }
        free(interference);
        return NULL;
}

void interference_begin(Interference *interference) {
        if (!interference || interference->has_reported)
                return;
        interference->is_busy = true;
        set_sources(interference, false);
        /* A read-back that is in flight or requested takes what the watch reports, because our own
         * writes are in it. */
        if (!interference->wants_readback &&
                        !(interference->in_flight && interference->is_readback))
                look_at_watch(interference);
}

void interference_end(Interference *interference) {
        if (!interference || interference->has_reported)
                return;
        interference->is_busy = false;
        interference_look_soon(interference);
}
