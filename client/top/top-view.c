/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The tables of top: which columns they have, how rows are sorted, and all rows as JSON. Called by
 * top-frame.c and top-screen.c. Owns nothing. */

#include "top/top-view.h"

#include <stdlib.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "trace/text-escape.h"

#define OF(type, member) offsetof(type, member)

static const TopColumn thread_columns[] = {
        { "THREAD", "thread", TOP_KIND_NUMBER, 7, OF(TopThread, tid), false },
        { "NAME", "name", TOP_KIND_TEXT, 15, OF(TopThread, name), false },
        { "CALLS/s", "calls", TOP_KIND_RATE, 8, OF(TopThread, n_calls), false },
        { "ERR/s", "errors", TOP_KIND_RATE, 6, OF(TopThread, n_errors), false },
        { "IN CALLS", "call-nsec", TOP_KIND_PART, 8, OF(TopThread, call_nsec), false },
        { "READ/s", "read-bytes", TOP_KIND_BYTES, 8, OF(TopThread, read_bytes), false },
        { "WRITE/s", "written-bytes", TOP_KIND_BYTES, 8, OF(TopThread, written_bytes), false },
        { "CPU", "running-nsec", TOP_KIND_PART, 6, OF(TopThread, running_nsec), true },
        { "WAIT", "waiting-nsec", TOP_KIND_PART, 6, OF(TopThread, waiting_nsec), true },
        { "BLOCK", "blocked-nsec", TOP_KIND_PART, 6, OF(TopThread, blocked_nsec), true },
        { "MOST", "most", TOP_KIND_TEXT, 15, OF(TopThread, call), false },
};

static const TopColumn call_columns[] = {
        { "CALL", "name", TOP_KIND_TEXT, 24, OF(TopCall, name), false },
        { "CALLS/s", "calls", TOP_KIND_RATE, 8, OF(TopCall, n_calls), false },
        { "ERR/s", "errors", TOP_KIND_RATE, 6, OF(TopCall, n_errors), false },
        { "TIME", "call-nsec", TOP_KIND_PART, 8, OF(TopCall, call_nsec), false },
        { "MEAN", "mean-nsec", TOP_KIND_DURATION, 9, OF(TopCall, mean_nsec), false },
        { "P95", "p95-nsec", TOP_KIND_DURATION, 9, OF(TopCall, p95_nsec), false },
        { "MAX", "max-nsec", TOP_KIND_DURATION, 9, OF(TopCall, max_nsec), false },
};

static const TopColumn device_columns[] = {
        { "DEVICE", "device", TOP_KIND_TEXT, 15, OF(TopDevice, device), false },
        { "DIRECTION", "direction", TOP_KIND_TEXT, 9, OF(TopDevice, direction), false },
        { "OPS/s", "operations", TOP_KIND_RATE, 8, OF(TopDevice, n), false },
        { "BYTES/s", "bytes", TOP_KIND_BYTES, 8, OF(TopDevice, bytes), false },
        { "MEAN", "mean-nsec", TOP_KIND_DURATION, 9, OF(TopDevice, mean_nsec), false },
        { "P95", "p95-nsec", TOP_KIND_DURATION, 9, OF(TopDevice, p95_nsec), false },
        { "MAX", "max-nsec", TOP_KIND_DURATION, 9, OF(TopDevice, max_nsec), false },
};

static const TopView views[_TOP_VIEW_N] = {
        [TOP_VIEW_THREADS] = { "threads",
                        "threads",
                        thread_columns,
                        ELEMENTSOF(thread_columns),
                        sizeof(TopThread),
                        2,
                        1 },
        [TOP_VIEW_CALLS] = { "calls",
                        "calls",
                        call_columns,
                        ELEMENTSOF(call_columns),
                        sizeof(TopCall),
                        1,
                        0 },
        [TOP_VIEW_DEVICES] = { "devices",
                        "devices",
                        device_columns,
                        ELEMENTSOF(device_columns),
                        sizeof(TopDevice),
                        3,
                        0 },
};

const TopView *top_view_get(TopViewId id) {
        return &views[id];
}

const char *top_view_get_rows(TopViewId id, const TopNumbers *numbers, size_t *ret_n) {
        switch (id) {
        case TOP_VIEW_THREADS:
                *ret_n = numbers->n_threads;
                return (const char *)numbers->threads;
        case TOP_VIEW_CALLS:
                *ret_n = numbers->n_calls;
                return (const char *)numbers->calls;
        default:
                *ret_n = numbers->n_devices;
                return (const char *)numbers->devices;
        }
}

const char *top_column_get_text(const TopColumn *column, const void *row) {
        return (const char *)row + column->offset;
}

uint64_t top_column_get_number(const TopColumn *column, const void *row) {
        uint64_t number;

        memcpy(&number, (const char *)row + column->offset, sizeof(number));
        return number;
}

typedef struct TopOrder {
        const TopView *view;
        const TopColumn *column;
        bool is_reverse;
} TopOrder;

static int compare_columns(const TopColumn *column, const void *a, const void *b) {
        if (column->kind == TOP_KIND_TEXT)
                return strcmp(top_column_get_text(column, a), top_column_get_text(column, b));
        uint64_t first = top_column_get_number(column, a),
                 second = top_column_get_number(column, b);

        return first > second ? -1 : first < second;
}

/* Rows that are equal in the column are sorted by their first column, so that they do not jump. */
static int compare_rows(const void *a, const void *b, void *userdata) {
        const TopOrder *order = userdata;
        const void *first = *(void *const *)a, *second = *(void *const *)b;
        int r = compare_columns(order->column, first, second);

        if (order->is_reverse)
                r = -r;
        return r != 0 ? r : compare_columns(&order->view->columns[0], first, second);
}

const void **top_view_sort(TopViewId id,
                const TopNumbers *numbers,
                size_t column,
                bool is_reverse,
                const char *text,
                size_t *ret_n) {
        const TopView *view = &views[id];
        TopOrder order = { view, &view->columns[column], is_reverse };
        size_t n, n_chosen = 0;
        const char *rows = top_view_get_rows(id, numbers, &n);
        const void **chosen = calloc(n + 1, sizeof(*chosen));

        for (size_t i = 0; chosen && i < n; i++) {
                const char *row = rows + i * view->row_size;

                if (strstr(top_column_get_text(&view->columns[view->name_column], row), text))
                        chosen[n_chosen++] = row;
        }
        if (chosen)
                qsort_r(chosen, n_chosen, sizeof(*chosen), compare_rows, &order);
        *ret_n = n_chosen;
        return chosen;
}

/* Consumes value. Returns whether it was added. */
static bool add(json_object *object, const char *key, json_object *value) {
        if (value && json_object_object_add(object, key, value) == 0)
                return true;
        json_object_put(value);
        return false;
}

/* Names may hold any bytes. Those that a terminal may act on become \xNN. */
static json_object *make_text(const char *text) {
        TextBlock block = {};

        text_escape_add(&block, text, strlen(text), false);
        json_object *value = block.is_short_of_memory ? NULL
                                                      : json_object_new_string_len(block.data ?: "",
                                                                        (int)block.used);
        text_block_clear(&block);
        return value;
}

static json_object *make_row(const TopView *view, const void *row, bool has_scheduler) {
        json_object *object = json_object_new_object();
        bool is_whole = object;

        for (size_t i = 0; is_whole && i < view->n_columns; i++) {
                const TopColumn *column = &view->columns[i];

                if (column->is_of_scheduler && !has_scheduler)
                        continue;
                is_whole = add(object,
                                column->key,
                                column->kind == TOP_KIND_TEXT
                                                ? make_text(top_column_get_text(column, row))
                                                : json_object_new_uint64(top_column_get_number(
                                                                  column, row)));
        }
        if (is_whole)
                return object;
        json_object_put(object);
        return NULL;
}

static json_object *make_rows(TopViewId id, const TopNumbers *numbers) {
        size_t n;
        const void **rows = top_view_sort(id, numbers, views[id].sort, false, "", &n);
        json_object *array = json_object_new_array();
        bool is_whole = rows && array;

        for (size_t i = 0; is_whole && i < n; i++) {
                json_object *row = make_row(&views[id], rows[i], numbers->has_scheduler);

                is_whole = row && json_object_array_add(array, row) == 0;
                if (!is_whole)
                        json_object_put(row);
        }
        free(rows);
        if (is_whole)
                return array;
        json_object_put(array);
        return NULL;
}

json_object *top_view_to_json(const TopNumbers *numbers,
                uint64_t interval_nsec,
                const char *scope) {
        json_object *object = json_object_new_object();
        bool is_whole = object && add(object, "scope", make_text(scope)) &&
                        add(object, "interval-nsec", json_object_new_uint64(interval_nsec)) &&
                        add(object, "events", json_object_new_uint64(numbers->n_events)) &&
                        add(object, "lost-events", json_object_new_uint64(numbers->n_lost)) &&
                        add(object,
                                        "lost-more",
                                        json_object_new_boolean(numbers->has_unknown_loss)) &&
                        add(object, "other-calls", json_object_new_uint64(numbers->n_other));

        for (TopViewId id = 0; is_whole && id < _TOP_VIEW_N; id++)
                is_whole = add(object, views[id].key, make_rows(id, numbers));
        if (is_whole)
                return object;
        json_object_put(object);
        return NULL;
}
