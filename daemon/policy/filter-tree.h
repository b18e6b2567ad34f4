/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/json.h"
#include "policy/filter.h"

/* A filter during filter_compile(): tokens, then their tree, then its types. */

/* Each && and || of a tree joins at least two predicates. */
#define FILTER_NODES_MAX (2 * FILTER_PREDICATES_MAX)

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
        TOKEN_NUMBER, /* starts with a digit or a minus; validated when its field is known */
        TOKEN_STRING, /* without its quotes */
        TOKEN_CPUS,   /* the text between the braces of CPUS{…} */
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

/* What printing adds to a glob, so that the kernel does not misread it. */
typedef enum FilterEscape {
        ESCAPE_NONE,
        ESCAPE_DIGIT,       /* brackets around a digit in front */
        ESCAPE_EXCLAMATION, /* a backslash before a ! in front */
        ESCAPE_STAR,        /* a backslash after a * in front */
} FilterEscape;

typedef struct FilterNode {
        FilterNodeType type;
        bool negated;
        struct FilterNode *first; /* first child of NODE_AND and NODE_OR: at least two */
        struct FilterNode *next;  /* of the same parent */

        /* A predicate as the caller wrote it. */
        FilterToken field, op, value;
        /* The result of filter_check(). */
        const char *name, *suffix;
        FilterValueType value_type;
        uint64_t number; /* two's complement when signed */
        const char *string;
        size_t string_size;
        FilterEscape escape;
} FilterNode;

typedef struct FilterTree {
        const FilterContext *context;
        Reason *reason;
        const char *text, *next; /* `next`: the text that the lexer has not read yet */
        FilterToken token;       /* the current token */
        FilterNode *nodes;       /* room for FILTER_NODES_MAX, not cleared */
        size_t n_nodes, n_predicates, depth;
        FilterNode *root;
} FilterTree;

/* Fills the reason with the position `at` in the text and returns code. */
int filter_refuse(const FilterTree *tree, int code, const char *at, const char *format, ...)
                _printf_(4, 5);
