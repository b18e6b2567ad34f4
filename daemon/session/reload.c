/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* New rules and limits for sessions that exist. Called by the manager when both are read whole.
 * Each session is decided anew, with the spec that it was made of and the subject as it was then
 * (its groups, its seat and its unit are not asked for again: who has left a group keeps what
 * runs). One that is denied now, or gets less of anything than it has, ends; what is wider than
 * before counts from the next session on. A creation that is under way ends as well: its plan is
 * cancelled before its next step. What waits for polkit's answer is judged when that comes.
 *
 * A decision may take long, so the loop serves others in between (turns.c). All that is decided
 * from the first turn on is decided by the new rules. A session that exists keeps what it has until
 * its own turn has come; the caller is told when that is true of no session. Rules that come
 * meanwhile are the ones that count: what is being judged begins anew, and what was judged is
 * judged once more. A session may end, and be freed, between two turns. */

#include "session/reload.h"

#include <errno.h>
#include <inttypes.h>

#include "base/log.h"
#include "policy/cover.h"
#include "session/judgement.h"
#include "session/session-end.h"
#include "session/session-parts.h"
#include "spool/spool-record.h"
#include "trace/trace-fence.h"

/* 0: no limit. */
static bool is_lower(uint64_t now, uint64_t then) {
        return now != 0 && (then == 0 || now < then);
}

/* Only what one session has to itself: what a user or all may have counts for the next one. */
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
        /* A longer time is refused by the rule itself, but no end at all only lacks a time. */
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
        Session *session; /* the one that is being judged; NULL: none */
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

/* What follows the decision is done in the same turn, so both are about one state. */
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
        if (r == DECISION_AGAIN)
                return PLAN_AGAIN;
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
        registry_changed(registry);
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
        if (registry->spool)
                spool_set_limits(registry->spool, limits);
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
