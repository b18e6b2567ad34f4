/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/json.h"
#include "policy/filter.h"

/* A filter on its way through filter_compile(): words, then a tree of them, then its types. */

typedef enum FilterOperator {
        OPERATOR_EQUAL,
        OPERATOR_NOT_EQUAL,
        OPERATOR_LESS,
        OPERATOR_LESS_EQUAL,
        OPERATOR_GREATER,
        OPERATOR_GREATER_EQUAL,
        OPERATOR_MASK,
        OPERATOR_GLOB,
        _OPERATOR_N,
} FilterOperator;

typedef enum FilterTokenType {
        TOKEN_END,
        TOKEN_WORD,   /* a field, true, the name of a function */
        TOKEN_NUMBER, /* starts with a digit or a minus; whether it is one is judged with its field
                       */
        TOKEN_STRING, /* without its quotes */
        TOKEN_CPUS,   /* what stands between the braces of CPUS{…} */
        TOKEN_OPERATOR,
        TOKEN_AND,
        TOKEN_OR,
        TOKEN_NOT,
        TOKEN_OPEN,
        TOKEN_CLOSE,
} FilterTokenType;

typedef struct FilterToken {
        FilterTokenType type;
        FilterOperator op;
        const char *p; /* in the text */
        size_t size;
} FilterToken;

typedef enum FilterNodeType {
        NODE_PREDICATE,
        NODE_AND,
        NODE_OR,
} FilterNodeType;

typedef enum FilterValueType {
        VALUE_SIGNED,
        VALUE_UNSIGNED,
        VALUE_MASK,
        VALUE_STRING,
        VALUE_CPUS,
        VALUE_FUNCTION,
} FilterValueType;

typedef struct FilterNode {
        FilterNodeType type;
        bool negated;
        struct FilterNode *first; /* of those that NODE_AND and NODE_OR join: two at least */
        struct FilterNode *next;  /* of the same parent */

        /* A predicate as it was written. */
        FilterToken field, op, value;
        /* And as it was understood, by filter_check(). */
        const char *name, *suffix;
        FilterValueType value_type;
        uint64_t number; /* two's complement when signed */
        const char *string;
        size_t string_size;
} FilterNode;

typedef struct FilterTree {
        const FilterContext *context;
        Reason *reason;
        const char *text, *next; /* what the lexer has not seen yet */
        FilterToken token;       /* in hand */
        FilterNode nodes[2 * FILTER_PREDICATES_MAX];
        size_t n_nodes, n_predicates, depth;
        FilterNode *root;
} FilterTree;
