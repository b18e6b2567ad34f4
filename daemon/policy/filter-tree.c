/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Refuses a filter at a place in its text. Called by all who read, check or print the tree of a
 * filter (filter*.c). Owns nothing. */

#include "policy/filter-tree.h"

#include <stdarg.h>
#include <stdio.h>

#include "interfaces/utf8.h"

int filter_refuse(const FilterTree *tree, int code, const char *at, const char *format, ...) {
        Reason inner;
        va_list args;

        va_start(args, format);
        (void)vsnprintf(inner.text, sizeof(inner.text), format, args);
        va_end(args);
        return reason_set(tree->reason,
                        code,
                        "%s%s%s column %zu: %s",
                        tree->context->event ?: "",
                        tree->context->event ? ": " : "",
                        tree->context->key ?: "filter",
                        utf8_get_column(tree->text, at),
                        inner.text);
}
