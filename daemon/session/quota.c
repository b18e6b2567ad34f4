/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Enforces limits: counts what the sessions use and compares it with the limits of a grant, which
 * come from a rule or else from the configuration. It also reports them (GetLimits). It is called
 * in the event loop, before anything is made. A session counts until its instance is gone, also
 * after Destroy was answered. Sessions that share an instance count its memory once, until the last
 * of them is gone: the instance keeps the size that the first one gave it. A stream whose session
 * is gone counts as a session of its user until it is read. It does not limit how much a session
 * may record (meter.c does) or how many calls may wait (the door does). */

#include "session/quota.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/describe.h"
#include "interfaces/defence.h"
#include "interfaces/spec-trigger.h"
#include "session/drain.h"
#include "session/registry.h"
#include "trace/trace-pairs.h"
#include "trace/trace-triggers-check.h"
#include "trace/trace-triggers.h"

typedef struct Question {
        const Registry *registry;
        const Subject *subject;
        const Spec *spec;
        const Grant *grant;
        const Limits *limits;
        Usage usage;
} Question;

/* A flight recorder has the ring, the kernel's second ring, and the data that its last snapshot has
 * left. */
static uint64_t count_kb(const Registry *registry, const Spec *spec, const Grant *grant) {
        if (spec->instance) /* owned by another program */
                return 0;
        uint64_t kb = spec->buffer_kb * registry->n_cpus * (spec->mode == MODE_FLIGHT ? 3 : 1);

        return grant ? kb + trace_count_hists_kb(spec, grant) +
                                               trace_count_pairs_kb(registry->probes, grant)
                     : kb;
}

/* While the buffer grows, its new size counts, also until the next daemon has put the size back. */
static uint64_t count_session_kb(const Session *session) {
        if (!session->spec || (session->share && defence_is_on("share-memory")))
                return 0;
        Spec spec = *session->spec;
        spec.buffer_kb = MAX_OF(spec.buffer_kb, session->trace.wants_kb);
        return count_kb(session->registry, &spec, session->grant);
}

static void add_shares(const Registry *registry, uid_t uid, Usage *usage) {
        uint64_t all = 0, own = 0;

        if (!defence_is_on("share-memory"))
                return;
        share_add_kb(&registry->shares, uid, &all, &own);
        usage->buffer_kb += all * registry->n_cpus;
        usage->buffer_kb_uid += own * registry->n_cpus;
}

uint64_t registry_get_share_room(const Session *session) {
        const Registry *registry = session->registry;
        const Limits *limits = &session->grant->limits;
        uint64_t limit = limits->max_buffer_kb_per_uid;
        Usage usage;

        if (session->owner.uid == 0)
                return UINT64_MAX;
        registry_get_usage(registry, session->owner.uid, &usage);
        uint64_t others = usage.buffer_kb_uid - count_session_kb(session);
        uint64_t rest = others < limit ? (limit - others) / registry->n_cpus : 0;
        return MIN_OF(rest, limits->max_buffer_kb);
}

bool registry_is_removing(const Registry *registry, uid_t uid) {
        const Session *session;

        TAILQ_FOREACH(session, &registry->sessions, sessions)
                if (session->owner.uid == uid && session->end == END_REMOVE &&
                                session->n_remove_tries == 0)
                        return true;
        return false;
}

void registry_get_usage(const Registry *registry, uid_t uid, Usage *ret) {
        const Session *session;
        const Drain *drain;
        Usage usage = {};

        TAILQ_FOREACH(session, &registry->sessions, sessions) {
                uint64_t kb = count_session_kb(session);

                usage.n_sessions++;
                usage.buffer_kb += kb;
                if (session->owner.uid == uid) {
                        usage.n_sessions_uid++;
                        usage.n_events_uid += session->grant ? session->grant->n_events : 0;
                        usage.buffer_kb_uid += kb;
                }
        }
        TAILQ_FOREACH(drain, &registry->drains, drains) {
                usage.n_sessions++;
                usage.n_sessions_uid += drain->uid == uid;
        }
        add_shares(registry, uid, &usage);
        *ret = usage;
}

/* Returns the largest buffer that all limits allow for one session of this spec. The user's other
 * sessions do not count, because a default that depends on them would be a surprise. */
static uint64_t get_most_kb(const Registry *registry,
                const Subject *subject,
                const Spec *spec,
                const Grant *grant) {
        uint64_t room = registry->options.limits.max_buffer_kb_total, per_cpu = room;
        Spec least = *spec; /* shares all pointers, and is not freed */

        if (subject->uid != 0) {
                room = MIN_OF(room, grant->limits.max_buffer_kb_per_uid);
                per_cpu = grant->limits.max_buffer_kb;
        }
        least.buffer_kb = 1;
        uint64_t factor = count_kb(registry, &least, NULL);
        uint64_t others = count_kb(registry, &least, grant) - factor;
        return MIN_OF(per_cpu, room > others && factor > 0 ? (room - others) / factor : 0);
}

/* Changes no data that the spec points to. */
static void settle_numbers(const Registry *registry,
                const Subject *subject,
                const Grant *grant,
                Spec *spec) {
        uint64_t most_kb = get_most_kb(registry, subject, spec, grant);

        if (!spec->instance && !spec_is_given(spec, "buffer-kb"))
                spec_settle_buffer(spec,
                                MAX_OF(MIN_OF(spec->buffer_kb, most_kb),
                                                (uint64_t)SPEC_BUFFER_KB_MIN));
        if (spec->lifetime == LIFETIME_LINGER && spec->linger_usec == 0)
                spec->linger_usec = grant->max_linger_usec;
}

void registry_settle_defaults(const Registry *registry,
                const Subject *subject,
                const Grant *grant,
                Spec *spec) {
        settle_numbers(registry, subject, grant, spec);
        for (size_t i = 0; i < grant->n_triggers; i++)
                if (spec->triggers[i].action == ACTION_HIST && spec->triggers[i].hist.size == 0)
                        spec->triggers[i].hist.size = grant->triggers[i].hist.n_rows;
}

static int quota_refuse(const char *what,
                uint64_t used,
                uint64_t limit,
                const char *unit,
                Reason *reason) {
        return reason_set(reason,
                        KT_E_LIMIT_REACHED,
                        "%s: %" PRIu64 "%s in use or asked for, %" PRIu64
                        "%s allowed: end a session first, see 'ktracectl list'",
                        what,
                        used,
                        unit,
                        limit,
                        unit);
}

static int quota_check_name(const Question *q, Reason *reason) {
        const Session *session;

        if (!q->spec->name)
                return 0;
        TAILQ_FOREACH(session, &q->registry->sessions, sessions)
                if (session->owner.uid == q->subject->uid && session->end == END_NOT &&
                                session->spec->name &&
                                strcmp(session->spec->name, q->spec->name) == 0)
                        return reason_set(reason,
                                        KT_E_NAME_TAKEN,
                                        "name: you have a session \"%s\" already (%s): destroy it or take another name",
                                        q->spec->name,
                                        session->id);
        return 0;
}

static int quota_check_instance(const Question *q, Reason *reason) {
        const Session *session;

        if (!q->spec->instance)
                return 0;
        TAILQ_FOREACH(session, &q->registry->sessions, sessions)
                if (session->spec && session->spec->instance &&
                                strcmp(session->spec->instance, q->spec->instance) == 0)
                        return reason_set(reason,
                                        KT_E_BUSY,
                                        "instance: a session reads %s already",
                                        q->spec->instance);
        return 0;
}

static int quota_check_events(const Question *q, Reason *reason) {
        if (q->subject->uid == 0 || q->grant->n_events <= q->limits->max_events)
                return 0;
        return reason_set(reason,
                        KT_E_LIMIT_REACHED,
                        "events: %zu are granted, %" PRIu64
                        " allowed in one session (max-events): ask for fewer",
                        q->grant->n_events,
                        q->limits->max_events);
}

static int check_buffer(const Question *q, Reason *reason) {
        if (q->subject->uid == 0 || q->spec->buffer_kb <= q->limits->max_buffer_kb)
                return 0;
        return reason_set(reason,
                        KT_E_LIMIT_REACHED,
                        "buffer-kb: %" PRIu64 " is over your limit of %" PRIu64
                        " kB (max-buffer-kb): ask for less, or leave it out",
                        q->spec->buffer_kb,
                        q->limits->max_buffer_kb);
}

static int check_pids(const Question *q, Reason *reason) {
        if (q->subject->uid == 0 || q->spec->n_pids <= q->limits->max_pids)
                return 0;
        return reason_set(reason,
                        KT_E_LIMIT_REACHED,
                        "scope: %zu processes are named, %" PRIu64
                        " allowed in one session (max-pids): name fewer",
                        q->spec->n_pids,
                        q->limits->max_pids);
}

/* Values that the spec leaves out are filled in when the session is made. */
static int check_spool(const Question *q, Reason *reason) {
        uint64_t limit = q->limits->max_spool_kb;

        if (!q->spec->spool.is_on || q->subject->uid == 0)
                return 0;
        if (limit * 1024 < 2 * SPEC_ROTATE_MIN)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "spool: none is allowed (max-spool-kb is %" PRIu64 ")",
                                limit);
        if (q->spec->spool.max_bytes <= limit * 1024)
                return 0;
        return reason_set(reason,
                        KT_E_LIMIT_REACHED,
                        "spool.max-bytes: %" PRIu64 " is over your limit of %" PRIu64
                        " kB (max-spool-kb): ask for less, or leave it out",
                        q->spec->spool.max_bytes,
                        limit);
}

/* Also for root: a mark without a rule would keep the files for ever. */
static int check_ship(const Question *q, Reason *reason) {
        if (!q->spec->spool.ships || policy_is_shipped(q->registry->options.policy, q->grant->rule))
                return 0;
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "spool.ship: no rule lets a service ship recordings of %s: see the key "
                        "ship in ktrace-policy(5)",
                        q->grant->rule);
}

static int check_uid_sessions(const Question *q, Reason *reason) {
        uint64_t limit = q->limits->max_sessions_per_uid;

        if (q->subject->uid == 0 || q->usage.n_sessions_uid < limit)
                return 0;
        return quota_refuse("max-sessions-per-uid", q->usage.n_sessions_uid, limit, "", reason);
}

static int check_uid_buffer(const Question *q, Reason *reason) {
        uint64_t kb = q->usage.buffer_kb_uid + count_kb(q->registry, q->spec, q->grant);
        uint64_t limit = q->limits->max_buffer_kb_per_uid;

        if (q->subject->uid == 0 || kb <= limit)
                return 0;
        return quota_refuse("max-buffer-kb-per-uid", kb, limit, " kB", reason);
}

static int check_uid_events(const Question *q, Reason *reason) {
        uint64_t n = q->usage.n_events_uid + q->grant->n_events;
        uint64_t limit = q->limits->max_events_per_uid;

        if (q->subject->uid == 0 || n <= limit)
                return 0;
        return quota_refuse("max-events-per-uid", n, limit, " events", reason);
}

/* These limits apply to root too. The text does not disclose the use of other users. */
static int check_totals(const Question *q, Reason *reason) {
        const Limits *limits = &q->registry->options.limits;
        uint64_t kb = count_kb(q->registry, q->spec, q->grant);

        if (q->usage.n_sessions < limits->max_sessions &&
                        q->usage.buffer_kb + kb <= limits->max_buffer_kb_total)
                return 0;
        return reason_set(reason,
                        KT_E_LIMIT_REACHED,
                        "this machine's limit of all sessions is reached (max-sessions, max-buffer-kb-total): try later");
}

int registry_check_quota(const Registry *registry,
                const Subject *subject,
                const Spec *spec,
                const Grant *grant,
                size_t *next,
                Reason *reason) {
        static int (*const checks[])(const Question *q, Reason *reason) = {
                quota_check_events,
                quota_check_name,
                quota_check_instance,
                check_buffer,
                check_pids,
                check_spool,
                check_ship,
                check_uid_sessions,
                check_uid_buffer,
                check_uid_events,
                check_totals,
        };
        Spec settled = *spec; /* shares all pointers, and is not freed */
        Question q = { registry, subject, &settled, grant, &grant->limits };

        settle_numbers(registry, subject, grant, &settled);
        registry_get_usage(registry, subject->uid, &q.usage);
        while (*next < ELEMENTSOF(checks)) {
                int r = checks[(*next)++](&q, reason);
                if (r != 0)
                        return r;
        }
        return 0;
}

int registry_check_resize(const Session *session, uint64_t kb, Reason *reason) {
        static int (*const checks[])(const Question *q, Reason *reason) = {
                check_buffer,
                check_uid_buffer,
                check_totals,
        };
        const Registry *registry = session->registry;
        uint64_t now_kb = count_session_kb(session);
        Spec spec = *session->spec;
        Question q = {
                registry, &session->owner, &spec, session->grant, &session->grant->limits, {}
        };
        int r = 0;

        if (kb <= spec.buffer_kb) /* granted before; the limits may be lower now */
                return 0;
        spec.buffer_kb = kb;
        registry_get_usage(registry, session->owner.uid, &q.usage);
        q.usage.n_sessions--;
        q.usage.buffer_kb -= now_kb;
        q.usage.buffer_kb_uid -= now_kb;
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(checks); i++)
                r = checks[i](&q, reason);
        return r;
}

int registry_check_move(const Session *session, uint64_t kb, Reason *reason) {
        const Registry *registry = session->registry;
        Spec spec = *session->spec;
        Question q = {
                registry, &session->owner, &spec, session->grant, &session->grant->limits, {}
        };

        spec.buffer_kb = kb;
        registry_get_usage(registry, session->owner.uid, &q.usage);
        q.usage.n_sessions--;
        return check_buffer(&q, reason) ?: check_uid_buffer(&q, reason) ?: check_totals(&q, reason);
}

int registry_describe_limits(const Registry *registry, uid_t uid, json_object **ret) {
        _cleanup_json_ json_object *object = NULL;
        Usage usage;

        int r = limits_describe(&registry->options.limits, &object);
        if (r < 0)
                return r;
        registry_get_usage(registry, uid, &usage);
        json_object_object_add(object, "sessions", json_object_new_uint64(usage.n_sessions_uid));
        json_object_object_add(object, "events", json_object_new_uint64(usage.n_events_uid));
        json_object_object_add(object, "buffer-kb", json_object_new_uint64(usage.buffer_kb_uid));
        *ret = TAKE_PTR(object);
        return 0;
}
