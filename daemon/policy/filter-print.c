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

static void print_either(FILE *out, const FilterNode *node);

static void print_string(FILE *out, const FilterNode *node) {
        const char *p = node->string, *end = p + node->string_size;
        char quote = memchr(p, '"', node->string_size) ? '\'' : '"';

        fputc(quote, out);
        if (node->op.op == OPERATOR_GLOB && p < end && *p >= '0' && *p <= '9')
                fprintf(out, "[%c]", *p++);
        if (node->op.op == OPERATOR_GLOB && p < end && *p == '!')
                fputc('\\', out);
        fwrite(p, 1, (size_t)(end - p), out);
        fputc(quote, out);
}

static void filter_print_value(FILE *out, const FilterNode *node) {
        switch (node->value_type) {
        case VALUE_SIGNED:
                fprintf(out, "%" PRId64, (int64_t)node->number);
                break;
        case VALUE_UNSIGNED:
                fprintf(out, "%" PRIu64, node->number);
                break;
        case VALUE_MASK:
                fprintf(out, "0x%" PRIx64, node->number);
                break;
        case VALUE_STRING:
                print_string(out, node);
                break;
        case VALUE_CPUS:
                fprintf(out, "CPUS{%.*s}", (int)node->string_size, node->string);
                break;
        case VALUE_FUNCTION:
                fprintf(out, "%.*s ", (int)node->string_size, node->string);
                break;
        }
}

static void print_predicate(FILE *out, const FilterNode *node) {
        bool parentheses = node->negated || node->value_type == VALUE_FUNCTION;

        fprintf(out,
                        "%s%s%s%s %s ",
                        node->negated ? "!" : "",
                        parentheses ? "(" : "",
                        node->name,
                        node->suffix ?: "",
                        filter_operator_to_string(node->op.op));
        filter_print_value(out, node);
        fputs(parentheses ? ")" : "", out);
}

static void print_children(FILE *out, const FilterNode *parent) {
        for (const FilterNode *node = parent->first; node; node = node->next) {
                bool parentheses = node->type != NODE_PREDICATE && !node->negated &&
                                   node->type != parent->type;

                fputs(parentheses ? "(" : "", out);
                print_either(out, node);
                fputs(parentheses ? ")" : "", out);
                if (node->next)
                        fputs(parent->type == NODE_AND ? " && " : " || ", out);
        }
}

static void print_either(FILE *out, const FilterNode *node) {
        if (node->type == NODE_PREDICATE) {
                print_predicate(out, node);
                return;
        }
        fputs(node->negated ? "!(" : "", out);
        print_children(out, node);
        fputs(node->negated ? ")" : "", out);
}

int filter_print(FilterTree *tree, char **ret) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        bool failed;

        if (!out)
                return -ENOMEM;
        print_either(out, tree->root);
        failed = ferror(out);
        if (fclose(out) != 0 || failed)
                return -ENOMEM;
        if (size > FILTER_RESULT_MAX)
                return filter_refuse(tree,
                                KT_E_INVALID_SPEC,
                                tree->text,
                                "it has %zu bytes in the form for the kernel, the maximum is %d",
                                size,
                                FILTER_RESULT_MAX);
        *ret = TAKE_PTR(text);
        return 0;
}
