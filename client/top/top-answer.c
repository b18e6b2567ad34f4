/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads what `top --json` prints: the numbers of one interval, from another machine. Called by
 * top-near.c. The text may be hostile: each member is checked, names are cut, and json_parse_strict
 * limits the size. Names are escaped when they are drawn. Owns nothing. */

#include "top/top-answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/json.h"
#include "top/top-view.h"
#include "trace/text-escape.h"

#define SOURCE "top"

static int refuse(Reason *reason, const char *where, const char *key, const char *expected) {
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        SOURCE ": %s%s%s: expected %s",
                        where,
                        *where ? "." : "",
                        key,
                        expected);
}

static int read_number(json_object *object,
                const char *where,
                const char *key,
                uint64_t *ret,
                Reason *reason) {
        json_object *value = json_object_object_get(object, key);

        if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0)
                return refuse(reason, where, key, "a number from 0");
        *ret = json_object_get_uint64(value);
        return 0;
}

static int read_name(json_object *object,
                const char *where,
                const char *key,
                char ret[static TOP_NAME_MAX],
                Reason *reason) {
        json_object *value = json_object_object_get(object, key);

        if (!json_object_is_type(value, json_type_string))
                return refuse(reason, where, key, "a name");
        (void)snprintf(ret, TOP_NAME_MAX, "%s", json_object_get_string(value));
        return 0;
}

static int read_row(const TopView *view, json_object *object, char *row, Reason *reason) {
        int r = 0;

        if (!json_object_is_type(object, json_type_object))
                return refuse(reason, "", view->key, "a list of objects");
        for (size_t i = 0; r == 0 && i < view->n_columns; i++) {
                const TopColumn *column = &view->columns[i];
                char *place = row + column->offset;
                uint64_t number = 0;

                if (column->kind == TOP_KIND_TEXT) {
                        r = read_name(object, view->key, column->key, place, reason);
                        continue;
                }
                if (!column->is_of_scheduler || json_object_object_get(object, column->key))
                        r = read_number(object, view->key, column->key, &number, reason);
                memcpy(place, &number, sizeof(number));
        }
        return r;
}

static void set_rows(TopViewId id, TopNumbers *numbers, void *rows, size_t n) {
        switch (id) {
        case TOP_VIEW_THREADS:
                numbers->threads = rows;
                numbers->n_threads = n;
                break;
        case TOP_VIEW_CALLS:
                numbers->calls = rows;
                numbers->n_calls = n;
                break;
        default:
                numbers->devices = rows;
                numbers->n_devices = n;
        }
}

static int read_rows(TopViewId id, json_object *object, TopNumbers *numbers, Reason *reason) {
        const TopView *view = top_view_get(id);
        json_object *array = json_object_object_get(object, view->key);
        int r = 0;

        if (!json_object_is_type(array, json_type_array))
                return refuse(reason, "", view->key, "a list of objects");
        size_t n = json_object_array_length(array);
        char *rows = calloc(n + 1, view->row_size);
        if (!rows)
                return -ENOMEM;
        set_rows(id, numbers, rows, n);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = read_row(view,
                                json_object_array_get_idx(array, i),
                                rows + i * view->row_size,
                                reason);
        return r;
}

static int read_scope(json_object *object, TopAnswer *answer, Reason *reason) {
        json_object *value = json_object_object_get(object, "scope");
        TextBlock block = {};

        if (!json_object_is_type(value, json_type_string))
                return refuse(reason, "", "scope", "a text");
        const char *text = json_object_get_string(value);
        text_escape_add(&block, text, strnlen(text, sizeof(answer->scope)), false);
        (void)snprintf(answer->scope,
                        sizeof(answer->scope),
                        "%.*s",
                        (int)block.used,
                        block.data ?: "");
        int r = block.is_short_of_memory ? -ENOMEM : 0;
        text_block_clear(&block);
        return r;
}

static int read_members(json_object *object, TopAnswer *answer, Reason *reason) {
        TopNumbers *numbers = &answer->numbers;
        json_object *lost_more = json_object_object_get(object, "lost-more");
        int r = read_number(object, "", "interval-nsec", &answer->interval_nsec, reason);

        r = r ?: read_number(object, "", "events", &numbers->n_events, reason);
        r = r ?: read_number(object, "", "lost-events", &numbers->n_lost, reason);
        r = r ?: read_number(object, "", "other-calls", &numbers->n_other, reason);
        if (r == 0 && !json_object_is_type(lost_more, json_type_boolean))
                r = refuse(reason, "", "lost-more", "true or false");
        numbers->has_unknown_loss = json_object_get_boolean(lost_more);
        r = r ?: read_scope(object, answer, reason);
        for (TopViewId id = 0; r == 0 && id < _TOP_VIEW_N; id++)
                r = read_rows(id, object, numbers, reason);
        return r;
}

/* The object has the scheduler's times of all threads or of none. */
static bool has_scheduler(json_object *object) {
        json_object *first = json_object_array_get_idx(
                        json_object_object_get(object, top_view_get(TOP_VIEW_THREADS)->key), 0);

        return json_object_object_get(first, "running-nsec");
}

int top_answer_read(const char *text, size_t size, TopAnswer *ret, Reason *reason) {
        _cleanup_json_ json_object *object = NULL;
        TopAnswer answer = {};
        int r = json_parse_strict(SOURCE, text, size, &object, reason);

        if (r != 0)
                return r;
        if (!json_object_is_type(object, json_type_object))
                return reason_set(reason, KT_E_INVALID_SPEC, SOURCE ": expected an object");
        r = read_members(object, &answer, reason);
        if (r != 0) {
                top_numbers_clear(&answer.numbers);
                return r;
        }
        answer.numbers.has_scheduler = has_scheduler(object);
        *ret = answer;
        return 0;
}
