/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* New rules and limits for sessions that exist. Called by the manager when both are read whole.
 * Each session is decided anew, with the spec that it was made of and the subject as it was then
 * (its groups, its seat and its unit are not asked for again: who has left a group keeps what
 * runs). One that is denied now, or gets less of anything than it has, ends; what is wider than
 * before counts from the next session on. A creation that is under way ends as well: its plan is
 * cancelled before its next step. What waits for polkit's answer is judged when that comes. */

#include <errno.h>
#include <inttypes.h>

#include "judgement.h"
#include "log.h"
#include "session-parts.h"

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

/* 0: it may go on. */
static int judge(Registry *registry, const Session *session, Reason *reason) {
        _cleanup_(grant_free_cleanup) Grant *now = NULL;

        int r = registry_decide(registry, &session->owner, session->spec, &now, reason);
        r = r ?: trace_check_fence(session->spec, now, reason);
        r = r ?: grant_check_covers(now, session->grant, reason);
        return r ?: session_check_limits(session, now, reason);
}

void registry_set_rules(Registry *registry, const Policy *policy, const Limits *limits) {
        Session *session, *next;

        judgement_restart_all(registry);
        audit_forget_names(registry->audit);
        registry->options.policy = policy;
        registry->options.limits = *limits;
        if (registry->spool)
                spool_set_limits(registry->spool, limits);
        for (session = TAILQ_FIRST(&registry->sessions); session; session = next) {
                Reason reason = {}, text;

                next = TAILQ_NEXT(session, sessions);
                if (session->end != END_NOT)
                        continue;
                int r = judge(registry, session, &reason);
                if (r == 0)
                        continue;
                if (r < 0) /* fail closed */
                        log_errno(r, LOG_ERR, NULL, "cannot judge a session by the new rules");
                reason_set(&text,
                                0,
                                "the rules were changed (it had %s): %s",
                                session->grant->rule,
                                reason.text[0] ? reason.text : error_get(r)->text);
                session_end(session, "policy", text.text);
        }
}
