/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a session may do whose rule grants no records, but only counts: part of grant.c. Such a
 * session never shows a single record, its time or its task. So its events are granted for
 * histograms only, every other way to data is refused, and the rule lists the fields that a
 * histogram may count by. What asks at other times than the creation, such as OpenStream, asks
 * grant_has_records(). Pure.
 *
 * To add something that shows records: refuse it here or where it begins, and attack it in
 * tests/attack/counts.sh. */

#include "policy/grant-sink.h"

#include <stdio.h>
#include <string.h>

#include "interfaces/defence.h"
#include "interfaces/glob.h"
#include "policy/address.h"

const char *grant_sink_to_string(GrantSink sink) {
        static const char *const names[_GRANT_SINK_N] = {
                [GRANT_SINK_RECORDS] = "records",
                [GRANT_SINK_HISTOGRAM] = "histogram",
                [GRANT_SINK_COUNT] = "count",
        };

        return names[sink];
}

bool grant_has_records(const Grant *grant) {
        return grant->sinks & (1U << GRANT_SINK_RECORDS) || !defence_is_on("sinks");
}

int grant_refuse_records(const Grant *grant, const char *what, Reason *reason) {
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "%s: %s grants no records, only counts: use a trigger with do hist",
                        what,
                        grant->rule);
}

/* Whether the field has the number of a task: next_pid, or prev of type pid_t. */
static bool is_task(const FormatField *field) {
        size_t n = strlen(field->name);

        return strcmp(field->type, "pid_t") == 0 ||
               (n >= 3 && (strcmp(field->name + n - 3, "pid") == 0 ||
                                          strcmp(field->name + n - 3, "tid") == 0));
}

/* A glob does not match what identifies a process, so that its author cannot forget it. */
static bool is_listed(const GrantEvent *event, const FormatField *field) {
        bool by_name = field->is_common || field->is_string || is_task(field);

        for (size_t i = 0; i < event->n_keys; i++)
                if (by_name ? strcmp(event->keys[i], field->name) == 0
                            : glob_match(event->keys[i], field->name))
                        return true;
        return false;
}

bool grant_event_counts_by(const GrantEvent *event,
                const Format *format,
                const FormatField *field) {
        return !field->is_string && field->kind == FIELD_PLAIN &&
               !field_is_address(format, field) && is_listed(event, field);
}

bool grant_event_compares(const GrantEvent *event, const Format *format, const FormatField *field) {
        return field->is_string ? is_listed(event, field)
                                : grant_event_counts_by(event, format, field);
}

/* Unredacted records need no check here: a rule without records never grants such a request
 * (rule_is_unredacted). */
int decision_check_sinks(const Decision *d) {
        const Spec *spec = d->spec;
        const char *key = spec->mode != MODE_STREAM ? "mode"
                          : spec->spool.is_on       ? "spool"
                          : spec->stacktrace        ? "stacktrace"
                          : spec->tracer            ? "tracer"
                          : spec->instance          ? "instance"
                          : spec->cpus              ? "cpus"
                                                    : NULL;

        return !key || grant_has_records(d->grant) ? 0
                                                   : grant_refuse_records(d->grant, key, d->reason);
}

int decision_check_entry(const Decision *d, const SpecEvent *wanted) {
        if (wanted->is_off || grant_has_records(d->grant))
                return 0;
        return reason_set(d->reason,
                        KT_E_ACCESS_DENIED,
                        "%s: %s grants no records, only counts: add \"enabled\": false (--off), "
                        "and count it by a trigger with do hist",
                        wanted->name,
                        d->grant->rule);
}

int decision_check_action(const Decision *d, size_t i) {
        const SpecTrigger *trigger = &d->spec->triggers[i];
        const unsigned counts = 1U << GRANT_SINK_HISTOGRAM | 1U << GRANT_SINK_COUNT;
        char what[128];

        bool is_hist = trigger->action == ACTION_HIST;
        if (is_hist ? d->grant->sinks & counts : grant_has_records(d->grant))
                return 0;
        (void)snprintf(what,
                        sizeof(what),
                        "%s.do: %s",
                        spec_trigger_place(trigger).text,
                        spec_action_to_string(trigger->action));
        if (!is_hist)
                return grant_refuse_records(d->grant, what, d->reason);
        return reason_set(d->reason,
                        KT_E_ACCESS_DENIED,
                        "%s: %s grants records, and no histograms: record the event",
                        what,
                        d->grant->rule);
}
