/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/json.h"
#include "options.h"

typedef struct TableColumn {
        const char *key; /* of the row's JSON object */
        const char *title;
        bool right; /* numbers */
} TableColumn;

/* Prints a JSON array of objects as --json asked for it, or as a table. noun: "session", for the
 * count below ("2 sessions"); NULL: none. */
void table_print(const Context *context,
                json_object *rows,
                const TableColumn *columns,
                size_t n_columns,
                const char *noun);
/* "key: value" lines, one for each of the columns that the object has. */
void table_print_object(json_object *object, const TableColumn *columns, size_t n_columns);
void table_print_json(const Context *context, json_object *value);
/* 1234567 -> "1,234,567". Returns out. */
#define TABLE_NUMBER_MAX 32
char *table_format_number(char out[static TABLE_NUMBER_MAX], uint64_t number);
/* Bytes for a reader: "1.2 MB". */
char *table_format_bytes(char out[static TABLE_NUMBER_MAX], uint64_t bytes);
