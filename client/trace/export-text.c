/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints text as `trace-cmd report` 3.1.6 does, byte for byte (trace_show_data() in its
 * tracecmd/trace-read.c), with two exceptions: records that do not match their format, and
 * control characters from traced programs. The latter are escaped unless raw text is requested,
 * because a terminal would obey them, also when the text reaches it through a pipe or a file.
 * Called by printer. */

#include "trace/export-text.h"

#include <inttypes.h>
#include <string.h>

#include "interfaces/utf8.h"
#include "trace/printer.h"
#include "trace/wall-clock.h"

/* C0, DEL, C1 and bytes that are not UTF-8: a terminal may act on each of them. */
static size_t harmless(const char *text, size_t size) {
        size_t length = utf8_length(text, size);
        unsigned char first = (unsigned char)text[0];

        if (length == 1)
                return first >= 0x20 && first != 0x7f ? 1 : 0;
        if (length == 2 && first == 0xc2 && (unsigned char)text[1] < 0xa0)
                return 0;
        return length;
}

/* Counts the ASCII at the start, which is nearly always the whole text. */
static size_t count_plain(const char *text, size_t size) {
        size_t n = 0;

        while (n < size && text[n] >= ' ' && text[n] < 0x7f)
                n++;
        return n;
}

static void add_escaped(Printer *printer, const char *text, size_t size, bool is_multiline) {
        size_t plain = printer->is_escaped ? count_plain(text, size) : size;

        line_add(printer, text, plain);
        text += plain;
        size -= plain;
        while (size > 0) {
                size_t length = harmless(text, size);

                if (length == 0 && (text[0] == '\t' || (text[0] == '\n' && is_multiline)))
                        length = 1;
                if (length == 0) {
                        line_format(printer, "\\x%02x", (unsigned)(unsigned char)text[0]);
                        length = 1;
                } else
                        line_add(printer, text, length);
                text += length;
                size -= length;
        }
}

static void add_padded(Printer *printer, const char *text, size_t width, bool is_left) {
        static const char spaces[] = "                    ";
        size_t length = strlen(text), pad;

        pad = MIN_OF(width - MIN_OF(length, width), sizeof(spaces) - 1);
        if (!is_left)
                line_add(printer, spaces, pad);
        add_escaped(printer, text, length, false);
        if (is_left)
                line_add(printer, spaces, pad);
}

/* "%16s-%-5d [%03d]" */
static void add_task(Printer *printer, const Record *record) {
        char number[32];
        int pid = decode_record_pid(record);

        add_padded(printer, decode_command(printer->decode, pid), 16, false);
        line_char(printer, '-');
        snprintf(number, sizeof(number), "%d", pid);
        add_padded(printer, number, 5, true);
        line_add(printer, " [", 2);
        for (unsigned digit = 100; digit > 1 && record->cpu < digit; digit /= 10)
                line_char(printer, '0');
        line_number(printer, record->cpu);
        line_char(printer, ']');
}

static void export_text_add_time(Printer *printer, uint64_t ts) {
        char wall[WALL_CLOCK_TEXT_MAX];
        uint64_t usec;

        if (printer->is_wall && wall_clock_format(printer->decode, ts, 6, wall)) {
                line_format(printer, " %s:", wall);
                return;
        }
        if (!printer->decode->is_usec) {
                line_format(printer, "%12" PRIu64 ":", ts);
                return;
        }
        usec = (ts + 500) / 1000;
        line_format(printer, " %5" PRIu64 ".%06" PRIu64 ":", usec / 1000000, usec % 1000000);
}

void text_record(Printer *printer, const EventLayout *layout, const Record *record) {
        const char *text;
        size_t size;

        add_task(printer, record);
        export_text_add_time(printer, record->ts);
        if (!layout) {
                line_format(printer, " (unknown event): [%" PRIu32 " BYTES]\n", record->size);
                return;
        }
        line_char(printer, ' ');
        line_add(printer, layout->event->name, strlen(layout->event->name));
        line_add(printer, ": ", 2);
        size = strlen(layout->event->name);
        line_add(printer, "                    ", size < 20 ? 20 - size : 0);
        if (!event_layout_fits(layout, record->data, record->size)) {
                line_format(printer, "[DAMAGED RECORD OF %" PRIu32 " BYTES]\n", record->size);
                return;
        }
        text = decode_print(printer->decode, layout, record, &size);
        if (size > 0 && text[size - 1] == '\n')
                size--;
        /* trace-cmd stops at the first NUL. */
        add_escaped(printer, text, strnlen(text, size), layout->is_multiline);
        line_char(printer, '\n');
}

void text_loss(Printer *printer, unsigned cpu, int64_t lost) {
        if (lost > 0)
                line_format(printer, "CPU:%u [%" PRId64 " EVENTS DROPPED]\n", cpu, lost);
        else
                line_format(printer, "CPU:%u [EVENTS DROPPED]\n", cpu);
}
