/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Histograms that the consumer counts: a part of trace.h. Two traces need this.
 *
 * - A trace whose records are judged. The kernel's histograms count every task whose pid is on the
 *   kernel's pid list. This can be a process of another user that got the pid of a task that has
 *   just ended.
 * - Any other trace on a kernel without histograms (CONFIG_HIST_TRIGGERS).
 *
 * The kernel records the events instead, and the consumer counts their records, of a judged trace
 * only those that it finds to be a member's (consumer/counts.c). This module decides which events
 * these are and which of their records the kernel has to record, and describes them for the
 * consumer. Notify triggers are counted in the same way.
 *
 * The kernel records an event only once. If a stream and a histogram, or two histograms, need
 * different records of an event, the kernel records all of them, and the consumer evaluates the
 * conditions.
 *
 * A flight recorder has no consumer while it runs. It can have no histograms, and the kernel counts
 * its notify triggers (SECURITY.md). */

#include "trace/trace-counts.h"

#include <errno.h>
#include <string.h>

#include "base/describe.h"
#include "base/fd.h"
#include "interfaces/defence.h"
#include "interfaces/spec-trigger.h"
#include "policy/filter.h"
#include "policy/grant-sink.h"
#include "trace/metadata.h"
#include "trace/trace-condition.h"
#include "trace/trace-fence.h"
#include "trace/trace-locate.h"
#include "trace/trace-pairs.h"

const TraceNameSource trace_name_sources[TRACE_NAME_SOURCES] = {
        { "sched", "sched_process_fork" },
        { "task", "task_rename" },
};

bool trace_counts(const Trace *trace) {
        bool is_wanted = trace_is_judged(trace) ? defence_is_on("judged-counts")
                                                : !tracefs_has_hist(trace->tracefs);

        if (!is_wanted || trace->spec->mode != MODE_STREAM)
                return false;
        for (size_t i = 0; i < trace->spec->n_triggers; i++)
                if (spec_trigger_is_counter(&trace->spec->triggers[i]))
                        return true;
        return false;
}

static bool is_of_event(const Trace *trace, size_t i, const GrantEvent *event) {
        return spec_trigger_is_counter(&trace->spec->triggers[i]) &&
               &trace->grant->events[trace->grant->triggers[i].event] == event;
}

bool trace_counts_event(const Trace *trace, const GrantEvent *event) {
        if (!trace_counts(trace))
                return false;
        for (size_t i = 0; i < trace->grant->n_triggers; i++)
                if (is_of_event(trace, i, event))
                        return true;
        return false;
}

bool trace_counts_names(const Trace *trace) {
        if (!trace_counts(trace))
                return false;
        for (size_t i = 0; i < trace->grant->n_triggers; i++) {
                const HistLayout *layout = &trace->grant->triggers[i].hist.layout;

                for (unsigned k = 0; k < layout->n_keys; k++)
                        if (layout->keys[k].kind == HIST_EXECNAME)
                                return true;
        }
        return false;
}

/* Returns the first key that only the kernel can count by, or NULL. */
static const HistColumn *find_kernel_key(const HistLayout *layout) {
        for (unsigned i = 0; i < layout->n_keys; i++)
                if (layout->keys[i].kind == HIST_SYM || layout->keys[i].kind == HIST_STACKTRACE)
                        return &layout->keys[i];
        return NULL;
}

static int check_layout(const SpecTrigger *trigger, const HistLayout *layout, Reason *reason) {
        const HistColumn *key = find_kernel_key(layout);

        if (!key)
                return 0;
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s.keys[%zu]: %s: only a session of all processes can count by "
                        "functions of the kernel: use another field",
                        spec_trigger_place(trigger).text,
                        (size_t)(key - layout->keys),
                        key->name);
}

int trace_check_counted(const Trace *trace, size_t trigger, Reason *reason) {
        const SpecTrigger *wanted = &trace->spec->triggers[trigger];
        const HistLayout *layout = &trace->grant->triggers[trigger].hist.layout;
        const HistColumn *key = find_kernel_key(layout);

        if (!key || trace_is_judged(trace))
                return 0;
        return reason_set(reason,
                        KT_E_KERNEL_REFUSED,
                        "%s.keys[%zu]: %s: this kernel has no histograms (CONFIG_HIST_TRIGGERS), "
                        "and functions of the kernel cannot be counted without them: use another "
                        "field",
                        spec_trigger_place(wanted).text,
                        (size_t)(key - layout->keys),
                        key->name);
}

int trace_check_sink(const Trace *trace, size_t i, Reason *reason) {
        GrantSink sink = trace_counts_event(trace,
                                         &trace->grant->events[trace->grant->triggers[i].event])
                                         ? GRANT_SINK_COUNT
                                         : GRANT_SINK_HISTOGRAM;

        if (trace->grant->sinks & (1U << sink))
                return 0;
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "%s.do: hist: %s would count, and %s does not grant the sink %s",
                        spec_trigger_place(&trace->spec->triggers[i]).text,
                        sink == GRANT_SINK_COUNT ? "the stream worker" : "the kernel",
                        trace->grant->rule,
                        grant_sink_to_string(sink));
}

int trace_check_counts(const Spec *spec, const Grant *grant, Reason *reason) {
        const Trace trace = { .spec = spec, .grant = grant };
        int r = 0;

        if (!trace_is_judged(&trace) || !defence_is_on("judged-counts"))
                return 0;
        for (size_t i = 0; r == 0 && i < grant->n_triggers; i++) {
                const SpecTrigger *trigger = &spec->triggers[i];

                if (trigger->action != ACTION_HIST)
                        continue;
                if (spec->mode != MODE_STREAM)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s.do: hist: a flight recorder of your own processes "
                                        "cannot count: use mode stream",
                                        spec_trigger_place(trigger).text);
                r = check_layout(trigger, &grant->triggers[i].hist.layout, reason);
        }
        return r;
}

/* The filters of an event's users: its own filter, if the event is recorded, and the filters of its
 * histograms. */

typedef struct Filters {
        const char **texts; /* without duplicates; NULL: all records */
        size_t n;
        bool has_all; /* a user needs all records */
} Filters;

static void add_filter(Filters *filters, const char *text) {
        if (!text) {
                filters->has_all = true;
                return;
        }
        for (size_t i = 0; i < filters->n; i++)
                if (strcmp(filters->texts[i], text) == 0)
                        return;
        filters->texts[filters->n++] = text;
}

static int collect_filters(const Trace *trace, const GrantEvent *event, Filters *ret) {
        *ret = (Filters){};
        ret->texts = calloc(trace->grant->n_triggers + 1, sizeof(*ret->texts));
        if (!ret->texts)
                return -ENOMEM;
        if (!event->is_unrecorded || trace_needs_event(trace, event))
                add_filter(ret, event->filter);
        for (size_t i = 0; i < trace->grant->n_triggers; i++)
                if (is_of_event(trace, i, event))
                        add_filter(ret, trace->grant->triggers[i].filter);
        return 0;
}

int trace_join_counted(const Trace *trace, const GrantEvent *event, char **ret) {
        size_t size = 1, at = 0;
        Filters filters;

        *ret = NULL;
        int r = collect_filters(trace, event, &filters);
        _cleanup_free_ const char **texts = filters.texts;
        for (size_t i = 0; r == 0 && i < filters.n; i++)
                size += strlen(texts[i]) + strlen("() || ");
        /* If the filter is too long for the kernel, the consumer alone evaluates it. */
        if (r < 0 || filters.has_all || filters.n == 0 || size > FILTER_RESULT_MAX)
                return r;
        char *text = malloc(size);
        if (!text)
                return -ENOMEM;
        for (size_t i = 0; i < filters.n; i++)
                at += (size_t)snprintf(text + at,
                                size - at,
                                filters.n == 1 ? "%s%s" : "%s(%s)",
                                i > 0 ? " || " : "",
                                texts[i]);
        *ret = text;
        return 0;
}

/* Checks if the kernel records more of the event than a user with this filter needs. */
static int needs_condition(const Trace *trace,
                const GrantEvent *event,
                const char *filter,
                bool *ret) {
        _cleanup_free_ char *recorded = NULL;

        *ret = false;
        if (!filter)
                return 0;
        int r = trace_needs_event(trace, event) ? 0 : trace_join_counted(trace, event, &recorded);
        *ret = r == 0 && (!recorded || strcmp(recorded, filter) != 0);
        return r;
}

/* The plan */

static int trace_counts_put_number(json_object *object, const char *key, uint64_t value) {
        return describe_put(object, key, json_object_new_uint64(value));
}

static int put_new_object(json_object *array, json_object **ret) {
        *ret = json_object_new_object();
        return describe_append(array, *ret);
}

static int put_new_array(json_object *object, const char *key, json_object **ret) {
        *ret = json_object_new_array();
        return describe_put(object, key, *ret);
}

/* Describes the filter, if the kernel records more than this filter allows. */
static int put_condition(json_object *object,
                const Trace *trace,
                const GrantEvent *event,
                const char *filter,
                Reason *reason) {
        json_object *condition = NULL;
        bool is_needed;

        int r = needs_condition(trace, event, filter, &is_needed);
        if (r != 0 || !is_needed)
                return r;
        r = trace_describe_filter(trace, event, filter, &condition, reason);
        return r ?: describe_put(object, "condition", condition);
}

/* "count.buckets=512" */
static uint64_t trace_counts_get_width(const char *word) {
        const char *digits = strstr(word, ".buckets=");

        return digits ? strtoull(digits + strlen(".buckets="), NULL, 10) : 0;
}

static int put_columns(json_object *object,
                const char *key,
                const HistColumn *columns,
                unsigned n,
                const SpecWords *words) {
        json_object *list, *entry;

        int r = put_new_array(object, key, &list);
        for (unsigned i = 0; r == 0 && i < n; i++) {
                r = put_new_object(list, &entry);
                r = r ?: describe_put(entry, "field", json_object_new_string(columns[i].name));
                r = r ?: trace_counts_put_number(entry, "kind", columns[i].kind);
                r = r
                                    ?: trace_counts_put_number(entry,
                                                       "width",
                                                       trace_counts_get_width(words->items[i]));
        }
        return r;
}

/* 0: hitcount; then the keys, then the values. The kernel looks for a name among the values first.
 */
static unsigned find_column(const HistLayout *layout, const char *name, size_t size) {
        for (unsigned i = 0; i < layout->n_values; i++)
                if (strlen(layout->values[i].name) == size &&
                                memcmp(layout->values[i].name, name, size) == 0)
                        return 1 + layout->n_keys + i;
        for (unsigned i = 0; i < layout->n_keys; i++)
                if (strlen(layout->keys[i].name) == size &&
                                memcmp(layout->keys[i].name, name, size) == 0)
                        return 1 + i;
        return 0;
}

static int put_order(json_object *list, const HistLayout *layout, const char *word) {
        size_t size = strcspn(word, ".");
        json_object *entry;

        int r = put_new_object(list, &entry);
        r = r ?: trace_counts_put_number(entry, "column", find_column(layout, word, size));
        return r
                               ?: describe_put(entry,
                                                  "down",
                                                  json_object_new_boolean(
                                                                  strcmp(word + size,
                                                                                  ".descending") ==
                                                                  0));
}

static int put_orders(json_object *object, const HistLayout *layout, const SpecWords *sort) {
        json_object *list;

        int r = put_new_array(object, "sort", &list);
        if (r == 0 && sort->n == 0)
                return put_order(list, layout, "hitcount.descending");
        for (size_t i = 0; r == 0 && i < sort->n; i++)
                r = put_order(list, layout, sort->items[i]);
        return r;
}

static int put_hist(json_object *table, const SpecTrigger *wanted, const HistText *hist) {
        const HistLayout *layout = &hist->layout;

        int r = trace_counts_put_number(table, "size", hist->n_rows);
        r = r ?: put_columns(table, "keys", layout->keys, layout->n_keys, &wanted->hist.keys);
        r = r
                            ?: put_columns(table,
                                               "values",
                                               layout->values,
                                               layout->n_values,
                                               &wanted->hist.values);
        return r ?: put_orders(table, layout, &wanted->hist.sort);
}

static int trace_counts_put_table(json_object *tables,
                const Trace *trace,
                size_t i,
                Reason *reason) {
        _cleanup_(format_free_cleanup) Format *format = NULL;
        const SpecTrigger *wanted = &trace->spec->triggers[i];
        const GrantTrigger *granted = &trace->grant->triggers[i];
        const GrantEvent *event = &trace->grant->events[granted->event];
        bool is_notify = wanted->action == ACTION_NOTIFY;
        json_object *table;

        int r = put_new_object(tables, &table);
        r = r ?: trace_read_format(trace, event, &format, reason);
        r = r ?: trace_counts_put_number(table, "trigger", i);
        r = r ?: trace_counts_put_number(table, "event", format->id);
        r = r ?: describe_put(table, "notify", json_object_new_boolean(is_notify));
        if (r == 0 && !is_notify)
                r = put_hist(table, wanted, &granted->hist);
        return r ?: put_condition(table, trace, event, granted->filter, reason);
}

static int put_tables(json_object *plan, const Trace *trace, Reason *reason) {
        json_object *tables;

        int r = put_new_array(plan, "tables", &tables);
        for (size_t i = 0; r == 0 && i < trace->grant->n_triggers; i++)
                if (spec_trigger_is_counter(&trace->spec->triggers[i]))
                        r = trace_counts_put_table(tables, trace, i, reason);
        return r;
}

/* Adds the condition for the records that the reader of the stream may have, if the kernel records
 * more. */
static int trace_counts_put_filter(json_object *filters,
                const Trace *trace,
                const GrantEvent *event,
                Reason *reason) {
        _cleanup_(format_free_cleanup) Format *format = NULL;
        json_object *entry;
        bool is_needed;

        int r = needs_condition(trace, event, event->filter, &is_needed);
        if (r != 0 || !is_needed)
                return r;
        r = put_new_object(filters, &entry);
        r = r ?: trace_read_format(trace, event, &format, reason);
        r = r ?: trace_counts_put_number(entry, "event", format->id);
        return r ?: put_condition(entry, trace, event, event->filter, reason);
}

/* Lists an event that is disabled in the stream but counted. */
static int put_hidden(json_object *hidden,
                const Trace *trace,
                const GrantEvent *event,
                Reason *reason) {
        _cleanup_(format_free_cleanup) Format *format = NULL;

        int r = trace_read_format(trace, event, &format, reason);
        return r ?: describe_append(hidden, json_object_new_uint64(format->id));
}

/* Lists the events that the stream's reader may not see, and the filters of those that it may see.
 */
static int trace_counts_put_events(json_object *plan, const Trace *trace, Reason *reason) {
        json_object *events, *filters, *hidden;

        int r = put_new_array(plan, "events", &events);
        r = r ?: put_new_array(plan, "filters", &filters);
        r = r ?: put_new_array(plan, "hidden", &hidden);
        for (size_t i = 0; r == 0 && i < trace->grant->n_events; i++) {
                const GrantEvent *event = &trace->grant->events[i];

                if (!trace_counts_event(trace, event))
                        continue;
                r = event->is_unrecorded ? metadata_add_event(events, trace, event)
                    : event->is_off      ? put_hidden(hidden, trace, event, reason)
                                         : trace_counts_put_filter(filters, trace, event, reason);
        }
        return r;
}

static int trace_counts_put_names(json_object *plan, const Trace *trace) {
        json_object *list;

        int r = put_new_array(plan, "names", &list);
        for (size_t i = 0; r == 0 && i < TRACE_NAME_SOURCES; i++) {
                const GrantEvent event = { .system = (char *)trace_name_sources[i].system,
                        .name = (char *)trace_name_sources[i].name };

                r = metadata_add_event(list, trace, &event);
        }
        return r;
}

int trace_step_counts(void *context, Reason *reason) {
        _cleanup_json_ json_object *plan = json_object_new_object();
        Trace *trace = context;

        if (!trace_counts(trace))
                return 0;
        int r = plan ? put_tables(plan, trace, reason) : -ENOMEM;
        r = r ?: trace_counts_put_events(plan, trace, reason);
        if (r == 0 && trace_counts_names(trace))
                r = trace_counts_put_names(plan, trace);
        if (r != 0)
                return r;
        const char *text = json_object_to_json_string_ext(plan, JSON_C_TO_STRING_PLAIN);
        close_cleanup(&trace->counts_fd);
        trace->counts_fd = text ? fd_memfd_sealed("ktrace-counts", text, strlen(text)) : -ENOMEM;
        return MIN_OF(trace->counts_fd, 0);
}
