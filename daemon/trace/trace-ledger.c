/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds changes by others in the instance of a session that needs no fence. It compares the files
 * with the values that were set, and puts a value back if that does no harm. A part of trace.h, on
 * the worker thread, called by ledger.c. If records are judged, nothing is put back and the session
 * ends (interference.c). This file handles events and the report; trace-ledger-files.c handles the
 * files of the whole instance.
 *
 * Some changes are reported but not put back: a cleared buffer, because its records are lost; any
 * change in an instance that the session did not make (trace-borrow.c), because its maker may have
 * intended it; and triggers of others on our events.
 *
 * Three changes end the session. An emptied pid list: its content is lost. A missing filter of a
 * rule: records have passed that the owner may not see. A removed tracer or probe: the ring was
 * cleared with it, and a probe that is defined again has another id than the metadata of the stream
 * states.
 *
 * Relies on: an event's filter is written while the event is disabled or has none (filter.c).
 *
 * To add a kind of interference: compare it here, or in trace-ledger-files.c if it concerns the
 * whole instance; watch/ledger.c decides when to look and how often to repair, watch/interference.c
 * ends a judged trace; tests/watch/test-ledger.c, tests/e2e/interference.sh,
 * tests/guest/interference.sh. */

#include "trace/trace-ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "kernel/filter.h"
#include "kernel/trigger-line.h"
#include "trace/shared-changes.h"
#include "trace/trace-borrow.h"
#include "trace/trace-fence.h"
#include "trace/trace-ledger-files.h"
#include "trace/trace-locate.h"
#include "trace/trace-mark.h"
#include "trace/trace-pairs.h"
#include "trace/trace-triggers-look.h"
#include "trace/trace-triggers.h"

/* The number of events that one step of a plan compares, and the number of events of others that it
 * disables. */
#define LOOK_EVENTS 32
#define MARKS_MAX   8

int trace_ledger_init(TraceLedger *ledger, const Trace *trace) {
        *ledger = (TraceLedger){
                .shared = trace_is_shared(trace) ? trace->shared->changes : NULL,
                .viewer = trace->viewer,
                .is_given_up = calloc(trace->grant->n_events + 1, sizeof(bool)),
        };
        return ledger->is_given_up ? 0 : -ENOMEM;
}

void trace_ledger_clear(TraceLedger *ledger) {
        free(ledger->is_given_up);
        ledger->is_given_up = NULL;
}

static void note_change(TraceLedger *ledger, const LedgerChange *change) {
        if (ledger->n < LEDGER_CHANGES_MAX)
                ledger->changes[ledger->n] = *change;
        ledger->n++;
        ledger->n_put_back += change->is_put_back;
}

void trace_ledger_add(TraceLedger *ledger,
                const char *file,
                const char *was,
                const char *is,
                bool is_put_back) {
        LedgerChange change = { .is_put_back = is_put_back };

        snprintf(change.file, sizeof(change.file), "%s", file);
        snprintf(change.was, sizeof(change.was), "%s", was);
        snprintf(change.is, sizeof(change.is), "%s", is);
        note_change(ledger, &change);
        if (ledger->shared && is_put_back)
                shared_changes_add(ledger->shared, ledger->viewer, &change);
}

int trace_ledger_end_session(Reason *reason, const char *file, const char *why) {
        return reason_set(reason,
                        KT_E_FAILED,
                        "another program changed the session's %s: %s",
                        file,
                        why);
}

/* Events */

typedef struct Wrong {
        bool is_on, wants_on; /* actual state; expected state */
        bool enable, filter, trigger;
        char *now_filter;    /* as read */
        char *wanted_filter; /* NULL: no filter */
} Wrong;

static void wrong_clear(Wrong *wrong) {
        free(wrong->now_filter);
        free(wrong->wanted_filter);
}

/* The reader of a shared instance evaluates the filters: what belongs there is none, or what the
 * viewers agreed on. */
static int read_wanted_filter(const Trace *trace, const GrantEvent *event, char **ret) {
        *ret = NULL;
        return trace_is_shared(trace) ? 0 : trace_join_filter(trace, event, ret);
}

static int read_event(const Trace *trace,
                size_t i,
                const char *system,
                const char *name,
                Wrong *ret) {
        const GrantEvent *event = &trace->grant->events[i];
        _cleanup_free_ char *triggers = NULL;
        char path[512];

        snprintf(path, sizeof(path), "events/%s/%s/filter", system, name);
        int r = trigger_read_enabled(trace->instance, system, name, &ret->is_on);
        r = r ?: read_wanted_filter(trace, event, &ret->wanted_filter);
        r = r ?: tracefs_read(trace->instance->fd, path, &ret->now_filter, NULL);
        r = r ?: trigger_read(trace->instance, system, name, &triggers);
        if (r < 0)
                return r;
        ret->now_filter[strcspn(ret->now_filter, "\n")] = '\0';
        ret->wants_on = trace_is_shared(trace)
                                        ? shared_has_event(trace->shared, system, name)
                                        : trace->is_live && !(trace->is_off && trace->is_off[i]);
        if (trace_event_has_window(trace, system, name))
                ret->wants_on = ret->is_on;
        ret->enable = ret->is_on != ret->wants_on;
        ret->filter = strcmp(ret->now_filter, ret->wanted_filter ?: "none") != 0;
        if (trace_is_shared(trace) && ret->filter)
                ret->filter = !shared_has_filter(trace->shared, system, name, ret->now_filter);
        ret->trigger = !trace_triggers_stand(trace, system, name, triggers);
        return 0;
}

static int put_back_filter(const Trace *trace,
                const char *system,
                const char *name,
                const Wrong *wrong) {
        Reason reason = {};
        char path[512];
        int r = 0;

        if (trace_is_shared(trace)) /* the event stays on for the others */
                return shared_widen_event(trace->shared, system, name);
        if (wrong->is_on)
                r = instance_enable_event(trace->instance, system, name, false);
        if (r < 0)
                return r;
        snprintf(path, sizeof(path), "events/%s/%s/filter", system, name);
        r = wrong->wanted_filter ? instance_set_filter(trace->instance,
                                                   system,
                                                   name,
                                                   wrong->wanted_filter,
                                                   &reason)
                                 : tracefs_write(trace->instance->fd, path, "0");
        /* If the filter cannot be set, the event stays disabled: the session did not request all
         * its records. */
        if (r == 0 && wrong->wants_on)
                r = instance_enable_event(trace->instance, system, name, true);
        return r;
}

static void note_event(TraceLedger *ledger,
                const char *system,
                const char *name,
                const Wrong *wrong,
                bool is_put_back) {
        const char *filter = wrong->wanted_filter ?: "none";
        char path[WATCH_NAME_MAX];

        if (wrong->enable) {
                snprintf(path, sizeof(path), "events/%s/%s/enable", system, name);
                trace_ledger_add(ledger,
                                path,
                                wrong->wants_on ? "1" : "0",
                                wrong->is_on ? "1" : "0",
                                is_put_back);
        }
        if (wrong->filter) {
                snprintf(path, sizeof(path), "events/%s/%s/filter", system, name);
                trace_ledger_add(ledger, path, filter, wrong->now_filter, is_put_back);
        }
        if (wrong->trigger) {
                snprintf(path, sizeof(path), "events/%s/%s/trigger", system, name);
                trace_ledger_add(ledger, path, "the session's triggers", "others", is_put_back);
        }
}

/* Installs the session's triggers again that others have removed, with the last known rest of their
 * counts. Fails with -EEXIST if there are also triggers of others. */
static int put_back_triggers(Trace *trace, size_t event, const char *system, const char *name) {
        _cleanup_free_ char *text = NULL, *now = NULL;
        Reason reason = {};

        int r = trigger_read(trace->instance, system, name, &text);
        for (size_t i = 0; r == 0 && i < trace->n_triggers; i++) {
                TraceTrigger *t = &trace->triggers[i];
                const Trigger trigger = { t->command, t->count, t->condition, t->listed };
                uint64_t count = t->count, left = t->left;

                if (t->event != event || !t->is_laid || trigger_find(text, &trigger).stands)
                        continue;
                t->is_laid = false;
                if (count != TRIGGER_WITHOUT_END && left == 0)
                        continue;
                t->count = left;
                r = trace_install_trigger(trace, t, &reason);
                t->count = count;
                t->left = left;
        }
        r = r ?: trigger_read(trace->instance, system, name, &now);
        return r ?: trace_triggers_stand(trace, system, name, now) ? r : -EEXIST;
}

/* The event may have been registered again since it was enabled. */
static bool is_as_granted(const Trace *trace, size_t event) {
        Reason ignored;

        return trace_check_layout(trace, event, &ignored) == 0 &&
               !(trace_is_shared(trace) && trace_meets_stale_event(trace, event));
}

static int put_back_event(Trace *trace,
                size_t event,
                const char *system,
                const char *name,
                const Wrong *wrong) {
        int r = 0;

        if ((wrong->filter || wrong->enable) && wrong->wants_on && !is_as_granted(trace, event))
                return -ESTALE;
        if (wrong->filter)
                r = put_back_filter(trace, system, name, wrong);
        else if (wrong->enable)
                r = instance_enable_event(trace->instance, system, name, wrong->wants_on);
        if (r == 0 && wrong->trigger)
                r = put_back_triggers(trace, event, system, name);
        return r;
}

/* All viewers of the instance have lost what was in the ring. */
static void lose_records(TraceLedger *ledger) {
        static const LedgerChange change = { .file = "trace",
                .was = "what was recorded",
                .is = "emptied with an event that was removed" };

        note_change(ledger, &change);
        shared_changes_add(ledger->shared, ledger->viewer, &change);
}

static int lose_event(Trace *trace,
                TraceLedger *ledger,
                size_t i,
                const char *system,
                const char *name,
                Reason *reason) {
        char path[WATCH_NAME_MAX];

        snprintf(path, sizeof(path), "events/%s/%s", system, name);
        if (strncmp(system, PROBE_GROUP_PREFIX, strlen(PROBE_GROUP_PREFIX)) == 0)
                return trace_ledger_end_session(
                                reason, path, "its probe was removed from the kernel");
        if (!ledger->is_given_up[i])
                trace_ledger_add(ledger, path, "an event", "gone", false);
        if (trace_is_shared(trace) && shared_lose_event(trace->shared, system, name))
                lose_records(ledger);
        ledger->is_given_up[i] = true;
        return 0;
}

static int look_at_event(Trace *trace, TraceLedger *ledger, size_t i, Reason *reason) {
        const GrantEvent *event = &trace->grant->events[i];
        __attribute__((cleanup(wrong_clear))) Wrong wrong = {};
        const char *system, *name;
        char path[WATCH_NAME_MAX];

        if (trace_keeps_event(trace, i))
                return 0;
        trace_locate(trace, event, &system, &name);
        int r = read_event(trace, i, system, name, &wrong);
        if (r == -ENOENT || r == -ENODEV)
                return lose_event(trace, ledger, i, system, name, reason);
        if (r < 0)
                return r;
        if (!wrong.enable && !wrong.filter && !wrong.trigger) {
                ledger->is_given_up[i] = false;
                return 0;
        }
        if (ledger->is_given_up[i])
                return 0;
        if (wrong.filter && event->policy_filter && !trace_is_shared(trace)) {
                snprintf(path, sizeof(path), "events/%s/%s/filter", system, name);
                return trace_ledger_end_session(
                                reason, path, "the rules grant the event with its filter only");
        }
        r = trace->borrow ? -EPERM : put_back_event(trace, i, system, name, &wrong);
        note_event(ledger, system, name, &wrong, r == 0);
        ledger->is_given_up[i] = r != 0;
        return 0;
}

/* Checks the triggers that make one record of two events. */
static int look_at_pairs(const Trace *trace, Reason *reason) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < trace->n_pairs * PROBE_ORIGINS_MAX; i++) {
                const ProbeOrigin *origin = &trace->pairs[i / 2].probe->origins[i % 2];
                _cleanup_free_ char *text = NULL;
                char path[WATCH_NAME_MAX];

                r = trigger_read(trace->instance, origin->system, origin->name, &text);
                if (r < 0 || trace_triggers_stand(trace, origin->system, origin->name, text))
                        continue;
                snprintf(path, sizeof(path), "events/%s/%s/trigger", origin->system, origin->name);
                r = trace_ledger_end_session(
                                reason, path, "its stored data of the probe's first event is lost");
        }
        return r;
}

/* Events that only serve the counting by command names. */
static int look_at_name_sources(const Trace *trace, TraceLedger *ledger) {
        const TraceNameSource *source;
        int r = 0;

        for (size_t i = 0; r == 0 && (source = trace_find_name_source(trace, &i));) {
                Wrong wrong = { .wants_on = trace->is_live };

                r = trigger_read_enabled(
                                trace->instance, source->system, source->name, &wrong.is_on);
                wrong.enable = wrong.is_on != wrong.wants_on;
                if (r < 0 || !wrong.enable)
                        continue;
                int done = instance_enable_event(
                                trace->instance, source->system, source->name, wrong.wants_on);
                note_event(ledger, source->system, source->name, &wrong, done == 0);
        }
        return r;
}

/* Events that others have enabled */

static bool line_is(const char *line, const char *system, const char *name) {
        size_t n = strlen(system);

        return strncmp(line, system, n) == 0 && line[n] == ':' && strcmp(line + n + 1, name) == 0;
}

static bool trace_ledger_is_ours(const Trace *trace, const char *line) {
        const TraceNameSource *source;

        for (size_t i = 0; i < trace->grant->n_events; i++) {
                const char *system, *name;

                trace_locate(trace, &trace->grant->events[i], &system, &name);
                if (line_is(line, system, name))
                        return true;
        }
        for (size_t i = 0; (source = trace_find_name_source(trace, &i));)
                if (line_is(line, source->system, source->name))
                        return true;
        for (size_t i = 0; trace_is_shared(trace) && i < trace->shared->n_events; i++) {
                const SharedEvent *event = &trace->shared->events[i];

                if (event->n > 0 && line_is(line, event->system, event->name))
                        return true;
        }
        return false;
}

static int turn_off(Trace *trace, TraceLedger *ledger, const char *system, const char *name) {
        char path[WATCH_NAME_MAX];

        snprintf(path, sizeof(path), "events/%s/%s/enable", system, name);
        int r = instance_enable_event(trace->instance, system, name, false);
        trace_ledger_add(ledger, path, "0", "1", r == 0);
        return r;
}

/* set_event also lists events that are only soft-enabled: an event with a trigger, and the event
 * that an event probe or a pair is made from. Such an event records nothing, whoever made the
 * trigger. So its `enable` file decides. */
static bool is_recorded(const Trace *trace, const char *system, const char *name) {
        bool is_on;

        return trigger_read_enabled(trace->instance, system, name, &is_on) == 0 && is_on;
}

static int look_at_others(Trace *trace, TraceLedger *ledger) {
        _cleanup_free_ char *text = NULL;
        unsigned n = 0;
        char *rest;

        if (trace->borrow)
                return 0;
        int r = tracefs_read_list(trace->instance->fd, "set_event", &text);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
                char *name = strchr(line, ':');

                if (!name || trace_ledger_is_ours(trace, line))
                        continue;
                *name++ = '\0';
                if (!is_recorded(trace, line, name))
                        continue;
                if (n++ == LOOK_EVENTS)
                        return PLAN_AGAIN;
                /* The event stays enabled: it is reported, and the next look finds it again. */
                if (turn_off(trace, ledger, line, name) < 0)
                        return 0;
        }
        return 0;
}

static int look(Trace *trace, TraceLedger *ledger, Reason *reason) {
        size_t n = trace->is_armed ? trace->grant->n_events : 0;
        size_t end = MIN_OF(ledger->next + LOOK_EVENTS, n);
        int r = 0;

        if (ledger->next == 0)
                r = trace_ledger_look_at_files(trace, ledger, reason);
        if (ledger->next == 0 && r == 0 && trace->is_armed)
                r = look_at_pairs(trace, reason);
        if (ledger->next == 0 && r == 0 && trace->is_armed)
                r = look_at_name_sources(trace, ledger);
        for (; r == 0 && ledger->next < end; ledger->next++)
                r = look_at_event(trace, ledger, ledger->next, reason);
        if (r != 0 || ledger->next < n)
                return r ?: PLAN_AGAIN;
        return trace->is_armed ? look_at_others(trace, ledger) : 0;
}

/* What the other viewers of the instance have found. */
static void take_changes(Trace *trace, TraceLedger *ledger) {
        const LedgerChange *change;
        uint64_t n_lost = 0;

        while ((change = shared_changes_next(trace, &n_lost)))
                note_change(ledger, change);
        ledger->n += n_lost;
        ledger->n_put_back += n_lost;
}

int trace_ledger_look(Trace *trace, TraceLedger *ledger, Reason *reason) {
        int r = trace->instance ? look(trace, ledger, reason) : 0;

        if (r == 0 && trace_is_shared(trace))
                take_changes(trace, ledger);
        return r;
}

/* Reporting */

static void format_change(const LedgerChange *change, char *text, size_t size) {
        snprintf(text,
                        size,
                        "%s was %s, became %s%s",
                        change->file,
                        change->was,
                        change->is,
                        change->is_put_back ? ", put back" : "");
}

void trace_ledger_format(const TraceLedger *ledger, Reason *ret) {
        char text[WATCH_NAME_MAX + 192];

        if (ledger->n == 0)
                return;
        format_change(&ledger->changes[0], text, sizeof(text));
        if (ledger->n == 1)
                reason_set(ret, 0, "%s", text);
        else
                reason_set(ret,
                                0,
                                "%s; and %zu more, %zu put back in all",
                                text,
                                ledger->n - 1,
                                ledger->n_put_back);
}

static void mark(const Trace *trace, const char *text) {
        int r = trace_mark(trace, text, strlen(text));

        if (r < 0)
                log_errno(r,
                                LOG_WARNING,
                                &(LogContext){ trace->id, NULL, trace->owner->uid },
                                "cannot report the interference in the stream");
}

void trace_ledger_mark(const Trace *trace, const TraceLedger *ledger) {
        char text[WATCH_NAME_MAX + 256], change[WATCH_NAME_MAX + 192];

        if (ledger->n == 0 || !trace->is_live || trace->marker_fd < 0)
                return;
        for (size_t i = 0; i < MIN_OF(ledger->n, (size_t)MARKS_MAX); i++) {
                format_change(&ledger->changes[i], change, sizeof(change));
                snprintf(text, sizeof(text), "ktraced: interference: %s\n", change);
                mark(trace, text);
        }
        snprintf(text,
                        sizeof(text),
                        "ktraced: interference: %zu changes by others, %zu put back, from %" PRIu64
                        ".%06" PRIu64 " to %" PRIu64 ".%06" PRIu64 " s (CLOCK_MONOTONIC)\n",
                        ledger->n,
                        ledger->n_put_back,
                        ledger->from_nsec / 1000000000,
                        ledger->from_nsec / 1000 % 1000000,
                        ledger->until_nsec / 1000000000,
                        ledger->until_nsec / 1000 % 1000000);
        mark(trace, text);
}
