/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One session: its data and its creation. The doors (bus) call it in the event loop. The worker
 * does the kernel work as a plan, and the call is answered when its plan is over. At most one plan
 * of a session is in flight.
 *
 * create.c makes a session for CreateSession. session-run.c starts and stops it, session-stream.c
 * has its stream, and session-end.c ends it, which may happen at any time. A session is freed only
 * when its instance is gone: every instance in the kernel has a session that owns it. */

#include "session/session.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "policy/grant.h"
#include "probes/probe-events.h"
#include "session/black-box.h"
#include "session/keep.h"
#include "session/registry-idle.h"
#include "session/registry.h"
#include "session/reload.h"
#include "session/session-end.h"
#include "session/session-notice.h"
#include "session/session-second.h"
#include "session/session-share.h"
#include "session/session-spool.h"
#include "session/window-look.h"

void session_set_state(Session *session, SessionState state) {
        if (session->state == state)
                return;
        session->state = state;
        session_keep(session);
        black_box_settle(session->registry->black_box);
        session->registry->options.handlers.on_state(session, session->registry->options.userdata);
}

void session_set_timer(Session *session, uint64_t usec) {
        if (usec == 0) {
                (void)sd_event_source_set_enabled(session->timer, SD_EVENT_OFF);
                return;
        }
        (void)sd_event_source_set_time_relative(session->timer, usec);
        (void)sd_event_source_set_enabled(session->timer, SD_EVENT_ONESHOT);
}

Session *session_free(Session *session) {
        if (!session)
                return NULL;
        assert(!session->plan_in_flight && !session->feed && !session->request &&
                        TAILQ_EMPTY(&session->snapshots) && TAILQ_EMPTY(&session->hist_calls));
        Registry *registry = session->registry;
        if (registry)
                reload_forget_session(registry, session);
        session_forget_spool(session);
        session_forget_seconds(session);
        session_forget_looks(session);
        windows_clear(&session->windows);
        marker_close_all(&session->markers);
        meter_free(session->meter);
        session_free_notices(session);
        newcomers_free(session->newcomers);
        unit_watch_free(session->unit_watch);
        interference_free(session->interference);
        ledger_free(session->ledger);
        own_writes_free(session->own_writes);
        activity_free(session->activity);
        if (registry) {
                TAILQ_REMOVE(&registry->sessions, session, sessions);
                registry_idle_changed(registry);
        }
        sd_event_source_disable_unref(session->timer);
        sd_event_source_disable_unref(session->move_retry);
        probe_events_release(&session->trace.probes, &session->trace.n_probes);
        session->share = share_viewer_free(session->share);
        trace_clear(&session->trace);
        subject_clear(&session->owner);
        spec_free(session->spec);
        grant_free(session->grant);
        free(session->members);
        free(session->is_off);
        free(session->read_seconds);
        free(session->peer);
        free(session->kept_bus);
        free(session);
        return NULL;
}

DEFINE_CLEANUP(Session, session_free);

static void session_on_plan(Plan *plan, int result, const Reason *reason) {
        Session *session = plan->userdata;

        session->plan_in_flight = false;
        session->then(session, result, reason);
}

void session_submit(Session *session, void (*then)(Session *, int, const Reason *)) {
        session->then = then;
        session->plan.done = session_on_plan;
        session->plan.userdata = session;
        session->plan_in_flight = true;
        worker_submit(session->registry->worker, &session->plan);
}

bool session_is_decided_at_start(const Session *session) {
        return session->grant->fenced && session->spec->n_pids > 0;
}

void session_record(const Session *session, AuditKind kind, const char *text) {
        audit_write(session->registry->audit,
                        &(AuditRecord){
                                        .kind = kind,
                                        .uid = session->owner.uid,
                                        .command = session->owner.command,
                                        .session = session->id,
                                        .rule = session->grant->rule,
                                        .text = text,
                                        .spec = session->spec,
                        });
}

bool session_record_other(const Session *session, const Request *request, const char *text) {
        if (request->subject.uid == session->owner.uid)
                return false;
        audit_write(session->registry->audit,
                        &(AuditRecord){
                                        .kind = AUDIT_MANAGED,
                                        .uid = session->owner.uid,
                                        .by = &request->subject.uid,
                                        .command = request->subject.command,
                                        .session = session->id,
                                        .text = text,
                        });
        return true;
}

/* Create */

void session_then_created(Session *session, int result, const Reason *reason) {
        if (result != 0) { /* undone */
                session_unkeep(session);
                if (session->end != END_NOT)
                        request_answer_cancelled(&session->request, session->end_reason);
                else
                        request_answer(&session->request, result, reason);
                request_answer(&session->destroyer, 0, NULL);
                if (trace_has_leftover(&session->trace))
                        session_remove(session);
                else
                        session_free(session);
                return;
        }
        if (session->end != END_NOT) {
                request_answer_cancelled(&session->request, session->end_reason);
                session_end_continue(session);
                return;
        }
        session_make_notices(session);
        Reason refusal = {};
        int begun = session_begin_share(session, &refusal);
        if (begun != 0) {
                session_conclude_created(session, begun, &refusal);
                return;
        }
        if (session->spec->spool.is_on) {
                Reason why = {};
                int r = session_begin_spool(session, &why);

                if (r != 0)
                        session_conclude_created(session, r, &why);
                return;
        }
        session_conclude_created(session, 0, NULL);
}

void session_conclude_created(Session *session, int result, const Reason *reason) {
        if (session->end != END_NOT) {
                request_answer_cancelled(&session->request, session->end_reason);
                return;
        }
        if (result != 0) {
                request_answer(&session->request, result, reason);
                session_begin_end(session, "failed", "it could not be made");
                return;
        }
        session_set_state(session, SESSION_CONFIGURED);
        if (session->spec->lifetime == LIFETIME_CLIENT)
                session_set_timer(session, session->registry->options.limits.setup_timeout_usec);
        session->request->session = session;
        session->registry->counters.n_created++;
        request_answer(&session->request, 0, NULL);
        session_watch_unit(session);
}

static void session_on_own_writes(bool begins, void *userdata) {
        Session *session = userdata;

        if (begins) {
                interference_begin(session->interference);
                ledger_begin(session->ledger);
        } else {
                interference_end(session->interference);
                ledger_end(session->ledger);
        }
}

int session_new(Registry *registry, const char *id, Session **ret) {
        _cleanup_(session_free_cleanup) Session *session = calloc(1, sizeof(*session));

        if (!session)
                return -ENOMEM;
        trace_init(&session->trace);
        TAILQ_INIT(&session->snapshots);
        TAILQ_INIT(&session->hist_calls);
        TAILQ_INIT(&session->looks);
        TAILQ_INIT(&session->markers);
        memcpy(session->id, id, sizeof(session->id));
        int r = sd_event_add_time_relative(registry->options.event,
                        &session->timer,
                        CLOCK_MONOTONIC,
                        0,
                        0,
                        session_on_timer,
                        session);
        r = r < 0 ? r : own_writes_new(session_on_own_writes, session, &session->own_writes);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(session->timer, "session");
        session_set_timer(session, 0);
        session->registry = registry;
        session->rules = registry->rules;
        TAILQ_INSERT_TAIL(&registry->sessions, session, sessions);
        *ret = TAKE_PTR(session);
        return 0;
}

void session_bind(Session *session) {
        Trace *trace = &session->trace;

        trace->tracefs = session->registry->tracefs;
        trace->spec = session->spec;
        trace->grant = session->grant;
        trace->owner = &session->owner;
        trace->own_writes = session->own_writes;
        memcpy(trace->id, session->id, sizeof(trace->id));
}
