/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Counts system calls by name, as strace -c does, with percentiles of their durations. Called with
 * each Call of call-pair.c. Owns a row for each kind of call, or for each thread and kind. */

#include "analysis/call-table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "interfaces/cleanup.h"

/* Rows of all threads. A kernel has about 500 calls; other numbers are damage or mistakes. */
#define ROWS_MAX 2048U
/* With rows for each thread. */
#define THREAD_ROWS_MAX 100000U
/* Calls without room for a row of their own share this one. */
#define OTHERS UINT64_MAX

/* Numbers beyond 31 bits cannot be entered with any ABI, and share the row. */
static uint64_t call_table_make_key(const CallTable *table, const Call *call) {
        uint64_t tid = table->by_thread ? (uint64_t)(uint32_t)call->tid : 0;

        if (call->number < 0 || call->number > INT32_MAX)
                return OTHERS;
        return tid << 32 | (uint64_t)(call->name != NULL) << 31 | (uint64_t)call->number;
}

static void call_row_set_name(CallRow *row, const Call *call, bool is_other) {
        if (is_other)
                (void)snprintf(row->name, sizeof(row->name), "others");
        else if (call->name)
                (void)snprintf(row->name, sizeof(row->name), "%s", call->name);
        else if (call->name_if_64bit)
                (void)snprintf(row->name,
                                sizeof(row->name),
                                "NR %" PRId64 " [%s if 64-bit]",
                                call->number,
                                call->name_if_64bit);
        else
                (void)snprintf(row->name, sizeof(row->name), "NR %" PRId64, call->number);
}

static CallRow *call_table_get_row(CallTable *table, const Call *call) {
        size_t max = table->by_thread ? THREAD_ROWS_MAX : ROWS_MAX;
        uint64_t key = call_table_make_key(table, call);
        CallRow *row = number_map_find(&table->rows, key);

        if (!row && table->rows.n_used >= max) {
                key = OTHERS;
                row = number_map_find(&table->rows, key);
        }
        if (row)
                return row;
        row = calloc(1, sizeof(*row));
        if (!row)
                return NULL;
        row->tid = table->by_thread && key != OTHERS ? call->tid : 0;
        row->number = call->number;
        row->is_proven = call->name != NULL;
        row->order = table->rows.n_used;
        call_row_set_name(row, call, key == OTHERS);
        if (number_map_add(&table->rows, key, row) == 0)
                return row;
        free(row);
        return NULL;
}

int call_table_add(CallTable *table, const Call *call) {
        CallRow *row;

        if (call->state == CALL_FIRST_RETURN) /* the parent's call has been counted */
                return 0;
        row = call_table_get_row(table, call);
        if (!row)
                return -ENOMEM;
        row->n_errors += call_has_failed(call);
        if (call->state != CALL_RETURNED || call->end < call->start) {
                row->n_open++;
                return 0;
        }
        if (call->is_doubtful) {
                row->n_doubtful++;
                return 0;
        }
        return sketch_add(&row->nsec, call->end - call->start);
}

uint64_t call_row_count(const CallRow *row) {
        return row->nsec.n + row->n_open + row->n_doubtful;
}

static int call_row_compare(const void *a, const void *b) {
        const CallRow *first = *(CallRow *const *)a, *second = *(CallRow *const *)b;

        if (first->nsec.total != second->nsec.total)
                return first->nsec.total > second->nsec.total ? -1 : 1;
        if (call_row_count(first) != call_row_count(second))
                return call_row_count(first) > call_row_count(second) ? -1 : 1;
        int r = strcmp(first->name, second->name);

        return r != 0 ? r : first->tid - second->tid;
}

CallRow **call_table_sort(const CallTable *table, size_t *ret_n) {
        CallRow **rows = (CallRow **)number_map_list(&table->rows);

        if (!rows)
                return NULL;
        *ret_n = table->rows.n_used;
        qsort(rows, *ret_n, sizeof(*rows), call_row_compare);
        return rows;
}

void call_table_clear(CallTable *table) {
        for (size_t i = 0; i < table->rows.n_places; i++) {
                CallRow *row = table->rows.places[i].value;

                if (!row)
                        continue;
                sketch_clear(&row->nsec);
                free(row);
        }
        number_map_clear(&table->rows);
}
