/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes decisions as records to the journal, one for each, with a MESSAGE_ID that the catalog
 * explains and fields that a program can select by. The session floor calls it for its decisions,
 * the doors for polkit's answers, and the manager for reloads, all in the event loop.
 *
 * A denial costs its user nothing, so only DENIALS_MAX denials of a user in WINDOW_USEC get a
 * record each. Further ones are counted, and the count is recorded when the window ends. Permitted
 * actions are always recorded: each takes the kernel longer than the journal, and an attacker must
 * not be able to hide a permitted action in noise. */

#include "work/audit.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <string.h>

#include "base/log.h"
#include "interfaces/spec-scope.h"
#include "interfaces/spec-summary.h"

#define DENIALS_MAX   10
#define WINDOW_USEC   (UINT64_C(30) * 1000 * 1000)
#define EVENTS_SHOWN  256 /* bytes */
#define SPEAKERS_MAX  64  /* users at a time; a new one replaces the oldest */
#define SCOPE_SHOWN   "%.200s"
#define NAME_SIZE_MAX 64
#define NAMES_MAX     64 /* users at a time; a new one replaces the oldest */
/* Names expire, because a user may get a name or another name. */
#define NAME_USEC    (UINT64_C(10) * 60 * 1000 * 1000)
#define NO_NAME_USEC (UINT64_C(60) * 1000 * 1000)

typedef struct Speaker {
        uid_t uid;
        uint64_t since_usec;
        unsigned n;
        uint64_t n_suppressed;
} Speaker;

typedef struct UserName {
        uid_t uid;
        uint64_t until_usec; /* the name is looked up again after this */
        char name[NAME_SIZE_MAX];
} UserName;

struct Audit {
        sd_event *event;
        UserName names[NAMES_MAX]; /* cached: the user database may be remote and slow */
        size_t n_names;
        sd_event_source *timer; /* enabled while a count is not recorded */
        Speaker speakers[SPEAKERS_MAX];
        size_t n_speakers;
};

typedef struct KindText {
        const char *id;
        int level;
        const char *verb;
        const char *answer;
        const char *title;
        bool may_flood;
} KindText;

static const KindText kinds[_AUDIT_KIND_N] = {
        [AUDIT_CREATE_ALLOWED] = { AUDIT_ID_CREATE_ALLOWED,
                        LOG_INFO,
                        "create",
                        "allowed",
                        "Trace allowed",
                        false },
        [AUDIT_CREATE_DENIED] = { AUDIT_ID_CREATE_DENIED,
                        LOG_NOTICE,
                        "create",
                        "denied",
                        "Trace denied",
                        true },
        [AUDIT_START_DENIED] = { AUDIT_ID_START_DENIED,
                        LOG_NOTICE,
                        "start",
                        "denied",
                        "Start denied",
                        true },
        [AUDIT_POLKIT_ALLOWED] = { AUDIT_ID_POLKIT_ALLOWED,
                        LOG_INFO,
                        "polkit",
                        "allowed",
                        "Polkit allowed it",
                        false },
        [AUDIT_POLKIT_DENIED] = { AUDIT_ID_POLKIT_DENIED,
                        LOG_NOTICE,
                        "polkit",
                        "denied",
                        "Polkit did not allow it",
                        true },
        [AUDIT_MANAGED] = { AUDIT_ID_MANAGED,
                        LOG_NOTICE,
                        "manage",
                        "allowed",
                        "Session of another managed",
                        false },
        [AUDIT_RELOADED] = { AUDIT_ID_RELOADED,
                        LOG_NOTICE,
                        "reload",
                        "allowed",
                        "Rules read anew",
                        false },
        [AUDIT_RELOAD_FAILED] = { AUDIT_ID_RELOAD_FAILED,
                        LOG_ERR,
                        "reload",
                        "failed",
                        "Rules not read, the old ones stay",
                        false },
        [AUDIT_ADOPTED] = { AUDIT_ID_ADOPTED,
                        LOG_INFO,
                        "adopt",
                        "adopted",
                        "Session taken over",
                        false },
        [AUDIT_INTERFERENCE] = { AUDIT_ID_INTERFERENCE,
                        LOG_WARNING,
                        "interference",
                        "told",
                        "Session changed by others",
                        false },
        [AUDIT_LOST] = { AUDIT_ID_LOST, LOG_NOTICE, "lost", "reported", "Events were lost", false },
        [AUDIT_HIT] = { AUDIT_ID_HIT, LOG_INFO, "hit", "reported", "Trigger was hit", false },
        [AUDIT_ENDED_POLICY] = { AUDIT_ID_ENDED_POLICY,
                        LOG_NOTICE,
                        "end",
                        "policy",
                        "Session ended by new rules",
                        false },
        [AUDIT_ENDED_GUARD] = { AUDIT_ID_ENDED_GUARD,
                        LOG_NOTICE,
                        "end",
                        "guard",
                        "Session ended by its guard",
                        false },
        [AUDIT_ENDED_LIMIT] = { AUDIT_ID_ENDED_LIMIT,
                        LOG_NOTICE,
                        "end",
                        "limit",
                        "Session ended by a limit",
                        false },
        [AUDIT_ENDED_INTERFERENCE] = { AUDIT_ID_ENDED_INTERFERENCE,
                        LOG_WARNING,
                        "end",
                        "interference",
                        "Session ended by interference",
                        false },
        [AUDIT_ENDED_RESTART] = { AUDIT_ID_ENDED_RESTART,
                        LOG_WARNING,
                        "end",
                        "restart",
                        "Session ended by a restart",
                        false },
        [AUDIT_ENDED_FAILED] = { AUDIT_ID_ENDED_FAILED,
                        LOG_WARNING,
                        "end",
                        "failed",
                        "Session ended by a failure",
                        false },
        [AUDIT_ENDED_SPOOL] = { AUDIT_ID_ENDED_SPOOL,
                        LOG_NOTICE,
                        "end",
                        "spool-full",
                        "Session ended by its full spool",
                        false },
};

bool audit_find_end(const char *code, AuditKind *ret) {
        for (AuditKind kind = AUDIT_ENDED_POLICY; kind < _AUDIT_KIND_N; kind++)
                if (strcmp(kinds[kind].answer, code) == 0) {
                        *ret = kind;
                        return true;
                }
        return false;
}

/* "sched:*, raw_syscalls:sys_enter and 7 more, probe reads" */
static void format_events(const Spec *spec, Reason *ret) {
        char text[EVENTS_SHOWN] = "";
        size_t length = 0, i = 0;

        for (; i < spec->n_events; i++) {
                const char *name = spec->events[i].name;

                if (length + strlen(name) + sizeof(", and 4096 more") > EVENTS_SHOWN)
                        break;
                length += (size_t)sprintf(text + length, "%s%s", i > 0 ? ", " : "", name);
        }
        if (i < spec->n_events)
                snprintf(text + length, EVENTS_SHOWN - length, " and %zu more", spec->n_events - i);
        reason_set(ret, 0, "%s", text);
        spec_summarize_rest(spec, ret);
}

static uint64_t audit_get_now(const Audit *audit) {
        uint64_t now;

        return sd_event_now(audit->event, CLOCK_MONOTONIC, &now) >= 0 ? now : 0;
}

void audit_forget_names(Audit *audit) {
        audit->n_names = 0;
}

static void forget_name(Audit *audit, size_t i) {
        audit->n_names--;
        memmove(&audit->names[i], &audit->names[i + 1], (audit->n_names - i) * sizeof(UserName));
}

/* Returns the number if the user database has no name. getpwuid is safe here, because only the
 * event loop's thread calls it. */
static UserName ask_user_name(uid_t uid, uint64_t now_usec) {
        const struct passwd *user = getpwuid(uid);
        UserName ret = { .uid = uid, .until_usec = now_usec + (user ? NAME_USEC : NO_NAME_USEC) };

        if (user)
                (void)snprintf(ret.name, sizeof(ret.name), "%s", user->pw_name);
        else
                (void)snprintf(ret.name, sizeof(ret.name), "%u", uid);
        return ret;
}

/* Returns a copy, because the next call may move the names. */
static UserName get_user_name(Audit *audit, uid_t uid) {
        uint64_t now_usec = audit_get_now(audit);
        size_t i = 0;

        if (uid == (uid_t)-1)
                return (UserName){ .uid = uid };
        while (i < audit->n_names && audit->names[i].uid != uid)
                i++;
        if (i < audit->n_names && now_usec < audit->names[i].until_usec)
                return audit->names[i];
        if (i < audit->n_names)
                forget_name(audit, i);
        else if (audit->n_names == NAMES_MAX)
                forget_name(audit, 0);
        return audit->names[audit->n_names++] = ask_user_name(uid, now_usec);
}

/* " (user alice, uid 1000, command "ktracectl")" */
static void format_who(const AuditRecord *record, const char *user, Reason *ret) {
        const char *command = record->by ? "" : record->command ?: "";

        if (record->uid == (uid_t)-1)
                return;
        reason_set(ret,
                        0,
                        " (user %s, uid %u%s%s%s)",
                        user,
                        record->uid,
                        *command ? ", command \"" : "",
                        command,
                        *command ? "\"" : "");
}

static const char *none_if_empty(const char *text) {
        return text && *text ? text : NULL;
}

static void write_record(Audit *audit, const AuditRecord *record) {
        const KindText *kind = &kinds[record->kind];
        const UserName user = get_user_name(audit, record->uid);
        const UserName by_user = get_user_name(audit, record->by ? *record->by : (uid_t)-1);
        _cleanup_free_ char *scope = NULL;
        Reason events = { "" }, who = { "" };
        char by[16] = "", by_whom[24] = "", lost[24] = "", hits[24] = "";

        format_who(record, user.name, &who);
        if (record->spec) {
                format_events(record->spec, &events);
                if (spec_format_scope(record->spec, &scope) < 0)
                        scope = NULL; /* the record is written without it */
        }
        if (record->by) {
                snprintf(by, sizeof(by), "%u", *record->by);
                snprintf(by_whom, sizeof(by_whom), " by uid %u", *record->by);
        }
        if (record->n_lost > 0)
                snprintf(lost, sizeof(lost), "%" PRIu64, record->n_lost);
        if (record->n_hits > 0)
                snprintf(hits, sizeof(hits), "%" PRIu64, record->n_hits);
        const LogField fields[] = {
                { "MESSAGE_ID", kind->id },
                { "KTRACE_VERB", kind->verb },
                { "KTRACE_ANSWER", kind->answer },
                { "KTRACE_RULE", record->rule },
                { "KTRACE_SCOPE", scope },
                { "KTRACE_EVENTS", record->spec ? events.text : NULL },
                { "KTRACE_USER", none_if_empty(user.name) },
                { "KTRACE_COMMAND", none_if_empty(record->command) },
                { "KTRACE_BY_UID", none_if_empty(by) },
                { "KTRACE_BY_USER", none_if_empty(by_user.name) },
                { "KTRACE_LOST", none_if_empty(lost) },
                { "KTRACE_HITS", none_if_empty(hits) },
        };
        const LogContext context = { record->session, NULL, record->uid };

        log_record(kind->level,
                        &context,
                        fields,
                        ELEMENTSOF(fields),
                        "%s%s%s" SCOPE_SHOWN "%s%s%s",
                        kind->title,
                        who.text,
                        scope ? ", scope " : "",
                        scope ?: "",
                        record->text ? ": " : "",
                        record->text ?: "",
                        by_whom);
}

/* Writes the count of a window that has ended. */
static void write_suppressed(Speaker *speaker) {
        const LogField fields[] = {
                { "MESSAGE_ID", AUDIT_ID_SUPPRESSED },
                { "KTRACE_ANSWER", "denied" },
        };

        if (speaker->n_suppressed == 0)
                return;
        log_record(LOG_NOTICE,
                        &(LogContext){ .uid = speaker->uid },
                        fields,
                        ELEMENTSOF(fields),
                        "%" PRIu64 " more denials of uid %u were not recorded one by one",
                        speaker->n_suppressed,
                        speaker->uid);
        speaker->n_suppressed = 0;
}

static void forget_speaker(Audit *audit, size_t i) {
        write_suppressed(&audit->speakers[i]);
        audit->n_speakers--;
        memmove(&audit->speakers[i],
                        &audit->speakers[i + 1],
                        (audit->n_speakers - i) * sizeof(Speaker));
}

static void forget_old(Audit *audit, uint64_t now_usec) {
        for (size_t i = 0; i < audit->n_speakers;) {
                if (now_usec - audit->speakers[i].since_usec >= WINDOW_USEC)
                        forget_speaker(audit, i);
                else
                        i++;
        }
}

static int audit_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        forget_old(userdata, audit_get_now(userdata));
        return 0;
}

static Speaker *get_speaker(Audit *audit, uid_t uid, uint64_t now_usec) {
        forget_old(audit, now_usec);
        for (size_t i = 0; i < audit->n_speakers; i++)
                if (audit->speakers[i].uid == uid)
                        return &audit->speakers[i];
        if (audit->n_speakers == SPEAKERS_MAX)
                forget_speaker(audit, 0);
        Speaker *speaker = &audit->speakers[audit->n_speakers++];
        *speaker = (Speaker){ .uid = uid, .since_usec = now_usec };
        return speaker;
}

void audit_write(Audit *audit, const AuditRecord *record) {
        if (kinds[record->kind].may_flood) {
                Speaker *speaker = get_speaker(audit, record->uid, audit_get_now(audit));

                if (speaker->n >= DENIALS_MAX) {
                        if (speaker->n_suppressed++ == 0) {
                                (void)sd_event_source_set_time_relative(audit->timer, WINDOW_USEC);
                                (void)sd_event_source_set_enabled(audit->timer, SD_EVENT_ONESHOT);
                        }
                        return;
                }
                speaker->n++;
        }
        write_record(audit, record);
}

int audit_new(sd_event *event, Audit **ret) {
        _cleanup_(audit_free_cleanup) Audit *audit = calloc(1, sizeof(*audit));

        if (!audit)
                return -ENOMEM;
        audit->event = sd_event_ref(event);
        int r = sd_event_add_time_relative(event,
                        &audit->timer,
                        CLOCK_MONOTONIC,
                        WINDOW_USEC,
                        WINDOW_USEC / 10,
                        audit_on_timer,
                        audit);
        r = r < 0 ? r : sd_event_source_set_enabled(audit->timer, SD_EVENT_OFF);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(audit->timer, "audit");
        *ret = TAKE_PTR(audit);
        return 0;
}

Audit *audit_free(Audit *audit) {
        if (!audit)
                return NULL;
        while (audit->n_speakers > 0)
                forget_speaker(audit, 0);
        sd_event_source_disable_unref(audit->timer);
        sd_event_unref(audit->event);
        free(audit);
        return NULL;
}
