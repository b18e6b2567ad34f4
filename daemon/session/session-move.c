/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Moves a running session out of the instance that it shares, when the events that only this
 * session records fill the ring. So it costs the others no records. The reader of the instance
 * finds out which one it is (consumer/mux/crowd.c). Users share only if all of them record the
 * same, so this happens among the sessions of one user.
 *
 * For a moment the kernel records for the session in both instances. Then the readers hand it over,
 * and no record is lost or comes twice (feed/share-move.c). Meanwhile the session is busy: a stop
 * waits, other changes are refused. Its end waits, too. */

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
#include "session/session-share.h"

/* The reader of an instance without other sessions has been told to end. */
#define RETRY_USEC 50000

static void session_stay(Session *session, const char *why) {
        if (session->must_stay)
                return;
        session->must_stay = true; /* said once */
        log_write(LOG_WARNING,
                        SESSION_CONTEXT(session),
                        "the session fills the ring of the instance that it shares, and cannot get "
                        "one of its own: %s",
                        why);
}

static void session_finish_move(Session *session) {
        share_end_move(session->share);
        if (session->end == END_NOT) {
                session_watch(session);
                session_continue_late(session);
                return;
        }
        request_answer_cancelled(&session->request, session->end_reason);
        session_end_continue(session);
}

static void session_then_left_other(Session *session, int result, const Reason *reason);

static void session_leave_other(Session *session) {
        share_plan_unmove(session->share, &session->plan);
        session_submit(session, session_then_left_other);
}

static int session_on_retry(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        session_leave_other(userdata);
        return 0;
}

static int session_retry_leave(Session *session) {
        session->move_retry = sd_event_source_disable_unref(session->move_retry);
        return sd_event_add_time_relative(session->registry->options.event,
                        &session->move_retry,
                        CLOCK_MONOTONIC,
                        RETRY_USEC,
                        0,
                        session_on_retry,
                        session);
}

static void session_then_left_other(Session *session, int result, const Reason *reason _unused_) {
        if (session->registry->is_closing)
                return;
        if (result == KT_E_CANCELLED) { /* the session ends */
                session_leave_other(session);
                return;
        }
        if (result == -EBUSY && session_retry_leave(session) == 0)
                return;
        if (result != 0)
                log_errno(MIN_OF(result, 0),
                                LOG_WARNING,
                                SESSION_CONTEXT(session),
                                "the instance that the session has left still records for it");
        session_finish_move(session);
}

/* After a failure the session ends. */
static void session_then_moved(Session *session, int result) {
        if (activity_follow_move(session->activity) < 0)
                session_end(session, "failed", "its instance cannot be watched");
        if (result == 0 && session->end == END_NOT) {
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
                session_stay(session, result > 0 ? reason->text : strerror(-result));
                session_finish_move(session);
        } else if (session->end != END_NOT)
                session_leave_other(session);
        else {
                if (session->meter)
                        meter_stop(session->meter); /* the kernel's counters begin again */
                session_move_share(session, session_then_moved);
        }
}

static void session_on_crowded(void *userdata) {
        Session *session = userdata;
        const ShareOptions options = session_get_share_options(session->registry);
        Reason reason = {};

        if (session->must_stay || session->state != SESSION_RUNNING ||
                        session_check_idle(session, &reason) != 0 ||
                        !share_may_move(session->share))
                return;
        int r = registry_check_move(session, share_get_buffer_kb(session->share), &reason);
        r = r ?: share_begin_move(session->share, &options);
        if (r != 0) {
                session_stay(session, r > 0 ? reason.text : strerror(-r));
                return;
        }
        session->ledger = ledger_free(session->ledger); /* watches the files of the instance */
        share_plan_move(session->share, &session->plan);
        session_submit(session, session_then_in_both);
}

static void session_on_share_failed(const char *text, void *userdata) {
        session_end(userdata, "failed", text);
}

const ShareHandlers session_share_handlers = { session_on_share_failed, session_on_crowded };
