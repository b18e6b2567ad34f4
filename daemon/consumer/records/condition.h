/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <string.h>

#include "consumer/records/count-field.h"
#include "interfaces/format.h"
#include "interfaces/json.h"

typedef enum ConditionTestKind {
        CONDITION_RANGE,
        CONDITION_MASK,
        CONDITION_TEXT,
        CONDITION_GLOB,
} ConditionTestKind;

typedef struct ConditionTest {
        ConditionTestKind kind;
        uint32_t next[2]; /* the test that follows if this one does not hold, and if it does */
        CountField field;
        uint64_t first, span; /* CONDITION_RANGE: the numbers from first to first + span */
        uint64_t mask;        /* CONDITION_MASK */
        char *text;
} ConditionTest;

/* The condition for counting a record: a filter, as the daemon describes it (filter-describe.c).
 * After the last test n_tests means that the condition holds, n_tests + 1 that it does not. */
typedef struct Condition {
        ConditionTest *tests;
        uint32_t n_tests;
        size_t least_size; /* of a record with all fields */
} Condition;

/* Fails with -EBADMSG when the object does not have the form that the daemon writes. */
int condition_new(json_object *object, const Format *format, Condition **ret);
Condition *condition_free(Condition *condition);
DEFINE_CLEANUP(Condition, condition_free);
bool condition_test_match_text(const ConditionTest *test, const uint8_t *record, size_t size);

/* The record has the whole field. Most fields have one of two sizes. */
static inline uint64_t condition_test_read_number(const CountField *field,
                const uint8_t *record,
                size_t size,
                unsigned cpu) {
        uint64_t number;
        int32_t word;

        switch (field->size) {
        case sizeof(number):
                memcpy(&number, record + field->offset, sizeof(number));
                return number;
        case sizeof(word):
                memcpy(&word, record + field->offset, sizeof(word));
                return field->is_signed ? (uint64_t)word : (uint32_t)word;
        default:
                return field->is_cpu ? cpu : count_field_read_number(field, record, size);
        }
}

static inline bool condition_test_holds(const ConditionTest *test,
                const uint8_t *record,
                size_t size,
                unsigned cpu) {
        if (__builtin_expect(test->kind == CONDITION_RANGE, 1))
                return condition_test_read_number(&test->field, record, size, cpu) - test->first <=
                       test->span;
        if (test->kind == CONDITION_MASK)
                return condition_test_read_number(&test->field, record, size, cpu) & test->mask;
        return condition_test_match_text(test, record, size);
}

/* Continues with a test that is not the first one. */
bool condition_continue(const Condition *condition,
                uint32_t i,
                const uint8_t *record,
                size_t size,
                unsigned cpu);

/* condition: NULL holds for every record. A record that is too short for the fields never passes
 * any other condition. cpu: of the record's ring. Most conditions have one test. */
static inline bool condition_holds(const Condition *condition,
                const uint8_t *record,
                size_t size,
                unsigned cpu) {
        if (!condition)
                return true;
        if (size < condition->least_size)
                return false;
        const ConditionTest *test = condition->tests;
        uint32_t next = test->next[condition_test_holds(test, record, size, cpu)];
        return next < condition->n_tests ? condition_continue(condition, next, record, size, cpu)
                                         : next == condition->n_tests;
}
