/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* filter-cost SHAPE SIZE: nanoseconds that filter_compile() takes for each byte of a filter of SIZE
 * bytes, the least of some rounds. Shapes: comparisons, as people write them; and those that a
 * parser could be slow with: parentheses and nots (refused or folded), strings, unknown (refused at
 * its end, with the nearest field looked for). */

#include <stdint.h>
#include <string.h>
#include <time.h>

#include "policy/filter.h"

#define N_ROUNDS 7
#define N_CALLS  2000

static const char description[] =
                "name: sched_switch\nID: 1\nformat:\n"
                "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
                "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
                "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
                "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
                "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
                "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
                "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";

static const struct {
        const char *name, *unit, *end;
} shapes[] = {
        { "comparisons", "next_pid == 4711 && ", "CPU == 1" },
        { "parentheses", "(", "CPU == 1" },
        { "nots", "!", "CPU == 1" },
        { "strings", "next_comm ~ \"*abcdefghijklmnopqrstuvwxyz*\" || ", "CPU == 1" },
        { "unknown", "next_pid == 4711 && ", "nxt_pid == 1" },
};

/* False: no such shape, or no room for its end. */
static bool make_text(const char *shape, char *text, size_t size) {
        for (size_t i = 0; i < ELEMENTSOF(shapes); i++) {
                size_t unit = strlen(shapes[i].unit), end = strlen(shapes[i].end), at = 0;

                if (strcmp(shapes[i].name, shape) != 0)
                        continue;
                for (; at + unit + end <= size; at += unit)
                        memcpy(text + at, shapes[i].unit, unit);
                strcpy(text + at, shapes[i].end);
                return at > 0;
        }
        return false;
}

static double measure(const FilterContext *context, const char *text) {
        struct timespec begin, end;

        (void)clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int i = 0; i < N_CALLS; i++) {
                _cleanup_free_ char *result = NULL;
                Reason reason;

                (void)filter_compile(context, text, &result, &reason);
        }
        (void)clock_gettime(CLOCK_MONOTONIC, &end);
        return (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
}

int main(int argc, char **argv) {
        _cleanup_(format_free_cleanup) Format *format = NULL;
        FilterContext context = { .event = "sched:sched_switch" };
        char text[FILTER_TEXT_MAX + 1];
        size_t size = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
        double least = 0;

        if (size == 0 || size > FILTER_TEXT_MAX || !make_text(argv[1], text, size) ||
                        format_parse(description, strlen(description), &format, NULL) != 0) {
                fprintf(stderr, "usage: %s SHAPE SIZE, at most %d\n", argv[0], FILTER_TEXT_MAX);
                return 2;
        }
        context.format = format;
        for (int i = 0; i < N_ROUNDS; i++) {
                double took = measure(&context, text);

                least = i == 0 || took < least ? took : least;
        }
        printf("%.3f\n", least / N_CALLS / (double)strlen(text));
        return 0;
}
