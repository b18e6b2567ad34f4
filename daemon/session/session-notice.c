/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reports to clients what a session does on its own. The recipients are its creator, and
 * connections of its owner that have subscribed. The doors and other modules of the session call it
 * in the event loop. A failure has no effect on the session: only the report is missing. */

#include "session/session-notice.h"

#include "session/session.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/describe.h"
#include "base/log.h"
#include "interfaces/defence.h"
#include "interfaces/json.h"
#include "interfaces/spec-trigger.h"
#include "policy/grant-sink.h"
#include "session/keep.h"
#include "session/registry.h"
#include "trace/trace-counts.h"
#include "trace/trace-notify.h"

int session_subscribe(Session *session, const char *peer, Reason *reason) {
        size_t i = 0;

        if (session->end != END_NOT)
                return reason_set(reason, KT_E_WRONG_STATE, "the session is ending");
        while (i < SUBSCRIBERS_MAX && session->subscribers[i]) {
                if (strcmp(session->subscribers[i], peer) == 0)
                        return 0;
                i++;
        }
        if (session->peer && strcmp(session->peer, peer) == 0)
                return 0;
        if (i == SUBSCRIBERS_MAX)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "%d connections already get notices of the session",
                                SUBSCRIBERS_MAX);
        session->subscribers[i] = strdup(peer);
        if (!session->subscribers[i])
                return -ENOMEM;
        session_keep(session);
        return 0;
}

void session_unsubscribe_at(Session *session, size_t i) {
        free(session->subscribers[i]);
        for (; i + 1 < SUBSCRIBERS_MAX; i++)
                session->subscribers[i] = session->subscribers[i + 1];
        session->subscribers[SUBSCRIBERS_MAX - 1] = NULL;
}

void session_unsubscribe(Session *session, const char *peer) {
        for (size_t i = SUBSCRIBERS_MAX; i-- > 0;)
                if (session->subscribers[i] &&
                                (!peer || strcmp(session->subscribers[i], peer) == 0))
                        session_unsubscribe_at(session, i);
}

void session_visit_peers(const Session *session,
                void (*visit)(const char *peer, void *userdata),
                void *userdata) {
        if (session->peer)
                visit(session->peer, userdata);
        for (size_t i = 0; i < SUBSCRIBERS_MAX && session->subscribers[i]; i++)
                visit(session->subscribers[i], userdata);
}

static void session_notice_report(json_object *notice, void *userdata) {
        Session *session = userdata;

        session->registry->options.handlers.on_notice(
                        session, notice, session->registry->options.userdata);
        session_keep_notices(session);
}

static size_t count_busy(void *userdata) {
        const Session *session = userdata, *other;
        size_t n = 1;

        TAILQ_FOREACH(other, &session->registry->sessions, sessions)
                n += other != session && other->owner.uid == session->owner.uid &&
                     notices_are_busy(other->notices);
        return n;
}

/* The owner can clear the buffer, and then the kernel counts from 0 again. */
static void count_losses(Session *session, const uint64_t *lost) {
        uint64_t n = 0;

        for (unsigned cpu = 0; cpu < session->trace.n_cpus; cpu++)
                n += lost[cpu];
        uint64_t n_more = n < session->n_lost_seen ? n : n - session->n_lost_seen;
        session->n_lost_seen = n;
        session->n_lost += n_more;
        if (!session->skips_losses)
                session->registry->counters.n_lost += n_more;
        session->skips_losses = false;
}

static void record(Session *session, AuditRecord record) {
        record.uid = session->owner.uid;
        record.command = session->owner.command;
        record.session = session->id;
        record.rule = session->grant->rule;
        record.spec = session->spec;
        audit_write(session->registry->audit, &record);
}

/* The owner decides how much a session loses, and how often its triggers are hit. So the journal
 * gets the first loss and the first hit at once, and the sums when the instance is removed: at most
 * four records of a session, whose creation has one, too. */
static void record_losses(Session *session, const char *when) {
        char text[96];

        if (session->n_lost <= session->n_lost_recorded)
                return;
        (void)snprintf(text,
                        sizeof(text),
                        "%" PRIu64 " %s: its buffer was full",
                        session->n_lost,
                        when);
        record(session,
                        (AuditRecord){ .kind = AUDIT_LOST,
                                        .text = text,
                                        .n_lost = session->n_lost });
        session->n_lost_recorded = session->n_lost;
}

static void on_losses(const uint64_t *lost, void *userdata) {
        Session *session = userdata;

        count_losses(session, lost);
        if (session->n_lost_recorded == 0)
                record_losses(session, "so far");
        notices_take_losses(session->notices, lost);
}

/* The kernel counts an event about other processes also while one of those runs. The number of that
 * process must not be disclosed. */
static uint32_t get_reported_pid(const Grant *grant, size_t trigger, uint32_t pid) {
        const GrantEvent *event = &grant->events[grant->triggers[trigger].event];

        return event->speaks_of_others && defence_is_on("filter-fields") ? 0 : pid;
}

static uint64_t count_hits(const Session *session) {
        uint64_t n = 0;

        for (size_t i = 0; i < session->spec->n_triggers; i++)
                n += notices_get_hits(session->notices, (unsigned)i);
        return n;
}

/* event: of the trigger that was hit; NULL: all triggers. */
static void record_hits(Session *session, const char *event, const char *when) {
        char text[SPEC_EVENT_NAME_MAX + 64];
        uint64_t n = count_hits(session);

        if (n <= session->n_hits_recorded)
                return;
        (void)snprintf(text,
                        sizeof(text),
                        "%s%s%" PRIu64 " %s",
                        event ?: "",
                        event ? ", " : "",
                        n,
                        when);
        record(session, (AuditRecord){ .kind = AUDIT_HIT, .text = text, .n_hits = n });
        session->n_hits_recorded = n;
}

static void on_hits(size_t trigger, uint64_t n, uint32_t pid, void *userdata) {
        Session *session = userdata;
        const char *event = session->spec->triggers[trigger].event;
        bool is_first = count_hits(session) == 0;

        notices_take_hits(session->notices,
                        (unsigned)trigger,
                        event,
                        n,
                        get_reported_pid(session->grant, trigger, pid));
        if (is_first)
                record_hits(session, event, "so far");
}

/* A trigger with a count limit is reported at most that often. */
void session_take_hits(Session *session, size_t trigger, uint64_t n, uint32_t pid) {
        const Spec *spec = session->spec;

        if (trigger >= spec->n_triggers || spec->triggers[trigger].action != ACTION_NOTIFY)
                return;
        uint64_t most = spec->triggers[trigger].count,
                 known = notices_get_hits(session->notices, (unsigned)trigger);
        if (most > 0)
                n = known < most ? MIN_OF(n, most - known) : 0;
        if (n > 0)
                on_hits(trigger, n, pid, session);
}

static void on_hits_failed(const char *why, void *userdata) {
        Session *session = userdata;

        log_write(LOG_WARNING, SESSION_CONTEXT(session), "hits are no longer counted: %s", why);
        notices_take_reason(session->notices, NOTICE_NOTIFY_FAILED, why, NULL, 0);
}

static int make_hits(Session *session) {
        static const HitCounterHandlers handlers = { on_hits, on_hits_failed };

        if (session->hits || !trace_notify_is_wanted(session->spec) ||
                        trace_counts(&session->trace))
                return 0;
        int r = hit_counter_new(&session->registry->options.launcher,
                        session->registry->worker,
                        &session->trace,
                        &handlers,
                        session,
                        &session->hits);
        for (size_t i = 0; r == 0 && i < session->spec->n_triggers; i++)
                hit_counter_set_known(
                                session->hits, i, notices_get_hits(session->notices, (unsigned)i));
        return r;
}

static int make_notices(Session *session) {
        sd_event *event = session->registry->options.event;
        int r = session->activity ? 0 : activity_new(event, &session->trace, &session->activity);

        if (r == 0 && !session->notices)
                r = notices_new(&(NoticesOptions){ .event = event,
                                                .session = session->id,
                                                .n_cpus = session->trace.n_cpus,
                                                .tell = session_notice_report,
                                                .count_busy = count_busy,
                                                .userdata = session },
                                &session->notices);
        /* In a session without records, the head of a histogram reports lost records. A notice at
         * once would be a clock. */
        if (r == 0 && !session->losses && session->spec->mode != MODE_FLIGHT &&
                        grant_has_records(session->grant))
                r = losses_new(session->activity,
                                &session->trace,
                                on_losses,
                                session,
                                &session->losses);
        return r;
}

void session_make_notices(Session *session) {
        int r = make_notices(session);

        if (r < 0)
                log_errno(r,
                                LOG_ERR,
                                SESSION_CONTEXT(session),
                                "cannot send a notice to the owner");
}

void session_start_notices(Session *session) {
        int r = make_hits(session);

        if (r < 0)
                on_hits_failed(strerror(-r), session);
        hit_counter_start(session->hits);
        losses_start(session->losses);
}

void session_stop_notices(Session *session) {
        hit_counter_stop(session->hits);
        losses_stop(session->losses);
        notices_flush(session->notices);
}

void session_release_notices(Session *session) {
        session->hits = hit_counter_free(session->hits);
        notices_flush(session->notices);
        record_losses(session, "in all");
        record_hits(session, NULL, "in all");
}

void session_free_notices(Session *session) {
        session_unsubscribe(session, NULL);
        session->hits = hit_counter_free(session->hits);
        session->losses = losses_free(session->losses);
        session->notices = notices_free(session->notices);
}

void session_report_end(Session *session, const char *code, const char *text) {
        if (strcmp(code, "guard") == 0)
                notices_take_reason(session->notices, NOTICE_GUARD_FIRED, text, NULL, 0);
        else if (strcmp(code, "interference") == 0)
                notices_take_reason(session->notices, NOTICE_INTERFERENCE, text, NULL, 0);
        else if (strcmp(code, "limit") == 0)
                notices_take_reason(session->notices,
                                NOTICE_LIMIT_HIT,
                                text,
                                "max-event-rate",
                                session->grant->limits.max_event_rate);
}

static int describe_change(const LedgerChange *change, json_object *list) {
        json_object *object = json_object_new_object();

        int r = describe_append(list, object);
        r = r ?: describe_put(object, "file", json_object_new_string(change->file));
        r = r ?: describe_put(object, "was", json_object_new_string(change->was));
        r = r ?: describe_put(object, "is", json_object_new_string(change->is));
        return r ?: describe_put(object, "put-back", json_object_new_boolean(change->is_put_back));
}

static int describe_changes(const TraceLedger *found, json_object *object) {
        json_object *list = json_object_new_array();

        int r = describe_put(object, "changes", list);
        for (size_t i = 0; r == 0 && i < MIN_OF(found->n, (size_t)LEDGER_CHANGES_MAX); i++)
                r = describe_change(&found->changes[i], list);
        r = r ?: describe_put(object, "count", json_object_new_uint64(found->n));
        r = r ?: describe_put(object, "put-back", json_object_new_uint64(found->n_put_back));
        r = r ?: describe_put(object, "from-nsec", json_object_new_uint64(found->from_nsec));
        return r ?: describe_put(object, "until-nsec", json_object_new_uint64(found->until_nsec));
}

void session_report_changes(Session *session, const TraceLedger *found, const char *text) {
        _cleanup_json_ json_object *details = json_object_new_object();

        if (details && describe_changes(found, details) == 0)
                notices_take_changes(session->notices, text, details);
}
