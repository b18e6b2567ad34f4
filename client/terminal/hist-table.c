/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints a histogram as a table, with a bar for each row. Ranges (.log2, .buckets) are printed in
 * ascending order and include the empty ranges, unless the user requested another order. With more
 * than one key, the rows are printed in groups. Called by `hist`. Owns nothing. Traced processes
 * can choose the text of keys, so control characters are removed before printing. */

#include "terminal/hist-table.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "terminal/message.h"
#include "terminal/table.h"

#define COLUMNS_MAX 8 /* three keys, hits, two values */
#define BAR_MIN     10
#define BAR_MAX     50
#define GAPS_MAX    64 /* maximum of empty rows between two rows */

typedef struct Row {
        json_object *keys;
        uint64_t from, to; /* of the range; 0 for other keys */
        uint64_t hits;
        uint64_t weight; /* hits, or the value that orders the groups */
        uint64_t total;  /* the sum of the group's weights */
        char *cells[COLUMNS_MAX];
        json_object *stack; /* functions, printed under the row; NULL: none */
} Row;

typedef struct Column {
        char title[96];
        const char *field;
        const char *modifier; /* such as "log2"; "": none */
        bool right;
        size_t width;
} Column;

typedef struct Table {
        const HistTableOptions *options;
        json_object *head;
        Column columns[COLUMNS_MAX];
        size_t n_keys, n_columns;
        bool is_weighed; /* rows have the value that orders groups */
        size_t range;    /* the column with drawn ranges; n_columns: none */
        Row *rows;
        size_t n_rows, room;
        uint64_t most;
} Table;

static json_object *hist_table_get(json_object *object, const char *key) {
        return json_object_is_type(object, json_type_object) ? json_object_object_get(object, key)
                                                             : NULL;
}

static uint64_t hist_table_get_number(json_object *object, const char *key) {
        return json_object_get_uint64(hist_table_get(object, key));
}

/* Counts characters, not bytes. Characters of double width are rare in names. */
static size_t hist_table_measure(const char *text) {
        size_t n = 0;

        for (; *text; text++)
                n += ((unsigned char)*text & 0xc0) != 0x80;
        return n;
}

/* Guesses the unit of a field's numbers from its name. */
static const char *guess_unit(const char *field) {
        static const struct {
                const char *end, *unit;
        } units[] = {
                { "_ns", "ns" },
                { "nsec", "ns" },
                { "_us", "us" },
                { "usec", "us" },
                { "_ms", "ms" },
                { "msec", "ms" },
                { "bytes", "bytes" },
                { "bytes_req", "bytes" },
                { "bytes_alloc", "bytes" },
                { "len", "bytes" },
        };

        size_t size = strlen(field);

        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                size_t n = strlen(units[i].end);

                if (size >= n && strcmp(field + size - n, units[i].end) == 0)
                        return units[i].unit;
        }
        return NULL;
}

static bool is_range(json_object *key) {
        return hist_table_get(key, "from") && hist_table_get(key, "to");
}

/* Cells */

static char *format_range(const Table *table, const Column *column, uint64_t from, uint64_t to) {
        const char *unit = table->options->unit ?: guess_unit(column->field);
        char *text;

        if (asprintf(&text,
                            "%" PRIu64 " .. %" PRIu64 "%s%s",
                            from,
                            to,
                            unit ? " " : "",
                            unit ?: "") < 0)
                return NULL;
        return text;
}

/* Formats a key, such as "dd (182)", "write" or "alloc_pipe_info". */
static char *format_object(json_object *key) {
        const char *comm = json_object_get_string(hist_table_get(key, "comm")),
                   *name = json_object_get_string(hist_table_get(key, "name")),
                   *symbol = json_object_get_string(hist_table_get(key, "symbol"));
        char *text = NULL;
        int r = -1;

        if (comm)
                r = asprintf(&text,
                                "%s (%" PRIi64 ")",
                                comm,
                                json_object_get_int64(hist_table_get(key, "pid")));
        else if (name)
                r = asprintf(&text, "%s", name);
        else if (hist_table_get(key, "nr"))
                r = asprintf(&text, "%" PRIi64, json_object_get_int64(hist_table_get(key, "nr")));
        else if (symbol)
                r = asprintf(&text, "%s", symbol);
        return r < 0 ? NULL : text;
}

static char *format_key(const Table *table, const Column *column, json_object *key) {
        char *text = NULL;

        if (is_range(key))
                return format_range(table,
                                column,
                                hist_table_get_number(key, "from"),
                                hist_table_get_number(key, "to"));
        if (json_object_is_type(key, json_type_object))
                return format_object(key);
        if (json_object_is_type(key, json_type_int) && strcmp(column->modifier, "hex") == 0)
                return asprintf(&text, "%#" PRIx64, json_object_get_uint64(key)) < 0 ? NULL : text;
        if (json_object_is_type(key, json_type_array))
                return strdup("");
        text = strdup(json_object_get_string(key) ?: "");
        if (text)
                message_clean(text);
        return text;
}

/* Rows */

static void rows_clear(Table *table) {
        for (size_t i = 0; i < table->n_rows; i++)
                for (size_t c = 0; c < COLUMNS_MAX; c++)
                        free(table->rows[i].cells[c]);
        free(table->rows);
}

static Row *hist_table_add_row(Table *table) {
        if (table->n_rows == table->room) {
                size_t room = table->room ? 2 * table->room : 64;
                Row *grown = reallocarray(table->rows, room, sizeof(*grown));

                if (!grown)
                        return NULL;
                table->rows = grown;
                table->room = room;
        }
        table->rows[table->n_rows] = (Row){};
        return &table->rows[table->n_rows++];
}

static int read_row(Table *table, json_object *object) {
        json_object *keys = hist_table_get(object, "keys"),
                    *values = hist_table_get(object, "values");
        Row *row = hist_table_add_row(table);
        char number[TABLE_NUMBER_MAX];

        if (!row)
                return -ENOMEM;
        row->keys = keys;
        row->hits = hist_table_get_number(object, "hitcount");
        row->weight = table->is_weighed ? hist_table_get_number(values, table->options->weight)
                                        : row->hits;
        table->most = MAX_OF(table->most, row->hits);
        for (size_t c = 0; c < table->n_columns; c++) {
                const Column *column = &table->columns[c];
                json_object *key = hist_table_get(c < table->n_keys ? keys : values, column->field);

                if (c < table->n_keys) {
                        row->cells[c] = format_key(table, column, key);
                        if (json_object_is_type(key, json_type_array))
                                row->stack = key;
                } else if (c == table->n_keys)
                        row->cells[c] = strdup(table_format_number(number, row->hits));
                else
                        row->cells[c] = strdup(json_object_get_string(key) ?: "");
                if (!row->cells[c])
                        return -ENOMEM;
        }
        if (table->range < table->n_columns) {
                json_object *key = hist_table_get(keys, table->columns[table->range].field);

                row->from = hist_table_get_number(key, "from");
                row->to = hist_table_get_number(key, "to");
        }
        return 0;
}

/* Compares all keys except the range. */
static bool is_of_group(const Table *table, const Row *a, const Row *b) {
        for (size_t c = 0; c < table->n_keys; c++)
                if (c != table->range && strcmp(a->cells[c], b->cells[c]) != 0)
                        return false;
        return true;
}

static int compare_group(const void *a, const void *b, void *userdata) {
        const Table *table = userdata;
        const Row *x = a, *y = b;

        for (size_t c = 0; c < table->n_keys; c++) {
                int r = c == table->range ? 0 : strcmp(x->cells[c], y->cells[c]);

                if (r != 0)
                        return r;
        }
        return 0;
}

/* Puts the group with the highest total first. Does not mix groups with equal totals. */
static int compare_drawn(const void *a, const void *b, void *userdata) {
        const Row *x = a, *y = b;

        if (x->total != y->total)
                return x->total > y->total ? -1 : 1;
        int r = compare_group(a, b, userdata);
        return r ?: (x->from < y->from ? -1 : x->from > y->from);
}

/* Orders groups by their totals and the rows of a group by their ranges. */
static void sort_rows(Table *table) {
        qsort_r(table->rows, table->n_rows, sizeof(*table->rows), compare_group, table);
        for (size_t i = 0, end; i < table->n_rows; i = end) {
                uint64_t total = 0;

                for (end = i; end < table->n_rows &&
                                is_of_group(table, &table->rows[i], &table->rows[end]);
                                end++)
                        total += table->rows[end].weight;
                for (size_t k = i; k < end; k++)
                        table->rows[k].total = total;
        }
        qsort_r(table->rows, table->n_rows, sizeof(*table->rows), compare_drawn, table);
}

/* Gets the range after this one. Its width follows from the column's modifier. */
static void hist_table_get_next(const Column *column, uint64_t *from, uint64_t *to) {
        uint64_t width = *to - *from + 1;

        if (strcmp(column->modifier, "log2") == 0)
                width = *to > 1 ? *to : 1;
        *from = *to + 1;
        *to += width;
}

/* Printing */

static void print_padded(FILE *file, const char *text, size_t width, bool right) {
        size_t size = hist_table_measure(text), pad = width > size ? width - size : 0;

        (void)fprintf(file, "%*s%s%*s", right ? (int)pad : 0, "", text, right ? 0 : (int)pad, "");
}

/* With UTF-8, the bar has a resolution of one eighth of a character. */
static void print_bar(FILE *file, const Table *table, uint64_t hits, unsigned width) {
        static const char *const parts[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
        double share = table->most > 0 ? (double)hits / (double)table->most : 0;
        unsigned eighths = (unsigned)(share * width * 8 + 0.5);

        if (hits > 0 && eighths == 0)
                eighths = 1;
        if (!table->options->is_utf8) {
                for (unsigned i = 0; i < (eighths + 7) / 8; i++)
                        (void)fputc('#', file);
                return;
        }
        for (unsigned i = 0; i < eighths / 8; i++)
                (void)fputs("█", file);
        (void)fputs(parts[eighths % 8], file);
}

static unsigned get_bar_width(const Table *table) {
        size_t used = 0;

        for (size_t c = 0; c < table->n_columns; c++)
                used += table->columns[c].width + 2;
        if (used + BAR_MIN > table->options->width)
                return BAR_MIN;
        return MIN_OF(table->options->width - (unsigned)used, (unsigned)BAR_MAX);
}

static void print_cells(FILE *file, const Table *table, char *const *cells, uint64_t hits) {
        bool is_bare = !table->options->has_bars;

        for (size_t c = 0; c < table->n_columns; c++) {
                const Column *column = &table->columns[c];
                bool is_last = is_bare && c + 1 == table->n_columns;

                print_padded(file,
                                cells[c] ?: "",
                                is_last && !column->right ? 0 : column->width,
                                column->right);
                (void)fputs(is_last ? "" : "  ", file);
        }
        if (table->options->has_bars)
                print_bar(file, table, hits, get_bar_width(table));
        (void)fputc('\n', file);
}

static void print_stack(FILE *file, json_object *stack) {
        size_t n = json_object_array_length(stack);

        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *line =
                                strdup(json_object_get_string(json_object_array_get_idx(stack, i)));

                if (line) {
                        message_clean(line);
                        (void)fprintf(file, "      %s\n", line);
                }
        }
}

/* Prints the empty ranges between two rows of a group. */
static void print_gaps(FILE *file, const Table *table, const Row *row, const Row *next) {
        const Column *column = &table->columns[table->range];
        uint64_t from = row->from, to = row->to;
        char *cells[COLUMNS_MAX] = {}, none[] = "0";

        memcpy(cells, row->cells, table->n_keys * sizeof(*cells));
        cells[table->n_keys] = none;
        for (unsigned i = 0; i < GAPS_MAX; i++) {
                hist_table_get_next(column, &from, &to);
                if (from >= next->from || to < from)
                        return;
                cells[table->range] = format_range(table, column, from, to);
                print_cells(file, table, cells, 0);
                free(cells[table->range]);
        }
        (void)fprintf(file, "%*s...\n", 2, "");
}

static void hist_table_print_rows(FILE *file, Table *table) {
        for (size_t i = 0; i < table->n_rows; i++) {
                const Row *row = &table->rows[i], *next = row + 1;
                bool is_drawn = table->range < table->n_columns;

                if (is_drawn && i > 0 && table->n_keys > 1 && !is_of_group(table, row - 1, row))
                        (void)fputc('\n', file);
                print_cells(file, table, row->cells, row->hits);
                if (row->stack)
                        print_stack(file, row->stack);
                if (is_drawn && i + 1 < table->n_rows && is_of_group(table, row, next))
                        print_gaps(file, table, row, next);
        }
}

static bool is_counted_by_worker(const Table *table) {
        json_object *by = hist_table_get(table->head, "counted-by");

        return by && strcmp(json_object_get_string(by), "consumer") == 0;
}

static void print_legend(FILE *file, const Table *table) {
        char n[5][TABLE_NUMBER_MAX];
        uint64_t n_shown = hist_table_get_number(table->head, "told"),
                 entries = hist_table_get_number(table->head, "entries"),
                 dropped = hist_table_get_number(table->head, "dropped"),
                 lost = hist_table_get_number(table->head, "lost");

        (void)fprintf(file,
                        "\n%s: %s hit%s in %s row%s",
                        json_object_get_string(hist_table_get(table->head, "name")),
                        table_format_number(n[0], hist_table_get_number(table->head, "hits")),
                        hist_table_get_number(table->head, "hits") == 1 ? "" : "s",
                        table_format_number(n[1], entries),
                        entries == 1 ? "" : "s");
        if (n_shown < entries)
                (void)fprintf(file, ", the first %s are shown", table_format_number(n[2], n_shown));
        if (dropped > 0)
                (void)fprintf(file,
                                "; %s hits found no room: a larger size counts them",
                                table_format_number(n[3], dropped));
        if (lost > 0)
                (void)fprintf(file,
                                "; %s records were lost and are not counted: use a larger buffer",
                                table_format_number(n[4], lost));
        (void)fputs(json_object_get_boolean(hist_table_get(table->head, "paused")) ? " (paused)\n"
                                                                                   : "\n",
                        file);
        if (is_counted_by_worker(table))
                (void)fputs("Counted by the stream worker.\n", file);
}

/* Columns */

static void add_column(Table *table, const char *word, bool right) {
        Column *column = &table->columns[table->n_columns++];
        const char *dot = strchr(word, '.');

        *column = (Column){ .modifier = dot ? dot + 1 : "", .right = right };
        (void)snprintf(column->title,
                        sizeof(column->title),
                        "%.*s",
                        dot ? (int)(dot - word) : (int)strlen(word),
                        word);
        column->field = column->title;
}

static int read_columns(Table *table) {
        json_object *keys = hist_table_get(table->head, "keys"),
                    *values = hist_table_get(table->head, "values");
        size_t n_keys = json_object_is_type(keys, json_type_array) ? json_object_array_length(keys)
                                                                   : 0,
               n_values = json_object_is_type(values, json_type_array)
                                          ? json_object_array_length(values)
                                          : 0;

        if (n_keys == 0 || n_keys + n_values + 1 > COLUMNS_MAX)
                return -EBADMSG;
        for (size_t i = 0; i < n_keys; i++)
                add_column(table,
                                json_object_get_string(json_object_array_get_idx(keys, i)) ?: "",
                                false);
        table->n_keys = n_keys;
        add_column(table, "hits", true);
        for (size_t i = 0; i < n_values; i++) {
                const char *name =
                                json_object_get_string(json_object_array_get_idx(values, i)) ?: "";

                bool is_weight =
                                table->options->weight && strcmp(name, table->options->weight) == 0;

                table->is_weighed = table->is_weighed || is_weight;
                if (!is_weight || !table->options->hides_weight)
                        add_column(table, name, true);
        }
        table->range = table->n_columns;
        return 0;
}

/* Numbers are aligned to the right. */
static void look_at_keys(Table *table, json_object *keys) {
        json_object *sort = hist_table_get(table->head, "sort");
        bool is_sorted = json_object_is_type(sort, json_type_array) &&
                         json_object_array_length(sort) > 0;

        for (size_t c = 0; c < table->n_keys; c++) {
                json_object *key = hist_table_get(keys, table->columns[c].field);

                table->columns[c].right = json_object_is_type(key, json_type_int) || is_range(key);
                if (is_range(key) && !is_sorted && table->range == table->n_columns)
                        table->range = c;
        }
}

static void measure_columns(Table *table) {
        for (size_t c = 0; c < table->n_columns; c++) {
                Column *column = &table->columns[c];

                column->width = table->options->legend ? hist_table_measure(column->title) : 0;
                for (size_t i = 0; i < table->n_rows; i++)
                        column->width = MAX_OF(
                                        column->width, hist_table_measure(table->rows[i].cells[c]));
        }
}

static void print_titles(FILE *file, const Table *table) {
        for (size_t c = 0; c < table->n_columns; c++) {
                const Column *column = &table->columns[c];

                print_padded(file,
                                column->title,
                                c + 1 == table->n_columns && !column->right ? 0 : column->width,
                                column->right);
                (void)fputs(c + 1 == table->n_columns ? "\n" : "  ", file);
        }
}

int hist_table_print(FILE *file, json_object *rows, const HistTableOptions *options) {
        Table table = { .options = options };
        size_t n = json_object_is_type(rows, json_type_array) ? json_object_array_length(rows) : 0;

        if (n == 0)
                return -EBADMSG;
        table.head = json_object_array_get_idx(rows, 0);
        int r = read_columns(&table);
        if (r == 0 && n > 1)
                look_at_keys(&table, hist_table_get(json_object_array_get_idx(rows, 1), "keys"));
        for (size_t i = 1; r == 0 && i < n; i++)
                r = read_row(&table, json_object_array_get_idx(rows, i));
        if (r == 0) {
                if (table.range < table.n_columns)
                        sort_rows(&table);
                measure_columns(&table);
                if (options->legend && table.n_rows > 0)
                        print_titles(file, &table);
                hist_table_print_rows(file, &table);
                if (options->legend)
                        print_legend(file, &table);
        }
        rows_clear(&table);
        return r;
}

int hist_table_to_json(json_object *rows, json_object **ret) {
        size_t n = json_object_is_type(rows, json_type_array) ? json_object_array_length(rows) : 0;
        _cleanup_json_ json_object *list = json_object_new_array();

        if (!list || n == 0)
                return n == 0 ? -EBADMSG : -ENOMEM;
        for (size_t i = 1; i < n; i++)
                if (json_object_array_add(
                                    list, json_object_get(json_object_array_get_idx(rows, i))) < 0)
                        return -ENOMEM;
        json_object *head = json_object_array_get_idx(rows, 0);
        if (!json_object_is_type(head, json_type_object))
                return -EBADMSG;
        if (json_object_object_add(head, "rows", TAKE_PTR(list)) < 0)
                return -ENOMEM;
        *ret = json_object_get(head);
        return 0;
}
