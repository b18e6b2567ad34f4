/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints records as lines on a FILE. The exporters call it for files and for live streams. Owns one
 * line buffer, which grows to the longest line. Counts events and losses. export-text.c and
 * export-json.c contain the two formats. */

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "trace/printer.h"

#include "trace/export-json.h"
#include "trace/export-text.h"

/* Upper limit of a line: the content of records is not trusted. */
#define LINE_MAX_SIZE ((size_t)16 * 1024 * 1024)

void printer_init(Printer *printer, ExportFormat format, FILE *out, Decode *decode) {
        *printer = (Printer){ .format = format == EXPORT_TEXT_WALL ? EXPORT_TEXT : format,
                .out = out,
                .decode = decode,
                .is_wall = format == EXPORT_TEXT_WALL };
        printer->is_escaped = export_format_is_text(format);
}

void printer_clear(Printer *printer) {
        free(printer->line);
        printer->line = NULL;
}

static bool line_reserve(Printer *printer, size_t size) {
        size_t wanted = printer->line_used + size;
        char *line;

        if (wanted <= printer->line_size)
                return true;
        if (wanted > LINE_MAX_SIZE)
                return false;
        wanted = MAX_OF(wanted * 2, (size_t)4096);
        line = realloc(printer->line, wanted);
        if (!line) {
                printer->is_short_of_memory = true;
                return false;
        }
        printer->line = line;
        printer->line_size = wanted;
        return true;
}

void line_add(Printer *printer, const char *text, size_t size) {
        if (!line_reserve(printer, size))
                return;
        memcpy(printer->line + printer->line_used, text, size);
        printer->line_used += size;
}

void line_char(Printer *printer, char c) {
        line_add(printer, &c, 1);
}

void line_format(Printer *printer, const char *format, ...) {
        va_list arguments;
        int n;

        if (!line_reserve(printer, 512))
                return;
        va_start(arguments, format);
        n = vsnprintf(printer->line + printer->line_used, 512, format, arguments);
        va_end(arguments);
        if (n > 0)
                printer->line_used += MIN_OF((size_t)n, (size_t)511);
}

void line_number(Printer *printer, uint64_t number) {
        char digits[20];
        size_t i = sizeof(digits);

        do
                digits[--i] = (char)('0' + number % 10);
        while ((number /= 10) > 0);
        line_add(printer, digits + i, sizeof(digits) - i);
}

int line_write(Printer *printer) {
        size_t size = printer->line_used;

        printer->line_used = 0;
        if (printer->is_short_of_memory)
                return -ENOMEM;
        if (size > 0 && fwrite_unlocked(printer->line, 1, size, printer->out) != size)
                return errno > 0 ? -errno : -EIO;
        return 0;
}

static void text_buffer(Printer *printer, const char *buffer) {
        if (printer->name_width > 0)
                line_format(printer,
                                buffer[0] ? "%*s: " : "%*s  ",
                                MIN_OF(printer->name_width, 255),
                                buffer);
}

int printer_begin(Printer *printer) {
        if (printer->format == EXPORT_TEXT)
                line_format(printer, "cpus=%u\n", printer->decode->n_cpus);
        return line_write(printer);
}

int printer_record(Printer *printer, const Record *record, const char *buffer) {
        const EventLayout *layout;

        printer->n_events++;
        if (printer->format == EXPORT_KTS)
                return 0;
        layout = decode_find(printer->decode, record);
        if (printer->format == EXPORT_JSON)
                json_record(printer, layout, record, buffer);
        else {
                text_buffer(printer, buffer);
                text_record(printer, layout, record);
        }
        return line_write(printer);
}

int printer_loss(Printer *printer, const Record *at, int64_t lost, const char *buffer) {
        printer->n_lost += lost > 0 ? (uint64_t)lost : 1;
        if (printer->format == EXPORT_TEXT) {
                text_buffer(printer, buffer);
                text_loss(printer, at->cpu, lost);
        } else if (printer->format == EXPORT_JSON)
                json_loss(printer, at, lost, buffer);
        return line_write(printer);
}

int printer_late(Printer *printer, unsigned cpu) {
        if (printer->format == EXPORT_TEXT)
                line_format(printer, "CPU:%u [EVENTS THAT CAME LATE]\n", cpu);
        else if (printer->format == EXPORT_JSON)
                json_late(printer, cpu);
        return line_write(printer);
}

int printer_end(Printer *printer, const Stream *stream, const char *missing) {
        return printer->format == EXPORT_JSON ? json_end(printer, stream, missing) : 0;
}
