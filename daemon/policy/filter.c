/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Compiles filters of events, from a caller's text to the kernel's text: filter-lex.c reads tokens,
 * filter-parse.c builds a tree, filter-check.c checks the types with the event's format, and
 * filter-print.c prints the result. Called by grant.c for each event of a request. Pure.
 *
 * The grammar is that of kernel/trace/trace_events_filter.c (Documentation/trace/events.rst, "Event
 * filtering"). The kernel never gets a caller's own text, only text that was parsed and printed
 * here: the kernel reacts to an invalid filter by recording everything, and silently misreads other
 * filters: 300 as 44 in a field of one byte, a glob that starts with a digit as a plain string.
 * Checks that exist because of the kernel say so.
 *
 * Compilation takes linear time: the lexer reads each character once, the number of predicates is
 * limited to FILTER_PREDICATES_MAX, and recursion to FILTER_DEPTH_MAX. Only the kernel knows the
 * names of functions and the fields of probes: for these alone it may still refuse the result.
 *
 * A glob compiles the same text for hundreds of events. So the nodes are on the stack, and only
 * used ones are cleared. */

#include "policy/filter.h"

#include <string.h>

#include "policy/filter-check.h"
#include "policy/filter-describe.h"
#include "policy/filter-parse.h"
#include "policy/filter-print.h"
#include "policy/filter-tree.h"

static int filter_parse_text(FilterTree *tree, const char *text) {
        tree->text = tree->next = text;
        if (strnlen(text, FILTER_TEXT_MAX + 1) > FILTER_TEXT_MAX)
                return filter_refuse(tree,
                                KT_E_INVALID_SPEC,
                                text,
                                "it has %zu bytes, the maximum is %d",
                                strlen(text),
                                FILTER_TEXT_MAX);
        return filter_parse(tree);
}

int filter_compile(const FilterContext *context, const char *text, char **ret, Reason *reason) {
        FilterNode nodes[FILTER_NODES_MAX];
        FilterTree tree = { .context = context, .reason = reason, .nodes = nodes };

        int r = filter_parse_text(&tree, text);
        if (r == 0)
                r = filter_check(&tree);
        if (r == 0)
                r = filter_print(&tree, ret);
        return r;
}

int filter_describe(const FilterContext *context,
                const char *compiled,
                json_object **ret,
                Reason *reason) {
        FilterNode nodes[FILTER_NODES_MAX];
        FilterTree tree = {
                .context = context,
                .reason = reason,
                .text = compiled, /* longer than what a caller may write */
                .next = compiled,
                .nodes = nodes,
        };

        int r = filter_parse(&tree);
        r = r ?: filter_check(&tree);
        return r ?: filter_describe_tree(&tree, ret);
}

int filter_check_grammar(const char *text, Reason *reason) {
        const FilterContext context = {};
        FilterNode nodes[FILTER_NODES_MAX];
        FilterTree tree = { .context = &context, .reason = reason, .nodes = nodes };

        return filter_parse_text(&tree, text);
}
