/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Builds the tree of a filter, by recursive descent:
 *
 *   either    = all { "||" all }
 *   all       = one { "&&" one }
 *   one       = { "!" } ( "(" either ")" | FIELD OPERATOR VALUE )
 *
 * As in the kernel, && binds tighter than ||, and ! binds tightest: to the next comparison or
 * parenthesis. Nodes are taken from an array of fixed size, and a ! is a flag of the node that
 * follows it, so that a caller's text costs no memory and stack beyond FILTER_PREDICATES_MAX and
 * FILTER_DEPTH_MAX. Fields and values are not checked here: filter-check.c does that. */

#include "policy/filter-parse.h"

#include <string.h>

#include "policy/filter-lex.h"
#include "policy/filter-tree.h"
#include "policy/filter.h"

static int parse_either(FilterTree *tree, FilterNode **ret);

static FilterNode *filter_parse_add_node(FilterTree *tree, FilterNodeType type) {
        FilterNode *node = &tree->nodes[tree->n_nodes++];

        *node = (FilterNode){ .type = type };
        return node;
}

static int filter_parse_refuse_here(const FilterTree *tree, const char *wanted) {
        const FilterToken *token = &tree->token;
        /* A string token does not include its quote. */
        const char *at = token->type == TOKEN_STRING ? token->p - 1 : token->p;

        if (token->type == TOKEN_END)
                return filter_refuse(
                                tree, KT_E_INVALID_SPEC, at, "expected %s, got the end", wanted);
        return filter_refuse(tree,
                        KT_E_INVALID_SPEC,
                        at,
                        "expected %s, got '%.*s'",
                        wanted,
                        (int)MIN_OF(token->size, (size_t)32),
                        token->p);
}

static bool is_value(const FilterTree *tree) {
        return tree->token.type == TOKEN_NUMBER || tree->token.type == TOKEN_STRING ||
               tree->token.type == TOKEN_CPUS || tree->token.type == TOKEN_WORD;
}

static int parse_predicate(FilterTree *tree, FilterNode **ret) {
        FilterNode *node;
        int r;

        if (tree->token.type != TOKEN_WORD)
                return filter_parse_refuse_here(tree, "a field");
        if (tree->n_predicates == FILTER_PREDICATES_MAX)
                return filter_refuse(tree,
                                KT_E_INVALID_SPEC,
                                tree->token.p,
                                "more than %d comparisons",
                                FILTER_PREDICATES_MAX);
        tree->n_predicates++;
        node = filter_parse_add_node(tree, NODE_PREDICATE);
        node->field = tree->token;
        r = filter_lex(tree);
        if (r == 0 && tree->token.type != TOKEN_OPERATOR)
                r = filter_parse_refuse_here(tree, "one of == != < <= > >= & ~");
        node->op = tree->token;
        if (r == 0)
                r = filter_lex(tree);
        if (r == 0 && !is_value(tree))
                r = filter_parse_refuse_here(tree, "a value");
        node->value = tree->token;
        if (r == 0)
                r = filter_lex(tree);
        *ret = node;
        return r;
}

static int filter_parse_parenthesis(FilterTree *tree, FilterNode **ret) {
        const char *open = tree->token.p;
        int r;

        if (tree->depth == FILTER_DEPTH_MAX)
                return filter_refuse(tree,
                                KT_E_INVALID_SPEC,
                                open,
                                "more than %d nested parentheses",
                                FILTER_DEPTH_MAX);
        tree->depth++;
        r = filter_lex(tree);
        if (r == 0)
                r = parse_either(tree, ret);
        if (r != 0)
                return r;
        if (tree->token.type == TOKEN_END)
                return filter_refuse(tree, KT_E_INVALID_SPEC, open, "this ( has no )");
        if (tree->token.type != TOKEN_CLOSE)
                return filter_parse_refuse_here(tree, "&&, || or )");
        tree->depth--;
        return filter_lex(tree);
}

static int filter_parse_one(FilterTree *tree, FilterNode **ret) {
        bool negated = false;
        int r = 0;

        while (r == 0 && tree->token.type == TOKEN_NOT) {
                negated = !negated;
                r = filter_lex(tree);
        }
        if (r != 0)
                return r;
        r = tree->token.type == TOKEN_OPEN ? filter_parse_parenthesis(tree, ret)
                                           : parse_predicate(tree, ret);
        if (r == 0)
                (*ret)->negated ^= negated;
        return r;
}

/* Parses one or more items with `parse`; several items become the children of a node of this
 * type. */
static int parse_list(FilterTree *tree,
                FilterTokenType separator,
                FilterNodeType type,
                int (*parse)(FilterTree *tree, FilterNode **ret),
                FilterNode **ret) {
        FilterNode *first = NULL, *last, *parent;
        int r = parse(tree, &first);

        if (r != 0 || tree->token.type != separator) {
                *ret = first;
                return r;
        }
        parent = filter_parse_add_node(tree, type);
        parent->first = last = first;
        while (r == 0 && tree->token.type == separator) {
                r = filter_lex(tree);
                if (r == 0)
                        r = parse(tree, &last->next);
                if (r == 0)
                        last = last->next;
        }
        *ret = parent;
        return r;
}

static int parse_all(FilterTree *tree, FilterNode **ret) {
        return parse_list(tree, TOKEN_AND, NODE_AND, filter_parse_one, ret);
}

static int parse_either(FilterTree *tree, FilterNode **ret) {
        return parse_list(tree, TOKEN_OR, NODE_OR, parse_all, ret);
}

int filter_parse(FilterTree *tree) {
        int r = filter_lex(tree);

        if (r == 0)
                r = parse_either(tree, &tree->root);
        if (r != 0)
                return r;
        if (tree->token.type == TOKEN_CLOSE)
                return filter_refuse(tree, KT_E_INVALID_SPEC, tree->token.p, "this ) has no (");
        if (tree->token.type != TOKEN_END)
                return filter_parse_refuse_here(tree, "&& or ||");
        return 0;
}
