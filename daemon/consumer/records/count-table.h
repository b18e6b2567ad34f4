/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interfaces/cleanup.h"
#include "interfaces/hist-layout.h"

#define COUNT_NAME_SIZE 16 /* of a command name, with its NUL */

/* The key by which a record is counted. */
typedef struct CountKey {
        uint64_t number;
        const char *text; /* NULL: the key is a number */
        size_t text_size;
} CountKey;

typedef struct CountRow {
        uint64_t hitcount;
        uint64_t values[HIST_VALUES_MAX];
        uint64_t first_nsec; /* time of the oldest record in the row */
        char comm[COUNT_NAME_SIZE];
        uint64_t numbers[HIST_KEYS_MAX];
        uint16_t text_sizes[HIST_KEYS_MAX];
        char *texts; /* texts of all keys, without NULs; NULL: no texts */
} CountRow;

/* The rows of one histogram, at most n_max. */
typedef struct CountTable CountTable;

int count_table_new(unsigned n_keys, size_t n_max, CountTable **ret);
CountTable *count_table_free(CountTable *table);
DEFINE_CLEANUP(CountTable, count_table_free);
/* Returns the row with these keys, and makes it if needed. Returns NULL when the table is full or
 * memory is short. *ret_is_new: the row was made. */
CountRow *count_table_get(CountTable *table, const CountKey *keys, bool *ret_is_new);
size_t count_table_get_n(const CountTable *table);
CountRow *count_table_get_row(const CountTable *table, size_t i);
void count_table_clear(CountTable *table);

/* Makes a copy that outlives its table. Fails with -ENOMEM. */
int count_row_copy(const CountRow *row, CountRow *ret);
void count_row_clear(CountRow *row);
