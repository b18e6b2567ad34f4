/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints records as lines on a FILE. The exporters call it for files and for live streams. Owns a
 * block of lines, which it writes when it has 64 KiB. Counts events and losses. export-text.c and
 * export-json.c contain the two formats. */

#include <errno.h>
#include <string.h>

#include "export/printer.h"

#include "export/export-json.h"
#include "export/export-text.h"
#include "trace/inner-pids.h"

#define BLOCK_SIZE ((size_t)64 * 1024)

void printer_init(Printer *printer, ExportFormat format, FILE *out, Decode *decode) {
        *printer = (Printer){ .format = format == EXPORT_TEXT_WALL ? EXPORT_TEXT : format,
                .out = out,
                .decode = decode,
                .is_wall = format == EXPORT_TEXT_WALL,
                .call_style = &call_style_default };
        printer->is_escaped = export_format_is_text(format);
}

void printer_clear(Printer *printer) {
        printer->calls = call_printer_free(printer->calls);
        text_block_clear(&printer->block);
        text_block_clear(&printer->slow);
}

int printer_flush(Printer *printer) {
        printer->block.is_short_of_memory |= printer->slow.is_short_of_memory;
        return text_block_write(&printer->block, printer->out);
}

/* Called at the end of each line. */
static int printer_write(Printer *printer) {
        return printer->block.used < BLOCK_SIZE ? 0 : printer_flush(printer);
}

void printer_add_lead(Printer *printer) {
        if (printer->lead)
                text_block_add(&printer->block, printer->lead, strlen(printer->lead));
}

static void text_buffer(Printer *printer, const char *buffer) {
        if (printer->name_width > 0)
                text_block_add_format(&printer->block,
                                buffer[0] ? "%*s: " : "%*s  ",
                                MIN_OF(printer->name_width, 255),
                                buffer);
}

int printer_begin(Printer *printer) {
        int r = 0;

        if (printer->format == EXPORT_TEXT)
                text_block_add_format(&printer->block, "cpus=%u\n", printer->decode->n_cpus);
        else if (printer->format == EXPORT_CALLS)
                r = call_printer_new(printer->call_style,
                                printer->decode,
                                &printer->block,
                                &printer->calls);
        return r ?: printer_write(printer);
}

/* Without names, lines are those of trace-cmd, which knows no hidden tasks. */
static const char *printer_get_task(const Printer *printer, int pid) {
        bool is_plain = printer->format == EXPORT_TEXT && !printer->has_names;

        return pid == 0 && is_plain ? COMMANDS_IDLE : decode_command(printer->decode, pid);
}

int printer_prepare(Printer *printer, const Record *record, const char *buffer, PrinterLine *ret) {
        int pid = decode_record_pid(record), r = 0;

        *ret = (PrinterLine){ .record = *record,
                .buffer = buffer,
                .pid = pid,
                .inner = inner_pids_find(printer->decode->inner, pid, record->ts),
                .task = printer_get_task(printer, pid),
                .layout = decode_find(printer->decode, record),
                .slow_start = printer->slow.used };
        ret->is_whole = ret->layout && event_layout_fits(ret->layout, record->data, record->size);
        printer->n_events++;
        if (ret->is_whole && printer->format == EXPORT_TEXT)
                r = decode_prepare(
                                printer->decode, ret->layout, record, &printer->slow, &ret->table);
        ret->slow_size = printer->slow.used - ret->slow_start;
        return r;
}

void printer_prepare_loss(Printer *printer,
                const Record *at,
                int64_t lost,
                const char *buffer,
                PrinterLine *ret) {
        *ret = (PrinterLine){
                .record = { .ts = at->ts, .cpu = at->cpu }, .lost = lost, .buffer = buffer
        };
        printer->n_lost += lost > 0 ? (uint64_t)lost : 1;
}

int printer_add(Printer *printer, const PrinterLine *line) {
        if (printer->format == EXPORT_JSON) {
                if (line->lost == 0)
                        json_record(printer, line);
                else
                        json_loss(printer, &line->record, line->lost, line->buffer);
                return 0;
        }
        printer_add_lead(printer);
        text_buffer(printer, line->buffer);
        if (line->lost == 0)
                return text_record(printer, line);
        text_loss(printer, line->record.cpu, line->lost);
        return 0;
}

int printer_record(Printer *printer, const Record *record, const char *buffer) {
        PrinterLine line;
        int r;

        if (printer->format == EXPORT_KTS) {
                printer->n_events++;
                return 0;
        }
        if (printer->format == EXPORT_CALLS) {
                printer->n_events++;
                r = call_printer_record(printer->calls, record, buffer);
                return r ?: printer_write(printer);
        }
        r = printer_prepare(printer, record, buffer, &line);
        r = r ?: printer_add(printer, &line);
        printer->slow.used = 0;
        return r ?: printer_write(printer);
}

int printer_loss(Printer *printer, const Record *at, int64_t lost, const char *buffer) {
        PrinterLine line;

        printer_prepare_loss(printer, at, lost, buffer, &line);
        if (printer->format == EXPORT_KTS)
                return 0;
        int r = printer->format == EXPORT_CALLS ? call_printer_loss(printer->calls, at->cpu, lost)
                                                : printer_add(printer, &line);
        return r ?: printer_write(printer);
}

int printer_late(Printer *printer, unsigned cpu) {
        int r = 0;

        if (printer->format == EXPORT_TEXT)
                text_block_add_format(&printer->block, "CPU:%u [EVENTS THAT CAME LATE]\n", cpu);
        else if (printer->format == EXPORT_JSON)
                json_late(printer, cpu);
        else if (printer->format == EXPORT_CALLS)
                r = call_printer_loss(printer->calls, cpu, 0);
        return r ?: printer_write(printer);
}

int printer_end(Printer *printer, const Stream *stream, const char *missing) {
        int r = printer->format == EXPORT_CALLS ? call_printer_finish(printer->calls) : 0;

        r = r ?: printer_flush(printer);
        if (r == 0 && printer->format == EXPORT_JSON)
                r = json_end(printer, stream, missing);
        return r ?: printer_flush(printer);
}
