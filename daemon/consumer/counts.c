/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Histograms that are counted from the records of a stream. The kernel's own histograms use the
 * kernel's list of numbers, which keeps the number of an ended task for some milliseconds: in that
 * time the number may belong to another user's process. So the histograms of a judged stream are
 * counted here, from the records that lives.c has found to be a member's. Those of other streams
 * are counted here on a kernel without histograms. Used by the consumer: pump.c shows each
 * sub-buffer, of a judged stream after it was judged (hold.c), and owns the counts; counts-reply.c
 * sends the rows.
 *
 * Rows are what the kernel's would be: the same keys, the same rounding (trace_events_hist.c), the
 * same limit of rows with a count of hits that found no room. One difference: an event that is not
 * recorded (turned off, or the window of a trigger is closed) is not counted.
 *
 * A row has the command name of its oldest record. A judged stream notes all names before records
 * that need them. Another stream reads one ring after the other. The record with a name may be in a
 * ring that is read later, but no later than in the next round. So the names of new rows are looked
 * up again at the end of the next round, and at each question before it. */

#include "consumer/counts.h"

#include <errno.h>
#include <seccomp.h>
#include <string.h>

#include "consumer/records/condition.h"
#include "consumer/records/count-field.h"

#define ROWS_MAX (1U << 17)
#define IDS_MAX  65536
#define SORT_MAX 2

typedef struct CountColumn {
        HistKind kind;
        CountField field;
        uint64_t width; /* of HIST_BUCKETS */
} CountColumn;

typedef struct CountOrder {
        unsigned column; /* 0: hitcount; then the keys, then the values */
        bool is_down;
} CountOrder;

typedef struct CountHist {
        uint32_t trigger; /* the spec's trigger */
        uint16_t event_id;
        Condition *condition;
        bool is_notify, is_paused;
        CountColumn keys[HIST_KEYS_MAX], values[HIST_VALUES_MAX];
        unsigned n_keys, n_values, n_orders;
        unsigned name_key;  /* the key with a command name; n_keys: none */
        size_t n_named;     /* rows whose names are final; not used in a judged stream */
        size_t n_last_rows; /* rows at the end of the last round */
        CountOrder orders[SORT_MAX];
        CountTable *table; /* NULL: a notify trigger */
        uint64_t hits, dropped;
        uint64_t lost_before; /* records lost before the table was cleared */
        uint64_t n_new;       /* hits of a notify trigger that are not reported yet */
        CountField pid;
        uint32_t last_pid;
} CountHist;

/* An event that the reader of the stream may see. It has the session's filter when the kernel
 * records more than this filter allows. */
typedef struct ReaderFilter {
        uint16_t event_id;
        Condition *condition;
} ReaderFilter;

struct Counts {
        CountHist *hists;
        size_t n_hists;
        ReaderFilter *filters;
        size_t n_filters;
        /* hidden: recorded only to be counted. The reader gets all other records. Masks remove
         * those that it may not see. */
        bool is_hidden[IDS_MAX], is_counted[IDS_MAX];
        bool is_judged;
        CommandNames *names;
        uint64_t newest_nsec;      /* of all records */
        uint64_t last_newest_nsec; /* the same at the end of the last round */
};

/* From the plan */

static json_object *get_member(json_object *object, const char *key) {
        json_object *value;

        return json_object_object_get_ex(object, key, &value) ? value : NULL;
}

static uint64_t counts_get_number(json_object *object, const char *key) {
        return json_object_get_uint64(get_member(object, key)); /* NULL: 0 */
}

static size_t counts_get_length(json_object *list) {
        return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

static int find_format(json_object *lists[2], uint16_t id, Format **ret) {
        for (size_t k = 0; k < 2; k++)
                for (size_t i = 0; i < counts_get_length(lists[k]); i++) {
                        json_object *event = json_object_array_get_idx(lists[k], i);
                        json_object *text = get_member(event, "format");

                        if (counts_get_number(event, "id") != id || !text)
                                continue;
                        int r = format_parse(json_object_get_string(text),
                                        (size_t)json_object_get_string_len(text),
                                        ret,
                                        NULL);
                        return r > 0 ? -EBADMSG : r;
                }
        return -EBADMSG;
}

static int take_columns(json_object *list,
                const Format *format,
                CountColumn *columns,
                unsigned n_max,
                unsigned *ret_n) {
        size_t n = counts_get_length(list);

        if (n > n_max)
                return -EBADMSG;
        for (size_t i = 0; i < n; i++) {
                json_object *entry = json_object_array_get_idx(list, i);
                json_object *name = get_member(entry, "field");
                CountColumn *column = &columns[i];

                column->kind = (HistKind)counts_get_number(entry, "kind");
                column->width = counts_get_number(entry, "width");
                if (!name || column->kind >= _HIST_KIND_N || column->kind == HIST_STACKTRACE ||
                                column->kind == HIST_SYM ||
                                (column->kind == HIST_BUCKETS && column->width == 0) ||
                                count_field_find(format,
                                                json_object_get_string(name),
                                                &column->field) < 0)
                        return -EBADMSG;
        }
        *ret_n = (unsigned)n;
        return 0;
}

static int take_orders(json_object *list, CountHist *hist) {
        size_t n = counts_get_length(list);

        if (n > SORT_MAX)
                return -EBADMSG;
        for (size_t i = 0; i < n; i++) {
                json_object *entry = json_object_array_get_idx(list, i);
                uint64_t column = counts_get_number(entry, "column");

                if (column > hist->n_keys + hist->n_values)
                        return -EBADMSG;
                hist->orders[i] = (CountOrder){ (unsigned)column,
                        json_object_get_boolean(get_member(entry, "down")) };
        }
        hist->n_orders = (unsigned)n;
        return 0;
}

static int take_hist(json_object *entry, const Format *format, CountHist *hist) {
        json_object *condition = get_member(entry, "condition");
        uint64_t n_rows = counts_get_number(entry, "size");

        hist->trigger = (uint32_t)counts_get_number(entry, "trigger");
        hist->is_notify = json_object_get_boolean(get_member(entry, "notify"));
        int r = condition ? condition_new(condition, format, &hist->condition) : 0;
        r = r ?: count_field_find(format, "common_pid", &hist->pid);
        if (r < 0 || hist->is_notify)
                return r;
        r = take_columns(get_member(entry, "keys"),
                        format,
                        hist->keys,
                        HIST_KEYS_MAX,
                        &hist->n_keys);
        r = r
                            ?: take_columns(get_member(entry, "values"),
                                               format,
                                               hist->values,
                                               HIST_VALUES_MAX,
                                               &hist->n_values);
        r = r ?: take_orders(get_member(entry, "sort"), hist);
        if (r < 0)
                return r;
        while (hist->name_key < hist->n_keys && hist->keys[hist->name_key].kind != HIST_EXECNAME)
                hist->name_key++;
        return n_rows > ROWS_MAX || hist->n_keys == 0
                               ? -EBADMSG
                               : count_table_new(hist->n_keys, n_rows, &hist->table);
}

static int take_hists(Counts *counts, json_object *plan, json_object *formats[2]) {
        json_object *list = get_member(plan, "tables");
        size_t n = counts_get_length(list);
        int r = 0;

        if (n == 0 || n > CONTROL_TABLES_MAX)
                return -EBADMSG;
        counts->hists = calloc(n, sizeof(*counts->hists));
        if (!counts->hists)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < n; i++) {
                _cleanup_(format_free_cleanup) Format *format = NULL;
                json_object *entry = json_object_array_get_idx(list, i);
                CountHist *hist = &counts->hists[counts->n_hists++];

                hist->event_id = (uint16_t)counts_get_number(entry, "event");
                counts->is_counted[hist->event_id] = true;
                r = find_format(formats, hist->event_id, &format);
                r = r ?: take_hist(entry, format, hist);
        }
        return r;
}

static int take_filters(Counts *counts, json_object *plan, json_object *formats[2]) {
        json_object *list = get_member(plan, "filters");
        size_t n = counts_get_length(list);
        int r = 0;

        counts->filters = calloc(n + 1, sizeof(*counts->filters));
        if (!counts->filters)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < n; i++) {
                _cleanup_(format_free_cleanup) Format *format = NULL;
                json_object *entry = json_object_array_get_idx(list, i);
                ReaderFilter *filter = &counts->filters[counts->n_filters++];

                filter->event_id = (uint16_t)counts_get_number(entry, "event");
                r = find_format(formats, filter->event_id, &format);
                r = r ?: condition_new(get_member(entry, "condition"), format, &filter->condition);
        }
        return r;
}

static void set_hidden(Counts *counts, json_object *events, bool is_hidden) {
        for (size_t i = 0; i < counts_get_length(events); i++)
                counts->is_hidden[(uint16_t)counts_get_number(
                                json_object_array_get_idx(events, i), "id")] = is_hidden;
}

static void take_hidden(Counts *counts, json_object *plan, json_object *readable) {
        json_object *off = get_member(plan, "hidden");

        set_hidden(counts, get_member(plan, "events"), true);
        set_hidden(counts, get_member(plan, "names"), true);
        set_hidden(counts, readable, false);
        for (size_t i = 0; i < counts_get_length(off); i++)
                counts->is_hidden[(uint16_t)json_object_get_uint64(
                                json_object_array_get_idx(off, i))] = true;
}

int counts_new(json_object *plan, json_object *readable, bool is_judged, Counts **ret) {
        _cleanup_(counts_free_cleanup) Counts *counts = calloc(1, sizeof(*counts));
        json_object *formats[2] = { readable, get_member(plan, "events") };
        json_object *names = get_member(plan, "names");

        if (!counts)
                return -ENOMEM;
        counts->is_judged = is_judged;
        take_hidden(counts, plan, readable);
        int r = take_hists(counts, plan, formats);
        r = r ?: take_filters(counts, plan, formats);
        if (r == 0 && names)
                r = command_names_new(names, &counts->names);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(counts);
        return 0;
}

Counts *counts_free(Counts *counts) {
        if (!counts)
                return NULL;
        for (size_t i = 0; i < counts->n_hists; i++) {
                condition_free(counts->hists[i].condition);
                count_table_free(counts->hists[i].table);
        }
        for (size_t i = 0; i < counts->n_filters; i++)
                condition_free(counts->filters[i].condition);
        command_names_free(counts->names);
        free(counts->hists);
        free(counts->filters);
        free(counts);
        return NULL;
}

/* Counting */

static uint64_t counts_read_number(const CountField *field, const CountRecord *record) {
        return field->is_cpu ? record->cpu
                             : count_field_read_number(field, record->bytes, record->size);
}

/* The kernel rounds up: 257 to 512 are 2^9. */
static uint64_t get_power(uint64_t number) {
        return number <= 1 ? 0 : 64 - (uint64_t)__builtin_clzll(number - 1);
}

static CountKey counts_make_key(const CountColumn *column, const CountRecord *record) {
        CountKey key = {};

        if (column->kind == HIST_STRING) {
                key.text = count_field_read_text(
                                &column->field, record->bytes, record->size, &key.text_size);
                return key;
        }
        key.number = counts_read_number(&column->field, record);
        if (column->kind == HIST_LOG2)
                key.number = get_power(key.number);
        else if (column->kind == HIST_BUCKETS)
                key.number -= key.number % column->width;
        return key;
}

/* A row has the name of its oldest record, like the kernel's. Records come in no order of time. */
static void name_row(const Counts *counts, const CountHist *hist, CountRow *row) {
        if (counts->names && hist->name_key < hist->n_keys)
                command_names_find(counts->names,
                                (uint32_t)row->numbers[hist->name_key],
                                row->first_nsec,
                                row->comm);
}

static void name_rows(const Counts *counts, const CountHist *hist, size_t end) {
        for (size_t i = hist->n_named; hist->name_key < hist->n_keys && i < end; i++)
                name_row(counts, hist, count_table_get_row(hist->table, i));
}

/* A name that could not be kept is missing in the rows, as if there were too many. */
static void note_name(Counts *counts, const CountRecord *record) {
        counts->newest_nsec = MAX_OF(counts->newest_nsec, record->nsec);
        (void)command_names_note(counts->names, record->bytes, record->size, record->nsec);
}

void counts_end_round(Counts *counts) {
        if (!counts->names)
                return;
        for (size_t i = 0; i < counts->n_hists; i++) {
                CountHist *hist = &counts->hists[i];

                if (hist->is_notify)
                        continue;
                name_rows(counts, hist, hist->n_last_rows);
                hist->n_named = hist->n_last_rows;
                hist->n_last_rows = count_table_get_n(hist->table);
        }
        command_names_forget(counts->names, counts->last_newest_nsec);
        counts->last_newest_nsec = counts->newest_nsec;
}

static void counts_count_record(const Counts *counts, CountHist *hist, const CountRecord *record) {
        CountKey keys[HIST_KEYS_MAX];
        bool is_new;

        if (hist->is_notify) {
                hist->n_new++;
                hist->last_pid = (uint32_t)counts_read_number(&hist->pid, record);
                return;
        }
        for (unsigned i = 0; i < hist->n_keys; i++)
                keys[i] = counts_make_key(&hist->keys[i], record);
        CountRow *row = count_table_get(hist->table, keys, &is_new);
        if (!row) {
                hist->dropped++;
                return;
        }
        hist->hits++;
        row->hitcount++;
        for (unsigned i = 0; i < hist->n_values; i++)
                row->values[i] += counts_read_number(&hist->values[i].field, record);
        if (record->nsec < row->first_nsec) {
                row->first_nsec = record->nsec;
                name_row(counts, hist, row);
        }
}

static bool is_for_reader(const Counts *counts, uint16_t id, const CountRecord *record) {
        for (size_t i = 0; i < counts->n_filters; i++)
                if (counts->filters[i].event_id == id)
                        return condition_holds(counts->filters[i].condition,
                                        record->bytes,
                                        record->size,
                                        record->cpu);
        return true;
}

bool counts_take(Counts *counts, const CountRecord *record) {
        uint16_t id;

        memcpy(&id, record->bytes, sizeof(id));
        if (counts->names && !counts->is_judged)
                note_name(counts, record);
        for (size_t i = 0; counts->is_counted[id] && i < counts->n_hists; i++) {
                CountHist *hist = &counts->hists[i];

                if (hist->event_id == id && !hist->is_paused &&
                                condition_holds(hist->condition,
                                                record->bytes,
                                                record->size,
                                                record->cpu))
                        counts_count_record(counts, hist, record);
        }
        return !counts->is_hidden[id] && is_for_reader(counts, id, record);
}

CommandNames *counts_get_names(const Counts *counts) {
        return counts ? counts->names : NULL;
}

/* Questions about the tables */

static CountHist *find_hist(const Counts *counts, uint32_t trigger) {
        for (size_t i = 0; i < counts->n_hists; i++)
                if (counts->hists[i].trigger == trigger)
                        return &counts->hists[i];
        return NULL;
}

bool counts_has(const Counts *counts, uint32_t table) {
        const CountHist *hist = counts ? find_hist(counts, table) : NULL;

        return hist && !hist->is_notify;
}

static void change_hist(CountHist *hist, ControlCountsVerb verb, uint64_t lost) {
        if (verb == CONTROL_COUNTS_PAUSE || verb == CONTROL_COUNTS_CONTINUE)
                hist->is_paused = verb == CONTROL_COUNTS_PAUSE;
        if (verb != CONTROL_COUNTS_CLEAR)
                return;
        count_table_clear(hist->table);
        hist->n_named = hist->n_last_rows = 0;
        hist->hits = hist->dropped = 0;
        hist->lost_before = lost;
}

void counts_change(Counts *counts, uint32_t table, ControlCountsVerb verb, uint64_t lost) {
        for (size_t i = 0; i < counts->n_hists; i++) {
                CountHist *hist = &counts->hists[i];

                if (!hist->is_notify && (table == CONTROL_COUNTS_ALL || hist->trigger == table))
                        change_hist(hist, verb, lost);
        }
}

static int counts_compare_numbers(uint64_t a, uint64_t b, bool is_signed) {
        if (is_signed)
                return (int64_t)a < (int64_t)b ? -1 : (int64_t)a > (int64_t)b;
        return a < b ? -1 : a > b;
}

static const char *counts_get_text(const CountRow *row, unsigned key, size_t *ret_size) {
        const char *text = row->texts;

        for (unsigned i = 0; i < key; i++)
                text += row->text_sizes[i] == UINT16_MAX ? 0 : row->text_sizes[i];
        *ret_size = row->text_sizes[key];
        return text;
}

static int compare_keys(const CountHist *hist, const CountRow *a, const CountRow *b, unsigned key) {
        const CountColumn *column = &hist->keys[key];

        if (column->kind == HIST_STRING) {
                size_t a_size, b_size;
                const char *a_text = counts_get_text(a, key, &a_size),
                           *b_text = counts_get_text(b, key, &b_size);
                int order = memcmp(a_text, b_text, MIN_OF(a_size, b_size));

                return order ?: counts_compare_numbers(a_size, b_size, false);
        }
        return counts_compare_numbers(a->numbers[key], b->numbers[key], column->field.is_signed);
}

static int compare_by(const CountHist *hist,
                const CountRow *a,
                const CountRow *b,
                const CountOrder *order) {
        unsigned column = order->column;
        int result;

        if (column == 0)
                result = counts_compare_numbers(a->hitcount, b->hitcount, false);
        else if (column <= hist->n_keys)
                result = compare_keys(hist, a, b, column - 1);
        else
                result = counts_compare_numbers(a->values[column - 1 - hist->n_keys],
                                b->values[column - 1 - hist->n_keys],
                                false);
        return order->is_down ? -result : result;
}

/* Rows with the same sort value are ordered by their keys, so that two answers show them in the
 * same order. */
static int compare_rows(const void *a, const void *b, void *userdata) {
        const CountRow *const *x = a, *const *y = b;
        const CountHist *hist = userdata;
        int order = 0;

        for (unsigned i = 0; order == 0 && i < hist->n_orders; i++)
                order = compare_by(hist, *x, *y, &hist->orders[i]);
        for (unsigned i = 0; order == 0 && i < hist->n_keys; i++)
                order = compare_keys(hist, *x, *y, i);
        return order;
}

int counts_list(const Counts *counts, uint32_t table, CountRow **ret, size_t *ret_n) {
        CountHist *hist = find_hist(counts, table);
        size_t n = count_table_get_n(hist->table),
               n_listed = MIN_OF(n, (size_t)CONTROL_ENTRIES_MAX);
        _cleanup_free_ const CountRow **rows = calloc(n + 1, sizeof(*rows));
        CountRow *list = calloc(n_listed + 1, sizeof(*list));
        int r = rows && list ? 0 : -ENOMEM;

        if (!counts->is_judged)
                name_rows(counts, hist, n);
        for (size_t i = 0; r == 0 && i < n; i++)
                rows[i] = count_table_get_row(hist->table, i);
        if (r == 0)
                qsort_r(rows, n, sizeof(*rows), compare_rows, hist);
        for (size_t i = 0; r == 0 && i < n_listed; i++)
                r = count_row_copy(rows[i], &list[i]);
        if (r == 0) {
                *ret = list;
                *ret_n = n_listed;
                return 0;
        }
        for (size_t i = 0; list && i < n_listed; i++)
                count_row_clear(&list[i]);
        free(list);
        return r;
}

static void counts_put_text(ControlMessage *message, unsigned key, const char *text, size_t size) {
        ControlKey *to = &message->entry.keys[key];
        size_t used = 0;

        for (unsigned i = 0; i < key; i++)
                used += message->entry.keys[i].text_size;
        to->text_at = (uint32_t)used;
        to->text_size = (uint32_t)MIN_OF(size, sizeof(message->entry.text) - used);
        memcpy(message->entry.text + used, text, to->text_size);
}

/* As in the kernel's table, the name has its prefix. A call without a name has no name here. */
static void put_syscall(ControlMessage *message, unsigned key, uint64_t number) {
        char *name = number > INT32_MAX ? NULL
                                        : seccomp_syscall_resolve_num_arch(
                                                          SCMP_ARCH_NATIVE, (int)number);
        char text[128];

        (void)snprintf(text, sizeof(text), "%s%s", name ? "sys_" : "", name ?: "unknown_syscall");
        free(name);
        counts_put_text(message, key, text, strlen(text));
}

void counts_put_entry(const Counts *counts,
                uint32_t table,
                const CountRow *row,
                ControlMessage *ret) {
        const CountHist *hist = find_hist(counts, table);

        *ret = (ControlMessage){ .type = CONTROL_ENTRY, .version = CONTROL_VERSION };
        ret->entry.table = table;
        ret->entry.hitcount = row->hitcount;
        memcpy(ret->entry.values, row->values, sizeof(row->values));
        for (unsigned i = 0; i < hist->n_keys; i++) {
                const CountColumn *column = &hist->keys[i];
                size_t size;

                ret->entry.keys[i].number = row->numbers[i];
                if (column->kind == HIST_BUCKETS)
                        ret->entry.keys[i].last = row->numbers[i] + column->width - 1;
                else if (column->kind == HIST_SYSCALL)
                        put_syscall(ret, i, row->numbers[i]);
                else if (column->kind == HIST_EXECNAME)
                        counts_put_text(ret, i, row->comm, strnlen(row->comm, sizeof(row->comm)));
                else if (column->kind == HIST_STRING) {
                        const char *text = counts_get_text(row, i, &size);
                        counts_put_text(ret, i, text, size);
                }
        }
}

void counts_put_totals(const Counts *counts, uint32_t table, uint64_t lost, ControlMessage *ret) {
        const CountHist *hist = find_hist(counts, table);

        *ret = (ControlMessage){
                .type = CONTROL_TOTALS,
                .version = CONTROL_VERSION,
                .totals = { .table = table,
                                .is_paused = hist->is_paused,
                                .hits = hist->hits,
                                .entries = count_table_get_n(hist->table),
                                .dropped = hist->dropped,
                                .lost = lost - hist->lost_before },
        };
}

bool counts_take_hits(Counts *counts, ControlMessage *ret) {
        for (size_t i = 0; i < counts->n_hists; i++) {
                CountHist *hist = &counts->hists[i];

                if (hist->n_new == 0)
                        continue;
                *ret = (ControlMessage){
                        .type = CONTROL_ROSE,
                        .version = CONTROL_VERSION,
                        .rose = { .table = hist->trigger,
                                        .key = hist->last_pid,
                                        .delta = hist->n_new },
                };
                hist->n_new = 0;
                return true;
        }
        return false;
}

void counts_give_back_hits(Counts *counts, const ControlMessage *message) {
        CountHist *hist = find_hist(counts, message->rose.table);

        hist->n_new += message->rose.delta;
}
