/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints listings: rows of JSON objects as a table or as JSON. The verbs build the rows and select
 * the columns. Control characters are removed from text for a terminal. JSON is escaped. Owns
 * nothing. */

#include "terminal/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "interfaces/json-text.h"
#include "terminal/message.h"

#define TABLE_COLUMNS_MAX 16

static char *table_cell(json_object *row, const char *key) {
        json_object *value = NULL;
        const char *text;
        char *cell;

        if (!json_object_object_get_ex(row, key, &value) || !value)
                text = "-";
        else
                text = json_object_get_string(value);
        cell = strdup(*text ? text : "-");
        if (cell)
                message_clean(cell);
        return cell;
}

static void table_pad(const TableColumn *column, const char *text, size_t width, bool last) {
        if (column->right)
                printf("%*s", (int)width, text);
        else if (last)
                printf("%s", text);
        else
                printf("%-*s", (int)width, text);
        printf("%s", last ? "\n" : " ");
}

void table_put_json(const Context *context, json_object *value) {
        int flags = JSON_C_TO_STRING_NOSLASHESCAPE;

        if (context->json == JSON_PRETTY)
                flags |= JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED;
        (void)json_text_print(stdout, value, flags);
}

void table_print_json(const Context *context, json_object *value) {
        table_put_json(context, value);
        putchar('\n');
}

void table_print(const Context *context,
                json_object *rows,
                const TableColumn *columns,
                size_t n_columns,
                const char *noun) {
        size_t widths[TABLE_COLUMNS_MAX] = {}, n = json_object_array_length(rows);

        if (context->json != JSON_OFF) {
                table_print_json(context, rows);
                return;
        }
        for (size_t c = 0; c < n_columns; c++) {
                widths[c] = context->legend ? strlen(columns[c].title) : 0;
                for (size_t i = 0; i < n; i++) {
                        _cleanup_free_ char *cell = table_cell(
                                        json_object_array_get_idx(rows, i), columns[c].key);

                        widths[c] = MAX_OF(widths[c], cell ? strlen(cell) : 0);
                }
        }
        for (size_t c = 0; context->legend && n > 0 && c < n_columns; c++)
                table_pad(&columns[c], columns[c].title, widths[c], c + 1 == n_columns);
        for (size_t i = 0; i < n; i++)
                for (size_t c = 0; c < n_columns; c++) {
                        _cleanup_free_ char *cell = table_cell(
                                        json_object_array_get_idx(rows, i), columns[c].key);

                        table_pad(&columns[c], cell ?: "", widths[c], c + 1 == n_columns);
                }
        if (context->legend && noun)
                printf("%s%zu %s%s\n", n > 0 ? "\n" : "", n, noun, n == 1 ? "" : "s");
}

/* Prints each text of a list on its own line, and any other value as json-c formats it. */
static void table_print_value(const char *title, size_t width, json_object *value) {
        size_t n = json_object_is_type(value, json_type_array) ? json_object_array_length(value)
                                                               : 1;

        for (size_t i = 0; i < n; i++) {
                json_object *item = json_object_is_type(value, json_type_array)
                                                    ? json_object_array_get_idx(value, i)
                                                    : value;
                _cleanup_free_ char *text = strdup(json_object_get_string(item) ?: "-");

                if (text)
                        message_clean(text);
                printf("%*s%s %s\n",
                                (int)width,
                                i == 0 ? title : "",
                                i == 0 ? ":" : " ",
                                text ?: "");
        }
}

void table_print_object(json_object *object, const TableColumn *columns, size_t n_columns) {
        size_t width = 0;

        for (size_t c = 0; c < n_columns; c++)
                width = MAX_OF(width, strlen(columns[c].title));
        for (size_t c = 0; c < n_columns; c++) {
                json_object *value = NULL;

                if (!json_object_object_get_ex(object, columns[c].key, &value) || !value)
                        continue;
                if (json_object_is_type(value, json_type_string) &&
                                json_object_get_string_len(value) == 0)
                        continue;
                table_print_value(columns[c].title, width, value);
        }
}

char *table_format_number(char out[static TABLE_NUMBER_MAX], uint64_t number) {
        char digits[24];
        int n = snprintf(digits, sizeof(digits), "%" PRIu64, number);
        char *p = out;

        for (int i = 0; i < n; i++) {
                if (i > 0 && (n - i) % 3 == 0)
                        *p++ = ',';
                *p++ = digits[i];
        }
        *p = '\0';
        return out;
}

char *table_format_bytes(char out[static TABLE_NUMBER_MAX], uint64_t bytes) {
        static const char *const units[] = { "kB", "MB", "GB", "TB", "PB", "EB" };
        double value = (double)bytes / 1000;
        size_t unit = 0;

        if (bytes < 1000) {
                (void)snprintf(out, TABLE_NUMBER_MAX, "%" PRIu64 " bytes", bytes);
                return out;
        }
        while (value >= 999.95 && unit + 1 < ELEMENTSOF(units)) {
                value /= 1000;
                unit++;
        }
        (void)snprintf(out, TABLE_NUMBER_MAX, "%.1f %s", value, units[unit]);
        return out;
}
