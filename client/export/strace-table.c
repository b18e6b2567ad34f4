/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints counts of system calls in the form of `strace -c`. Called by call-printer.c. Times are
 * from entry to exit, as with `strace -w`. Doubtful calls are counted, but their times are not. */

#include "export/strace-table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/cleanup.h"

static int strace_compare_names(const CallRow *a, const CallRow *b) {
        if (a->is_proven != b->is_proven)
                return a->is_proven ? -1 : 1;
        if (a->is_proven)
                return strcmp(a->name, b->name);
        return a->number < b->number ? -1 : a->number > b->number;
}

static uint64_t strace_get_sort_value(const CallRow *row, CallSort sort) {
        switch (sort) {
        case CALL_SORT_TIME:
                return row->nsec.total;
        case CALL_SORT_CALLS:
                return call_row_count(row);
        case CALL_SORT_ERRORS:
                return row->n_errors;
        case CALL_SORT_NOTHING:
                return UINT64_MAX - row->order;
        default:
                return 0;
        }
}

static int strace_compare(const void *first, const void *second, void *userdata) {
        const CallRow *a = *(const CallRow *const *)first, *b = *(const CallRow *const *)second;
        const CallSort *sort = userdata;
        uint64_t x = strace_get_sort_value(a, *sort), y = strace_get_sort_value(b, *sort);

        return x != y ? (x > y ? -1 : 1) : strace_compare_names(a, b);
}

typedef struct StraceLine {
        uint64_t nsec, n_timed, n_calls, n_errors;
} StraceLine;

static void strace_print_line(const StraceLine *line,
                double percent,
                const char *name,
                TextBlock *block) {
        char errors[24] = "";

        if (line->n_errors > 0)
                (void)snprintf(errors, sizeof(errors), "%" PRIu64, line->n_errors);
        text_block_add_format(block,
                        "%6.2f %11.6f %11" PRIu64 " %9" PRIu64 " %9s %s\n",
                        percent,
                        (double)line->nsec / 1e9,
                        line->n_timed > 0 ? line->nsec / line->n_timed / 1000 : 0,
                        line->n_calls,
                        errors,
                        name);
}

static StraceLine strace_make_line(const CallRow *row) {
        return (StraceLine){ row->nsec.total, row->nsec.n, call_row_count(row), row->n_errors };
}

int strace_table_print(const CallTable *table, CallSort sort, TextBlock *block) {
        static const char rule[] =
                        "------ ----------- ----------- --------- --------- ----------------\n";
        StraceLine total = {};
        size_t n = 0;
        _cleanup_free_ CallRow **rows = call_table_sort(table, &n);

        if (!rows)
                return -ENOMEM;
        qsort_r(rows, n, sizeof(*rows), strace_compare, &sort);
        for (size_t i = 0; i < n; i++) {
                StraceLine line = strace_make_line(rows[i]);

                total.nsec += line.nsec;
                total.n_timed += line.n_timed;
                total.n_calls += line.n_calls;
                total.n_errors += line.n_errors;
        }
        text_block_add_format(block,
                        "%% time     seconds  usecs/call     calls    errors syscall\n%s",
                        rule);
        for (size_t i = 0; i < n; i++) {
                StraceLine line = strace_make_line(rows[i]);
                double percent =
                                total.nsec > 0 ? 100.0 * (double)line.nsec / (double)total.nsec : 0;

                strace_print_line(&line, percent, rows[i]->name, block);
        }
        text_block_add(block, rule, strlen(rule));
        strace_print_line(&total, n > 0 ? 100 : 0, "total", block);
        return 0;
}
