/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints system calls as strace does: a line for each call, or a table of counts. Called by
 * printer, so recordings and live streams are printed alike. Owns a CallPair for each instance of
 * the recording and the table.
 *
 * A line is printed when its call ends, so lines are in the order of the ends. Calls that are open
 * at the end of the trace come last. Lines are escaped, because traced programs choose the texts in
 * them. */

#include "export/call-printer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/call-pair.h"
#include "export/strace-table.h"
#include "export/text-names.h"
#include "export/wall-clock.h"
#include "trace/text-escape.h"

/* The answers of the filter for calls with these numbers are kept. */
#define NUMBERS_MAX 1024

const CallStyle call_style_default = { .has_list = true };

typedef struct CallBuffer {
        struct CallBuffer *next;
        CallPair *pair;
        char name[];
} CallBuffer;

struct CallPrinter {
        const CallStyle *style;
        const Decode *decode;
        TextBlock *block;
        TextBlock line; /* before it is escaped */
        CallBuffer *buffers;
        CallTable table;              /* empty without style->has_table */
        int starter;                  /* see CallStyle; 0: it has begun the command */
        int8_t admitted[NUMBERS_MAX]; /* by number; 0: not asked yet, 1: yes, -1: no */
};

int call_printer_new(const CallStyle *style,
                const Decode *decode,
                TextBlock *block,
                CallPrinter **ret) {
        _cleanup_(call_printer_free_cleanup) CallPrinter *printer = calloc(1, sizeof(*printer));

        if (!printer)
                return -ENOMEM;
        printer->style = style;
        printer->decode = decode;
        printer->block = block;
        printer->starter = style->starter;
        *ret = TAKE_PTR(printer);
        return 0;
}

CallPrinter *call_printer_free(CallPrinter *printer) {
        if (!printer)
                return NULL;
        while (printer->buffers) {
                CallBuffer *buffer = printer->buffers;

                printer->buffers = buffer->next;
                call_pair_free(buffer->pair);
                free(buffer);
        }
        call_table_clear(&printer->table);
        text_block_clear(&printer->line);
        free(printer);
        return NULL;
}

static bool call_printer_admits(CallPrinter *printer, const Call *call) {
        const CallFilter *filter = printer->style->filter;
        int8_t unknown = 0, *admitted = &unknown;

        if (!filter)
                return true;
        if (call->number >= 0 && call->number < NUMBERS_MAX)
                admitted = &printer->admitted[call->number];
        if (*admitted == 0)
                *admitted = call_filter_admits(filter, call->name ?: call->name_if_64bit) ? 1 : -1;
        return *admitted > 0;
}

/* The process that becomes the command waits for its start, and tries execve() with each directory
 * of PATH. */
static bool call_printer_is_before_command(CallPrinter *printer, const Call *call) {
        const char *name = call->name ?: call->name_if_64bit;
        bool is_try = name && strcmp(name, "execve") == 0 && call->result < 0;

        if (printer->starter == CALL_STARTER_FIRST)
                printer->starter = call->tid;
        if (call->tid != printer->starter || printer->starter == 0)
                return false;
        if (is_try || call->state == CALL_RESULT_ONLY)
                return true;
        printer->starter = 0;
        return false;
}

static void call_printer_add_thread(CallPrinter *printer, const Call *call) {
        TextBlock *line = &printer->line;

        text_block_add_format(line, "[pid %5d", call->tid);
        if (printer->style->has_commands)
                text_block_add_format(line, "<%s>", decode_command(printer->decode, call->tid));
        text_block_add(line, "] ", 2);
}

/* When the call began. Without a relation to the time of day, the trace's own clock is printed. */
static void call_printer_add_time(CallPrinter *printer, const Call *call) {
        uint64_t ts = call->start > 0 ? call->start : call->end;
        CallTime time = printer->style->time;
        char wall[WALL_CLOCK_TEXT_MAX];
        TextBlock *line = &printer->line;

        if (time == CALL_TIME_NONE)
                return;
        if (time != CALL_TIME_EPOCH && printer->decode->has_wall &&
                        wall_clock_format(printer->decode, ts, 6, wall) > 26) {
                text_block_add(line, wall + 11, time == CALL_TIME_SECONDS ? 8 : 15);
        } else {
                if (printer->decode->has_wall)
                        ts += (uint64_t)printer->decode->wall_offset_ns;
                text_block_add_format(line,
                                "%" PRIu64 ".%06" PRIu64,
                                ts / UINT64_C(1000000000),
                                ts / 1000 % 1000000);
        }
        text_block_add_char(line, ' ');
}

static void call_printer_add_name(CallPrinter *printer, const Call *call) {
        if (call->name)
                text_block_add(&printer->line, call->name, strlen(call->name));
        else
                text_names_add_number(printer->decode, call->number, &printer->line);
}

static void call_printer_add_call(CallPrinter *printer, const Call *call) {
        TextBlock *line = &printer->line;

        if (call->layout) {
                text_names_add_entry(printer->decode,
                                &(TextNamesEntry){ .name = call->name,
                                                .path = call->path,
                                                .layout = call->layout,
                                                .record = &call->entry },
                                line);
                return;
        }
        if (call->start == 0)
                text_block_add(line, "<... ", 5);
        call_printer_add_name(printer, call);
        if (call->start == 0)
                text_block_add(line, " resumed>", 9);
        else
                text_block_add(line, "(...)", 5);
}

static void call_printer_add_result(CallPrinter *printer, const Call *call) {
        static const char open[] = " <unfinished ...>", none[] = " = ?",
                          doubtful[] = " <uncertain: events were lost>";
        TextBlock *line = &printer->line;

        if (call->state == CALL_UNFINISHED)
                text_block_add(line, open, strlen(open));
        else if (call->state == CALL_NO_RETURN)
                text_block_add(line, none, strlen(none));
        else
                text_names_add_result(call->name, call->result, line);
        if (call->is_doubtful)
                text_block_add(line, doubtful, strlen(doubtful));
}

static void call_printer_add_duration(CallPrinter *printer, const Call *call) {
        uint64_t time = call->end - call->start;

        if (!printer->style->has_durations || call->state != CALL_RETURNED)
                return;
        if (printer->decode->is_ns)
                text_block_add_format(&printer->line, " <%.6f>", (double)time / 1e9);
        else
                text_block_add_format(&printer->line, " <%" PRIu64 " of the clock>", time);
}

static void call_printer_list(CallPrinter *printer, const Call *call) {
        printer->line.used = 0;
        call_printer_add_thread(printer, call);
        call_printer_add_time(printer, call);
        call_printer_add_call(printer, call);
        call_printer_add_result(printer, call);
        call_printer_add_duration(printer, call);
        text_escape_add(printer->block, printer->line.data, printer->line.used, false);
        text_block_add_char(printer->block, '\n');
}

static int call_printer_on_call(const Call *call, void *userdata) {
        CallPrinter *printer = userdata;

        if (call_printer_is_before_command(printer, call) || !call_printer_admits(printer, call) ||
                        call->state == CALL_FIRST_RETURN)
                return 0;
        if (printer->style->has_list)
                call_printer_list(printer, call);
        int r = printer->line.is_short_of_memory ? -ENOMEM : 0;

        if (r == 0 && printer->style->has_table && call->state != CALL_UNFINISHED)
                r = call_table_add(&printer->table, call);
        return r;
}

static int call_printer_get_pair(CallPrinter *printer, const char *name, CallPair **ret) {
        CallBuffer *buffer = printer->buffers;
        int r;

        while (buffer && strcmp(buffer->name, name) != 0)
                buffer = buffer->next;
        if (!buffer) {
                buffer = calloc(1, sizeof(*buffer) + strlen(name) + 1);
                if (!buffer)
                        return -ENOMEM;
                memcpy(buffer->name, name, strlen(name));
                r = call_pair_new(printer->decode, call_printer_on_call, printer, &buffer->pair);
                if (r < 0) {
                        free(buffer);
                        return r;
                }
                buffer->next = printer->buffers;
                printer->buffers = buffer;
        }
        *ret = buffer->pair;
        return 0;
}

int call_printer_record(CallPrinter *printer, const Record *record, const char *buffer) {
        CallPair *pair;

        int r = call_printer_get_pair(printer, buffer, &pair);
        return r ?: call_pair_record(pair, record);
}

int call_printer_loss(CallPrinter *printer, uint32_t cpu, int64_t lost) {
        int r = 0;

        for (CallBuffer *buffer = printer->buffers; buffer && r == 0; buffer = buffer->next)
                r = call_pair_loss(buffer->pair, cpu);
        if (!printer->style->has_list || lost == 0)
                return r;
        if (lost > 0)
                text_block_add_format(printer->block,
                                "[%" PRId64 " events lost on CPU %" PRIu32 "]\n",
                                lost,
                                cpu);
        else
                text_block_add_format(printer->block, "[events lost on CPU %" PRIu32 "]\n", cpu);
        return r;
}

int call_printer_finish(CallPrinter *printer) {
        int r = 0;

        for (CallBuffer *buffer = printer->buffers; buffer && r == 0; buffer = buffer->next)
                r = call_pair_finish(buffer->pair);
        if (r == 0 && printer->style->has_table)
                r = strace_table_print(&printer->table, printer->style->sort, printer->block);
        return r;
}
