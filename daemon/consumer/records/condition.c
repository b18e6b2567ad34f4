/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Evaluates a filter for one record, where the kernel cannot. The kernel records an event only
 * once. If several readers of one instance need different records of it, the kernel records all
 * that any of them needs, and this module separates them: the stream and the histograms of a
 * session (counts.c), and the viewers of a shared instance (mux/extract.c). It compares values as
 * kernel/trace/trace_events_filter.c does.
 *
 * A condition is a tree. policy/filter-parse.c limits its depth, so the recursion is bounded. */

#include "consumer/records/condition.h"

#include <errno.h>
#include <string.h>

#include "consumer/records/condition-glob.h"
#include "consumer/records/count-field.h"

#define DEPTH_MAX 64

typedef enum ConditionKind {
        CONDITION_AND,
        CONDITION_OR,
        CONDITION_NUMBER,
        CONDITION_TEXT,
} ConditionKind;

typedef enum Comparison {
        COMPARISON_EQUAL,
        COMPARISON_LESS,
        COMPARISON_LESS_EQUAL,
        COMPARISON_GREATER,
        COMPARISON_GREATER_EQUAL,
        COMPARISON_MASK,
        COMPARISON_GLOB,
        _COMPARISON_N,
} Comparison;

static const char *const comparison_names[_COMPARISON_N] = {
        [COMPARISON_EQUAL] = "==",
        [COMPARISON_LESS] = "<",
        [COMPARISON_LESS_EQUAL] = "<=",
        [COMPARISON_GREATER] = ">",
        [COMPARISON_GREATER_EQUAL] = ">=",
        [COMPARISON_MASK] = "&",
        [COMPARISON_GLOB] = "~",
};

struct Condition {
        ConditionKind kind;
        bool is_negated;
        Condition *parts; /* for CONDITION_AND and CONDITION_OR */
        size_t n_parts;
        CountField field;
        Comparison comparison;
        uint64_t number;
        char *text;
        size_t least_size; /* of a record with all fields; only in the root */
};

static void clear(Condition *condition) {
        for (size_t i = 0; i < condition->n_parts; i++)
                clear(&condition->parts[i]);
        free(condition->parts);
        free(condition->text);
}

Condition *condition_free(Condition *condition) {
        if (!condition)
                return NULL;
        clear(condition);
        free(condition);
        return NULL;
}

static int condition_parse(json_object *object,
                const Format *format,
                unsigned depth,
                Condition *ret);

static int parse_parts(json_object *list, const Format *format, unsigned depth, Condition *ret) {
        size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
        int r = 0;

        if (n == 0 || depth == DEPTH_MAX)
                return -EBADMSG;
        ret->parts = calloc(n, sizeof(*ret->parts));
        if (!ret->parts)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < n; i++) {
                ret->n_parts++;
                r = condition_parse(json_object_array_get_idx(list, i),
                                format,
                                depth + 1,
                                &ret->parts[i]);
        }
        return r;
}

static int condition_parse_value(json_object *object, Condition *ret) {
        json_object *value;

        if (json_object_object_get_ex(object, "number", &value)) {
                ret->kind = CONDITION_NUMBER;
                ret->number = ret->field.is_signed ? (uint64_t)json_object_get_int64(value)
                                                   : json_object_get_uint64(value);
                return ret->comparison == COMPARISON_GLOB ? -EBADMSG : 0;
        }
        if (!json_object_object_get_ex(object, "text", &value))
                return -EBADMSG;
        ret->kind = CONDITION_TEXT;
        ret->text = strdup(json_object_get_string(value));
        if (!ret->text)
                return -ENOMEM;
        return ret->comparison == COMPARISON_EQUAL || ret->comparison == COMPARISON_GLOB ? 0
                                                                                         : -EBADMSG;
}

static int parse_comparison(json_object *object, const Format *format, Condition *ret) {
        json_object *field, *op;

        if (!json_object_object_get_ex(object, "field", &field) ||
                        !json_object_object_get_ex(object, "op", &op))
                return -EBADMSG;
        ret->comparison = _COMPARISON_N;
        for (Comparison c = 0; c < _COMPARISON_N; c++)
                if (strcmp(comparison_names[c], json_object_get_string(op)) == 0)
                        ret->comparison = c;
        if (ret->comparison == _COMPARISON_N ||
                        count_field_find(format, json_object_get_string(field), &ret->field) < 0)
                return -EBADMSG;
        return condition_parse_value(object, ret);
}

static int condition_parse(json_object *object,
                const Format *format,
                unsigned depth,
                Condition *ret) {
        json_object *value;

        if (!json_object_is_type(object, json_type_object))
                return -EBADMSG;
        if (json_object_object_get_ex(object, "not", &value))
                ret->is_negated = json_object_get_boolean(value);
        if (json_object_object_get_ex(object, "and", &value)) {
                ret->kind = CONDITION_AND;
                return parse_parts(value, format, depth, ret);
        }
        if (json_object_object_get_ex(object, "or", &value)) {
                ret->kind = CONDITION_OR;
                return parse_parts(value, format, depth, ret);
        }
        return parse_comparison(object, format, ret);
}

static size_t condition_find_size(const Condition *condition) {
        size_t size = (size_t)condition->field.offset + condition->field.size;

        for (size_t i = 0; i < condition->n_parts; i++)
                size = MAX_OF(size, condition_find_size(&condition->parts[i]));
        return size;
}

int condition_new(json_object *object, const Format *format, Condition **ret) {
        _cleanup_(condition_free_cleanup) Condition *condition = calloc(1, sizeof(*condition));

        if (!condition)
                return -ENOMEM;
        int r = condition_parse(object, format, 0, condition);
        if (r < 0)
                return r;
        condition->least_size = condition_find_size(condition);
        *ret = TAKE_PTR(condition);
        return 0;
}

static bool condition_compare_numbers(const Condition *c, uint64_t number) {
        bool is_signed = c->field.is_signed;
        bool is_less = is_signed ? (int64_t)number < (int64_t)c->number : number < c->number;

        switch (c->comparison) {
        case COMPARISON_EQUAL:
                return number == c->number;
        case COMPARISON_LESS:
                return is_less;
        case COMPARISON_LESS_EQUAL:
                return is_less || number == c->number;
        case COMPARISON_GREATER:
                return !is_less && number != c->number;
        case COMPARISON_GREATER_EQUAL:
                return !is_less;
        case COMPARISON_MASK:
                return number & c->number;
        case COMPARISON_GLOB:
        case _COMPARISON_N:
                break;
        }
        return false;
}

static bool compare_text(const Condition *c, const uint8_t *record, size_t size) {
        size_t n;

        const char *text = count_field_find_text(&c->field, record, size, &n);
        if (c->comparison == COMPARISON_GLOB)
                return condition_glob_match(c->text, text, n);
        return n == strlen(c->text) && memcmp(text, c->text, n) == 0;
}

static bool condition_evaluate(const Condition *condition,
                const uint8_t *record,
                size_t size,
                unsigned cpu);

static bool evaluate_parts(const Condition *condition,
                const uint8_t *record,
                size_t size,
                unsigned cpu) {
        bool is_and = condition->kind == CONDITION_AND;

        for (size_t i = 0; i < condition->n_parts; i++)
                if (condition_evaluate(&condition->parts[i], record, size, cpu) != is_and)
                        return !is_and;
        return is_and;
}

/* Most conditions compare one number: this function must not cost more than that. */
static inline bool condition_evaluate(const Condition *condition,
                const uint8_t *record,
                size_t size,
                unsigned cpu) {
        const CountField *field = &condition->field;
        bool holds = false;

        switch (condition->kind) {
        case CONDITION_AND:
        case CONDITION_OR:
                holds = evaluate_parts(condition, record, size, cpu);
                break;
        case CONDITION_NUMBER:
                holds = condition_compare_numbers(condition,
                                field->is_cpu ? cpu : count_field_read_number(field, record, size));
                break;
        case CONDITION_TEXT:
                holds = compare_text(condition, record, size);
                break;
        }
        return holds != condition->is_negated;
}

bool condition_holds(const Condition *condition, const uint8_t *record, size_t size, unsigned cpu) {
        if (!condition)
                return true;
        return size >= condition->least_size && condition_evaluate(condition, record, size, cpu);
}
