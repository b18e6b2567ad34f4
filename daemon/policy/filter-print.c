/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints a checked tree as text for the kernel. Called by filter_compile(). Parentheses are printed
 * only where && and || meet and after each !, so that the reader does not need to know the
 * precedence.
 *
 * It relies on these behaviours of the kernel:
 * - a ! is recognised only if no blank follows;
 * - a string ends at the next quote of its kind, and may contain the other kind;
 * - the name of a function ends at a blank, not at a parenthesis, so such a comparison gets
 *   parentheses of its own;
 * - a number for a signed field is parsed as signed, in any base. */

#include "policy/filter-print.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "policy/filter-lex.h"
#include "policy/filter-tree.h"
#include "policy/filter.h"

/* The text as far as it fits, and the size of the whole text. */
typedef struct FilterText {
        char text[FILTER_RESULT_MAX];
        size_t size;
} FilterText;

static void print_either(FilterText *out, const FilterNode *node);

static void filter_print_bytes(FilterText *out, const char *bytes, size_t size) {
        size_t used = MIN_OF(out->size, (size_t)FILTER_RESULT_MAX);

        memcpy(out->text + used, bytes, MIN_OF(size, FILTER_RESULT_MAX - used));
        out->size += size;
}

static void filter_print_text(FilterText *out, const char *text) {
        filter_print_bytes(out, text, strlen(text));
}

static void print_number(FilterText *out, const FilterNode *node) {
        char number[32];

        if (node->value_type == VALUE_SIGNED)
                (void)snprintf(number, sizeof(number), "%" PRId64, (int64_t)node->number);
        else if (node->value_type == VALUE_UNSIGNED)
                (void)snprintf(number, sizeof(number), "%" PRIu64, node->number);
        else
                (void)snprintf(number, sizeof(number), "0x%" PRIx64, node->number);
        filter_print_text(out, number);
}

static void print_string(FilterText *out, const FilterNode *node) {
        const char *p = node->string, *end = p + node->string_size;
        const char *quote = memchr(p, '"', node->string_size) ? "'" : "\"";

        filter_print_text(out, quote);
        if (node->escape == ESCAPE_DIGIT) {
                filter_print_text(out, "[");
                filter_print_bytes(out, p++, 1);
                filter_print_text(out, "]");
        } else if (node->escape == ESCAPE_EXCLAMATION)
                filter_print_text(out, "\\");
        else if (node->escape == ESCAPE_STAR) {
                filter_print_bytes(out, p++, 1);
                filter_print_text(out, "\\");
        }
        filter_print_bytes(out, p, (size_t)(end - p));
        filter_print_text(out, quote);
}

static void filter_print_value(FilterText *out, const FilterNode *node) {
        switch (node->value_type) {
        case VALUE_SIGNED:
        case VALUE_UNSIGNED:
        case VALUE_MASK:
                print_number(out, node);
                break;
        case VALUE_STRING:
                print_string(out, node);
                break;
        case VALUE_CPUS:
                filter_print_text(out, "CPUS{");
                filter_print_bytes(out, node->string, node->string_size);
                filter_print_text(out, "}");
                break;
        case VALUE_FUNCTION:
                filter_print_bytes(out, node->string, node->string_size);
                filter_print_text(out, " ");
                break;
        }
}

static void print_predicate(FilterText *out, const FilterNode *node) {
        bool parentheses = node->negated || node->value_type == VALUE_FUNCTION;

        filter_print_text(out, node->negated ? "!" : "");
        filter_print_text(out, parentheses ? "(" : "");
        filter_print_text(out, node->name);
        filter_print_text(out, node->suffix ?: "");
        filter_print_text(out, " ");
        filter_print_text(out, filter_operator_to_string(node->op.op));
        filter_print_text(out, " ");
        filter_print_value(out, node);
        filter_print_text(out, parentheses ? ")" : "");
}

static void print_children(FilterText *out, const FilterNode *parent) {
        for (const FilterNode *node = parent->first; node; node = node->next) {
                bool parentheses = node->type != NODE_PREDICATE && !node->negated &&
                                   node->type != parent->type;

                filter_print_text(out, parentheses ? "(" : "");
                print_either(out, node);
                filter_print_text(out, parentheses ? ")" : "");
                if (node->next)
                        filter_print_text(out, parent->type == NODE_AND ? " && " : " || ");
        }
}

static void print_either(FilterText *out, const FilterNode *node) {
        if (node->type == NODE_PREDICATE) {
                print_predicate(out, node);
                return;
        }
        filter_print_text(out, node->negated ? "!(" : "");
        print_children(out, node);
        filter_print_text(out, node->negated ? ")" : "");
}

int filter_print(FilterTree *tree, char **ret) {
        FilterText out;

        out.size = 0; /* the text is not cleared: a glob prints hundreds of short filters */
        print_either(&out, tree->root);
        if (out.size > FILTER_RESULT_MAX)
                return filter_refuse(tree,
                                KT_E_INVALID_SPEC,
                                tree->text,
                                "it has %zu bytes in the form for the kernel, the maximum is %d",
                                out.size,
                                FILTER_RESULT_MAX);
        char *text = strndup(out.text, out.size);
        if (!text)
                return -ENOMEM;
        *ret = text;
        return 0;
}
