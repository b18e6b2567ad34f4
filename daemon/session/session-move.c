/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Moves a running session out of the instance that it shares, when the events that only this
 * session records fill the ring. So it costs the others no records. The reader of the instance
 * finds out which one it is (consumer/mux/crowd.c). Sessions of several users record the same, so
 * this mostly happens among the sessions of one user.
 *
 * For a moment the kernel records for the session in both instances. Then the readers hand it over,
 * without a loss (feed/share-move.c). The session is busy until the move is over: a stop waits, and
 * other changes are refused. Its end waits, too. */

#include "session/session-move.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "feed/share-move.h"
#include "session/keep.h"
#include "session/quota.h"
#include "session/registry.h"
#include "session/session-end.h"
#include "session/session-run.h"
#include "session/session-second.h"
#include "session/session-share.h"

/* From a failure to the next attempt. */
#define POSTPONE_SEC 60

static void session_postpone_move(Session *session, const char *why) {
        session->may_move_after_sec = session_get_second() + POSTPONE_SEC;
        log_write(LOG_WARNING,
                        SESSION_CONTEXT(session),
                        "the session fills the ring of the instance that it shares, and cannot get "
                        "one of its own: %s",
                        why);
}

static void session_finish_move(Session *session) {
        share_end_move(session->share);
        if (session->end == END_NOT) {
                session_continue_late(session);
                return;
        }
        request_answer_cancelled(&session->request, session->end_reason);
        session_end_continue(session);
}

static void session_leave_other(Session *session);

static int session_on_retry(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        session_leave_other(userdata);
        return 0;
}

/* While its reader has files open, the earlier instance cannot be removed. The reader was told to
 * end, which takes a moment. */
static bool session_retry_leave(Session *session) {
        session->move_retry = sd_event_source_disable_unref(session->move_retry);
        return session->n_move_retries++ < REMOVE_TRIES &&
               sd_event_add_time_relative(session->registry->options.event,
                               &session->move_retry,
                               CLOCK_MONOTONIC,
                               REMOVE_RETRY_USEC,
                               0,
                               session_on_retry,
                               session) >= 0;
}

static void session_then_left_other(Session *session, int result, const Reason *reason _unused_) {
        if (session->registry->is_closing)
                return;
        if (result == KT_E_CANCELLED) { /* the session ends */
                session_leave_other(session);
                return;
        }
        if (result == -EBUSY && session_retry_leave(session))
                return;
        if (result != 0)
                log_errno(result,
                                LOG_WARNING,
                                SESSION_CONTEXT(session),
                                "the instance that the session has left is not removed before "
                                "ktraced starts again");
        session_finish_move(session);
}

static void session_leave_other(Session *session) {
        share_plan_leave_other(session->share, &session->plan);
        session_submit(session, session_then_left_other);
}

/* Watches the session again, in the earlier or the next instance. */
static void session_settle_watch(Session *session) {
        if (session->end != END_NOT)
                return;
        if (activity_follow_move(session->activity) < 0)
                session_end(session, "failed", "its instance cannot be watched");
        else
                session_watch(session);
}

/* If the reader of the instance that it shared has failed, the session ends. */
static void session_then_moved(Session *session, int result) {
        session_settle_watch(session);
        if (session->end == END_NOT && result < 0)
                session_postpone_move(session, "its reader cannot be started");
        else if (session->end == END_NOT) {
                session_keep(session);
                log_write(LOG_NOTICE,
                                SESSION_CONTEXT(session),
                                "the session filled the ring of the instance that it shared, and "
                                "continues in one of its own");
        }
        session_leave_other(session);
}

static void session_then_in_both(Session *session, int result, const Reason *reason) {
        if (session->registry->is_closing)
                return;
        if (result != 0) { /* undone */
                session_settle_watch(session);
                if (session->end == END_NOT)
                        session_postpone_move(
                                        session, result > 0 ? reason->text : strerror(-result));
                session_finish_move(session);
        } else if (session->end != END_NOT)
                session_leave_other(session);
        else {
                if (session->meter)
                        meter_stop(session->meter); /* the kernel's counters begin again */
                session_hand_over(session, session_then_moved);
        }
}

static bool session_may_move(const Session *session) {
        Reason ignored;

        return session->state == SESSION_RUNNING && session_check_idle(session, &ignored) == 0 &&
               share_may_move(session->share) &&
               session_get_second() >= session->may_move_after_sec;
}

static void session_on_crowded(void *userdata) {
        Session *session = userdata;
        const ShareOptions options = session_get_share_options(session->registry);
        Reason reason = {};

        if (!session_may_move(session))
                return;
        int r = registry_check_move(session, share_get_buffer_kb(session->share), &reason);
        r = r ?: share_begin_move(session->share, &options, &reason);
        if (r != 0) {
                session_postpone_move(session, r > 0 ? reason.text : strerror(-r));
                return;
        }
        session->ledger = ledger_free(session->ledger); /* it watches the files of the instance */
        session->n_move_retries = 0;
        share_plan_enter_next(session->share, &session->plan);
        session_submit(session, session_then_in_both);
}

static void session_on_share_failed(const char *text, void *userdata) {
        session_end(userdata, "failed", text);
}

const ShareHandlers session_share_handlers = { session_on_share_failed, session_on_crowded };
