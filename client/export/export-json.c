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
#include "trace/json-string.h"
#include "trace/json-value.h"
#include "trace/receipt.h"

static void add_key_string(Printer *printer, const char *key, const char *text) {
        text_block_add(&printer->block, ",\"", 2);
        text_block_add(&printer->block, key, strlen(key));
        text_block_add(&printer->block, "\":", 2);
        json_string_add(&printer->block, text, strlen(text));
}

static void add_wall(Printer *printer, uint64_t ts) {
        char wall[WALL_CLOCK_TEXT_MAX];
        size_t size = wall_clock_format(printer->decode, ts, 9, wall);

        if (size == 0)
                return;
        text_block_add(&printer->block, ",\"wall\":\"", 9);
        text_block_add(&printer->block, wall, size);
        text_block_add_char(&printer->block, '"');
}

static void export_json_add_time(Printer *printer, uint64_t ts) {
        text_block_add_char(&printer->block, '{');
        printer_add_lead(printer);
        text_block_add(&printer->block, "\"ts\":", 5);
        text_block_add_decimal(&printer->block, ts);
        if (printer->decode->has_wall)
                add_wall(printer, ts);
}

static void export_json_add_buffer(Printer *printer, const char *buffer) {
        if (buffer[0] != '\0')
                add_key_string(printer, "instance", buffer);
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
        if (line->inner > 0) {
                text_block_add(&printer->block, ",\"inner-pid\":", 13);
                text_block_add_decimal(&printer->block, line->inner);
        }
        add_key_string(printer, "comm", line->task);
        if (!layout) {
                add_error(printer, "a record of an event with an unknown format");
                return;
        }
        text_block_add(&printer->block, layout->json_heading.data, layout->json_heading.used);
        if (!line->is_whole) {
                add_error(printer, "a record that is not as its format says");
                return;
        }
        text_block_add(&printer->block, ",\"fields\":", 10);
        json_value_add_fields(&printer->block, layout, &line->record);
        text_block_add(&printer->block, "}\n", 2);
}

void json_loss(Printer *printer, const Record *at, int64_t lost, const char *buffer) {
        text_block_add_char(&printer->block, '{');
        printer_add_lead(printer);
        if (lost > 0)
                text_block_add_format(
                                &printer->block, "\"lost\":%" PRId64 ",\"cpu\":%u", lost, at->cpu);
        else
                text_block_add_format(&printer->block, "\"lost\":null,\"cpu\":%u", at->cpu);
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
                json_string_add(&printer->block, stream->end_code, strlen(stream->end_code));
                add_key_string(printer, "reason", stream->end_reason);
                text_block_add(&printer->block, "}}\n", 3);
        }
        if (missing[0] != '\0') {
                text_block_add(&printer->block, "{\"error\":", 9);
                json_string_add(&printer->block, missing, strlen(missing));
                text_block_add(&printer->block, "}\n", 2);
        }
        return 0;
}
