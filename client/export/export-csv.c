/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes a recording as CSV: a line for each event, with the columns time, cpu, pid, comm, event
 * and fields. Documented in ktracectl(1). Cells are quoted as in RFC 4180, and lines end with a
 * newline.
 *
 * If only one event is selected, each of its fields has a column.
 *
 * Traced programs choose names and texts. Bytes that a terminal may act on are escaped as in text.
 * Spreadsheets run a cell that begins with = + - @ as a formula. Such a text gets an apostrophe in
 * front, which makes it text there. Numbers stay as they are. */

#include "export/export-csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "trace/field-value.h"
#include "trace/text-escape.h"

#define BLOCK_SIZE ((size_t)64 * 1024)

typedef struct Csv {
        const Decode *decode;
        FILE *out;
        bool has_instances;      /* a column names the instance */
        const EventLayout *only; /* the only event; NULL: there may be several */
        TextBlock block;         /* lines that wait */
        TextBlock cell;          /* the text of one cell, before it is quoted */
} Csv;

/* Adds the text of `cell`, which becomes empty. */
static void csv_add_cell(Csv *csv) {
        const char *text = csv->cell.data;
        size_t size = csv->cell.used;
        TextBlock *block = &csv->block;
        bool is_formula = size > 0 && strchr("=+-@\t", text[0]) != NULL;
        bool is_quoted = size > 0 && (memchr(text, ',', size) || memchr(text, '"', size));

        text_block_add_char(block, ',');
        if (is_quoted)
                text_block_add_char(block, '"');
        if (is_formula)
                text_block_add_char(block, '\'');
        while (size > 0) {
                const char *quote = memchr(text, '"', size);
                size_t n = quote ? (size_t)(quote - text) + 1 : size;

                text_block_add(block, text, n);
                if (quote)
                        text_block_add_char(block, '"');
                text += n;
                size -= n;
        }
        if (is_quoted)
                text_block_add_char(block, '"');
        csv->cell.used = 0;
}

static void csv_add_text(Csv *csv, const char *text) {
        text_escape_add(&csv->cell, text, strlen(text), false);
        csv_add_cell(csv);
}

static void csv_add_event(Csv *csv, const struct tep_event *event) {
        text_escape_add(&csv->cell, event->system, strlen(event->system), false);
        text_block_add_char(&csv->cell, ':');
        csv_add_text(csv, event->name);
}

/* A text with characters that separate values is in quotes. */
static void csv_add_word(TextBlock *cell, const char *text, size_t size) {
        size_t n = 0;

        while (n < size && text[n] > ' ' && text[n] < 0x7f && !strchr("\"\\=", text[n]))
                n++;
        if (n == size && size > 0) {
                text_block_add(cell, text, size);
                return;
        }
        text_block_add_char(cell, '"');
        while (size > 0) {
                n = 0;
                while (n < size && text[n] != '"' && text[n] != '\\')
                        n++;
                text_escape_add(cell, text, n, false);
                if (n < size) {
                        text_block_add_char(cell, '\\');
                        text_block_add_char(cell, text[n++]);
                }
                text += n;
                size -= n;
        }
        text_block_add_char(cell, '"');
}

/* A column for each field. */
static void csv_add_columns(Csv *csv, const EventLayout *layout, const Record *record) {
        for (size_t i = 0; i < layout->n_fields; i++) {
                const EventLayoutField *field = &layout->fields[i];
                const char *text;

                if (field->kind == EVENT_LAYOUT_STRING) {
                        size_t size = field_value_get_text(field, record, &text);

                        text_escape_add(&csv->cell, text, size, false);
                        csv_add_cell(csv);
                } else if (field->kind == EVENT_LAYOUT_ARRAY) {
                        field_value_add(&csv->cell, field, record);
                        csv_add_cell(csv);
                } else {
                        text_block_add_char(&csv->block, ',');
                        field_value_add(&csv->block, field, record);
                }
        }
}

/* For a line without a record. */
static void csv_add_empty_fields(Csv *csv) {
        text_block_add_repeated(&csv->block, ',', csv->only ? csv->only->n_fields : 1);
}

/* "name=value name=value" */
static void csv_add_fields(Csv *csv, const EventLayout *layout, const Record *record) {
        for (size_t i = 0; i < layout->n_fields; i++) {
                const EventLayoutField *field = &layout->fields[i];
                const char *text;

                if (i > 0)
                        text_block_add_char(&csv->cell, ' ');
                text_escape_add(&csv->cell, field->name, strlen(field->name), false);
                text_block_add_char(&csv->cell, '=');
                if (field->kind == EVENT_LAYOUT_STRING) {
                        size_t size = field_value_get_text(field, record, &text);

                        csv_add_word(&csv->cell, text, size);
                } else
                        field_value_add(&csv->cell, field, record);
        }
        csv_add_cell(csv);
}

/* Seconds with all digits of the clock, or the clock's own number. */
static void csv_add_time(Csv *csv, uint64_t ts) {
        if (!csv->decode->is_ns) {
                text_block_add_decimal(&csv->block, ts);
                return;
        }
        text_block_add_decimal(&csv->block, ts / 1000000000);
        text_block_add_char(&csv->block, '.');
        text_block_add_digits(&csv->block, ts % 1000000000, 9);
}

static void csv_begin_line(Csv *csv, const ExporterItem *item) {
        csv_add_time(csv, item->record.ts);
        text_block_add_char(&csv->block, ',');
        text_block_add_decimal(&csv->block, item->record.cpu);
}

static int csv_end_line(Csv *csv, const ExporterItem *item) {
        if (csv->has_instances)
                csv_add_text(csv, item->buffer->name);
        text_block_add_char(&csv->block, '\n');
        csv->block.is_short_of_memory |= csv->cell.is_short_of_memory;
        return csv->block.used < BLOCK_SIZE ? 0 : text_block_write(&csv->block, csv->out);
}

/* Returns the layout of the selected event if it is only one. */
static const EventLayout *csv_find_only(const Trace *trace) {
        const EventLayout *found = NULL;

        for (size_t id = 0; id < trace->filter.n_events; id++) {
                if (trace->filter.events[id] == RECORD_LEFT_OUT)
                        continue;
                if (found)
                        return NULL;
                found = trace->decode->layouts[id];
        }
        return found;
}

static void csv_add_heading(Csv *csv) {
        static const char common[] = "time,cpu,pid,comm,event";

        text_block_add(&csv->block, common, strlen(common));
        for (size_t i = 0; csv->only && i < csv->only->n_fields; i++)
                csv_add_text(csv, csv->only->fields[i].name);
        if (!csv->only)
                csv_add_text(csv, "fields");
        if (csv->has_instances)
                csv_add_text(csv, "instance");
        text_block_add_char(&csv->block, '\n');
}

static int csv_begin(const ExporterInput *input, void **ret, Reason *reason _unused_) {
        Csv *csv = calloc(1, sizeof(*csv));

        if (!csv)
                return -ENOMEM;
        *csv = (Csv){ .decode = input->trace->decode,
                .out = input->out,
                .has_instances = input->trace->n_buffers > 1,
                .only = csv_find_only(input->trace) };
        csv_add_heading(csv);
        *ret = csv;
        return 0;
}

static int csv_record(void *state, const ExporterItem *item) {
        const EventLayout *layout = item->layout;
        Csv *csv = state;

        csv_begin_line(csv, item);
        text_block_add_char(&csv->block, ',');
        text_block_add_signed(&csv->block, item->pid);
        csv_add_text(csv, decode_command(csv->decode, item->pid));
        if (!layout) {
                csv_add_text(csv, "[unknown or damaged record]");
                csv_add_empty_fields(csv);
                return csv_end_line(csv, item);
        }
        csv_add_event(csv, layout->event);
        if (csv->only)
                csv_add_columns(csv, layout, &item->record);
        else
                csv_add_fields(csv, layout, &item->record);
        return csv_end_line(csv, item);
}

static int csv_loss(void *state, const ExporterItem *item) {
        Csv *csv = state;

        csv_begin_line(csv, item);
        text_block_add(&csv->block, ",,", 2);
        if (item->lost > 0)
                text_block_add_format(&csv->cell, "[%" PRId64 " events lost]", item->lost);
        else
                text_block_add_format(&csv->cell, "[events lost]");
        csv_add_cell(csv);
        csv_add_empty_fields(csv);
        return csv_end_line(csv, item);
}

static int csv_end(void *state, const char *missing _unused_) {
        Csv *csv = state;

        return text_block_write(&csv->block, csv->out);
}

static void csv_free(void *state) {
        Csv *csv = state;

        if (!csv)
                return;
        text_block_clear(&csv->block);
        text_block_clear(&csv->cell);
        free(csv);
}

const Exporter csv_exporter = {
        .begin = csv_begin,
        .record = csv_record,
        .loss = csv_loss,
        .end = csv_end,
        .free = csv_free,
};
