/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Counts calls by name and prints the table of `strace -c`. Called by call-printer.c. Owns a fixed
 * number of rows, because a hostile recording may have any numbers of calls; calls without room are
 * counted together. Times are from entry to exit, as with `strace -w`. Doubtful calls are counted,
 * but their times are not. */

#include "export/call-table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/text-names.h"
#include "interfaces/cleanup.h"

#define ROWS_MAX 2048U
#define PLACES   4096U /* a power of two, larger than ROWS_MAX */

typedef struct CallRow {
        int64_t number;
        const char *name; /* NULL: not proven */
        uint64_t n_calls, n_timed, n_errors, time;
} CallRow;

struct CallTable {
        CallRow rows[ROWS_MAX + 1]; /* the last one is of all further calls */
        size_t n_rows;
        uint16_t places[PLACES]; /* hashed by number: 1 + the row; 0: free */
};

CallTable *call_table_new(void) {
        return calloc(1, sizeof(CallTable));
}

CallTable *call_table_free(CallTable *table) {
        free(table);
        return NULL;
}

static CallRow *call_table_get(CallTable *table, const Call *call) {
        size_t at = ((uint64_t)call->number * UINT64_C(0x9e3779b97f4a7c15) >> 40) % PLACES;

        for (; table->places[at] > 0; at = (at + 1) % PLACES) {
                CallRow *row = &table->rows[table->places[at] - 1];

                if (row->number == call->number && !row->name == !call->name)
                        return row;
        }
        if (table->n_rows == ROWS_MAX)
                return &table->rows[ROWS_MAX];
        table->places[at] = (uint16_t)++table->n_rows;
        table->rows[table->n_rows - 1] = (CallRow){ .number = call->number, .name = call->name };
        return &table->rows[table->n_rows - 1];
}

void call_table_add(CallTable *table, const Call *call) {
        CallRow *row = call_table_get(table, call);

        row->n_calls++;
        row->n_errors += call->end > 0 && call->result < 0 && call->result >= -4095;
        if (call->state == CALL_RETURNED && !call->is_doubtful && call->end >= call->start) {
                row->n_timed++;
                row->time += call->end - call->start;
        }
}

static int call_row_compare_names(const CallRow *a, const CallRow *b) {
        if (a->name && b->name)
                return strcmp(a->name, b->name);
        if (!a->name != !b->name)
                return a->name ? -1 : 1;
        return a->number < b->number ? -1 : a->number > b->number;
}

static int call_row_compare(const void *first, const void *second, void *userdata) {
        const CallRow *a = *(const CallRow *const *)first, *b = *(const CallRow *const *)second;
        const CallSort *sort = userdata;
        uint64_t x = 0, y = 0;

        if (*sort == CALL_SORT_TIME)
                x = a->time, y = b->time;
        else if (*sort == CALL_SORT_CALLS)
                x = a->n_calls, y = b->n_calls;
        else if (*sort == CALL_SORT_ERRORS)
                x = a->n_errors, y = b->n_errors;
        return x != y ? (x > y ? -1 : 1) : call_row_compare_names(a, b);
}

static void call_row_print(const CallRow *row, double percent, const char *name, TextBlock *block) {
        char errors[24] = "";

        if (row->n_errors > 0)
                (void)snprintf(errors, sizeof(errors), "%" PRIu64, row->n_errors);
        text_block_add_format(block,
                        "%6.2f %11.6f %11" PRIu64 " %9" PRIu64 " %9s %s\n",
                        percent,
                        (double)row->time / 1e9,
                        row->n_timed > 0 ? row->time / row->n_timed / 1000 : 0,
                        row->n_calls,
                        errors,
                        name);
}

static void call_table_print_row(const CallTable *table,
                const CallRow *row,
                uint64_t total,
                const Decode *decode,
                TextBlock *block) {
        TextBlock number = {};
        const char *name = row->name;

        if (row == &table->rows[ROWS_MAX])
                name = "others";
        if (!name) {
                text_names_add_number(decode, row->number, &number);
                text_block_add_char(&number, '\0');
                name = number.is_short_of_memory ? "?" : number.data;
        }
        call_row_print(row, total > 0 ? 100.0 * (double)row->time / (double)total : 0, name, block);
        text_block_clear(&number);
}

int call_table_print(const CallTable *table,
                const Decode *decode,
                CallSort sort,
                TextBlock *block) {
        static const char rule[] =
                        "------ ----------- ----------- --------- --------- ----------------\n";
        _cleanup_free_ const CallRow **rows = calloc(ROWS_MAX + 1, sizeof(*rows));
        CallRow total = {};
        size_t n = 0;

        if (!rows)
                return -ENOMEM;
        for (size_t i = 0; i <= ROWS_MAX; i++) {
                const CallRow *row = &table->rows[i];

                if (row->n_calls == 0)
                        continue;
                rows[n++] = row;
                total.n_calls += row->n_calls;
                total.n_timed += row->n_timed;
                total.n_errors += row->n_errors;
                total.time += row->time;
        }
        if (sort != CALL_SORT_NOTHING)
                qsort_r(rows, n, sizeof(*rows), call_row_compare, &sort);
        text_block_add_format(block,
                        "%% time     seconds  usecs/call     calls    errors syscall\n%s",
                        rule);
        for (size_t i = 0; i < n; i++)
                call_table_print_row(table, rows[i], total.time, decode, block);
        text_block_add(block, rule, strlen(rule));
        call_row_print(&total, n > 0 ? 100 : 0, "total", block);
        return 0;
}
