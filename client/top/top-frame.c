/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Makes the text of one refresh of top: two lines about all events, and a table. Called by
 * top-run.c, which writes it with one write(). On a terminal each line ends with an erase to its
 * end, so nothing flickers. Names of programs are escaped: no byte of theirs controls the terminal.
 * Owns nothing. */

#include "top/top-frame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "interfaces/cleanup.h"
#include "trace/text-escape.h"

#define ESC           "\033["
#define STYLE_REVERSE ESC "7m"
#define STYLE_BOLD    ESC "1m"
#define STYLE_RED     ESC "31m"
#define STYLE_GREEN   ESC "32m"
#define STYLE_END     ESC "0m"
#define BAR_WIDTH     10

typedef struct TopLine {
        TextBlock *block;
        const TopFrame *frame;
        unsigned used; /* columns of the screen */
} TopLine;

static unsigned line_left(const TopLine *line) {
        unsigned width = line->frame->width;

        return width == 0 ? UINT16_MAX : width > line->used ? width - line->used : 0;
}

/* Appends as much of the text as fits into max columns, and returns how many it took. The text has
 * no control characters. Bytes that are no character count as one column each. */
static unsigned line_add_cut(TopLine *line, const char *text, size_t size, unsigned max) {
        unsigned used = 0;
        mbstate_t state = {};

        max = MIN_OF(max, line_left(line));
        for (size_t at = 0; at < size && used < max;) {
                wchar_t c;
                size_t n = mbrtowc(&c, text + at, size - at, &state);
                int columns = 1;

                if (n == 0 || n > size - at) {
                        memset(&state, 0, sizeof(state));
                        n = 1;
                } else
                        columns = wcwidth(c);
                if (columns < 0)
                        columns = 1;
                if (used + (unsigned)columns > max)
                        break;
                text_block_add(line->block, text + at, n);
                used += (unsigned)columns;
                at += n;
        }
        line->used += used;
        return used;
}

static void line_add_spaces(TopLine *line, unsigned n) {
        n = MIN_OF(n, line_left(line));
        text_block_add_repeated(line->block, ' ', n);
        line->used += n;
}

static void line_add(TopLine *line, const char *text) {
        (void)line_add_cut(line, text, strlen(text), UINT16_MAX);
}

/* Escape sequences take no room on the screen. */
static void line_set_style(TopLine *line, const char *style) {
        text_block_add(line->block, style, strlen(style));
}

static void line_end(TopLine *line) {
        line_set_style(line, line->frame->is_live ? ESC "K\r\n" : "\n");
        line->used = 0;
}

/* A name of at most `width` columns, escaped. */
static void line_add_name(TopLine *line, const char *name, unsigned width) {
        TextBlock escaped = {};
        unsigned used;

        text_escape_add(&escaped, name, strlen(name), false);
        used = line_add_cut(line, escaped.data ?: "", escaped.used, width);
        line_add_spaces(line, width - used);
        text_block_clear(&escaped);
}

/* At most four digits before the unit: 9999, 10.0k, 123k, 4.5M. */
static void format_scaled(char *out, size_t size, double number, const char *units, double step) {
        size_t i = 0;

        while (number >= (i == 0 ? 10000 : step * 0.9995) && units[i + 1]) {
                number /= step;
                i++;
        }
        if (units[i] == ' ')
                (void)snprintf(out,
                                size,
                                number < 10 && number != (uint64_t)number ? "%.1f" : "%.0f",
                                number);
        else
                (void)snprintf(out, size, number < 100 ? "%.1f%c" : "%.0f%c", number, units[i]);
}

static void format_duration(char *out, size_t size, double nsec) {
        static const char *const units[] = { "ns", "us", "ms", "s" };
        size_t i = 0;

        while (nsec >= 999.5 && i + 1 < ELEMENTSOF(units)) {
                nsec /= 1000;
                i++;
        }
        (void)snprintf(out, size, i > 0 && nsec < 100 ? "%.1f%s" : "%.0f%s", nsec, units[i]);
}

static void format_cell(char *out,
                size_t size,
                const TopColumn *column,
                uint64_t number,
                uint64_t interval_nsec) {
        double seconds = (double)MAX_OF(interval_nsec, UINT64_C(1)) / 1e9;

        switch (column->kind) {
        case TOP_KIND_RATE:
                format_scaled(out, size, (double)number / seconds, " kMG", 1000);
                return;
        case TOP_KIND_BYTES:
                format_scaled(out, size, (double)number / seconds, " KMGT", 1024);
                return;
        case TOP_KIND_PART:
                (void)snprintf(out, size, "%.1f%%", (double)number / seconds / 1e7);
                return;
        case TOP_KIND_DURATION:
                format_duration(out, size, (double)number);
                return;
        default:
                (void)snprintf(out, size, "%" PRIu64, number);
        }
}

static bool is_shown(const TopFrame *frame, const TopColumn *column) {
        return !column->is_of_scheduler || frame->numbers->has_scheduler;
}

/* A bar of full and eighth blocks, or of # signs. part: of 1. */
static void line_add_bar(TopLine *line, double part) {
        static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
        unsigned n = (unsigned)(MIN_OF(part, 1.0) * BAR_WIDTH * 8 + 0.5);

        if (line_left(line) <= BAR_WIDTH)
                return;
        line_add_spaces(line, 1);
        if (line->frame->has_colour)
                line_set_style(line, STYLE_GREEN);
        for (unsigned i = 0; i < n / 8; i++)
                line_add(line, line->frame->is_utf8 ? "█" : "#");
        if (line->frame->is_utf8)
                line_add(line, eighths[n % 8]);
        if (line->frame->has_colour)
                line_set_style(line, STYLE_END);
}

static void add_titles(TopLine *line, const TopView *view) {
        const TopFrame *frame = line->frame;
        size_t sort = frame->choice->sort[frame->choice->view];

        if (frame->is_live)
                line_set_style(line, STYLE_REVERSE);
        for (size_t i = 0; i < view->n_columns; i++) {
                const TopColumn *column = &view->columns[i];
                unsigned title = (unsigned)strlen(column->title), used = line->used;

                if (!is_shown(frame, column))
                        continue;
                if (used > 0)
                        line_add_spaces(line, 1);
                if (column->kind != TOP_KIND_TEXT && column->width > title)
                        line_add_spaces(line, column->width - title);
                if (frame->is_live && i == sort)
                        line_set_style(line, STYLE_BOLD);
                line_add(line, column->title);
                if (frame->is_live && i == sort)
                        line_set_style(line, STYLE_END STYLE_REVERSE);
                if (column->kind == TOP_KIND_TEXT && column->width > title)
                        line_add_spaces(line, column->width - title);
        }
        if (frame->is_live) {
                line_add_spaces(line, line_left(line));
                line_set_style(line, STYLE_END);
        }
        line_end(line);
}

static void add_cell(TopLine *line, const TopColumn *column, const void *row) {
        const TopFrame *frame = line->frame;
        char text[32];

        if (line->used > 0)
                line_add_spaces(line, 1);
        if (column->kind == TOP_KIND_TEXT) {
                line_add_name(line, top_column_get_text(column, row), column->width);
                return;
        }
        uint64_t number = top_column_get_number(column, row);
        bool is_red = frame->has_colour && number > 0 && strcmp(column->key, "errors") == 0;

        format_cell(text, sizeof(text), column, number, frame->interval_nsec);
        if (column->width > strlen(text))
                line_add_spaces(line, column->width - (unsigned)strlen(text));
        if (is_red)
                line_set_style(line, STYLE_RED);
        line_add(line, text);
        if (is_red)
                line_set_style(line, STYLE_END);
}

static void add_row(TopLine *line, const TopView *view, const void *row, uint64_t largest) {
        const TopColumn *sort =
                        &view->columns[line->frame->choice->sort[line->frame->choice->view]];

        for (size_t i = 0; i < view->n_columns; i++)
                if (is_shown(line->frame, &view->columns[i]))
                        add_cell(line, &view->columns[i], row);
        if (largest > 0 && line->frame->is_live)
                line_add_bar(line, (double)top_column_get_number(sort, row) / (double)largest);
        line_end(line);
}

/* Returns how many lines the table may have. */
static unsigned count_lines(const TopFrame *frame, unsigned n_used) {
        return frame->height == 0       ? UINT32_MAX
               : frame->height > n_used ? frame->height - n_used
                                        : 0;
}

static void add_table(TopLine *line, unsigned n_used) {
        const TopFrame *frame = line->frame;
        const TopChoice *choice = frame->choice;
        const TopView *view = top_view_get(choice->view);
        const TopColumn *sort = &view->columns[choice->sort[choice->view]];
        size_t n;
        const void **rows = top_view_sort(choice->view,
                        frame->numbers,
                        choice->sort[choice->view],
                        choice->is_reverse,
                        choice->filter,
                        &n);
        uint64_t largest = 0;

        if (!rows) {
                line->block->is_short_of_memory = true;
                return;
        }
        add_titles(line, view);
        for (size_t i = 0; sort->kind >= TOP_KIND_RATE && i < n; i++)
                largest = MAX_OF(largest, top_column_get_number(sort, rows[i]));
        for (size_t i = 0; i < MIN_OF(n, (size_t)count_lines(frame, n_used + 1)); i++)
                add_row(line, view, rows[i], largest);
        free(rows);
}

/* Events per second of the last intervals, as a line of blocks. */
static void add_sparkline(TopLine *line) {
        static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
        static const char *const signs[] = { "_", ".", "-", "=", "*", "%", "#", "@" };
        const TopFrame *frame = line->frame;
        uint64_t largest = 1;

        for (size_t i = 0; i < frame->n_past; i++)
                largest = MAX_OF(largest, frame->past[i]);
        for (size_t i = 0; i < frame->n_past; i++) {
                size_t level = (size_t)((double)frame->past[i] / (double)largest * 7.0 + 0.5);

                line_add(line, (frame->is_utf8 ? blocks : signs)[level]);
        }
}

static void add_head(TopLine *line) {
        const TopFrame *frame = line->frame;
        const TopNumbers *numbers = frame->numbers;
        char text[160], events[32];
        double seconds = (double)MAX_OF(frame->interval_nsec, UINT64_C(1)) / 1e9;

        format_scaled(events, sizeof(events), (double)numbers->n_events / seconds, " kMG", 1000);
        (void)snprintf(text,
                        sizeof(text),
                        "ktracectl top: %s; %.1f s; %s events/s ",
                        frame->scope,
                        seconds,
                        events);
        line_add(line, text);
        add_sparkline(line);
        line_end(line);
        (void)snprintf(text,
                        sizeof(text),
                        "%zu threads, %zu kinds of calls, %zu devices; %" PRIu64 "%s events lost%s",
                        numbers->n_threads,
                        numbers->n_calls,
                        numbers->n_devices,
                        numbers->n_lost,
                        numbers->has_unknown_loss ? " or more" : "",
                        numbers->n_lost > 0 || numbers->has_unknown_loss ? ": numbers are too small"
                                                                         : "");
        line_add(line, text);
        if (numbers->n_other > 0) {
                (void)snprintf(text,
                                sizeof(text),
                                "; %" PRIu64 " calls of further threads",
                                numbers->n_other);
                line_add(line, text);
        }
        line_end(line);
}

static void add_prompt(TopLine *line) {
        const TopChoice *choice = line->frame->choice;

        if (choice->question[0]) {
                line_add(line, choice->question);
                line_add(line, choice->input);
        } else if (choice->note[0])
                line_add(line, choice->note);
        else if (choice->filter[0]) {
                line_add(line, "names with: ");
                line_add(line, choice->filter);
        } else
                line_add(line, "t threads  c calls  i devices  < > sort  R reverse  / filter  d delay  h help  q quit");
        line_end(line);
}

static void add_help(TopLine *line) {
        static const char *const lines[] = {
                "t         threads: who makes calls, moves data, runs, waits",
                "c         calls by name, with their durations",
                "i         block and network devices (with -a)",
                "< >       sort by the column to the left or right",
                "R         reverse the order",
                "/         only names that contain a text; empty: all",
                "d         seconds between refreshes",
                "space     refresh now",
                "h ?       this help, or back",
                "q         quit",
                "",
                "IN CALLS  time in system calls that ended, as part of the interval",
                "CPU WAIT  time on a CPU, and ready but without a CPU",
                "BLOCK     uninterruptible sleep, mostly for a disk",
                "MOST      the call that the thread made most often",
        };

        for (size_t i = 0; i < MIN_OF(ELEMENTSOF(lines), (size_t)count_lines(line->frame, 3));
                        i++) {
                line_add(line, lines[i]);
                line_end(line);
        }
}

void top_frame_add(TextBlock *block, const TopFrame *frame) {
        TopLine line = { .block = block, .frame = frame };
        unsigned n_used = frame->is_live ? 4 : 2; /* the last line stays free: no scrolling */

        if (frame->is_live)
                line_set_style(&line, ESC "H");
        add_head(&line);
        if (frame->is_live)
                add_prompt(&line);
        if (frame->choice->has_help)
                add_help(&line);
        else
                add_table(&line, n_used);
        line_set_style(&line, frame->is_live ? ESC "J" : "\n");
}
