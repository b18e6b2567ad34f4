/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Notices changes by other programs to the instance of a session that needs no fence, and has them
 * put back. The session makes it at the first start. It runs in the event loop until the session
 * ends, also while the session is stopped. It does not handle fenced sessions: interference.c does.
 *
 * Any write to a file of the instance wakes it (watch.c). Then a plan of its own compares the files
 * with the values that were set (trace-ledger.c). The worker serializes that plan with the
 * session's plans. Our own writes wake it too, and the comparison finds them correct. It also looks
 * every RARE_USEC, to find two kinds of change: events that are not the session's and that another
 * program enabled, and changes to events that are too many to be watched. While nothing is
 * recorded, it looks every ACTIVITY_QUIET_USEC.
 *
 * A look is delayed by a moment, because a program that resets an instance writes many files. The
 * delay doubles with each repair. Therefore a conflict with a program that undoes each repair costs
 * little. After REPAIRS_MAX repairs in a minute the session ends and reports why. */

#include "watch/ledger.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/log.h"

#define WAIT_USEC     20000
#define WAIT_MAX_USEC 1280000
#define RARE_USEC     10000000
#define MINUTE_USEC   60000000ULL
#define REPAIRS_MAX   20

struct Ledger {
        Activity *activity;
        ActivityWaiter waiter;
        Worker *worker;
        Trace *trace;
        LedgerHandlers handlers;
        void *userdata;
        sd_event_source *source; /* NULL: no watch */
        sd_event_source *timer;
        bool is_busy;    /* our plans that write are in flight */
        bool wants_look; /* when none is in flight */
        bool is_soon;    /* the timer is set for a look soon */
        bool is_over;

        uint64_t since_nsec; /* of the first write since the last look; 0: none */
        bool was_emptied;
        uint64_t repairs_usec[REPAIRS_MAX]; /* the last ones, in a ring */
        size_t n_repairs;

        TraceLedger found; /* belongs to the plan while it is in flight */
        Plan plan;
        bool in_flight;
        bool is_orphan; /* freed when the plan is over */
};

static uint64_t get_now_nsec(void) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int ledger_step_look(void *context, Reason *reason) {
        Ledger *ledger = context;

        return trace_ledger_look(ledger->trace, &ledger->found, reason);
}

static int step_mark(void *context, Reason *reason _unused_) {
        Ledger *ledger = context;

        ledger->found.until_nsec = get_now_nsec();
        trace_ledger_mark(ledger->trace, &ledger->found);
        return 0;
}

static const PlanStep steps[] = {
        { "ledger-look", ledger_step_look, NULL },
        { "ledger-mark", step_mark, NULL },
};

/* Counts the repairs of the last minute. */
static size_t count_repairs(const Ledger *ledger, uint64_t now_usec) {
        size_t n = 0;

        for (size_t i = 0; i < MIN_OF(ledger->n_repairs, (size_t)REPAIRS_MAX); i++)
                n += now_usec - ledger->repairs_usec[i] < MINUTE_USEC;
        return n;
}

static void ledger_set_timer(Ledger *ledger, uint64_t usec) {
        (void)sd_event_source_set_time_relative(ledger->timer, usec);
        (void)sd_event_source_set_enabled(ledger->timer, SD_EVENT_ONESHOT);
}

static void ledger_look_soon(Ledger *ledger) {
        size_t n = count_repairs(ledger, get_now_nsec() / 1000);

        if (ledger->is_soon) /* further writes do not delay the look */
                return;
        ledger->is_soon = true;
        ledger_set_timer(ledger, MIN_OF((uint64_t)WAIT_USEC << n, (uint64_t)WAIT_MAX_USEC));
}

static void ledger_end_session(Ledger *ledger, const char *text) {
        ledger->is_over = true;
        if (ledger->source)
                (void)sd_event_source_set_enabled(ledger->source, SD_EVENT_OFF);
        /* The handler may free `ledger`. */
        ledger->handlers.on_over(text, ledger->userdata);
}

/* Returns true if the limit is reached. Then the session's end was already reported. */
static bool count_repair(Ledger *ledger, const TraceLedger *found) {
        uint64_t now_usec = get_now_nsec() / 1000;
        Reason what = {}, why = {};

        ledger->repairs_usec[ledger->n_repairs++ % REPAIRS_MAX] = now_usec;
        if (count_repairs(ledger, now_usec) < REPAIRS_MAX)
                return false;
        trace_ledger_format(found, &what);
        reason_set(&why,
                        0,
                        "other programs repeatedly changed its instance, and it was put back %d "
                        "times in a minute: the last time %s",
                        REPAIRS_MAX,
                        what.text);
        ledger_end_session(ledger, why.text);
        return true;
}

static void ledger_report(Ledger *ledger) {
        TraceLedger found = ledger->found; /* the handlers may end the session */

        if (found.n == 0)
                return;
        ledger->handlers.on_changes(&found, ledger->userdata);
        if (!ledger->is_over && found.n_put_back > 0 && count_repair(ledger, &found))
                return;
}

static void ledger_on_plan(Plan *plan, int result, const Reason *reason) {
        Ledger *ledger = plan->userdata;

        ledger->in_flight = false;
        if (ledger->is_orphan) {
                ledger_free(ledger);
                return;
        }
        if (result == KT_E_CANCELLED) /* the daemon ends */
                return;
        if (result > 0) {
                ledger_end_session(ledger, reason->text);
                return;
        }
        if (result < 0)
                log_errno(result,
                                LOG_WARNING,
                                &(LogContext){ ledger->trace->id, NULL, ledger->trace->owner->uid },
                                "cannot look whether others have changed the instance");
        if (ledger->since_nsec != 0 && !ledger->is_busy)
                ledger_look_soon(ledger);
        else
                ledger_set_timer(ledger,
                                activity_rest(ledger->activity, &ledger->waiter)
                                                ? ACTIVITY_QUIET_USEC
                                                : RARE_USEC);
        ledger_report(ledger);
}

static void ledger_on_record(void *userdata) {
        Ledger *ledger = userdata;

        if (!ledger->is_over && !ledger->is_soon && !ledger->in_flight)
                ledger_set_timer(ledger, RARE_USEC);
}

static void ledger_look(Ledger *ledger) {
        TraceLedger *found = &ledger->found;

        ledger->is_soon = false;
        if (ledger->is_over || ledger->in_flight)
                return;
        if (ledger->is_busy) {
                ledger->wants_look = true;
                return;
        }
        found->n = found->n_put_back = found->next = 0;
        found->from_nsec = ledger->since_nsec ?: get_now_nsec();
        found->was_emptied = ledger->was_emptied;
        ledger->since_nsec = 0;
        ledger->was_emptied = ledger->wants_look = false;
        ledger->plan = (Plan){
                .uid = ledger->trace->owner->uid,
                .context = ledger,
                .done = ledger_on_plan,
                .userdata = ledger,
        };
        /* The writes of this plan are not announced: after a repair they wake the ledger, and it
         * looks again. */
        plan_init(&ledger->plan, steps, ELEMENTSOF(steps), NULL);
        ledger->in_flight = true;
        worker_submit(ledger->worker, &ledger->plan);
}

/* is_ours: one of our own plans may have emptied the ring. */
static void ledger_take(Ledger *ledger, bool is_ours) {
        char name[WATCH_NAME_MAX];

        if (!ledger->source || !watch_take(ledger->trace->watch, name))
                return;
        if (ledger->since_nsec == 0)
                ledger->since_nsec = get_now_nsec();
        if (watch_was_emptied(ledger->trace->watch) && !is_ours)
                ledger->was_emptied = true;
        if (ledger->in_flight) /* ledger_on_plan looks again */
                return;
        if (ledger->is_busy)
                ledger->wants_look = true;
        else
                ledger_look_soon(ledger);
}

static int ledger_on_watch(sd_event_source *source _unused_,
                int fd _unused_,
                uint32_t revents _unused_,
                void *userdata) {
        Ledger *ledger = userdata;

        ledger_take(ledger, ledger->is_busy);
        return 0;
}

static int ledger_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        ledger_look(userdata);
        return 0;
}

static int ledger_add_sources(Ledger *ledger) {
        sd_event *event = activity_get_event(ledger->activity);
        int r = sd_event_add_time_relative(event,
                        &ledger->timer,
                        CLOCK_MONOTONIC,
                        WAIT_USEC,
                        WAIT_USEC / 4,
                        ledger_on_timer,
                        ledger);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(ledger->timer, "ledger-timer");
        if (!ledger->trace->watch)
                return 0;
        r = sd_event_add_io(event,
                        &ledger->source,
                        watch_get_fd(ledger->trace->watch),
                        EPOLLIN,
                        ledger_on_watch,
                        ledger);
        if (r < 0)
                return r;
        return sd_event_source_set_description(ledger->source, "ledger");
}

int ledger_new(Activity *activity,
                Worker *worker,
                Trace *trace,
                const LedgerHandlers *handlers,
                void *userdata,
                Ledger **ret) {
        _cleanup_(ledger_free_cleanup) Ledger *ledger = calloc(1, sizeof(*ledger));

        if (!ledger)
                return -ENOMEM;
        ledger->activity = activity;
        ledger->waiter = (ActivityWaiter){ .handler = ledger_on_record, .userdata = ledger };
        ledger->worker = worker;
        ledger->trace = trace;
        ledger->handlers = *handlers;
        ledger->userdata = userdata;
        int r = trace_ledger_init(&ledger->found, trace);
        r = r ?: ledger_add_sources(ledger);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(ledger);
        return 0;
}

Ledger *ledger_free(Ledger *ledger) {
        if (!ledger)
                return NULL;
        ledger->source = sd_event_source_disable_unref(ledger->source);
        ledger->timer = sd_event_source_disable_unref(ledger->timer);
        activity_forget(ledger->activity, &ledger->waiter);
        ledger->is_over = true;
        if (ledger->in_flight) {
                plan_cancel(&ledger->plan);
                ledger->is_orphan = true;
                return NULL;
        }
        trace_ledger_clear(&ledger->found);
        free(ledger);
        return NULL;
}

void ledger_begin(Ledger *ledger) {
        if (!ledger || ledger->is_over)
                return;
        /* Writes that are queued now are another program's. */
        ledger_take(ledger, false);
        ledger->is_busy = true;
}

void ledger_end(Ledger *ledger) {
        if (!ledger || ledger->is_over)
                return;
        ledger_take(ledger, true);
        ledger->is_busy = false;
        if (!ledger->in_flight && (ledger->wants_look || ledger->since_nsec != 0))
                ledger_look_soon(ledger);
}
