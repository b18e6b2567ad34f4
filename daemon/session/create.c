/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CreateSession, from the call to the plan that makes the instance. The decision on the spec takes
 * its turns in the event loop (turns.c), since it may take long. It is followed in the same turn by
 * the rest of the judgement and by the session, so that no limit can be passed by two calls at
 * once.
 *
 * A session that has no room waits while an instance of the same user is being removed: Destroy is
 * answered before rmdir, and a client that ends one session to begin another must not be refused.
 *
 * A caller who leaves during the decision gets no session: nothing would end it later. */

#include "session/create.h"

#include <errno.h>
#include <string.h>

#include "base/random-id.h"
#include "policy/grant.h"
#include "policy/same.h"
#include "probes/probe-events.h"
#include "session/check.h"
#include "session/judgement.h"
#include "session/keep.h"
#include "session/pool.h"
#include "session/quota.h"
#include "session/registry-idle.h"
#include "session/registry-tracefs.h"
#include "session/registry.h"
#include "session/session-end.h"
#include "session/session-move.h"
#include "session/session-share.h"
#include "session/session.h"

/* As long as Destroy waits for an instance that a process holds. */
#define ROOM_WAIT_USEC 5000000

struct Creation {
        Registry *registry;
        Request *request;
        Spec *spec;
        Judgement judgement;
        uint64_t waits_until_usec; /* for room, CLOCK_MONOTONIC; 0: it has not waited */
        Plan plan;
        TAILQ_ENTRY(Creation) others;
};

static Creation *creation_free(Creation *creation) {
        if (!creation)
                return NULL;
        TAILQ_REMOVE(&creation->registry->creations, creation, others);
        judgement_clear(&creation->judgement);
        request_free(creation->request);
        spec_free(creation->spec);
        free(creation);
        return NULL;
}

DEFINE_CLEANUP(Creation, creation_free);

/* Takes an instance from the pool, if there is one for this spec. */
static int session_new_of(Registry *registry,
                const Request *request,
                const Spec *spec,
                Session **ret) {
        Session *session = NULL;
        char id[KT_ID_DIGITS + 1];

        int r = random_id_make(id);
        r = r ?: session_new(registry, id, &session);
        r = r ?: subject_copy(&session->owner, &request->subject);
        if (r == 0 && request->peer) {
                session->peer = strdup(request->peer);
                r = session->peer ? 0 : -ENOMEM;
        }
        if (r < 0) {
                session_free(session);
                return r;
        }
        session->trace.prepared = pool_take(registry->pool, spec, session->id);
        *ret = session;
        return 0;
}

/* Fails closed: a grant that requires polkit is not valid before polkit allows it, for every
 * caller. The grant moves to the request when polkit must be asked. */
static int session_check_authorized(Request *request, Grant **grant, Reason *reason) {
        const char *action = (*grant)->polkit_action;

        if (!action)
                return 0;
        if (!request->is_authorized) {
                grant_free(request->wanted);
                request->wanted = TAKE_PTR(*grant);
                return reason_set(reason,
                                KT_E_AUTH_REQUIRED,
                                "%s: polkit must allow this first (%s)",
                                request->wanted->rule,
                                action);
        }
        if (!request->wanted || !grant_is_same(request->wanted, *grant))
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "the rules or the events of this kernel changed while polkit was asked: try again");
        return 0;
}

/* Denials are recorded. Mistakes are not, and neither is a request that polkit is asked about. */
static int creation_admit(Creation *creation, Grant **grant, Reason *reason) {
        const Request *request = creation->request;

        int r = registry_judge_rest(
                        creation->registry, &request->subject, creation->spec, *grant, reason);
        return r ?: session_check_authorized(creation->request, grant, reason);
}

static void creation_record_denial(const Creation *creation, const Reason *reason) {
        audit_write(creation->registry->audit,
                        &(AuditRecord){
                                        .kind = AUDIT_CREATE_DENIED,
                                        .uid = creation->request->subject.uid,
                                        .command = creation->request->subject.command,
                                        .text = reason->text,
                                        .spec = creation->spec,
                        });
}

/* The session owns probes, grant, spec and request from now on. */
static int creation_submit(Creation *creation,
                Session *session,
                Grant *grant,
                Probe **probes,
                size_t n_probes) {
        session->spec = TAKE_PTR(creation->spec);
        session->grant = grant;
        session->request = TAKE_PTR(creation->request);
        session_bind(session);
        session->trace.caller = session->request->caller;
        session->trace.probes = probes;
        session->trace.n_probes = n_probes;
        snprintf(session->trace.policy_digest,
                        sizeof(session->trace.policy_digest),
                        "%s",
                        policy_get_digest(creation->registry->options.policy));
        int r = session_choose_share(session, &session_share_handlers);
        if (r < 0) {
                creation->request = TAKE_PTR(session->request);
                session_free(session);
                return r;
        }
        if (!session_is_decided_at_start(session))
                session_record(session, AUDIT_CREATE_ALLOWED, session->grant->rule);
        session_keep(session);
        trace_plan_create(&session->trace, &session->plan);
        session_submit(session, session_then_created);
        return 0;
}

static int creation_make(Creation *creation, Reason *reason) {
        _cleanup_(grant_free_cleanup) Grant *grant = TAKE_PTR(creation->judgement.grant);
        Registry *registry = creation->registry;
        Session *session = NULL;
        Probe **probes = NULL;
        size_t n_probes = 0;

        int r = creation_admit(creation, &grant, reason);
        r = r ?: probe_events_hold(registry->probes, grant, &probes, &n_probes);
        if (r == 0)
                registry_settle_defaults(
                                registry, &creation->request->subject, grant, creation->spec);
        r = r ?: session_new_of(registry, creation->request, creation->spec, &session);
        if (r != 0) {
                probe_events_release(&probes, &n_probes);
                return r;
        }
        r = creation_submit(creation, session, TAKE_PTR(grant), probes, n_probes);
        registry_idle_changed(registry);
        return r;
}

static bool creation_has_room(const Creation *creation) {
        const Subject *subject = &creation->request->subject;
        Reason reason = {};
        size_t next = 0;

        return !registry_is_removing(creation->registry, subject->uid) ||
               registry_check_quota(creation->registry,
                               subject,
                               creation->spec,
                               creation->judgement.grant,
                               &next,
                               &reason) != KT_E_LIMIT_REACHED;
}

/* Each removal ends the wait of all, so a user who creates and destroys sessions without pause
 * would let another session of that user wait for ever. */
static bool creation_may_wait(Creation *creation) {
        uint64_t now_usec = 0;

        (void)sd_event_now(creation->registry->options.event, CLOCK_MONOTONIC, &now_usec);
        if (creation->waits_until_usec == 0)
                creation->waits_until_usec = now_usec + ROOM_WAIT_USEC;
        return now_usec < creation->waits_until_usec;
}

/* The decision is made again after the wait, because rules and probes may change during it. */
static int creation_wait_for_room(Creation *creation) {
        judgement_clear(&creation->judgement);
        judgement_init(&creation->judgement,
                        creation->registry,
                        &creation->request->subject,
                        creation->spec);
        return PLAN_WAIT;
}

static int creation_decide(void *context, Reason *reason) {
        Creation *creation = context;
        Judgement *judgement = &creation->judgement;

        int r = judgement->decision ? 0 : request_renew(creation->request);
        r = r ?: judgement_advance(judgement, JUDGEMENT_WORK, reason);
        if (r == 0 && !creation_has_room(creation) && creation_may_wait(creation))
                return creation_wait_for_room(creation);
        return judgement_to_plan(judgement, creation->plan.uid, r);
}

/* polkit's callback owns request and spec if this returns 0. */
static int creation_ask(Creation *creation, Reason *reason) {
        Request *request = creation->request;

        *reason = (Reason){};
        int r = request->ask(request, creation->spec, reason);
        if (r != 0)
                return r;
        creation->request = NULL;
        creation->spec = NULL;
        return 0;
}

static void creation_on_decided(Plan *plan, int result, const Reason *said) {
        _cleanup_(creation_free_cleanup) Creation *creation = plan->userdata;
        Registry *registry = creation->registry;
        Reason reason = *said;

        int r = result ?: creation_make(creation, &reason);
        if (r == KT_E_ACCESS_DENIED || r == KT_E_LIMIT_REACHED)
                creation_record_denial(creation, &reason);
        if (r == KT_E_AUTH_REQUIRED && creation->request->ask)
                r = creation_ask(creation, &reason);
        if (r != 0)
                request_answer(&creation->request, r, &reason);
        creation = creation_free(creation);
        registry_idle_changed(registry);
}

int session_create(Registry *registry, Request *request, Spec *spec, Reason *reason) {
        static const PlanStep steps[] = { { "decide", creation_decide, NULL } };

        int r = spec_complete(spec, reason);
        r = r ?: registry_get_tracefs(registry, NULL, reason);
        if (r != 0)
                return r;
        Creation *creation = calloc(1, sizeof(*creation));
        if (!creation)
                return -ENOMEM;
        creation->registry = registry;
        creation->request = request;
        creation->spec = spec;
        TAILQ_INSERT_TAIL(&registry->creations, creation, others);
        judgement_init(&creation->judgement, registry, &request->subject, spec);
        creation->plan = (Plan){
                .uid = request->subject.uid,
                .context = creation,
                .done = creation_on_decided,
                .userdata = creation,
        };
        plan_init(&creation->plan, steps, ELEMENTSOF(steps), NULL);
        turns_submit(registry->turns, &creation->plan);
        return 0;
}

void creation_peer_gone(Registry *registry, const char *peer) {
        Creation *creation;

        TAILQ_FOREACH(creation, &registry->creations, others)
                if (creation->request->peer && strcmp(creation->request->peer, peer) == 0)
                        plan_cancel(&creation->plan);
}
