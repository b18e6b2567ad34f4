/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The notices that a session sends to its owner. Each kind has one slot. A notice that arrives
 * faster than the session may send is counted in its slot, so memory use does not grow. Made by
 * session-notice.c, in the event loop. A door delivers the notices and does not interpret them.
 *
 * The first notice is sent immediately. Then the session sends nothing for PACE_USEC. Occurrences
 * during the pause are merged into one notice of each kind (and of each trigger). After the pause a
 * few notices are sent at a time, and all slots take turns. If an owner has many sessions that send
 * notices, the pauses are longer: BUSY_MAX of them have the full pace. So one user causes at most
 * about BUSY_MAX * BURST messages on the bus in each PACE_USEC, whatever is traced.
 *
 * To add a kind, change this file, the module that detects it, Notified in the XML, org.ktrace1(5),
 * tests/session/test-notice.c and tests/e2e/notify.sh. */

#include "work/notice.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/describe.h"
#include "interfaces/json.h"
#include "interfaces/spec.h"

#define PACE_USEC 100000
#define BURST     4
#define BUSY_MAX  8

typedef enum Kind {
        KIND_LOST_EVENTS,
        KIND_SNAPSHOT_TAKEN,
        KIND_NOTIFY, /* and one slot for each further trigger */
} Kind;

typedef struct Times {
        uint64_t monotonic_nsec, realtime_nsec;
} Times;

/* Collects the occurrences that were not reported yet. */
typedef struct Slot {
        uint64_t n_waiting; /* occurrences not reported yet */
        Times times;        /* of the first occurrence */
        uint64_t count, total;
        const char *event;
        uint32_t pid;
} Slot;

struct Notices {
        NoticesOptions options;
        sd_event_source *timer; /* enabled during a pause */
        uint64_t sequence;
        Slot *slots; /* by Kind; KIND_NOTIFY + trigger */
        size_t n_slots, next;
        uint64_t *lost, *lost_reported; /* for each CPU */
};

static uint64_t get_nsec(clockid_t clock) {
        struct timespec now = {};

        (void)clock_gettime(clock, &now); /* cannot fail for these clocks */
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static Times get_times(void) {
        return (Times){ get_nsec(CLOCK_MONOTONIC), get_nsec(CLOCK_REALTIME) };
}

static int notice_put_number(json_object *object, const char *key, uint64_t number) {
        return describe_put(object, key, json_object_new_uint64(number));
}

static int notice_put_text(json_object *object, const char *key, const char *text) {
        return describe_put(object, key, json_object_new_string(text));
}

static int describe_head(const Notices *notices,
                json_object *object,
                const char *kind,
                const Times *times,
                uint64_t n_merged) {
        int r = notice_put_text(object, "kind", kind);

        r = r ?: notice_put_text(object, "session", notices->options.session);
        r = r ?: notice_put_number(object, "sequence", notices->sequence + 1);
        r = r ?: notice_put_number(object, "monotonic-nsec", times->monotonic_nsec);
        r = r ?: notice_put_number(object, "realtime-nsec", times->realtime_nsec);
        return r ?: notice_put_number(object, "merged", n_merged);
}

static int describe_losses(const Notices *notices, json_object *object) {
        json_object *cpus = json_object_new_array();
        uint64_t lost = 0, total = 0;

        int r = describe_put(object, "cpus", cpus);
        for (unsigned cpu = 0; r == 0 && cpu < notices->options.n_cpus; cpu++) {
                uint64_t n = notices->lost[cpu] - notices->lost_reported[cpu];
                json_object *entry;

                lost += n;
                total += notices->lost[cpu];
                if (n == 0)
                        continue;
                entry = json_object_new_object();
                r = describe_append(cpus, entry);
                r = r ?: notice_put_number(entry, "cpu", cpu);
                r = r ?: notice_put_number(entry, "lost", n);
                r = r ?: notice_put_number(entry, "total", notices->lost[cpu]);
        }
        r = r ?: notice_put_number(object, "lost", lost);
        return r ?: notice_put_number(object, "total", total);
}

static int describe_hits(const Slot *slot, size_t trigger, json_object *object) {
        int r = notice_put_number(object, "trigger", trigger);

        r = r ?: notice_put_text(object, "event", slot->event);
        r = r ?: notice_put_number(object, "count", slot->count);
        r = r ?: notice_put_number(object, "total", slot->total);
        return r ?: notice_put_number(object, "pid", slot->pid);
}

static int describe_slot(const Notices *notices, size_t i, json_object *object) {
        static const char *const names[] = {
                [KIND_LOST_EVENTS] = "lost-events",
                [KIND_SNAPSHOT_TAKEN] = "snapshot-taken",
                [KIND_NOTIFY] = "notify",
        };
        const Slot *slot = &notices->slots[i];
        Kind kind = i < KIND_NOTIFY ? (Kind)i : KIND_NOTIFY;

        int r = describe_head(notices, object, names[kind], &slot->times, slot->n_waiting - 1);
        if (r < 0)
                return r;
        switch (kind) {
        case KIND_LOST_EVENTS:
                return describe_losses(notices, object);
        case KIND_SNAPSHOT_TAKEN:
                return notice_put_number(object, "total", slot->total);
        case KIND_NOTIFY:
                break;
        }
        return describe_hits(slot, i - KIND_NOTIFY, object);
}

static void notice_report(Notices *notices, json_object *object) {
        notices->sequence++;
        notices->options.tell(object, notices->options.userdata);
}

/* Without memory for the notice, the slot keeps its occurrences and counts further ones. */
static int report_slot(Notices *notices, size_t i) {
        _cleanup_json_ json_object *object = json_object_new_object();
        Slot *slot = &notices->slots[i];

        if (!object)
                return -ENOMEM;
        int r = describe_slot(notices, i, object);
        if (r < 0)
                return r;
        slot->n_waiting = slot->count = 0;
        if (i == KIND_LOST_EVENTS)
                memcpy(notices->lost_reported,
                                notices->lost,
                                notices->options.n_cpus * sizeof(*notices->lost));
        notice_report(notices, object);
        return 0;
}

/* Reports up to `most` waiting slots, starting after the last reported one. */
static size_t report_waiting(Notices *notices, size_t most) {
        size_t n = 0, first = notices->next;

        for (size_t i = 0; i < notices->n_slots && n < most; i++) {
                size_t at = (first + i) % notices->n_slots;

                if (notices->slots[at].n_waiting == 0 || report_slot(notices, at) < 0)
                        continue;
                n++;
                notices->next = at + 1;
        }
        return n;
}

static void notices_start_pause(Notices *notices) {
        size_t n_busy = notices->options.count_busy(notices->options.userdata);
        uint64_t usec = PACE_USEC * MAX_OF((n_busy + BUSY_MAX - 1) / BUSY_MAX, (size_t)1);

        (void)sd_event_source_set_time_relative(notices->timer, usec);
        (void)sd_event_source_set_enabled(notices->timer, SD_EVENT_ONESHOT);
}

static int notice_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        Notices *notices = userdata;

        if (report_waiting(notices, BURST) > 0)
                notices_start_pause(notices);
        return 0;
}

bool notices_are_busy(const Notices *notices) {
        int enabled = SD_EVENT_OFF;

        return notices && sd_event_source_get_enabled(notices->timer, &enabled) >= 0 &&
               enabled != SD_EVENT_OFF;
}

static void notice_take(Notices *notices, size_t i) {
        Slot *slot = &notices->slots[i];

        if (slot->n_waiting++ == 0)
                slot->times = get_times();
        if (!notices_are_busy(notices) && report_waiting(notices, BURST) > 0)
                notices_start_pause(notices);
}

void notices_take_losses(Notices *notices, const uint64_t *lost) {
        bool is_more = false;

        for (unsigned cpu = 0; notices && cpu < notices->options.n_cpus; cpu++) {
                is_more = is_more || lost[cpu] > notices->lost[cpu];
                if (lost[cpu] < notices->lost[cpu])
                        notices->lost_reported[cpu] = 0;
                notices->lost[cpu] = lost[cpu];
        }
        if (is_more)
                notice_take(notices, KIND_LOST_EVENTS);
}

void notices_take_snapshot(Notices *notices) {
        if (!notices)
                return;
        notices->slots[KIND_SNAPSHOT_TAKEN].total++;
        notice_take(notices, KIND_SNAPSHOT_TAKEN);
}

static int add_slots(Notices *notices, size_t n) {
        if (n <= notices->n_slots)
                return 0;
        Slot *slots = reallocarray(notices->slots, n, sizeof(*slots));
        if (!slots)
                return -ENOMEM;
        memset(slots + notices->n_slots, 0, (n - notices->n_slots) * sizeof(*slots));
        notices->slots = slots;
        notices->n_slots = n;
        return 0;
}

void notices_take_hits(Notices *notices,
                unsigned trigger,
                const char *event,
                uint64_t n,
                uint32_t pid) {
        size_t i = KIND_NOTIFY + (size_t)trigger;

        if (!notices || n == 0 || add_slots(notices, i + 1) < 0)
                return;
        Slot *slot = &notices->slots[i];
        slot->count += n;
        slot->total += n;
        slot->event = event;
        slot->pid = pid;
        notice_take(notices, i);
}

int notices_save(const Notices *notices, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        json_object *totals = json_object_new_array(), *lost = json_object_new_array();

        if (!object)
                return -ENOMEM;
        int r = describe_put(object, "totals", totals);
        r = r ?: describe_put(object, "lost", lost);
        r = r ?: notice_put_number(object, "sequence", notices->sequence);
        for (size_t i = 0; r == 0 && i < notices->n_slots; i++)
                r = describe_append(totals,
                                json_object_new_uint64(
                                                notices->slots[i].total - notices->slots[i].count));
        for (unsigned cpu = 0; r == 0 && cpu < notices->options.n_cpus; cpu++)
                r = describe_append(lost, json_object_new_uint64(notices->lost_reported[cpu]));
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

int notices_load(Notices *notices, json_object *object) {
        json_object *totals = json_object_object_get(object, "totals"),
                    *lost = json_object_object_get(object, "lost");

        if (!json_object_is_type(totals, json_type_array) ||
                        !json_object_is_type(lost, json_type_array) ||
                        json_object_array_length(lost) != notices->options.n_cpus ||
                        json_object_array_length(totals) > KIND_NOTIFY + SPEC_TRIGGERS_MAX)
                return -EBADMSG;
        int r = add_slots(notices, json_object_array_length(totals));
        for (size_t i = 0; r == 0 && i < json_object_array_length(totals); i++)
                notices->slots[i].total =
                                json_object_get_uint64(json_object_array_get_idx(totals, i));
        for (unsigned cpu = 0; r == 0 && cpu < notices->options.n_cpus; cpu++)
                notices->lost[cpu] = notices->lost_reported[cpu] =
                                json_object_get_uint64(json_object_array_get_idx(lost, cpu));
        notices->sequence = json_object_get_uint64(json_object_object_get(object, "sequence"));
        return r;
}

uint64_t notices_get_hits(const Notices *notices, unsigned trigger) {
        size_t i = KIND_NOTIFY + (size_t)trigger;

        return notices && i < notices->n_slots ? notices->slots[i].total : 0;
}

void notices_flush(Notices *notices) {
        if (notices)
                (void)report_waiting(notices, notices->n_slots);
}

void notices_take_reason(Notices *notices,
                NoticeReason kind,
                const char *text,
                const char *limit,
                uint64_t value) {
        static const char *const names[] = {
                [NOTICE_GUARD_FIRED] = "guard-fired",
                [NOTICE_INTERFERENCE] = "interference",
                [NOTICE_LIMIT_HIT] = "limit-hit",
                [NOTICE_NOTIFY_FAILED] = "notify-failed",
                [NOTICE_SPOOL_WAITS] = "spool-waits",
        };
        _cleanup_json_ json_object *object = json_object_new_object();
        Times times = get_times();

        if (!notices || !object)
                return;
        notices_flush(notices);
        int r = describe_head(notices, object, names[kind], &times, 0);
        r = r ?: notice_put_text(object, "reason", text);
        if (kind == NOTICE_LIMIT_HIT) {
                r = r ?: notice_put_text(object, "limit", limit);
                r = r ?: notice_put_number(object, "value", value);
        }
        if (r == 0)
                notice_report(notices, object);
}

void notices_take_changes(Notices *notices, const char *text, json_object *details) {
        _cleanup_json_ json_object *object = json_object_new_object();
        Times times = get_times();

        if (!notices || !object)
                return;
        notices_flush(notices);
        int r = describe_head(notices, object, "interference", &times, 0);
        r = r ?: notice_put_text(object, "reason", text);
        json_object_object_foreach(details, key, value)
                r = r ?: describe_put(object, key, json_object_get(value));
        if (r == 0)
                notice_report(notices, object);
}

int notices_new(const NoticesOptions *options, Notices **ret) {
        _cleanup_(notices_free_cleanup) Notices *notices = calloc(1, sizeof(*notices));

        if (!notices)
                return -ENOMEM;
        notices->options = *options;
        notices->lost = calloc(options->n_cpus, sizeof(*notices->lost));
        notices->lost_reported = calloc(options->n_cpus, sizeof(*notices->lost_reported));
        if (!notices->lost || !notices->lost_reported)
                return -ENOMEM;
        int r = add_slots(notices, KIND_NOTIFY);
        r = r
                            ?: sd_event_add_time_relative(options->event,
                                               &notices->timer,
                                               CLOCK_MONOTONIC,
                                               0,
                                               PACE_USEC / 10,
                                               notice_on_timer,
                                               notices);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(notices->timer, "notices");
        r = sd_event_source_set_enabled(notices->timer, SD_EVENT_OFF);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(notices);
        return 0;
}

Notices *notices_free(Notices *notices) {
        if (!notices)
                return NULL;
        sd_event_source_disable_unref(notices->timer);
        free(notices->lost);
        free(notices->lost_reported);
        free(notices->slots);
        free(notices);
        return NULL;
}
