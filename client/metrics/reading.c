/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Takes the numbers out of answers of ktraced: the table of a histogram, and its status. Called by
 * set-run.c. The forms are those of org.ktrace1(5). Each type is checked: another daemon than
 * expected must not crash the service, which other sets need. */

#include "metrics/reading.h"

#include <errno.h>
#include <string.h>

#include "interfaces/json.h"
#include "interfaces/quote.h"

static int reading_refuse(Reason *reason, const char *key, const char *expected) {
        return reason_set(reason,
                        KT_E_FAILED,
                        "unexpected answer of ktraced: %s: expected %s",
                        quote(key).text,
                        expected);
}

static json_object *reading_get(json_object *object, const char *key) {
        json_object *value = NULL;

        if (json_object_is_type(object, json_type_object))
                (void)json_object_object_get_ex(object, key, &value);
        return value;
}

static int reading_get_number(json_object *object,
                const char *key,
                DecodeKey *ret,
                Reason *reason) {
        json_object *value = reading_get(object, key);

        if (!json_object_is_type(value, json_type_int))
                return reading_refuse(reason, key, "a number");
        int64_t number = json_object_get_int64(value);
        *ret = (DecodeKey){
                .number = number < 0 ? (uint64_t)number : json_object_get_uint64(value),
                .is_negative = number < 0,
        };
        return 0;
}

/* A count. A negative number is a sum of negative values: nothing is added. */
static int reading_get_count(json_object *object, const char *key, uint64_t *ret, Reason *reason) {
        DecodeKey number;

        int r = reading_get_number(object, key, &number, reason);
        if (r == 0)
                *ret = number.is_negative ? 0 : number.number;
        return r;
}

/* A count that may be missing. */
static int reading_find_count(json_object *object, const char *key, uint64_t *ret, Reason *reason) {
        return reading_get(object, key) ? reading_get_count(object, key, ret, reason) : 0;
}

static int reading_take_head(json_object *head, Reading *ret, Reason *reason) {
        json_object *by = reading_get(head, "counted-by");

        int r = reading_get_count(head, "entries", &ret->entries, reason);
        r = r ?: reading_get_count(head, "dropped", &ret->dropped, reason);
        r = r ?: reading_find_count(head, "lost", &ret->lost, reason);
        ret->is_of_consumer = json_object_is_type(by, json_type_string) &&
                              strcmp(json_object_get_string(by), "consumer") == 0;
        return r;
}

static int reading_take_key(json_object *keys,
                const SetLabel *label,
                DecodeKey *ret,
                Reason *reason) {
        const char *field = set_get_field(label->field);

        if (label->decoder != DECODER_COMM)
                return reading_get_number(keys, field, ret, reason);
        json_object *task = reading_get(keys, field), *comm = reading_get(task, "comm");
        int r = reading_get_number(task, "pid", ret, reason);
        if (r == 0 && !json_object_is_type(comm, json_type_string))
                r = reading_refuse(reason, "comm", "a text");
        if (r == 0)
                ret->comm = json_object_get_string(comm);
        return r;
}

static int reading_take_row(json_object *row,
                const SetMetric *metric,
                Totals *totals,
                Reason *reason) {
        json_object *keys = reading_get(row, "keys");
        TotalsRow taken = {};

        int r = reading_get_count(row, "hitcount", &taken.count, reason);
        if (r == 0 && metric->value)
                r = reading_get_count(reading_get(row, "values"),
                                set_get_field(metric->value),
                                &taken.sum,
                                reason);
        if (r == 0 && metric->type == METRIC_HISTOGRAM)
                r = reading_get_count(reading_get(keys, set_get_field(metric->value)),
                                "to",
                                &taken.last,
                                reason);
        for (size_t i = 0; r == 0 && i < metric->n_labels; i++)
                r = reading_take_key(keys, &metric->labels[i], &taken.keys[i], reason);
        r = r ?: totals_add(totals, &taken);
        if (r == -E2BIG)
                return reason_set(reason,
                                KT_E_FAILED,
                                "unexpected answer of ktraced: expected at most %d rows",
                                SET_ROWS_MAX);
        return r;
}

int reading_take(const char *answer,
                const SetMetric *metric,
                Totals *totals,
                Reading *ret,
                Reason *reason) {
        _cleanup_json_ json_object *rows = NULL;
        Reading reading = {};

        int r = json_parse_strict("answer", answer, strlen(answer), &rows, reason);
        if (r == 0 && (!json_object_is_type(rows, json_type_array) ||
                                      json_object_array_length(rows) == 0))
                r = reading_refuse(reason, "rows", "a list");
        r = r ?: reading_take_head(json_object_array_get_idx(rows, 0), &reading, reason);
        for (size_t i = 1; r == 0 && i < json_object_array_length(rows); i++)
                r = reading_take_row(json_object_array_get_idx(rows, i), metric, totals, reason);
        if (r == 0)
                *ret = reading;
        return r;
}

int reading_find_status(const char *answer, const char *key, uint64_t *ret, Reason *reason) {
        _cleanup_json_ json_object *object = NULL;

        int r = json_parse_strict("answer", answer, strlen(answer), &object, reason);
        if (r != 0)
                return r;
        json_object *status = reading_get(object, "status");
        const char *dot = strchr(key, '.');
        if (dot) {
                _cleanup_free_ char *first = strndup(key, (size_t)(dot - key));

                if (!first)
                        return -ENOMEM;
                status = reading_get(status, first);
        }
        return reading_get_count(status, dot ? dot + 1 : key, ret, reason);
}
