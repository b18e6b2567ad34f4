/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Histograms of a session: GetHistogram, and clearing and pausing them. The doors call it in the
 * event loop. The daemon never reads the kernel's text itself: the worker opens the file, and a
 * confined process of ktrace-consumer reads it (hist-reader.c) and reports numbers and pieces of
 * text. After the report, the worker checks the guard of a fenced session. If the guard has fired,
 * later counts may belong to other users: the call fails, and the session ends.
 *
 * Some histograms are counted by the session's stream worker: those of the owner's own processes,
 * and all on a kernel without histograms (trace-counts.c). The stream worker answers those calls,
 * after it has checked the guard of a fenced session itself.
 *
 * One call of a session is in progress at a time; the others wait. The instance cannot be removed
 * while the process has the file open. Therefore a session that ends stops that process first. */

#include "session/session-histogram.h"

#include "session/session.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "feed/feed.h"
#include "policy/grant-sink.h"
#include "session/registry.h"
#include "session/session-end.h"
#include "session/session-run.h"
#include "session/session-second.h"
#include "trace/hist-rows.h"
#include "trace/trace-counts.h"
#include "trace/trace-hist.h"

#define USEC_PER_SEC UINT64_C(1000000)
/* Enough for the start of a process and for the largest table. */
#define READ_TIMEOUT_USEC (20 * USEC_PER_SEC)
#define CALLS_MAX         64 /* of a session */

enum { QUESTION_NONE = -1, QUESTION_SENT = -2 };

struct HistCall {
        Session *session;
        Request *request; /* NULL: answered */
        TraceHist hist;
        bool is_verb; /* false: a read */
        Plan plan;
        bool has_begun, plan_in_flight;
        int question_fd; /* for the stream worker; QUESTION_NONE: the kernel counts */
        Consumer *consumer;
        sd_event_source *timer;
        json_object *rows; /* a place for the head, then the reported rows */
        ControlMessage totals;
        TAILQ_ENTRY(HistCall) calls;
};

static void begin_next(Session *session);

static HistCall *session_histogram_call_free(HistCall *call) {
        if (!call)
                return NULL;
        consumer_free(call->consumer);
        sd_event_source_disable_unref(call->timer);
        close_cleanup(&call->hist.fds[0]);
        close_cleanup(&call->hist.fds[1]);
        close_cleanup(&call->question_fd);
        json_object_put(call->rows);
        free(call);
        return NULL;
}

/* In a session without records, a table is read once in a second: the reading also answers the
 * calls that wait for the same table. */
static void session_histogram_share(const HistCall *call) {
        Session *session = call->session;
        HistCall *other, *next;

        if (grant_has_records(session->grant))
                return;
        for (other = TAILQ_FIRST(&session->hist_calls); other; other = next) {
                next = TAILQ_NEXT(other, calls);
                if (other->has_begun || other->is_verb || other->hist.trigger != call->hist.trigger)
                        continue;
                TAILQ_REMOVE(&session->hist_calls, other, calls);
                other->request->list = json_object_get(call->rows);
                request_answer(&other->request, 0, NULL);
                session_histogram_call_free(other);
        }
}

/* Frees the call. */
static void session_histogram_end(HistCall *call, int result, const Reason *reason) {
        Session *session = call->session;

        if (result < 0)
                log_errno(result, LOG_ERR, SESSION_CONTEXT(session), "cannot read a histogram");
        TAILQ_REMOVE(&session->hist_calls, call, calls);
        if (result == 0 && !call->is_verb)
                session_histogram_share(call);
        if (call->request && result == 0)
                call->request->list = TAKE_PTR(call->rows);
        request_answer(&call->request, result, reason);
        session_histogram_call_free(call);
        if (session->end == END_NOT && !session->registry->is_closing)
                begin_next(session);
        else if (session->end == END_RELEASE)
                session_end_continue(session);
}

static void end_cancelled(HistCall *call) {
        Reason reason = {};

        session_histogram_end(call,
                        reason_set(&reason,
                                        KT_E_CANCELLED,
                                        "the session ended: %s",
                                        call->session->end_reason[0] ? call->session->end_reason
                                                                     : "destroyed"),
                        &reason);
}

static void end_failed(HistCall *call, const char *why) {
        Reason reason = {};

        session_histogram_end(call,
                        reason_set(&reason, KT_E_FAILED, "the histogram cannot be read: %s", why),
                        &reason);
}

static void session_histogram_submit(HistCall *call, void (*done)(Plan *, int, const Reason *)) {
        call->plan.done = done;
        call->plan.userdata = call;
        call->plan_in_flight = true;
        worker_submit(call->session->registry->worker, &call->plan);
}

/* A plan of the call is over. Returns false if the call is over too. */
static bool session_histogram_continue(HistCall *call, int result, const Reason *reason) {
        call->plan_in_flight = false;
        if (call->session->end != END_NOT)
                end_cancelled(call);
        else if (result != 0)
                session_histogram_end(call, result, reason);
        else
                return true;
        return false;
}

static void on_judged(Plan *plan, int result, const Reason *reason) {
        HistCall *call = plan->userdata;
        Session *session = call->session;
        Reason why = *reason;

        if (call->hist.has_fired && session->end == END_NOT) {
                call->plan_in_flight = false;
                session_histogram_end(call, result ?: KT_E_FAILED, &why);
                session_end(session, "guard", why.text);
                return;
        }
        if (session_histogram_continue(call, result, reason))
                session_histogram_end(call, 0, NULL);
}

static void session_histogram_on_answer(HistCall *call, const ControlMessage *message) {
        const Session *session = call->session;
        char text[CONTROL_TEXT_MAX];

        call->consumer = consumer_free(call->consumer);
        if (call->is_verb && message->status.error == 0) {
                session_histogram_end(call, 0, NULL);
                return;
        }
        if (message->status.error != 0 || call->totals.type == 0) {
                snprintf(text, sizeof(text), "%.*s", CONTROL_TEXT_MAX - 1, message->status.text);
                end_failed(call, text);
                return;
        }
        json_object *head = hist_rows_make_head(&session->spec->triggers[call->hist.trigger],
                        &session->grant->triggers[call->hist.trigger].hist,
                        trace_counts(&session->trace),
                        &call->totals,
                        json_object_array_length(call->rows) - 1);
        if (!head || json_object_array_put_idx(call->rows, 0, head) < 0) {
                session_histogram_end(call, -ENOMEM, NULL);
                return;
        }
        if (call->question_fd == QUESTION_SENT) {
                session_histogram_end(call, 0, NULL);
                return;
        }
        trace_plan_hist_judge(&call->hist, &call->plan);
        session_histogram_submit(call, on_judged);
}

static void on_entry(HistCall *call, const ControlMessage *message) {
        const Grant *grant = call->session->grant;
        json_object *row = NULL;

        if (json_object_array_length(call->rows) <= CONTROL_ENTRIES_MAX)
                row = hist_rows_make_entry(
                                &grant->triggers[call->hist.trigger].hist.layout, message);
        if (!row || json_object_array_add(call->rows, row) < 0)
                end_failed(call, "its reader sent invalid data");
}

static void session_histogram_send_table(HistCall *call) {
        const Grant *grant = call->session->grant;
        const ControlMessage message = {
                .type = CONTROL_TABLE,
                .version = CONTROL_VERSION,
                .table = {
                        .n_in_file = call->hist.n_in_file,
                        .layout = grant->triggers[call->hist.trigger].hist.layout,
                },
        };
        /* If it cannot be sent, the timer ends the call. */
        (void)consumer_send(call->consumer, &message, call->hist.fds, 2);
        close_cleanup(&call->hist.fds[0]);
        close_cleanup(&call->hist.fds[1]);
}

static void session_histogram_on_message(Consumer *consumer _unused_,
                const ControlMessage *message,
                void *userdata) {
        HistCall *call = userdata;

        switch (message->type) {
        case CONTROL_READY:
                if (call->hist.fds[0] >= 0)
                        session_histogram_send_table(call);
                break;
        case CONTROL_ENTRY:
                on_entry(call, message);
                break;
        case CONTROL_TOTALS:
                call->totals = *message;
                if (call->question_fd == QUESTION_SENT && call->session->state != SESSION_RUNNING)
                        call->totals.totals.is_paused = true;
                break;
        case CONTROL_ANSWER:
        case CONTROL_REFUSED:
                session_histogram_on_answer(call, message);
                break;
        default:
                break;
        }
}

static void session_histogram_on_closed(Consumer *consumer _unused_, void *userdata) {
        HistCall *call = userdata;

        call->consumer = consumer_free(call->consumer);
        end_failed(call, "its reader has ended: see the journal of ktrace-consumer");
}

static int session_histogram_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        HistCall *call = userdata;

        if (!call->plan_in_flight)
                end_failed(call, "its reader does not answer");
        return 0;
}

static const ConsumerHandlers reader_handlers = { session_histogram_on_message,
        session_histogram_on_closed };

static int session_histogram_set_timer(HistCall *call) {
        int r = sd_event_add_time_relative(call->session->registry->options.event,
                        &call->timer,
                        CLOCK_MONOTONIC,
                        READ_TIMEOUT_USEC,
                        0,
                        session_histogram_on_timer,
                        call);

        return MIN_OF(r, 0);
}

/* Makes a socket pair. The stream worker answers over it. */
static int prepare_question(HistCall *call) {
        int fds[2];

        call->rows = json_object_new_array();
        if (!call->rows || json_object_array_add(call->rows, NULL) < 0)
                return -ENOMEM;
        int r = session_histogram_set_timer(call);
        if (r < 0)
                return r;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
                return -errno;
        call->question_fd = fds[1];
        r = consumer_adopt(call->session->registry->options.event,
                        fds[0],
                        &reader_handlers,
                        call,
                        &call->consumer);
        if (r < 0)
                close(fds[0]);
        return r;
}

/* If the question cannot be sent, the call ends, because the other end of the socket is closed. */
static void session_histogram_send_question(HistCall *call) {
        static const ControlCountsVerb verbs[_HIST_VERB_N] = {
                [HIST_CLEAR] = CONTROL_COUNTS_CLEAR,
                [HIST_PAUSE] = CONTROL_COUNTS_PAUSE,
                [HIST_CONTINUE] = CONTROL_COUNTS_CONTINUE,
        };
        Session *session = call->session;

        if (session->feed)
                (void)feed_ask_counts(session->feed,
                                (uint32_t)call->hist.trigger,
                                call->is_verb ? verbs[call->hist.verb] : CONTROL_COUNTS_ASK,
                                call->question_fd);
        close_cleanup(&call->question_fd);
        call->question_fd = QUESTION_SENT;
}

static int begin_reading(HistCall *call, Reason *reason) {
        const ConsumerLauncher *launcher = &call->session->registry->options.launcher;
        const ControlMessage message = {
                .type = CONTROL_TABLES,
                .version = CONTROL_VERSION,
                .tables = { .n = 1 },
        };

        call->rows = json_object_new_array();
        if (!call->rows || json_object_array_add(call->rows, NULL) < 0)
                return -ENOMEM;
        int r = session_histogram_set_timer(call);
        if (r < 0)
                return r;
        r = consumer_spawn(launcher, &reader_handlers, call, &call->consumer, reason);
        return r ?: consumer_send(call->consumer, &message, NULL, 0);
}

static void session_histogram_on_opened(Plan *plan, int result, const Reason *reason) {
        HistCall *call = plan->userdata;
        Reason why = {};

        if (!session_histogram_continue(call, result, reason))
                return;
        int r = begin_reading(call, &why);
        if (r != 0)
                session_histogram_end(call, r, &why);
}

static void session_histogram_on_done(Plan *plan, int result, const Reason *reason) {
        if (session_histogram_continue(plan->userdata, result, reason))
                session_histogram_end(plan->userdata, 0, NULL);
}

/* A session without records reads each table once in a second. */
static bool session_histogram_must_wait(const HistCall *call) {
        Session *session = call->session;
        uint64_t second = session_get_second(), *last = NULL;

        if (grant_has_records(session->grant))
                return false;
        if (!session->read_seconds)
                session->read_seconds = calloc(session->spec->n_triggers, sizeof(uint64_t));
        if (session->read_seconds && !call->is_verb)
                last = &session->read_seconds[call->hist.trigger];
        if (session_defer_to_second(session,
                            !session->read_seconds || (last && *last == second),
                            begin_next))
                return true;
        if (last)
                *last = second;
        return false;
}

static void begin_next(Session *session) {
        HistCall *call = TAILQ_FIRST(&session->hist_calls);

        if (!call || call->has_begun || session_histogram_must_wait(call))
                return;
        call->has_begun = true;
        if (call->question_fd >= 0) {
                session_histogram_send_question(call);
                return;
        }
        if (call->is_verb)
                trace_plan_hist_verb(&call->hist, &call->plan);
        else
                trace_plan_hist_open(&call->hist, &call->plan);
        session_histogram_submit(call,
                        call->is_verb ? session_histogram_on_done : session_histogram_on_opened);
}

static bool session_histogram_is_called(const SpecTrigger *trigger, const char *name) {
        return trigger->action == ACTION_HIST &&
               (!*name || strcmp(trigger->event, name) == 0 ||
                               (trigger->hist.name && strcmp(trigger->hist.name, name) == 0));
}

/* Finds a histogram by its name, or by its event, or the only one if the name is empty. */
static int session_histogram_find(const Session *session,
                const char *name,
                size_t *ret,
                Reason *reason) {
        const Spec *spec = session->spec;
        size_t n = 0;

        for (size_t i = 0; i < spec->n_triggers; i++)
                if (session_histogram_is_called(&spec->triggers[i], name)) {
                        *ret = i;
                        n++;
                }
        if (n == 1)
                return 0;
        if (n == 0 && !*name)
                return reason_set(reason,
                                KT_E_NO_SUCH_EVENT,
                                "the session has no histogram: a trigger with do hist makes one");
        if (n == 0)
                return reason_set(reason,
                                KT_E_NO_SUCH_EVENT,
                                "%.*s: the session has no such histogram: 'ktracectl show' lists those that it has",
                                SPEC_EVENT_NAME_MAX,
                                name);
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%.*s%s%zu histograms match: name each trigger, and use its name",
                        SPEC_EVENT_NAME_MAX,
                        name,
                        *name ? ": " : "",
                        n);
}

static int session_histogram_add(Session *session,
                const char *name,
                bool is_verb,
                HistVerb verb,
                Request *request,
                Reason *reason) {
        HistCall *call;
        size_t trigger = 0, n = 0;

        if (session->end != END_NOT || session->state == SESSION_FAILED)
                return reason_set(reason,
                                KT_E_WRONG_STATE,
                                "the session %s",
                                session->end != END_NOT ? "is ending" : "has failed");
        int r = is_verb ? session_check_control(session, request, reason) : 0;
        r = r ?: session_histogram_find(session, name, &trigger, reason);
        if (r != 0)
                return r;
        if (trace_counts(&session->trace) && !session->is_armed)
                return reason_set(reason,
                                KT_E_WRONG_STATE,
                                "the histogram does not exist before the session's first start");
        if (is_verb && verb != HIST_CLEAR && session->state != SESSION_RUNNING)
                return reason_set(reason,
                                KT_E_WRONG_STATE,
                                "a histogram counts while the session runs: start it");
        TAILQ_FOREACH(call, &session->hist_calls, calls)
                n++;
        if (n == CALLS_MAX)
                return reason_set(reason,
                                KT_E_BUSY,
                                "%d calls wait for the session's histograms: try again",
                                CALLS_MAX);
        call = calloc(1, sizeof(*call));
        if (!call)
                return -ENOMEM;
        *call = (HistCall){
                .session = session,
                .request = request,
                .is_verb = is_verb,
                .question_fd = QUESTION_NONE,
                .hist = { .trace = &session->trace,
                                .trigger = trigger,
                                .verb = verb,
                                .fds = { -1, -1 } },
        };
        if (trace_counts(&session->trace))
                r = prepare_question(call);
        if (r < 0) {
                session_histogram_call_free(call);
                return r;
        }
        TAILQ_INSERT_TAIL(&session->hist_calls, call, calls);
        begin_next(session);
        return 0;
}

int session_get_histogram(Session *session, const char *name, Request *request, Reason *reason) {
        return session_histogram_add(session, name, false, 0, request, reason);
}

int session_change_histogram(Session *session,
                const char *name,
                const char *verb,
                Request *request,
                Reason *reason) {
        static const char *const verbs[_HIST_VERB_N] = {
                "hist-clear", "hist-pause", "hist-continue"
        };

        for (HistVerb v = 0; v < _HIST_VERB_N; v++)
                if (strcmp(verb, verbs[v]) == 0)
                        return session_histogram_add(session, name, true, v, request, reason);
        return KT_E_UNKNOWN_KEY;
}

bool session_end_histograms(Session *session) {
        HistCall *call, *next;

        for (call = TAILQ_FIRST(&session->hist_calls); call; call = next) {
                next = TAILQ_NEXT(call, calls);
                if (call->plan_in_flight)
                        plan_cancel(&call->plan); /* its `done` ends the call */
                else {
                        TAILQ_REMOVE(&session->hist_calls, call, calls);
                        request_answer_cancelled(&call->request, session->end_reason);
                        session_histogram_call_free(call);
                }
        }
        return TAILQ_EMPTY(&session->hist_calls);
}

void session_free_histograms(Session *session) {
        HistCall *call;

        while ((call = TAILQ_FIRST(&session->hist_calls))) {
                TAILQ_REMOVE(&session->hist_calls, call, calls);
                request_answer_cancelled(&call->request, session->end_reason);
                session_histogram_call_free(call);
        }
}
