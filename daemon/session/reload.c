/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Applies new rules and limits to existing sessions. The manager calls it when both were read
 * completely. Each session is decided again, with its original spec and with the subject as it was
 * then. The groups, the seat and the unit of the subject are not read again: a user who has left a
 * group keeps the running sessions. A session that is denied now, or gets less of anything than it
 * has, ends. Wider rights apply to later sessions only. A creation in progress ends as well: its
 * plan is cancelled before its next step. A request that waits for polkit is judged when polkit
 * answers.
 *
 * A decision may take long, so the loop serves other users in between (turns.c). Every decision
 * from the first turn on uses the new rules. An existing session keeps its rights until its own
 * turn. The caller is notified when all sessions were judged. If the rules change again, only the
 * newest ones count: judgements in progress begin again, and finished ones are repeated. A session
 * may end, and be freed, between two turns. */

#include "session/reload.h"

#include <errno.h>
#include <inttypes.h>

#include "base/log.h"
#include "policy/cover.h"
#include "session/judgement.h"
#include "session/registry-idle.h"
#include "session/registry.h"
#include "session/session-end.h"
#include "spool/spool-record.h"
#include "trace/trace-fence.h"

/* 0 means no limit. */
static bool is_lower(uint64_t now, uint64_t then) {
        return now != 0 && (then == 0 || now < then);
}

/* Checks only the limits of a single session. The limits of a user, and of all users together,
 * apply to later sessions. */
int session_check_limits(const Session *session, const Grant *grant, Reason *reason) {
        const Limits *then = &session->grant->limits, *now = &grant->limits;
        const Spec *spec = session->spec;
        const char *what = NULL;

        if (session->owner.uid == 0)
                return 0;
        if (spec->buffer_kb > now->max_buffer_kb)
                what = "max-buffer-kb";
        else if (session->grant->n_events > now->max_events)
                what = "max-events";
        else if (spec->n_pids > now->max_pids)
                what = "max-pids";
        else if (session->feed && feed_get_entry(session->feed) &&
                        spool_get_max_bytes(feed_get_entry(session->feed)) >
                                        now->max_spool_kb * 1024)
                what = "max-spool-kb";
        else if (is_lower(now->max_event_rate, then->max_event_rate))
                what = "max-event-rate";
        else if (is_lower(now->max_stream_bytes_per_sec, then->max_stream_bytes_per_sec))
                what = "max-stream-bytes-per-sec";
        /* A time above the limit is refused by the rule itself. A session without an end only needs
         * one. */
        else if (spec->lifetime == LIFETIME_LINGER && spec->linger_usec == 0 &&
                        grant->max_linger_usec > 0)
                what = "max-linger-sec";
        if (!what)
                return 0;
        return reason_set(reason, KT_E_LIMIT_REACHED, "%s is lower now", what);
}

/* One call of registry_set_rules. */
struct Reload {
        Registry *registry;
        Session *session; /* the session in judgement; NULL: none */
        Judgement judgement;
        Plan plan;
        RulesHandler done;
        void *userdata;
        TAILQ_ENTRY(Reload) others;
};

static Session *reload_find_next(const Registry *registry) {
        Session *session;

        TAILQ_FOREACH(session, &registry->sessions, sessions)
                if (session->end == END_NOT && session->rules != registry->rules)
                        return session;
        return NULL;
}

static void reload_forget(Reload *reload) {
        judgement_clear(&reload->judgement);
        reload->session = NULL;
}

void reload_forget_session(Registry *registry, const Session *session) {
        Reload *reload;

        TAILQ_FOREACH(reload, &registry->reloads, others)
                if (reload->session == session)
                        reload_forget(reload);
}

static void end_for_rules(Session *session, int result, const Reason *reason) {
        Reason text;

        if (result < 0) /* fail closed */
                log_errno(result, LOG_ERR, NULL, "cannot judge a session by the new rules");
        reason_set(&text,
                        0,
                        "the rules were changed (it had %s): %s",
                        session->grant->rule,
                        reason->text[0] ? reason->text : error_get(result)->text);
        session_end(session, "policy", text.text);
}

/* The checks after the decision run in the same turn, so that all of them see the same state. */
static int reload_judge_session(Reload *reload, Reason *reason) {
        const Session *session = reload->session;
        const Grant *now;

        int r = judgement_advance(&reload->judgement, JUDGEMENT_WORK, reason);
        if (r != 0)
                return r;
        now = reload->judgement.grant;
        r = trace_check_fence(session->spec, now, reason);
        r = r ?: grant_check_covers(now, session->grant, reason);
        return r ?: session_check_limits(session, now, reason);
}

static int reload_judge(void *context, Reason *unused _unused_) {
        Reload *reload = context;
        Registry *registry = reload->registry;
        Reason reason = {};

        if (reload->session && reload->session->end != END_NOT)
                reload_forget(reload);
        if (!reload->session) {
                reload->session = reload_find_next(registry);
                if (!reload->session)
                        return 0;
                judgement_init(&reload->judgement,
                                registry,
                                &reload->session->owner,
                                reload->session->spec);
        }
        int r = reload_judge_session(reload, &reason);
        r = judgement_to_plan(&reload->judgement, reload->plan.uid, r);
        if (r == PLAN_AGAIN || r == PLAN_WAIT)
                return r;
        Session *session = reload->session;
        session->rules = registry->rules;
        reload_forget(reload);
        if (r != 0)
                end_for_rules(session, r, &reason);
        return PLAN_AGAIN;
}

static void reload_on_over(Plan *plan, int result, const Reason *reason _unused_) {
        Reload *reload = plan->userdata;
        Registry *registry = reload->registry;

        TAILQ_REMOVE(&registry->reloads, reload, others);
        reload_forget(reload);
        if (reload->done)
                reload->done(result, reload->userdata);
        free(reload);
        registry_idle_changed(registry);
}

int registry_set_rules(Registry *registry,
                const Policy *policy,
                const Limits *limits,
                RulesHandler done,
                void *userdata) {
        static const PlanStep steps[] = { { "judge", reload_judge, NULL } };
        Reload *reload = calloc(1, sizeof(*reload));

        if (!reload)
                return -ENOMEM;
        judgement_restart_all(registry);
        audit_forget_names(registry->audit);
        registry->rules++;
        registry->options.policy = registry->probes->policy = policy;
        registry->options.limits = *limits;
        if (registry->spool) {
                spool_set_limits(registry->spool, limits);
                spool_set_policy(registry->spool, policy);
        }
        *reload = (Reload){
                .registry = registry,
                .plan = { .uid = UID_OF_RULES,
                                .context = reload,
                                .done = reload_on_over,
                                .userdata = reload },
                .done = done,
                .userdata = userdata,
        };
        plan_init(&reload->plan, steps, ELEMENTSOF(steps), NULL);
        TAILQ_INSERT_TAIL(&registry->reloads, reload, others);
        turns_submit(registry->turns, &reload->plan);
        return 0;
}
