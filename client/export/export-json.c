/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints one JSON object per line: events from their fields (no print formats, no plugins), lost
 * events, statistics, the end, errors. It prints directly, because an object tree per record
 * would cost more than all the rest. Called by printer. Strings may hold any bytes. Bytes that
 * are not UTF-8 become U+FFFD, so each line is valid JSON. Documented in ktracectl(1). */

#include "export/export-json.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "export/printer.h"
#include "export/wall-clock.h"
#include "interfaces/json-text.h"
#include "interfaces/utf8.h"
#include "trace/receipt.h"

/* Counts the bytes at the start that JSON has as they are. */
static size_t export_json_count_plain(const char *text, size_t size) {
        size_t n = 0;

        while (n < size && (unsigned char)text[n] >= 0x20 && (unsigned char)text[n] < 0x7f &&
                        text[n] != '"' && text[n] != '\\')
                n++;
        return n;
}

static void export_json_add_string(Printer *printer, const char *text, size_t size) {
        text_block_add_char(&printer->block, '"');
        while (size > 0) {
                size_t plain = export_json_count_plain(text, size), length;
                unsigned char c;

                text_block_add(&printer->block, text, plain);
                text += plain;
                size -= plain;
                if (size == 0)
                        break;
                length = utf8_length(text, size);
                c = (unsigned char)text[0];
                if (length == 0) {
                        text_block_add(&printer->block, "\\ufffd", 6);
                        length = 1;
                } else if (length > 1 && (c != 0xc2 || (unsigned char)text[1] >= 0xa0))
                        text_block_add(&printer->block, text, length);
                else if (c == '"' || c == '\\') {
                        text_block_add_char(&printer->block, '\\');
                        text_block_add_char(&printer->block, (char)c);
                } else /* control characters, also C1: a terminal would act on them */
                        text_block_add_format(&printer->block,
                                        "\\u%04x",
                                        (unsigned)(length > 1 ? (unsigned char)text[1] : c));
                text += length;
                size -= length;
        }
        text_block_add_char(&printer->block, '"');
}

static void add_key_string(Printer *printer, const char *key, const char *text) {
        text_block_add(&printer->block, ",\"", 2);
        text_block_add(&printer->block, key, strlen(key));
        text_block_add(&printer->block, "\":", 2);
        export_json_add_string(printer, text, strlen(text));
}

static void add_wall(Printer *printer, uint64_t ts) {
        char wall[WALL_CLOCK_TEXT_MAX];

        if (wall_clock_format(printer->decode, ts, 9, wall))
                add_key_string(printer, "wall", wall);
}

static void export_json_add_time(Printer *printer, uint64_t ts) {
        text_block_add(&printer->block, "{\"ts\":", 6);
        text_block_add_decimal(&printer->block, ts);
        if (printer->decode->has_wall)
                add_wall(printer, ts);
}

static void export_json_add_buffer(Printer *printer, const char *buffer) {
        if (buffer[0] != '\0')
                add_key_string(printer, "instance", buffer);
}

static void add_signed(Printer *printer, uint64_t value, bool is_signed) {
        if (is_signed)
                text_block_add_signed(&printer->block, (int64_t)value);
        else
                text_block_add_decimal(&printer->block, value);
}

static void add_array(Printer *printer,
                const EventLayoutField *field,
                const uint8_t *data,
                uint32_t size) {
        text_block_add_char(&printer->block, '[');
        for (uint32_t i = 0; i + field->element <= size; i += field->element) {
                if (i > 0)
                        text_block_add_char(&printer->block, ',');
                add_signed(printer,
                                event_layout_number(data + i, field->element, field->is_signed),
                                field->is_signed);
        }
        text_block_add_char(&printer->block, ']');
}

static uint64_t swap(uint64_t value, uint32_t size) {
        return __builtin_bswap64(value) >> (64 - 8 * size);
}

/* The kernel adds a newline to text written to trace_marker. */
static size_t count_text(const EventLayoutField *field, const char *text, size_t size) {
        size_t n = strnlen(text, size);

        return field->size == 0 && n > 0 && text[n - 1] == '\n' ? n - 1 : n;
}

static void export_json_add_field(Printer *printer,
                const EventLayoutField *field,
                const Record *record) {
        uint32_t offset, size;

        text_block_add(&printer->block, field->key, field->key_size);
        event_layout_locate(field, record->data, record->size, &offset, &size);
        if (size == 0) {
                text_block_add(&printer->block,
                                field->kind == EVENT_LAYOUT_STRING ? "\"\"" : "[]",
                                2);
                return;
        }
        switch (field->kind) {
        case EVENT_LAYOUT_STRING:
                export_json_add_string(printer,
                                (const char *)record->data + offset,
                                count_text(field, (const char *)record->data + offset, size));
                return;
        case EVENT_LAYOUT_ARRAY:
                add_array(printer, field, record->data + offset, size);
                return;
        case EVENT_LAYOUT_POINTER:
                text_block_add(&printer->block, "\"0x", 3);
                text_block_add_hex(&printer->block,
                                event_layout_number(record->data + offset, size, false));
                text_block_add_char(&printer->block, '"');
                return;
        default:
                break;
        }
        uint64_t number = event_layout_number(record->data + offset, size, field->is_signed);
        add_signed(printer, field->is_swapped ? swap(number, size) : number, field->is_signed);
}

static void add_error(Printer *printer, const char *error) {
        add_key_string(printer, "error", error);
        text_block_add(&printer->block, "}\n", 2);
}

void json_record(Printer *printer, const PrinterLine *line) {
        const EventLayout *layout = line->layout;

        export_json_add_time(printer, line->record.ts);
        text_block_add(&printer->block, ",\"cpu\":", 7);
        text_block_add_decimal(&printer->block, line->record.cpu);
        export_json_add_buffer(printer, line->buffer);
        text_block_add(&printer->block, ",\"pid\":", 7);
        text_block_add_signed(&printer->block, line->pid);
        add_key_string(printer, "comm", line->task);
        if (!layout) {
                add_error(printer, "a record of an event with an unknown format");
                return;
        }
        add_key_string(printer, "system", layout->event->system);
        add_key_string(printer, "event", layout->event->name);
        if (!line->is_whole) {
                add_error(printer, "a record that is not as its format says");
                return;
        }
        text_block_add(&printer->block, ",\"fields\":{", 11);
        for (size_t i = 0; i < layout->n_fields; i++) {
                if (i > 0)
                        text_block_add_char(&printer->block, ',');
                export_json_add_field(printer, &layout->fields[i], &line->record);
        }
        text_block_add(&printer->block, "}}\n", 3);
}

void json_loss(Printer *printer, const Record *at, int64_t lost, const char *buffer) {
        if (lost > 0)
                text_block_add_format(
                                &printer->block, "{\"lost\":%" PRId64 ",\"cpu\":%u", lost, at->cpu);
        else
                text_block_add_format(&printer->block, "{\"lost\":null,\"cpu\":%u", at->cpu);
        export_json_add_buffer(printer, buffer);
        text_block_add(&printer->block, "}\n", 2);
}

void json_late(Printer *printer, unsigned cpu) {
        text_block_add_format(&printer->block, "{\"late\":true,\"cpu\":%u}\n", cpu);
}

static int print_object(Printer *printer, const char *key, json_object *object) {
        fprintf(printer->out, "{\"%s\":", key);
        int r = json_text_print(printer->out, object, JSON_C_TO_STRING_PLAIN);
        fputs("}\n", printer->out);
        return r;
}

static int export_json_print_receipt(Printer *printer, const Stream *stream) {
        json_object *receipt;

        int r = receipt_make(stream, false, &receipt);
        if (r == 0 && receipt)
                r = print_object(printer, "receipt", receipt);
        json_object_put(receipt);
        return r;
}

int json_end(Printer *printer, const Stream *stream, const char *missing) {
        int r = export_json_print_receipt(printer, stream);

        if (r == 0 && stream->statistics)
                r = print_object(printer, "statistics", stream->statistics);
        if (r < 0)
                return r;
        if (stream->is_ended) {
                text_block_add(&printer->block, "{\"end\":{\"code\":", 15);
                export_json_add_string(printer, stream->end_code, strlen(stream->end_code));
                add_key_string(printer, "reason", stream->end_reason);
                text_block_add(&printer->block, "}}\n", 3);
        }
        if (missing[0] != '\0') {
                text_block_add(&printer->block, "{\"error\":", 9);
                export_json_add_string(printer, missing, strlen(missing));
                text_block_add(&printer->block, "}\n", 2);
        }
        return 0;
}
