/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints text as `trace-cmd report` 3.1.6 does, byte for byte (trace_show_data() in its
 * tracecmd/trace-read.c), with three exceptions: records that do not match their format, pids of a
 * container, and control characters from traced programs. The latter are escaped unless raw text is
 * requested, because a terminal would obey them, also when the text reaches it through a pipe or a
 * file. Called by printer. */

#include "export/export-text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/printer.h"
#include "export/text-names.h"
#include "export/wall-clock.h"
#include "trace/print-run.h"
#include "trace/text-escape.h"

/* Escapes the end of the block, which is nearly always plain. */
static int escape_from(TextBlock *block, size_t start, bool is_multiline) {
        size_t size, plain = start +
                             text_escape_count_plain(block->data + start, block->used - start);
        _cleanup_free_ char *copy = NULL;

        if (plain == block->used)
                return 0;
        size = block->used - plain;
        copy = malloc(size);
        if (!copy)
                return -ENOMEM;
        memcpy(copy, block->data + plain, size);
        block->used = plain;
        text_escape_add(block, copy, size, is_multiline);
        return 0;
}

static void add_spaces(TextBlock *block, size_t width, size_t size) {
        if (size < width)
                text_block_add_repeated(block, ' ', width - size);
}

/* "%16s-%-5d [%03d]", and with pids of a container "PID(INNER)" in a column of 12 */
static int export_text_add_task(Printer *printer, const PrinterLine *line) {
        TextBlock *block = &printer->block;
        size_t start, size = strlen(line->task);
        int r;

        start = block->used;
        text_block_add_right(block, line->task, size, 16);
        start = MAX_OF(start, block->used - MIN_OF(size, block->used));
        r = printer->is_escaped ? escape_from(block, start, false) : 0;
        text_block_add_char(block, '-');
        start = block->used;
        text_block_add_signed(block, line->pid);
        if (line->inner > 0) {
                text_block_add_char(block, '(');
                text_block_add_decimal(block, line->inner);
                text_block_add_char(block, ')');
        }
        add_spaces(block, printer->decode->inner ? 12 : 5, block->used - start);
        text_block_add(block, " [", 2);
        text_block_add_digits(block, line->record.cpu, 3);
        text_block_add_char(block, ']');
        return r;
}

static void export_text_add_time(Printer *printer, uint64_t ts) {
        static const TextNumber count = { .base = 10, .bytes = 8, .width = 12, .precision = -1 };
        static const TextNumber seconds = { .base = 10, .bytes = 8, .width = 5, .precision = -1 };
        TextBlock *block = &printer->block;
        char wall[WALL_CLOCK_TEXT_MAX];
        size_t size = printer->is_wall ? wall_clock_format(printer->decode, ts, 6, wall) : 0;
        uint64_t usec;

        if (size > 0) {
                text_block_add_char(block, ' ');
                text_block_add(block, wall, size);
        } else if (!printer->decode->is_usec)
                text_block_add_number(block, &count, ts);
        else {
                usec = (ts + 500) / 1000;
                text_block_add_char(block, ' ');
                if (usec >= UINT64_C(10000000000)) /* the width of five is full */
                        text_block_add_decimal(block, usec / 1000000);
                else
                        text_block_add_number(block, &seconds, usec / 1000000);
                text_block_add_char(block, '.');
                text_block_add_digits(block, usec % 1000000, 6);
        }
        text_block_add_char(block, ':');
}

/* By the event's print format. */
static void add_kernel_text(Printer *printer, const PrinterLine *line) {
        TextBlock *block = &printer->block;

        if (line->table)
                print_run(line->table,
                                line->record.data,
                                MIN_OF(line->record.size, (uint32_t)DECODE_RECORD_MAX),
                                block);
        else
                text_block_add(block, printer->slow.data + line->slow_start, line->slow_size);
}

static int add_event(Printer *printer, const PrinterLine *line) {
        TextBlock *block = &printer->block;
        size_t start = block->used;
        bool is_named = printer->has_names &&
                        text_names_print(printer->decode, line->layout, &line->record, block);

        if (!is_named)
                add_kernel_text(printer, line);
        if (block->used == start)
                return 0;
        if (block->data[block->used - 1] == '\n')
                block->used--;
        if (printer->has_names && !is_named)
                text_names_explain(line->layout, &line->record, block);
        /* Nearly all texts have nothing to escape, and no NUL. */
        if (text_escape_count_plain(block->data + start, block->used - start) ==
                        block->used - start)
                return 0;
        /* trace-cmd stops at the first NUL. */
        block->used = start + strnlen(block->data + start, block->used - start);
        return printer->is_escaped ? escape_from(block, start, line->layout->is_multiline) : 0;
}

int text_record(Printer *printer, const PrinterLine *line) {
        TextBlock *block = &printer->block;
        uint32_t size = line->record.size;
        int r = export_text_add_task(printer, line);

        export_text_add_time(printer, line->record.ts);
        if (!line->layout) {
                text_block_add_format(block, " (unknown event): [%" PRIu32 " BYTES]\n", size);
                return r;
        }
        text_block_add(block, line->layout->heading, line->layout->heading_size);
        if (!line->is_whole) {
                text_block_add_format(block, "[DAMAGED RECORD OF %" PRIu32 " BYTES]\n", size);
                return r;
        }
        r = r ?: add_event(printer, line);
        text_block_add_char(block, '\n');
        return r;
}

void text_loss(Printer *printer, unsigned cpu, int64_t lost) {
        if (lost > 0)
                text_block_add_format(&printer->block,
                                "CPU:%u [%" PRId64 " EVENTS DROPPED]\n",
                                cpu,
                                lost);
        else
                text_block_add_format(&printer->block, "CPU:%u [EVENTS DROPPED]\n", cpu);
}
