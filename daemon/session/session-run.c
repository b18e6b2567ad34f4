/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Starts and stops a session, and watches it while it runs: writes by other programs to its
 * instance, newcomers of its scope, and its event rate. The doors call it in the event loop. The
 * worker does the kernel work as a plan, and the call is answered when its plan is over. At most
 * one plan of a session is in flight: Start and Stop fail with Busy until it is over. */

#include "session/session-run.h"

#include "session/session.h"

#include <errno.h>
#include <time.h>

#include "base/log.h"
#include "feed/feed.h"
#include "feed/share-move.h"
#include "interfaces/defence.h"
#include "policy/grant-sink.h"
#include "scope/scope.h"
#include "session/keep.h"
#include "session/registry.h"
#include "session/session-control.h"
#include "session/session-end.h"
#include "session/session-notice.h"
#include "session/session-second.h"
#include "session/session-share.h"
#include "session/session-snapshot.h"
#include "session/session-state.h"
#include "session/session-stream.h"
#include "trace/metadata.h"
#include "trace/trace-fence.h"
#include "trace/trace-rings.h"

int session_check_idle(const Session *session, Reason *reason) {
        if (session->end != END_NOT)
                return reason_set(reason, KT_E_WRONG_STATE, "the session is ending");
        if (share_is_moving(session->share))
                return reason_set(reason,
                                KT_E_BUSY,
                                "the session is getting an instance of its own: try again when it "
                                "is done");
        if (session->plan_in_flight || session->late || session->after_share)
                return reason_set(reason,
                                KT_E_BUSY,
                                "the session is %s: try again when it is done",
                                session_state_to_string(session->state));
        return 0;
}

static int session_check_lock(const Session *session, const Request *request, Reason *reason) {
        if (session->spec->locked && session->state > SESSION_CONFIGURED &&
                        request->subject.uid != 0 && !request->is_administrator)
                return reason_set(reason,
                                KT_E_LOCKED,
                                "the session was made with 'locked' and has been started: it can be read, marked and destroyed; an administrator can do more");
        return 0;
}

int session_check_control(const Session *session, const Request *request, Reason *reason) {
        return session_check_lock(session, request, reason) ?: session_check_idle(session, reason);
}

/* Finishes a start, a stop or a change. The session returns to its earlier state if the caller made
 * an error, and fails if we did. If its end was requested during the plan, the end continues. */
void session_conclude(Session *session, SessionState state, int result, const Reason *reason) {
        session->report = session->trace.arm.report;
        session_note_switches(session);
        if (session->end != END_NOT) {
                request_answer_cancelled(&session->request, session->end_reason);
                session_end_continue(session);
                return;
        }
        if (result < 0) /* after the last step: what the daemon does itself */
                log_errno(result,
                                LOG_ERR,
                                SESSION_CONTEXT(session),
                                "plan failed at %s",
                                session->plan.at < session->plan.n_steps
                                                ? session->plan.steps[session->plan.at].name
                                                : "its end");
        if (result == KT_E_ACCESS_DENIED)
                session_record(session, AUDIT_START_DENIED, reason->text);
        session_set_state(session,
                        result == 0  ? state
                        : result > 0 ? session->state_before
                                     : SESSION_FAILED);
        session_keep(session); /* also if the state is unchanged */
        request_answer(&session->request, result, reason);
}

/* Ends the session, because the recorded data cannot be trusted. Data that the client has not got
 * yet is discarded. */
static void session_on_interference(const char *code, const char *text, void *userdata) {
        Session *session = userdata;

        if (session->end != END_NOT)
                return;
        if (session->feed)
                feed_discard(session->feed, code, text);
        session_end(session, code, text);
}

static void session_on_newcomers(const ControlMember *members,
                size_t n,
                const ArmReport *report,
                void *userdata) {
        Session *session = userdata;

        /* The report is also needed after a stop. No plan that reads it is in flight during this
         * call. */
        session->report = session->trace.arm.report = *report;
        for (size_t i = 0; i < n; i++) {
                Task task;

                /* If a task cannot be remembered, its records are cut from snapshots. */
                if (newcomers_find(session->newcomers, (pid_t)members[i].tid, &task))
                        (void)trace_know(&session->trace,
                                        &(KnownTask){ task, members[i].since_nsec });
        }
        if (session->feed)
                feed_add_members(session->feed, &(FeedMembers){ members, n });
        if (n > 0)
                session_keep(session);
}

static void session_on_proof(const ControlMember *members,
                size_t n,
                uint64_t until_nsec,
                void *userdata) {
        Session *session = userdata;

        if (session->feed)
                feed_add_members(session->feed,
                                &(FeedMembers){ members, n, .until_nsec = until_nsec });
}

static void session_on_inner_pids(const ControlInnerPid *pids, size_t n, void *userdata) {
        Session *session = userdata;

        if (!session->feed)
                return;
        if (n > 0)
                feed_add_inner_pids(session->feed, pids, n);
        else
                feed_end_inner_pids(session->feed);
}

/* A failure has no effect on the session: newcomers are not traced. */
static void session_watch_newcomers(Session *session) {
        static const NewcomersHandlers handlers = {
                session_on_newcomers, session_on_proof, session_on_inner_pids
        };
        Registry *registry = session->registry;
        int r = 0;

        if (!scope_has_newcomers(session->spec) && !trace_is_judged(&session->trace))
                return;
        if (!session->newcomers)
                r = newcomers_new(activity_get_event(session->activity),
                                registry->worker,
                                &session->trace,
                                &handlers,
                                session,
                                &session->newcomers);
        if (r == 0)
                newcomers_start(session->newcomers);
        else
                log_errno(r,
                                LOG_ERR,
                                SESSION_CONTEXT(session),
                                "cannot look for processes that join later");
}

/* Others have changed something, and most of it was put back. The session continues and reports it.
 */
static void session_on_changes(const TraceLedger *found, void *userdata) {
        Session *session = userdata;
        Reason what = {};

        if (session->end != END_NOT)
                return;
        trace_ledger_format(found, &what);
        session->n_interferences += found->n;
        session->interference_nsec += found->until_nsec - found->from_nsec;
        session_end_views(session, what.text);
        session_record(session, AUDIT_INTERFERENCE, what.text);
        session_report_changes(session, found, what.text);
        session_keep(session);
}

static void session_on_over(const char *text, void *userdata) {
        session_on_interference("interference", text, userdata);
}

static int session_watch_ledger(Session *session) {
        static const LedgerHandlers handlers = { session_on_changes, session_on_over };
        Registry *registry = session->registry;

        if (session->ledger || !defence_is_on("foreign-change"))
                return 0;
        int r = ledger_new(session->activity,
                        registry->worker,
                        &session->trace,
                        &handlers,
                        session,
                        &session->ledger);
        if (r == 0 && own_writes_are_under_way(session->own_writes))
                ledger_begin(session->ledger);
        return r;
}

/* Without the watch, changes by others go unnoticed. Therefore a failure ends the session. */
static int session_watch_interference(Session *session) {
        Registry *registry = session->registry;

        if (!session->activity) /* session_make_notices() has failed */
                return -ENOMEM;
        if (!trace_is_judged(&session->trace))
                return session_watch_ledger(session);
        if (!session->trace.watch || session->interference)
                return 0;
        int r = interference_new(session->activity,
                        registry->worker,
                        &session->trace,
                        session_on_interference,
                        session,
                        &session->interference);
        if (r == 0 && own_writes_are_under_way(session->own_writes))
                interference_begin(session->interference);
        return r;
}

/* The text has exact numbers. */
static void session_on_meter(const char *text, void *userdata) {
        Session *session = userdata;

        session_end(session,
                        "limit",
                        grant_has_records(session->grant)
                                        ? text
                                        : "there were more events in a second than are allowed "
                                          "(max-event-rate); use a filter");
}

/* A session with a limit must not run without its meter. */
static int session_start_meter(Session *session) {
        uint64_t rate = session->grant->limits.max_event_rate;
        int r = 0;

        if (session->owner.uid == 0 || rate == 0)
                return 0;
        if (!session->meter)
                r = meter_new(session->activity,
                                &session->trace,
                                rate,
                                session_on_meter,
                                session,
                                &session->meter);
        if (r == 0)
                meter_start(session->meter);
        return r;
}

void session_watch(Session *session) {
        int r = session_watch_interference(session);

        r = r ?: session_start_meter(session);
        if (r < 0)
                session_on_interference("failed", "the instance cannot be watched", session);
        if (r < 0 || session->end != END_NOT)
                return;
        session_watch_newcomers(session);
        session_start_notices(session);
}

/* The session gets its records from now on. */
static void session_then_joined(Session *session, int result) {
        Reason reason = {};

        if (result == 0 && session->feed)
                feed_add_inner_pids(
                                session->feed, session->trace.inner.pids, session->trace.inner.n);
        if (result == 0 && session->end == END_NOT)
                session_watch(session);
        if (result == 0 && session->spec->lifetime == LIFETIME_CLIENT)
                session_set_timer(session, 0);
        session_conclude(session, SESSION_RUNNING, result, &reason);
}

static void session_then_started(Session *session, int result, const Reason *reason) {
        if (result == 0)
                session_join_share(session, session_then_joined);
        else
                session_conclude(session, SESSION_RUNNING, result, reason);
}

void session_resume(Session *session, SessionState state) {
        /* ktraced did not run for a while, so it does not know which tasks joined. */
        session_end_inner_pids(session);
        session_make_notices(session);
        if (state == SESSION_RUNNING)
                session_watch(session);
        else if (session->is_armed && session_watch_interference(session) < 0)
                session_on_interference("failed", "the instance cannot be watched", session);
        if (session->end != END_NOT)
                return;
        if (state == SESSION_CONFIGURED && session->spec->lifetime == LIFETIME_CLIENT)
                session_set_timer(session, session->registry->options.limits.setup_timeout_usec);
        session_set_state(session, state);
        marker_resume_all(&session->markers);
}

/* Snapshots need the start times, to distinguish these tasks from later ones with the same numbers.
 */
static int session_know(Session *session, const TaskSet *tasks, uint64_t since_nsec) {
        int r = trace_know(&session->trace, NULL);

        for (size_t i = 0; r == 0 && i < tasks->n; i++)
                r = trace_know(&session->trace, &(KnownTask){ tasks->tasks[i], since_nsec });
        return r;
}

static int session_take_members(Session *session) {
        const TaskSet *verified = &session->trace.arm.verified;
        uint64_t since_nsec = session->trace.arm.since_nsec;

        if (!trace_is_judged(&session->trace))
                return 0;
        ControlMember *members = calloc(verified->n + 1, sizeof(*members));
        if (!members)
                return -ENOMEM;
        for (size_t i = 0; i < verified->n; i++)
                members[i] = trace_make_member(&(KnownTask){ verified->tasks[i], since_nsec });
        int r = session_know(session, verified, since_nsec);
        if (r < 0) {
                free(members);
                return r;
        }
        free(session->members);
        session->members = members;
        session->n_members = verified->n;
        return 0;
}

/* Everything is set and judged. The consumer gets the members before any event is turned on. */
static void session_then_armed(Session *session, int result, const Reason *reason) {
        Reason closing = {};
        int r = result;

        if (r == 0 && session->registry->is_closing) { /* no other plan can run now */
                r = reason_set(&closing, KT_E_CANCELLED, "ktraced ends");
                reason = &closing;
        }
        if (r == 0 && session->end == END_NOT)
                r = session_take_members(session);
        if (r != 0 || session->end != END_NOT) {
                session_conclude(session, SESSION_CONFIGURED, r, reason);
                return;
        }
        session_arm_feed_again(session);
        if (!session->is_armed && session_is_decided_at_start(session))
                session_record(session, AUDIT_CREATE_ALLOWED, session->grant->rule);
        session->is_armed = true;
        /* A start continues a paused histogram, as the kernel does with its own. */
        if (session->feed && feed_is_counting(session->feed))
                (void)feed_ask_counts(
                                session->feed, CONTROL_COUNTS_ALL, CONTROL_COUNTS_CONTINUE, -1);
        trace_plan_start(&session->trace, &session->plan);
        session_submit(session, session_then_started);
}

/* Begins a start or a stop now, or at the next second. */
void session_continue_late(Session *session) {
        void (*begin)(Session *) = session->late;

        session->late = NULL;
        if (begin && session->end == END_NOT)
                begin(session);
}

static void session_begin_at_second(Session *session, void (*begin)(Session *session)) {
        session->late = begin;
        if (!session_defer_to_second(session, false, session_continue_late))
                session_continue_late(session);
}

static void session_begin_start(Session *session) {
        session->state_before = session->state;
        trace_plan_arm(&session->trace, &session->plan);
        session_set_state(session, SESSION_STARTING);
        session_submit(session, session_then_armed);
}

int session_start(Session *session, Request *request, Reason *reason) {
        int r = session_check_control(session, request, reason);
        if (r != 0)
                return r;
        if (session->state != SESSION_CONFIGURED && session->state != SESSION_STOPPED)
                return reason_set(reason,
                                KT_E_WRONG_STATE,
                                "the session is %s: only a configured or stopped one can be started",
                                session_state_to_string(session->state));
        r = session_begin_counting(session, reason);
        if (r != 0)
                return r;
        session->request = request;
        session_begin_at_second(session, session_begin_start);
        return 0;
}

static bool session_is_marked(void *userdata) {
        const Session *session = userdata;

        return session->state == SESSION_RUNNING && session->end == END_NOT;
}

static int session_check_marked(Session *session, Reason *reason) {
        if (!grant_has_records(session->grant))
                return grant_refuse_records(session->grant, "mark", reason);
        if (session_is_marked(session))
                return 0;
        return reason_set(reason,
                        KT_E_WRONG_STATE,
                        "the session is %s: marks are for running ones",
                        session_state_to_string(session->state));
}

int session_mark(Session *session, const char *text, Reason *reason) {
        int r = session_check_marked(session, reason);

        return r ?: marker_write(&session->trace, text, reason);
}

int session_open_marker(Session *session, int *ret_fd, Reason *reason) {
        if (session->end != END_NOT || session->state == SESSION_FAILED)
                return reason_set(reason, KT_E_WRONG_STATE, "the session has ended or failed");
        if (!grant_has_records(session->grant))
                return grant_refuse_records(session->grant, "mark", reason);
        int kept;
        int r = marker_open(&session->markers,
                        session->registry->options.event,
                        &session->trace,
                        session_is_marked,
                        session,
                        ret_fd,
                        &kept,
                        reason);
        if (r == 0)
                session_keep_fd(session, KEEP_MARKER, kept);
        return r;
}

int session_adopt_marker(Session *session, int fd) {
        return marker_adopt(&session->markers,
                        session->registry->options.event,
                        &session->trace,
                        session_is_marked,
                        session,
                        fd);
}

/* A viewer whose reader has failed ends; its stop does not fail. */
static void session_then_left(Session *session, int result _unused_) {
        Reason reason = {};

        if (session->feed)
                feed_flush(session->feed);
        session_stop_notices(session);
        session_conclude(session, SESSION_STOPPED, 0, &reason);
}

static void session_then_stopped(Session *session, int result, const Reason *reason) {
        if (result == 0) {
                session_leave_share(session, session_then_left);
                return;
        }
        if (session->feed)
                feed_flush(session->feed);
        session_conclude(session, SESSION_STOPPED, result, reason);
}

static void session_begin_stop(Session *session) {
        marker_read_all(&session->markers);
        session->state_before = session->state;
        if (session->newcomers)
                newcomers_stop(session->newcomers);
        if (session->meter)
                meter_stop(session->meter);
        trace_plan_stop(&session->trace, &session->plan);
        session_set_state(session, SESSION_STOPPING);
        session_submit(session, session_then_stopped);
}

/* While the session moves, it can be stopped: the stop waits. */
static int session_check_stop(const Session *session, const Request *request, Reason *reason) {
        int r = session_check_lock(session, request, reason);
        bool waits = share_is_moving(session->share) && session->end == END_NOT && !session->late;

        return r ?: waits ? 0 : session_check_idle(session, reason);
}

int session_stop(Session *session, Request *request, Reason *reason) {
        int r = session_check_stop(session, request, reason);
        if (r != 0)
                return r;
        if (session->state != SESSION_RUNNING)
                return reason_set(reason,
                                KT_E_WRONG_STATE,
                                "the session is %s: only a running one can be stopped",
                                session_state_to_string(session->state));
        (void)session_record_other(session, request, "stopped");
        session->request = request;
        if (share_is_moving(session->share))
                session->late = session_begin_stop;
        else
                session_begin_at_second(session, session_begin_stop);
        return 0;
}
