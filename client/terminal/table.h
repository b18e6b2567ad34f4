/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/json.h"
#include "terminal/context.h"

typedef struct TableColumn {
        const char *key; /* of the row's JSON object */
        const char *title;
        bool right; /* for numbers: align to the right */
} TableColumn;

/* Prints a JSON array of objects in the form that --json selects, or as a table. noun: for the
 * count below the table, such as "session" ("2 sessions"); NULL: no count. */
void table_print(const Context *context,
                json_object *rows,
                const TableColumn *columns,
                size_t n_columns,
                const char *noun);
/* Prints "key: value" lines, one for each column that the object has. */
void table_print_object(json_object *object, const TableColumn *columns, size_t n_columns);
/* Without a line end. */
void table_put_json(const Context *context, json_object *value);
void table_print_json(const Context *context, json_object *value);
/* Formats 1234567 as "1,234,567". Returns out. */
#define TABLE_NUMBER_MAX 32
char *table_format_number(char out[static TABLE_NUMBER_MAX], uint64_t number);
/* Formats bytes for humans: "1.2 MB". */
char *table_format_bytes(char out[static TABLE_NUMBER_MAX], uint64_t bytes);
