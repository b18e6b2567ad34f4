/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <traceevent/event-parse.h>

typedef enum ExpressionKind {
        EXPRESSION_NUMBER,          /* push number */
        EXPRESSION_FIELD,           /* push the field of size bytes at offset */
        EXPRESSION_LENGTH,          /* push the length in the __data_loc word at offset */
        EXPRESSION_ELEMENT,         /* replace an index by that element of the array at offset */
        EXPRESSION_DYNAMIC_ELEMENT, /* the same; a __data_loc word at offset says where it is */
        EXPRESSION_MASK,            /* keep the bits of number */
        EXPRESSION_NOT,
        EXPRESSION_COMPLEMENT,
        EXPRESSION_OR, /* binary operations replace two numbers by one */
        EXPRESSION_AND,
        EXPRESSION_BIT_OR,
        EXPRESSION_BIT_AND,
        EXPRESSION_EQUAL,
        EXPRESSION_UNEQUAL,
        EXPRESSION_LESS,
        EXPRESSION_LESS_EQUAL,
        EXPRESSION_GREATER,
        EXPRESSION_GREATER_EQUAL,
        EXPRESSION_SHIFT_LEFT,
        EXPRESSION_SHIFT_RIGHT,
        EXPRESSION_ADD,
        EXPRESSION_SUBTRACT,
        EXPRESSION_MULTIPLY,
        EXPRESSION_DIVIDE,
        EXPRESSION_REMAINDER,
        EXPRESSION_JUMP_IF_ZERO, /* pop; if zero, go to step `number` */
        EXPRESSION_JUMP,
} ExpressionKind;

typedef struct ExpressionStep {
        ExpressionKind kind;
        uint32_t offset;
        uint32_t size;
        bool is_relative; /* the place in the __data_loc word counts from the word's end */
        uint64_t number;
} ExpressionStep;

/* A number that is computed from a record, as steps of a stack machine. */
typedef struct Expression {
        ExpressionStep *steps;
        size_t n_steps;
} Expression;

/* Returns 0, -ENOMEM, or -EOPNOTSUPP if libtraceevent's tree has something that this does not
 * compute. */
int expression_compile(struct tep_event *event, struct tep_print_arg *arg, Expression *ret);
void expression_clear(Expression *expression);
/* Unsigned, with wrap-around. What lies beyond the record is 0. */
uint64_t expression_evaluate(const Expression *expression, const uint8_t *data, uint32_t size);
