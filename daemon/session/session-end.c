/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Ends a session. The end may come at any time: by Destroy, when the creator leaves, by a limit, by
 * the guard, or by new rules. The doors, the registry (a peer has left, or the daemon ends) and
 * other modules of the session call it in the event loop. It cancels the plan in flight and waits
 * for it. Then it turns the events off, lets the consumer copy the rings into its memory, answers
 * Destroy, and removes the instance when no process holds one of its files. The answer does not
 * wait for rmdir, which takes 30 to 100 ms. The quota is charged until the instance is gone, and a
 * new session that has no room waits for it (create.c). Nor does it wait for a slow client: the
 * registry keeps the unread data (Drain).
 *
 * To add a lifetime: SpecLifetime in interfaces/spec.h, policy/grant.c, this file and adopt.c;
 * tests/e2e/lifetime.sh. */

#include "session/session-end.h"

#include "session/session.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "feed/share-move.h"
#include "kernel/cred-guard.h"
#include "probes/probe-events.h"
#include "session/drain.h"
#include "session/keep.h"
#include "session/registry.h"
#include "session/session-histogram.h"
#include "session/session-notice.h"
#include "session/session-second.h"
#include "session/session-share.h"
#include "session/session-snapshot.h"
#include "session/session-spool.h"
#include "session/window-look.h"
#include "trace/metadata.h"
#include "trace/trace-fence.h"

/* After REMOVE_TRIES the caller gets an error, and the attempts become rare. */
#define REMOVE_RARE_USEC 1000000
/* How often the daemon tries to remove an instance while it ends. Consumers may still hold it. */
#define END_NOW_TRIES 40

/* The kernel no longer holds anything of the session. */
static void session_finish(Session *session) {
        Registry *registry = session->registry;

        if (session->feed)
                drain_add(registry, TAKE_PTR(session->feed), session->owner.uid, false);
        session_unkeep(session);
        session_unkeep_fds(session);
        session_set_state(session, SESSION_GONE);
        request_answer(&session->destroyer, 0, NULL);
        session_free(session);
}

static void session_then_removed(Session *session, int result, const Reason *reason _unused_) {
        if (session->registry->is_closing)
                return;
        turns_resume(session->registry->turns); /* a new session may wait for this one's room */
        if (result == 0) {
                session_finish(session);
                return;
        }
        session->n_remove_tries++;
        if (session->n_remove_tries == REMOVE_TRIES) {
                Reason why = {};
                int r = reason_set(&why,
                                KT_E_BUSY,
                                "instance " KT_INSTANCE_PREFIX
                                "%s is still held by a process: it is removed when that ends",
                                session->id);

                log_errno(result,
                                LOG_WARNING,
                                SESSION_CONTEXT(session),
                                "another process holds the instance; trying again until it is removed");
                request_answer(&session->destroyer, r, &why);
        }
        session_set_timer(session,
                        session->n_remove_tries < REMOVE_TRIES ? REMOVE_RETRY_USEC
                                                               : REMOVE_RARE_USEC);
}

/* Returns whether nothing can be recorded or read any more. A worker that does not respond may
 * still read its rings. */
static bool session_is_over(const Session *session) {
        return !session->has_holder && trace_is_over(&session->trace);
}

void session_remove(Session *session) {
        bool is_over = session_is_over(session);
        Probe **probes = NULL;
        size_t n_probes = 0;

        session_release_notices(session);
        share_end(session->share);
        session->end = END_REMOVE;
        if (is_over) { /* the plan does not use them */
                probes = TAKE_PTR(session->trace.probes);
                n_probes = session->trace.n_probes;
                session->trace.n_probes = 0;
        }
        trace_plan_remove(&session->trace, &session->plan);
        session_submit(session, session_then_removed);
        if (!is_over)
                return;
        /* After the submission, so that rmdir runs before the removal of probes, which would
         * otherwise have to empty the rings of this instance. */
        probe_events_release(&probes, &n_probes);
        session_set_state(session, SESSION_GONE);
        request_answer(&session->destroyer, 0, NULL);
}

static void session_then_quiesced(Session *session, int result, const Reason *reason _unused_) {
        /* The end continues after a failure, because another program may have removed the instance.
         */
        if (result < 0)
                log_errno(result,
                                LOG_WARNING,
                                SESSION_CONTEXT(session),
                                "cannot turn the events off");
        session_end_continue(session);
}

static void finish_feed(Session *session, const char *code, const char *reason) {
        feed_report_interference(
                        session->feed, session->n_interferences, session->interference_nsec);
        feed_add_inner_pids(session->feed, session->trace.inner.pids, session->trace.inner.n);
        feed_finish(session->feed, session->trace.names_fd, code, reason);
}

static void session_then_left_at_end(Session *session, int result _unused_) {
        session_end_continue(session);
}

void session_end_continue(Session *session) {
        if (session->plan_in_flight || session->after_share || share_is_moving(session->share) ||
                        session->registry->is_closing)
                return;
        switch (session->end) {
        case END_WANTED:
                session_keep_end(session);
                session->end = END_QUIESCE;
                trace_plan_quiesce(&session->trace, &session->plan);
                session_submit(session, session_then_quiesced);
                break;
        case END_QUIESCE:
                if (share_has_joined(session->share)) { /* until then its records still come */
                        session_leave_share(session, session_then_left_at_end);
                        break;
                }
                session->end = END_RELEASE;
                if (session->feed && !feed_is_released(session->feed)) {
                        finish_feed(session, session->end_code, session->end_reason);
                        break;
                }
                if (!session_end_histograms(session) || !session_end_snapshots(session))
                        break;
                session_remove(session);
                break;
        case END_RELEASE:
                if (session_end_histograms(session) && session_end_snapshots(session))
                        session_remove(session);
                break;
        default:
                break;
        }
}

void session_begin_end(Session *session, const char *code, const char *reason) {
        snprintf(session->end_code, sizeof(session->end_code), "%s", code);
        snprintf(session->end_reason, sizeof(session->end_reason), "%s", reason);
        session->end = END_WANTED;
        if (session->state != SESSION_CREATING) /* no client knows it yet */
                counters_count_end(&session->registry->counters, code);
        if (session->plan_in_flight) /* the kernel's state is uncertain until the plan is over */
                session_unkeep(session);
        session_set_timer(session, 0);
        session_forget_looks(session);
        session_forget_seconds(session);
        session_forget_spool(session);
        /* The call waited for the disk or for a second. If a plan is in flight instead, its `then`
         * answers, after the kernel was restored. */
        if ((session->state == SESSION_CREATING || session->late) && !session->plan_in_flight)
                request_answer_cancelled(&session->request, session->end_reason);
        marker_close_all(&session->markers);
        session_stop_notices(session);
        if (session->meter)
                meter_stop(session->meter);
        if (session->newcomers)
                newcomers_stop(session->newcomers);
        session->unit_watch = unit_watch_free(session->unit_watch);
        session->interference = interference_free(session->interference);
        session->ledger = ledger_free(session->ledger);
        activity_close(session->activity);
        if (session->plan_in_flight)
                plan_cancel(&session->plan); /* its `then` continues the end */
        else
                session_end_continue(session);
}

static void session_record_end(const Session *session, const char *code, const char *reason) {
        AuditKind kind;

        if (audit_find_end(code, &kind))
                session_record(session, kind, reason);
        else
                log_write(LOG_INFO, SESSION_CONTEXT(session), "session ends: %s", reason);
}

static void session_announce_end(Session *session,
                const char *code,
                const char *reason,
                bool by_owner) {
        const RegistryOptions *options = &session->registry->options;

        options->handlers.on_ended(session, code, reason, by_owner, options->userdata);
}

void session_end(Session *session, const char *code, const char *reason) {
        if (session->end != END_NOT)
                return;
        session_record_end(session, code, reason);
        session_stop_notices(session);
        session_report_end(session, code, reason);
        if (session->state != SESSION_CREATING) /* no client knows it yet */
                session_announce_end(session, code, reason, false);
        session_begin_end(session, code, reason);
}

void session_end_now(Session *session) {
        char name[sizeof(KT_INSTANCE_PREFIX) + KT_ID_DIGITS];
        int r = 0;

        if (session->end == END_NOT)
                session_announce_end(session, "shutdown", "ktraced ends", false);
        session_unkeep(session);
        session_unkeep_fds(session);
        session->interference = interference_free(session->interference);
        session->ledger = ledger_free(session->ledger);
        activity_close(session->activity);
        session_forget_looks(session);
        session_release_notices(session);
        if (session->trace.instance) {
                (void)trace_disable_all(&session->trace);
                if (trace_has_name_list(&session->trace) &&
                                metadata_make_names(&session->trace, &session->trace.names_fd) < 0)
                        session->trace.names_fd = -1;
        }
        if (session->feed) {
                finish_feed(session, "shutdown", "ktraced ended");
                session->feed = feed_free(session->feed);
        }
        session_free_snapshots(session);
        session_free_histograms(session);
        share_end(session->share);
        for (unsigned i = 0; i < END_NOW_TRIES && share_leave_other_now(session->share) == -EBUSY;
                        i++)
                (void)usleep(REMOVE_RETRY_USEC);
        bool is_shared = trace_is_shared(&session->trace);
        if (!is_shared)
                trace_clear(&session->trace);
        snprintf(name, sizeof(name), KT_INSTANCE_PREFIX "%s", session->id);
        for (unsigned i = 0; i < END_NOW_TRIES; i++) {
                r = is_shared ? trace_remove_now(&session->trace)
                              : instance_remove(session->registry->tracefs, name);
                if (r != -EBUSY)
                        break;
                (void)usleep(REMOVE_RETRY_USEC);
        }
        if (r < 0)
                log_errno(r,
                                LOG_ERR,
                                SESSION_CONTEXT(session),
                                "instance %s was not removed",
                                name);
        else
                (void)cred_guard_remove_unused(session->registry->tracefs);
        request_answer_cancelled(&session->request, session->end_reason);
        request_answer_cancelled(&session->stream_request, session->end_reason);
        request_answer(&session->destroyer, 0, NULL);
        session_free(session);
}

void session_leave(Session *session) {
        session->interference = interference_free(session->interference);
        session->ledger = ledger_free(session->ledger);
        session_forget_looks(session);
        session->feed = session->feed ? feed_leave(session->feed) : NULL;
        session_free_snapshots(session);
        session_free_histograms(session);
        request_answer_cancelled(&session->request, session->end_reason);
        request_answer_cancelled(&session->stream_request, session->end_reason);
        request_answer(&session->destroyer, 0, NULL);
        session_free(session);
}

/* The time counts from the first call: after a restart the next daemon continues with the rest of
 * it. */
static void session_linger(Session *session) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
        uint64_t now_usec = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
        if (session->lingers_until_usec == 0)
                session->lingers_until_usec = now_usec + session->spec->linger_usec;
        session_set_timer(session,
                        session->lingers_until_usec > now_usec
                                        ? session->lingers_until_usec - now_usec
                                        : 1);
        session_keep(session);
}

void session_peer_gone(Session *session, const char *why) {
        free(session->peer);
        session->peer = NULL;
        if (session->end != END_NOT)
                return;
        if (session->spec->lifetime == LIFETIME_CLIENT)
                session_end(session, "client-gone", why);
        else if (session->spec->linger_usec > 0)
                session_linger(session);
}

int session_peer_back(Session *session, const char *peer) {
        if (session->end != END_NOT || session->peer || session->lingers_until_usec == 0)
                return -ENOENT;
        session->peer = strdup(peer);
        if (!session->peer)
                return -ENOMEM;
        session->lingers_until_usec = 0;
        session_set_timer(session, 0);
        session_keep(session);
        return 0;
}

static void on_unit_gone(void *userdata) {
        Session *session = userdata;
        char reason[sizeof(session->end_reason)];

        (void)snprintf(reason,
                        sizeof(reason),
                        "unit %.200s has no processes",
                        session->spec->lifetime_unit);
        session_end(session, "unit-gone", reason);
}

void session_watch_unit(Session *session) {
        if (session->spec->lifetime != LIFETIME_UNIT || session->end != END_NOT)
                return;
        int r = session->trace.unit.path ? unit_watch_new(session->registry->options.event,
                                                           &session->trace.unit,
                                                           on_unit_gone,
                                                           session,
                                                           &session->unit_watch)
                                         : -ESRCH;
        if (r == -ESRCH)
                on_unit_gone(session);
        else if (r < 0) /* otherwise it would never end */
                session_end(session, "unit-gone", "its unit cannot be watched");
}

int session_on_timer(sd_event_source *source _unused_, uint64_t usec _unused_, void *userdata) {
        Session *session = userdata;

        if (session->end == END_REMOVE)
                session_remove(session);
        else if (session->end != END_NOT)
                return 0;
        else if (session->waits_for_spool)
                session_give_up_spool(session);
        else if (session->peer || session->spec->lifetime == LIFETIME_CLIENT)
                session_end(session, "setup-timeout", "it was not started in time");
        else
                session_end(session, "linger-timeout", "its lifetime is over");
        return 0;
}

int session_destroy(Session *session, Request *request, Reason *reason) {
        if (session->end != END_NOT)
                return reason_set(reason, KT_E_BUSY, "the session is ending already");
        const char *code = session->state == SESSION_STOPPED ? "stopped" : "destroyed";
        Reason why;

        marker_read_all(&session->markers);

        session->destroyer = request;
        bool by_owner = !session_record_other(session, request, "destroyed");
        if (by_owner)
                reason_set(&why, 0, "%s by its owner", code);
        else
                reason_set(&why, 0, "destroyed by an administrator");
        session_announce_end(session, code, why.text, by_owner);
        session_begin_end(session, code, why.text);
        return 0;
}
