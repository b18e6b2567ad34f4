/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The rows of one histogram by their keys: an array of rows, and an index that is searched by a
 * hash of the keys. Used by counts.c. Like the kernel's table, a full table makes no new rows. So
 * its size limits the memory that a traced process can make it use. The index starts from a random
 * place, so a traced process cannot choose keys that all get the same place. */

#include "consumer/records/count-table.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define ROWS_AT_FIRST 64
#define NO_ROW        UINT32_MAX
#define HASH_PRIME    UINT64_C(0x9e3779b97f4a7c15)

struct CountTable {
        unsigned n_keys;
        size_t n_max;
        uint64_t seed;
        CountRow *rows;
        size_t n, n_room;
        /* n_index entries, a power of two and at least twice the number of rows that fit. */
        uint32_t *index;
        size_t n_index;
};

static uint64_t mix(uint64_t hash, uint64_t word) {
        hash = (hash ^ word) * HASH_PRIME;
        return hash ^ hash >> 29;
}

static uint64_t hash_keys(const CountTable *table, const CountKey *keys) {
        uint64_t hash = table->seed;

        for (unsigned i = 0; i < table->n_keys; i++) {
                hash = mix(hash, keys[i].text ? keys[i].text_size : keys[i].number);
                for (size_t at = 0; keys[i].text && at < keys[i].text_size; at += sizeof(hash)) {
                        uint64_t word = 0;

                        memcpy(&word,
                                        keys[i].text + at,
                                        MIN_OF(sizeof(word), keys[i].text_size - at));
                        hash = mix(hash, word);
                }
        }
        return hash;
}

static bool row_has(const CountTable *table, const CountRow *row, const CountKey *keys) {
        size_t at = 0;

        for (unsigned i = 0; i < table->n_keys; i++) {
                if (!keys[i].text && row->numbers[i] != keys[i].number)
                        return false;
                if (!keys[i].text)
                        continue;
                if (row->text_sizes[i] != keys[i].text_size ||
                                memcmp(row->texts + at, keys[i].text, keys[i].text_size) != 0)
                        return false;
                at += keys[i].text_size;
        }
        return true;
}

/* Returns the place in the index where the row is, or where it would be. */
static uint32_t *count_table_find_place(const CountTable *table, const CountKey *keys) {
        size_t at = hash_keys(table, keys) & (table->n_index - 1);

        while (table->index[at] != NO_ROW && !row_has(table, &table->rows[table->index[at]], keys))
                at = (at + 1) & (table->n_index - 1);
        return &table->index[at];
}

static void get_keys(const CountTable *table, const CountRow *row, CountKey *ret) {
        const char *text = row->texts;

        for (unsigned i = 0; i < table->n_keys; i++) {
                bool is_text = row->texts && row->text_sizes[i] != UINT16_MAX;

                ret[i] = (CountKey){ .number = row->numbers[i],
                        .text = is_text ? text : NULL,
                        .text_size = is_text ? row->text_sizes[i] : 0 };
                text += ret[i].text_size;
        }
}

static void index_rows(CountTable *table) {
        memset(table->index, 0xff, table->n_index * sizeof(*table->index));
        for (size_t i = 0; i < table->n; i++) {
                CountKey keys[HIST_KEYS_MAX];

                get_keys(table, &table->rows[i], keys);
                *count_table_find_place(table, keys) = (uint32_t)i;
        }
}

static int count_table_grow(CountTable *table) {
        size_t n_room = MIN_OF(MAX_OF(table->n_room * 2, (size_t)ROWS_AT_FIRST), table->n_max);
        size_t n_index = ROWS_AT_FIRST;

        while (n_index < 2 * n_room)
                n_index *= 2;
        CountRow *rows = reallocarray(table->rows, n_room, sizeof(*rows));
        if (!rows)
                return -ENOMEM;
        table->rows = rows;
        uint32_t *index = reallocarray(table->index, n_index, sizeof(*index));
        if (!index)
                return -ENOMEM;
        table->index = index;
        table->n_index = n_index;
        table->n_room = n_room;
        index_rows(table);
        return 0;
}

int count_table_new(unsigned n_keys, size_t n_max, CountTable **ret) {
        _cleanup_(count_table_free_cleanup) CountTable *table = calloc(1, sizeof(*table));

        if (!table)
                return -ENOMEM;
        if (n_keys > HIST_KEYS_MAX || n_max == 0 || n_max >= NO_ROW)
                return -EBADMSG;
        table->n_keys = n_keys;
        table->n_max = n_max;
        if (getrandom(&table->seed, sizeof(table->seed), 0) != sizeof(table->seed))
                return -errno;
        int r = count_table_grow(table);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(table);
        return 0;
}

CountTable *count_table_free(CountTable *table) {
        if (!table)
                return NULL;
        count_table_clear(table);
        free(table->rows);
        free(table->index);
        free(table);
        return NULL;
}

/* Copies the texts. A key that is not a text has the size UINT16_MAX in text_sizes. */
static int row_make(const CountTable *table, const CountKey *keys, CountRow *ret) {
        size_t size = 0, at = 0;
        bool has_texts = false;

        *ret = (CountRow){ .first_nsec = UINT64_MAX };
        for (unsigned i = 0; i < table->n_keys; i++) {
                has_texts = has_texts || keys[i].text;
                size += keys[i].text ? keys[i].text_size : 0;
        }
        ret->texts = has_texts ? malloc(size + 1) : NULL;
        if (has_texts && !ret->texts)
                return -ENOMEM;
        for (unsigned i = 0; i < table->n_keys; i++) {
                ret->numbers[i] = keys[i].number;
                ret->text_sizes[i] = keys[i].text ? (uint16_t)keys[i].text_size : UINT16_MAX;
                if (!keys[i].text)
                        continue;
                memcpy(ret->texts + at, keys[i].text, keys[i].text_size);
                at += keys[i].text_size;
        }
        return 0;
}

CountRow *count_table_get(CountTable *table, const CountKey *keys, bool *ret_is_new) {
        uint32_t *place = count_table_find_place(table, keys);

        *ret_is_new = *place == NO_ROW;
        if (*place != NO_ROW)
                return &table->rows[*place];
        if (table->n == table->n_max)
                return NULL;
        if (table->n == table->n_room) {
                if (count_table_grow(table) < 0)
                        return NULL;
                place = count_table_find_place(table, keys);
        }
        if (row_make(table, keys, &table->rows[table->n]) < 0)
                return NULL;
        *place = (uint32_t)table->n;
        return &table->rows[table->n++];
}

size_t count_table_get_n(const CountTable *table) {
        return table->n;
}

CountRow *count_table_get_row(const CountTable *table, size_t i) {
        return &table->rows[i];
}

void count_table_clear(CountTable *table) {
        for (size_t i = 0; i < table->n; i++)
                count_row_clear(&table->rows[i]);
        table->n = 0;
        if (table->index)
                index_rows(table);
}

int count_row_copy(const CountRow *row, CountRow *ret) {
        size_t size = 0;

        for (unsigned i = 0; i < HIST_KEYS_MAX; i++)
                size += row->text_sizes[i] == UINT16_MAX ? 0 : row->text_sizes[i];
        CountRow copy = *row;
        if (row->texts) {
                copy.texts = malloc(size + 1);
                if (!copy.texts)
                        return -ENOMEM;
                memcpy(copy.texts, row->texts, size);
        }
        *ret = copy;
        return 0;
}

void count_row_clear(CountRow *row) {
        free(row->texts);
        row->texts = NULL;
}
