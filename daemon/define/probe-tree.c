/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Refuses an argument of a definition at a place in its text. Called by all who read, evaluate or
 * print the tree of an argument. Owns nothing. */

#include "define/probe-tree.h"

#include <stdarg.h>
#include <stdio.h>

#include "interfaces/utf8.h"

int probe_refuse(const ProbeTree *tree, const char *at, const char *format, ...) {
        Reason inner;
        va_list args;

        va_start(args, format);
        (void)vsnprintf(inner.text, sizeof(inner.text), format, args);
        va_end(args);
        return reason_set(tree->reason,
                        KT_E_INVALID_SPEC,
                        "%s[%zu] column %zu: %s",
                        tree->list ?: "args",
                        tree->index,
                        utf8_get_column(tree->text, at),
                        inner.text);
}
