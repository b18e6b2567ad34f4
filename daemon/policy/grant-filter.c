/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Filters in a decision: the caller's for an entry and for all events, and the rule's; and
 * histograms, which reveal the fields that they count by. Part of grant.c.
 *
 * A filter reveals the values that it compares, through what is recorded and what is not. So a
 * caller's filter may use only fields that reach the reader. In a fenced grant, an event about
 * other tasks accepts no filter at all, because a record of it may be made for the caller's task
 * while another task is current, and that task's pid and name are in the common fields. A field of
 * which only kernel addresses are cut may be compared; a record that contains such an address there
 * matches no filter on it. In a grant without records, the rule also lists the fields that filters
 * and histograms may use (grant-sink.c). */

#include "policy/grant-filter.h"

#include <errno.h>
#include <string.h>

#include "interfaces/defence.h"
#include "policy/decision.h"
#include "policy/filter.h"
#include "policy/grant-field.h"
#include "policy/grant-sink.h"

/* The reader of a shared instance needs a kilobyte for each comparison. */
#define FILTER_BYTES_MAX 65536

/* The work of describing one byte of a filter. */
#define WORK_BYTE 4

/* The maximum that the kernel accepts in one write, less what the fence adds and the parentheses. A
 * user's filter is also reduced by the maximum size of a rule's filter, whether the rule has one or
 * not: a limit on the sum would reveal the size of the rule's filter. */
#define JOINED_FILTER_MAX 4000
#define RULE_FILTER_MAX   1000
/* Number of eight-byte fields that one filter may compare. Each costs an additional comparison. */
#define WORDS_MAX 16
/* The ranges that the consumer treats as kernel addresses, see mask.c: from 0xff00000000000000 on,
 * except error numbers. For unsigned and for signed fields. */
static const char *const words_begin[] = { "0xff00000000000000", "-72057594037927936" };
static const char *const words_end[] = { "0xfffffffffffff000", "-4096" };

typedef struct Reading {
        const Decision *d;
        const GrantEvent *event;
        const Format *format;
        const FormatField *words[WORDS_MAX]; /* fields that it compares and that may contain
                                                addresses */
        size_t n_words;
        bool is_hist; /* it counts by fields, and does not compare them */
} Reading;

static bool grant_filter_is_pointer_to_text(const FormatField *field) {
        return strcmp(field->type, "char *") == 0 || strcmp(field->type, "const char *") == 0;
}

static bool lists_keys(const Decision *d) {
        return d->rule && !grant_has_records(d->grant) && defence_is_on("sink-keys");
}

static bool is_compared_as_number(const FormatField *field) {
        return field->kind == FIELD_PLAIN && field->n_elements == 0 &&
               field->size == sizeof(uint64_t) && !grant_filter_is_pointer_to_text(field);
}

/* Also called for fields in suggestions: the additional clause that results is harmless. */
static bool grant_filter_may_read(const FormatField *field, void *userdata) {
        Reading *reading = userdata;
        const char *pid;

        if (lists_keys(reading->d) &&
                        !(reading->is_hist ? grant_event_counts_by : grant_event_compares)(
                                        reading->event, reading->format, field))
                return false;
        /* The text is in the memory of the current task, not in the record. */
        if (!reading->d->grant->fenced && grant_filter_is_pointer_to_text(field))
                return false;
        FieldVerdict verdict = grant_judge_field(
                        reading->d->grant, reading->event, reading->format, field, &pid);
        if (verdict == VERDICT_KEEP)
                return true;
        if (verdict != VERDICT_WORDS && verdict != VERDICT_WORDS_PSEUDONYM)
                return false;
        if (!is_compared_as_number(field))
                return true;
        for (size_t i = 0; i < reading->n_words; i++)
                if (reading->words[i] == field)
                        return true;
        if (reading->n_words == WORDS_MAX)
                return false;
        reading->words[reading->n_words++] = field;
        return true;
}

/* Replaces *text, which may be NULL. */
static int exclude_addresses(const Reading *reading, char **text) {
        for (size_t i = 0; i < reading->n_words; i++) {
                const FormatField *field = reading->words[i];
                _cleanup_free_ char *before = *text;

                if (asprintf(text,
                                    "%s%s%s(%s < %s || %s >= %s)",
                                    before ? "(" : "",
                                    before ?: "",
                                    before ? ") && " : "",
                                    field->name,
                                    words_begin[field->is_signed],
                                    field->name,
                                    words_end[field->is_signed]) < 0) {
                        *text = NULL;
                        return -ENOMEM;
                }
        }
        return 0;
}

static bool keeps_addresses(const Decision *d) {
        return !d->rule || !defence_is_on("filter-fields") ||
               (d->grant->addresses == ADDRESS_KEEP && !d->grant->redacted);
}

int decision_compile(Decision *d,
                const Choice *choice,
                const char *key,
                const char *text,
                char **ret) {
        const GrantEvent *event = &choice->event;
        bool is_free = !d->rule || !defence_is_on("filter-fields");
        Reading reading = { .d = d, .event = event };
        _cleanup_free_ char *compiled = NULL;
        char full[2 * EVENT_NAME_MAX + 2];

        snprintf(full, sizeof(full), "%s:%s", event->system, event->name);
        if (event->speaks_of_others && !is_free)
                return reason_set(d->reason,
                                KT_E_ACCESS_DENIED,
                                "%s: %s: it can describe tasks that are not traced, and a "
                                "filter would reveal them (%s): leave it out, and filter the "
                                "recording",
                                full,
                                key ?: "filter",
                                d->grant->rule);
        int r = decision_get_format(d, event, &reading.format);
        if (r < 0)
                return r;
        const FilterContext context = {
                .event = full,
                .key = key,
                .format = reading.format,
                .may_read = is_free ? NULL : grant_filter_may_read,
                .userdata = &reading,
                .lists_keys = lists_keys(d),
                .n_cpus = d->events->n_cpus,
                .keeps_addresses = keeps_addresses(d),
                .has_functions = d->events->has_functions,
        };
        r = filter_compile(&context, text, &compiled, d->reason);
        r = r ?: exclude_addresses(&reading, &compiled);
        if (r == 0)
                *ret = TAKE_PTR(compiled);
        return r;
}

int decision_compile_hist(Decision *d,
                const Choice *choice,
                const char *place,
                const SpecHist *hist,
                HistText *ret,
                char **filter) {
        const GrantEvent *event = &choice->event;
        bool is_free = !d->rule || !defence_is_on("filter-fields");
        Reading reading = { .d = d, .event = event, .is_hist = true };
        char full[2 * EVENT_NAME_MAX + 2];

        (void)snprintf(full, sizeof(full), "%s:%s", event->system, event->name);
        if (event->speaks_of_others && !is_free)
                return reason_set(d->reason,
                                KT_E_ACCESS_DENIED,
                                "%s.when: %s can describe tasks that are not traced, and a "
                                "histogram would reveal them (%s): use another event",
                                place,
                                full,
                                d->grant->rule);
        int r = decision_get_format(d, event, &reading.format);
        if (r < 0)
                return r;
        const HistContext context = {
                .place = place,
                .event = full,
                .rule = d->grant->rule,
                .format = reading.format,
                .may_read = is_free ? NULL : grant_filter_may_read,
                .userdata = &reading,
                .lists_keys = lists_keys(d),
                .keeps_addresses = keeps_addresses(d),
                /* The other half is left for the session's ring buffers. */
                .most_bytes = d->rule ? d->grant->limits.max_buffer_kb_per_uid * 1024 / 2 : 0,
        };
        r = hist_compile(&context, hist, ret, d->reason);
        return r ?: exclude_addresses(&reading, filter);
}

static int check_length(const Decision *d, const GrantEvent *event) {
        size_t max = d->rule ? JOINED_FILTER_MAX - RULE_FILTER_MAX : JOINED_FILTER_MAX;

        if (strlen(event->filter) <= max)
                return 0;
        return reason_set(d->reason,
                        KT_E_INVALID_SPEC,
                        "%s:%s: all its filters together are longer than %zu bytes",
                        event->system,
                        event->name,
                        max);
}

/* Appends OPERATOR (text) to the event's filter. */
static int grant_filter_join(Decision *d, GrantEvent *event, const char *operator, char * text) {
        char *joined;

        if (!event->filter) {
                event->filter = strdup(text);
                return event->filter ? check_length(d, event) : -ENOMEM;
        }
        if (asprintf(&joined, "(%s) %s (%s)", event->filter, operator, text) < 0)
                return -ENOMEM;
        free(event->filter);
        event->filter = joined;
        return check_length(d, event);
}

int decision_add_filter(Decision *d, Choice *choice, const char *text) {
        _cleanup_free_ char *compiled = NULL;
        GrantEvent *event = &choice->event;

        int r = text ? decision_compile(d, choice, NULL, text, &compiled) : 0;
        if (r != 0 || choice->is_unfiltered)
                return r;
        if (!text) {
                choice->is_unfiltered = true;
                free(event->filter);
                event->filter = NULL;
                return 0;
        }
        if (event->filter && strcmp(event->filter, compiled) == 0)
                return 0;
        return grant_filter_join(d, event, "||", compiled);
}

int decision_add_where(Decision *d, Choice *choice, const char *where) {
        _cleanup_free_ char *compiled = NULL;

        int r = decision_compile(d, choice, "where", where, &compiled);
        return r ?: grant_filter_join(d, &choice->event, "&&", compiled);
}

int decision_add_policy_filter(Decision *d, Choice *choice, const char *text) {
        GrantEvent *event = &choice->event;
        FilterContext context = { .event = event->name,
                .n_cpus = d->events->n_cpus,
                .keeps_addresses = true, /* written by the administrator */
                .has_functions = d->events->has_functions };
        Reason secret;

        int r = decision_get_format(d, event, &context.format);
        r = r ?: filter_compile(&context, text, &event->policy_filter, &secret);
        if (r > 0 || (r == 0 && strlen(event->policy_filter) > RULE_FILTER_MAX))
                return reason_set(d->reason,
                                KT_E_ACCESS_DENIED,
                                "%s:%s: the filter that %s adds does not fit this kernel's "
                                "event: ask the administrator to correct it",
                                event->system,
                                event->name,
                                d->grant->rule);
        return r;
}

/* Tries what trace-condition.c will do. */
static int can_describe(Decision *d, const GrantEvent *event, const char *filter, bool *ret) {
        FilterContext context = { .event = event->name };
        _cleanup_json_ json_object *described = NULL;
        Reason why;

        *ret = true;
        if (!filter)
                return 0;
        d->n_filter_bytes += strlen(filter);
        d->work -= WORK_BYTE * (int64_t)strlen(filter);
        int r = decision_get_format(d, event, &context.format);
        r = r ?: filter_describe(&context, filter, &described, &why);
        if (r != KT_E_INVALID_SPEC && d->n_filter_bytes <= FILTER_BYTES_MAX)
                return r;
        *ret = false;
        return 0;
}

int decision_find_kernel_filters(Decision *d) {
        int r = 0;

        if (!d->spec->shares)
                return 0;
        while (r == 0 && d->next_shared < d->n_choices) {
                GrantEvent *event = &d->choices[d->next_shared].event;
                bool has_own = true, has_rule = true;

                if (d->work <= 0)
                        return DECISION_AGAIN;
                if (d->choices[d->next_shared++].is_granted) {
                        r = can_describe(d, event, event->filter, &has_own);
                        r = r ?: can_describe(d, event, event->policy_filter, &has_rule);
                }
                event->needs_kernel = !has_own || !has_rule;
        }
        return r;
}
