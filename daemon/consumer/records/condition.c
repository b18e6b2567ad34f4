/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Evaluates a filter for one record, where the kernel cannot. The kernel records an event only
 * once. If several readers of one instance need different records of it, the kernel records all
 * that any of them needs, and this module separates them: the stream and the histograms of a
 * session (counts.c), and the viewers of a shared instance (mux/extract.c). It compares values as
 * kernel/trace/trace_events_filter.c does.
 *
 * A condition is a list of tests, as the kernel's own filters are. Each test names the test that
 * follows if it holds, and the one that follows if it does not. So evaluation has no recursion, and
 * "and", "or" and "not" cost nothing. All comparisons of numbers except & are one test: whether the
 * number is in a range. */

#include "consumer/records/condition.h"

#include <errno.h>
#include <string.h>

#include "consumer/records/condition-glob.h"
#include "consumer/records/count-field.h"

#define DEPTH_MAX 64

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

/* The list while it is made. */
typedef struct ConditionMaker {
        const Format *format;
        Condition *condition; /* n_tests: those that were added */
        unsigned depth;
} ConditionMaker;

Condition *condition_free(Condition *condition) {
        if (!condition)
                return NULL;
        for (uint32_t i = 0; i < condition->n_tests; i++)
                free(condition->tests[i].text);
        free(condition->tests);
        free(condition);
        return NULL;
}

/* Returns NULL if the object is a comparison. */
static json_object *condition_find_parts(json_object *object, bool *ret_is_and) {
        json_object *parts;

        *ret_is_and = json_object_object_get_ex(object, "and", &parts);
        return *ret_is_and || json_object_object_get_ex(object, "or", &parts) ? parts : NULL;
}

static size_t condition_count_parts(json_object *parts) {
        return json_object_is_type(parts, json_type_array) ? json_object_array_length(parts) : 0;
}

/* Returns the number of tests. */
static uint32_t condition_count_tests(json_object *object) {
        bool is_and;
        json_object *parts = condition_find_parts(object, &is_and);
        uint32_t n = 0;

        if (!parts)
                return 1;
        for (size_t i = 0; i < condition_count_parts(parts); i++)
                n += condition_count_tests(json_object_array_get_idx(parts, i));
        return n;
}

/* first and last are signed if the field is. */
static void condition_test_set_range(ConditionTest *test, uint64_t first, uint64_t last) {
        test->kind = CONDITION_RANGE;
        test->first = first;
        test->span = last - first;
}

/* Every range has a number. So < and > are made as the opposites of >= and <=. */
static int condition_test_set_number(ConditionTest *test, Comparison comparison, uint64_t number) {
        bool is_signed = test->field.is_signed;
        uint64_t least = is_signed ? (uint64_t)INT64_MIN : 0,
                 most = is_signed ? (uint64_t)INT64_MAX : UINT64_MAX;

        switch (comparison) {
        case COMPARISON_EQUAL:
                condition_test_set_range(test, number, number);
                return 0;
        case COMPARISON_LESS:
        case COMPARISON_GREATER_EQUAL:
                condition_test_set_range(test, number, most);
                return 0;
        case COMPARISON_GREATER:
        case COMPARISON_LESS_EQUAL:
                condition_test_set_range(test, least, number);
                return 0;
        case COMPARISON_MASK:
                test->kind = CONDITION_MASK;
                test->mask = number;
                return 0;
        case COMPARISON_GLOB:
        case _COMPARISON_N:
                break;
        }
        return -EBADMSG;
}

static int condition_test_set_text(ConditionTest *test, Comparison comparison, const char *text) {
        if (comparison != COMPARISON_EQUAL && comparison != COMPARISON_GLOB)
                return -EBADMSG;
        test->kind = comparison == COMPARISON_GLOB ? CONDITION_GLOB : CONDITION_TEXT;
        test->text = strdup(text);
        return test->text ? 0 : -ENOMEM;
}

static Comparison condition_find_comparison(json_object *object) {
        const char *op = json_object_get_string(json_object_object_get(object, "op"));
        Comparison c = 0;

        while (c < _COMPARISON_N && strcmp(comparison_names[c], op ?: "") != 0)
                c++;
        return c;
}

static int condition_test_init(ConditionTest *test,
                json_object *object,
                const Format *format,
                bool *ret_is_opposite) {
        const char *field = json_object_get_string(json_object_object_get(object, "field"));
        Comparison comparison = condition_find_comparison(object);
        json_object *value;

        if (!field || count_field_find(format, field, &test->field) < 0)
                return -EBADMSG;
        *ret_is_opposite = comparison == COMPARISON_LESS || comparison == COMPARISON_GREATER;
        if (json_object_object_get_ex(object, "number", &value))
                return condition_test_set_number(test,
                                comparison,
                                test->field.is_signed ? (uint64_t)json_object_get_int64(value)
                                                      : json_object_get_uint64(value));
        if (json_object_object_get_ex(object, "text", &value))
                return condition_test_set_text(test, comparison, json_object_get_string(value));
        return -EBADMSG;
}

static int condition_add_test(ConditionMaker *maker, json_object *object, const uint32_t next[2]) {
        Condition *condition = maker->condition;
        ConditionTest *test = &condition->tests[condition->n_tests];
        bool is_opposite;

        int r = condition_test_init(test, object, maker->format, &is_opposite);
        if (r < 0)
                return r;
        test->next[0] = next[is_opposite];
        test->next[1] = next[!is_opposite];
        condition->least_size = MAX_OF(
                        condition->least_size, (size_t)test->field.offset + test->field.size);
        condition->n_tests++;
        return 0;
}

static int condition_add(ConditionMaker *maker, json_object *object, const uint32_t next[2]);

/* All but the last part end an "and" if they do not hold, and an "or" if they do. Otherwise the
 * next part follows. */
static int condition_add_parts(ConditionMaker *maker,
                json_object *parts,
                bool is_and,
                const uint32_t next[2]) {
        size_t n = condition_count_parts(parts);
        int r = 0;

        if (n == 0 || maker->depth == DEPTH_MAX)
                return -EBADMSG;
        maker->depth++;
        for (size_t i = 0; r == 0 && i < n; i++) {
                json_object *part = json_object_array_get_idx(parts, i);
                uint32_t part_next[2] = { next[0], next[1] };

                if (i + 1 < n)
                        part_next[is_and] = maker->condition->n_tests + condition_count_tests(part);
                r = condition_add(maker, part, part_next);
        }
        maker->depth--;
        return r;
}

/* next: as in ConditionTest. */
static int condition_add(ConditionMaker *maker, json_object *object, const uint32_t next[2]) {
        bool is_and, is_negated = json_object_get_boolean(json_object_object_get(object, "not"));
        const uint32_t own_next[2] = { next[is_negated], next[!is_negated] };

        if (!json_object_is_type(object, json_type_object))
                return -EBADMSG;
        json_object *parts = condition_find_parts(object, &is_and);
        return parts ? condition_add_parts(maker, parts, is_and, own_next)
                     : condition_add_test(maker, object, own_next);
}

int condition_new(json_object *object, const Format *format, Condition **ret) {
        _cleanup_(condition_free_cleanup) Condition *condition = calloc(1, sizeof(*condition));
        ConditionMaker maker = { .format = format, .condition = condition };
        uint32_t n = condition_count_tests(object);
        const uint32_t next[2] = { n + 1, n };

        if (!condition)
                return -ENOMEM;
        condition->tests = calloc(n, sizeof(*condition->tests));
        if (!condition->tests)
                return -ENOMEM;
        int r = condition_add(&maker, object, next);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(condition);
        return 0;
}

bool condition_test_match_text(const ConditionTest *test, const uint8_t *record, size_t size) {
        size_t n;

        const char *text = count_field_find_text(&test->field, record, size, &n);
        if (test->kind == CONDITION_GLOB)
                return condition_glob_match(test->text, text, n);
        return n == strlen(test->text) && memcmp(text, test->text, n) == 0;
}

bool condition_continue(const Condition *condition,
                uint32_t i,
                const uint8_t *record,
                size_t size,
                unsigned cpu) {
        while (i < condition->n_tests) {
                const ConditionTest *test = &condition->tests[i];

                i = test->next[condition_test_holds(test, record, size, cpu)];
        }
        return i == condition->n_tests;
}
