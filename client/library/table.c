/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tables of the library: records as columns, for programs that compute with whole columns, such as
 * the Python module. Numbers are stored as they are. Strings and arrays are stored once each, and
 * rows refer to them by a code, because few of them are different. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "library/failure.h"
#include "library/reader.h"
#include "trace/field-value.h"

#define ROWS_FIRST  1024
#define SLOTS_FIRST 64
#define NAME_SIZE   256

/* The different values of a column. slots has codes + 1 at the place of their hash. */
typedef struct Values {
        char *bytes;
        size_t n_bytes, n_bytes_max;
        size_t *ends; /* of each value in bytes */
        uint32_t *slots;
        size_t n, n_slots;
} Values;

typedef enum ColumnSource {
        COLUMN_TIME,
        COLUMN_CPU,
        COLUMN_TID,
        COLUMN_TASK,
        COLUMN_EVENT,
        COLUMN_FIELD,
} ColumnSource;

typedef struct Column {
        char name[NAME_SIZE];
        ColumnSource source;
        ktrace_field_kind kind;
        const ktrace_field *field; /* of COLUMN_FIELD */
        uint64_t *numbers;
        uint32_t *codes;
        Values values;
} Column;

struct ktrace_table {
        Column *columns;
        size_t n_columns, n_rows, n_rows_max;
        uint64_t lost, damaged;
};

/* Values */

static uint64_t values_hash(const char *data, size_t size) {
        uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

        for (size_t i = 0; i < size; i++)
                hash = (hash ^ (uint8_t)data[i]) * UINT64_C(0x100000001b3);
        return hash ^ hash >> 32;
}

static size_t values_begin(const Values *values, size_t code) {
        return code == 0 ? 0 : values->ends[code - 1];
}

static bool values_is(const Values *values, size_t code, const char *data, size_t size) {
        size_t begin = values_begin(values, code);

        return values->ends[code] - begin == size &&
               (size == 0 || memcmp(values->bytes + begin, data, size) == 0);
}

static uint32_t *values_find(const Values *values, const char *data, size_t size) {
        size_t mask = values->n_slots - 1, at = values_hash(data, size) & mask;

        while (values->slots[at] != 0 && !values_is(values, values->slots[at] - 1, data, size))
                at = (at + 1) & mask;
        return &values->slots[at];
}

/* At most half of the slots are used. */
static int values_grow(Values *values) {
        Values bigger = *values;

        bigger.n_slots = MAX_OF(2 * values->n_slots, (size_t)SLOTS_FIRST);
        size_t *ends = reallocarray(values->ends, bigger.n_slots / 2, sizeof(*ends));
        if (!ends)
                return -ENOMEM;
        values->ends = bigger.ends = ends;
        bigger.slots = calloc(bigger.n_slots, sizeof(*bigger.slots));
        if (!bigger.slots)
                return -ENOMEM;
        for (size_t code = 0; code < values->n; code++) {
                size_t begin = values_begin(values, code);

                *values_find(&bigger, values->bytes + begin, values->ends[code] - begin) =
                                (uint32_t)code + 1;
        }
        free(values->slots);
        *values = bigger;
        return 0;
}

static int values_add_bytes(Values *values, const char *data, size_t size) {
        if (size > values->n_bytes_max - values->n_bytes) {
                size_t max = MAX_OF(2 * values->n_bytes_max, values->n_bytes + size + 256);
                char *bytes = realloc(values->bytes, max);

                if (!bytes)
                        return -ENOMEM;
                values->bytes = bytes;
                values->n_bytes_max = max;
        }
        if (size > 0)
                memcpy(values->bytes + values->n_bytes, data, size);
        values->n_bytes += size;
        return 0;
}

static int values_add(Values *values, const char *data, size_t size, uint32_t *ret_code) {
        if (2 * values->n >= values->n_slots) {
                int r = values->n >= UINT32_MAX / 2 ? -EOVERFLOW : values_grow(values);

                if (r < 0)
                        return r;
        }
        uint32_t *slot = values_find(values, data, size);
        if (*slot == 0) {
                int r = values_add_bytes(values, data, size);

                if (r < 0)
                        return r;
                values->ends[values->n] = values->n_bytes;
                *slot = (uint32_t)++values->n;
        }
        *ret_code = *slot - 1;
        return 0;
}

/* Columns */

static bool column_has_numbers(const Column *column) {
        return column->kind != KTRACE_STRING && column->kind != KTRACE_ARRAY;
}

static void add_column(ktrace_table *table,
                const char *name,
                ColumnSource source,
                ktrace_field_kind kind) {
        Column *column = &table->columns[table->n_columns++];

        *column = (Column){ .source = source, .kind = kind };
        (void)snprintf(column->name, sizeof(column->name), "%s", name);
}

static void table_add_field(ktrace_table *table,
                const EventLayout *layout,
                const ktrace_field *field) {
        const char *name = ktrace_field_get_name(field);
        bool is_taken = false;

        for (size_t i = 0; i < table->n_columns && !is_taken; i++)
                is_taken = strcmp(table->columns[i].name, name) == 0;
        add_column(table, name, COLUMN_FIELD, ktrace_field_get_kind(field));
        Column *column = &table->columns[table->n_columns - 1];
        column->field = field;
        if (is_taken)
                (void)snprintf(column->name,
                                sizeof(column->name),
                                "%s.%s",
                                layout->event->name,
                                name);
}

static int table_add_columns(ktrace_table *table,
                ktrace_reader *reader,
                const EventLayout *layout) {
        const ktrace_field *fields = layout ? reader_get_fields(reader, layout) : NULL;
        size_t n_fields = layout ? layout->n_fields : 0;

        if (layout && !fields)
                return -ENOMEM;
        table->columns = calloc(COLUMN_FIELD + n_fields, sizeof(*table->columns));
        if (!table->columns)
                return -ENOMEM;
        add_column(table, "time", COLUMN_TIME, KTRACE_UNSIGNED);
        add_column(table, "cpu", COLUMN_CPU, KTRACE_UNSIGNED);
        add_column(table, "tid", COLUMN_TID, KTRACE_SIGNED);
        add_column(table, "task", COLUMN_TASK, KTRACE_STRING);
        if (!layout)
                add_column(table, "event", COLUMN_EVENT, KTRACE_STRING);
        for (size_t i = 0; i < n_fields; i++)
                table_add_field(table, layout, &fields[i]);
        return 0;
}

static int table_grow(ktrace_table *table) {
        size_t n = MAX_OF(2 * table->n_rows_max, (size_t)ROWS_FIRST);

        for (size_t i = 0; i < table->n_columns; i++) {
                Column *column = &table->columns[i];
                bool has_numbers = column_has_numbers(column);
                void *rows = reallocarray(
                                has_numbers ? (void *)column->numbers : (void *)column->codes,
                                n,
                                has_numbers ? sizeof(uint64_t) : sizeof(uint32_t));

                if (!rows)
                        return -ENOMEM;
                if (has_numbers)
                        column->numbers = rows;
                else
                        column->codes = rows;
        }
        table->n_rows_max = n;
        return 0;
}

/* Rows */

static int add_event_name(Column *column, const ktrace_record *record, uint32_t *ret) {
        const char *system = ktrace_record_get_system(record);
        char name[NAME_SIZE];

        int size = snprintf(name,
                        sizeof(name),
                        "%s%s%s",
                        system,
                        *system ? ":" : "",
                        ktrace_record_get_event(record));
        return values_add(&column->values, name, MIN_OF((size_t)size, sizeof(name) - 1), ret);
}

static int add_field(Column *column, const ktrace_record *record, size_t row) {
        const EventLayoutField *field = column->field->field;
        uint32_t offset, size;

        if (column_has_numbers(column)) {
                column->numbers[row] = field_value_get_number(field, &record->record);
                return 0;
        }
        if (column->kind == KTRACE_STRING) {
                const char *text;
                size_t text_size = field_value_get_text(field, &record->record, &text);

                return values_add(&column->values, text, text_size, &column->codes[row]);
        }
        event_layout_locate(field, record->record.data, record->record.size, &offset, &size);
        return values_add(&column->values,
                        (const char *)record->record.data + offset,
                        size,
                        &column->codes[row]);
}

static int add_value(Column *column, const ktrace_record *record, size_t row) {
        const char *task;

        switch (column->source) {
        case COLUMN_TIME:
                column->numbers[row] = record->record.ts;
                return 0;
        case COLUMN_CPU:
                column->numbers[row] = record->record.cpu;
                return 0;
        case COLUMN_TID:
                column->numbers[row] = (uint64_t)(int64_t)ktrace_record_get_tid(record);
                return 0;
        case COLUMN_TASK:
                task = ktrace_record_get_task(record);
                return values_add(&column->values, task, strlen(task), &column->codes[row]);
        case COLUMN_EVENT:
                return add_event_name(column, record, &column->codes[row]);
        default:
                return add_field(column, record, row);
        }
}

/* layout: of the only event that is wanted, or NULL. */
static int table_add_record(ktrace_table *table,
                const ktrace_record *record,
                const EventLayout *layout) {
        int r = 0;

        if (record->kind == KTRACE_LOST)
                table->lost += record->lost > 0 ? (uint64_t)record->lost : 1;
        if (record->kind != KTRACE_EVENT || (layout && record->layout != layout))
                return 0;
        if (layout && !record->is_whole) {
                table->damaged++;
                return 0;
        }
        if (table->n_rows == table->n_rows_max)
                r = table_grow(table);
        for (size_t i = 0; r == 0 && i < table->n_columns; i++)
                r = add_value(&table->columns[i], record, table->n_rows);
        table->n_rows += r == 0;
        return r;
}

static bool table_is_empty(const ktrace_table *table) {
        return table->n_rows == 0 && table->lost == 0 && table->damaged == 0;
}

/* What was read before an error is returned first. The next call has the error again. */
static int table_fill(ktrace_table *table,
                ktrace_reader *reader,
                const EventLayout *layout,
                size_t max,
                ktrace_error *error) {
        int r = 1;

        while (r == 1 && table->n_rows < max) {
                const ktrace_record *record;

                r = ktrace_reader_next(reader, UINT64_MAX, &record, error);
                int added = r == 1 ? table_add_record(table, record, layout) : 0;
                if (added < 0)
                        return failure_take(added, NULL, error);
        }
        return table_is_empty(table) ? MIN_OF(r, 0) : 1;
}

/* *ret is NULL if all events are wanted, or if a stream ended before it had any. */
static int find_layout(ktrace_reader *reader,
                const char *event,
                const EventLayout **ret,
                ktrace_error *error) {
        Reason reason = {};

        *ret = NULL;
        int r = reader_await_events(reader, &reason);
        if (r == 0 && event && reader->decode) {
                *ret = reader_find_event(reader, event);
                if (!*ret)
                        r = reason_set(&reason,
                                        KT_E_NO_SUCH_EVENT,
                                        "the trace has no event %.128s%s",
                                        event,
                                        strchr(event, ':') ? "" : ": expected SYSTEM:NAME");
        }
        return failure_take(r, &reason, error);
}

int ktrace_reader_read_table(ktrace_reader *reader,
                const char *event,
                size_t max,
                ktrace_table **ret,
                ktrace_error *error) {
        const EventLayout *layout;

        *ret = NULL;
        int r = find_layout(reader, event, &layout, error);
        if (r < 0)
                return r;
        ktrace_table *table = calloc(1, sizeof(*table));
        r = table ? table_add_columns(table, reader, layout) : -ENOMEM;
        r = r < 0 ? failure_take(r, NULL, error) : table_fill(table, reader, layout, max, error);
        if (r == 1)
                *ret = table;
        else
                ktrace_table_free(table);
        return r;
}

void ktrace_table_free(ktrace_table *table) {
        for (size_t i = 0; table && i < table->n_columns; i++) {
                Column *column = &table->columns[i];

                free(column->numbers);
                free(column->codes);
                free(column->values.bytes);
                free(column->values.ends);
                free(column->values.slots);
        }
        if (table)
                free(table->columns);
        free(table);
}

/* What callers read */

static const Column *table_get_column(const ktrace_table *table, size_t column) {
        return column < table->n_columns ? &table->columns[column] : NULL;
}

size_t ktrace_table_count_rows(const ktrace_table *table) {
        return table->n_rows;
}

size_t ktrace_table_count_columns(const ktrace_table *table) {
        return table->n_columns;
}

uint64_t ktrace_table_get_lost(const ktrace_table *table) {
        return table->lost;
}

uint64_t ktrace_table_get_damaged(const ktrace_table *table) {
        return table->damaged;
}

const char *ktrace_table_get_name(const ktrace_table *table, size_t column) {
        const Column *found = table_get_column(table, column);

        return found ? found->name : NULL;
}

ktrace_field_kind ktrace_table_get_kind(const ktrace_table *table, size_t column) {
        const Column *found = table_get_column(table, column);

        return found ? found->kind : 0;
}

const ktrace_field *ktrace_table_get_field(const ktrace_table *table, size_t column) {
        const Column *found = table_get_column(table, column);

        return found ? found->field : NULL;
}

const uint64_t *ktrace_table_get_numbers(const ktrace_table *table, size_t column) {
        const Column *found = table_get_column(table, column);

        return found ? found->numbers : NULL;
}

const uint32_t *ktrace_table_get_codes(const ktrace_table *table, size_t column) {
        const Column *found = table_get_column(table, column);

        return found ? found->codes : NULL;
}

size_t ktrace_table_count_values(const ktrace_table *table, size_t column) {
        const Column *found = table_get_column(table, column);

        return found ? found->values.n : 0;
}

const void *ktrace_table_get_value(const ktrace_table *table,
                size_t column,
                size_t code,
                size_t *ret_size) {
        const Column *found = table_get_column(table, column);

        *ret_size = 0;
        if (!found || code >= found->values.n)
                return NULL;
        size_t begin = values_begin(&found->values, code);
        *ret_size = found->values.ends[code] - begin;
        return found->values.bytes ? found->values.bytes + begin : "";
}
