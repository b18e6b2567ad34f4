/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The list and the table of system calls. */
#include <glib.h>
#include <string.h>

#include "call-fixture.h"

#include "export/call-printer.h"

typedef struct Fixture {
        Decode *decode;
        TextBlock block;
        CallStyle style;
        CallPrinter *printer;
} Fixture;

static void open_calls(Fixture *f, gconstpointer data) {
        f->decode = call_fixture_new();
        f->style = (CallStyle){ .has_list = true };
}

static void close_calls(Fixture *f, gconstpointer data) {
        call_printer_free(f->printer);
        decode_free(f->decode);
        text_block_clear(&f->block);
}

static void put(Fixture *f, Event event, int id, int64_t number, int64_t value) {
        uint8_t bytes[64];
        Record record = call_fixture_record(bytes, &event, id, number, value);

        if (!f->printer)
                g_assert_cmpint(call_printer_new(&f->style, f->decode, &f->block, &f->printer),
                                ==,
                                0);
        g_assert_cmpint(call_printer_record(f->printer, &record, ""), ==, 0);
}

static void enter(Fixture *f, Event event, int number, int64_t argument) {
        put(f, event, number + 10, number, argument);
}

static void leave(Fixture *f, Event event, int number, int64_t result) {
        put(f, event, number + 10 + EXITS, number, result);
}

/* A read, a failed one, an uncertain one, one that is open, the end of a thread. */
static void make_calls(Fixture *f) {
        enter(f, (Event){ 0, 1000000000, 41 }, READ, 3);
        leave(f, (Event){ 0, 1250000000, 41 }, READ, 5);
        enter(f, (Event){ 0, 2000000000, 41 }, READ, 3);
        leave(f, (Event){ 0, 2000001000, 41 }, READ, -4);
        enter(f, (Event){ 0, 3000000000, 41 }, READ, 3);
        g_assert_cmpint(call_printer_loss(f->printer, 0, 7), ==, 0);
        leave(f, (Event){ 0, 4000000000, 41 }, READ, 0);
        leave(f, (Event){ 0, 4000000000, 42 }, CLONE, 0);
        leave(f, (Event){ 0, 4000000000, 43 }, NEWUNAME, 0);
        put(f, (Event){ 0, 5000000000, 42 }, RAW, 100000, 1);
        enter(f, (Event){ 0, 6000000000, 41 }, EXIT_GROUP, 0);
}

static void finish(Fixture *f, const char *text) {
        g_assert_cmpint(call_printer_finish(f->printer), ==, 0);
        text_block_add_char(&f->block, '\0');
        g_assert_cmpstr(f->block.data, ==, text);
}

static void test_list(Fixture *f, gconstpointer data) {
        f->style.has_durations = true;
        make_calls(f);
        finish(f,
                        "[pid    41] read(fd=3) = 5 <0.250000>\n"
                        "[pid    41] read(fd=3) = -4 EINTR <0.000001>\n"
                        "[7 events lost on CPU 0]\n"
                        "[pid    41] read(fd=3) = 0 <uncertain: events were lost> <1.000000>\n"
                        "[pid    43] <... uname resumed> = 0\n"
                        "[pid    41] exit_group(fd=0) = ?\n"
                        "[pid    42] NR 100000 (1, 0, 0, 0, 0, 0) <unfinished ...>\n");
}

static void test_table(Fixture *f, gconstpointer data) {
        f->style = (CallStyle){ .has_table = true };
        make_calls(f);
        put(f, (Event){ 0, 6000000000, 42 }, RAW + EXITS, 100000, -38);
        put(f, (Event){ 0, 6000000000, 42 }, RAW, READ, 0);
        put(f, (Event){ 0, 6000000000, 42 }, RAW + EXITS, READ, 0);
        finish(f,
                        "% time     seconds  usecs/call     calls    errors syscall\n"
                        "------ ----------- ----------- --------- --------- ----------------\n"
                        " 80.00    1.000000     1000000         1         1 NR 100000\n"
                        " 20.00    0.250001      125000         3         1 read\n"
                        "  0.00    0.000000           0         1           exit_group\n"
                        "  0.00    0.000000           0         1           uname\n"
                        "  0.00    0.000000           0         1           NR 0 [read if 64-bit]\n"
                        "------ ----------- ----------- --------- --------- ----------------\n"
                        "100.00    1.250001      312500         7         2 total\n");
}

/* A hostile recording has calls of any number: the table keeps its size. */
static void test_many_calls(Fixture *f, gconstpointer data) {
        f->style = (CallStyle){ .has_table = true, .sort = CALL_SORT_CALLS };
        for (int64_t i = 0; i < 10000; i++) {
                put(f, (Event){ 0, (uint64_t)i * 2 + 1, 41 }, RAW, i * 1000003, 0);
                put(f, (Event){ 0, (uint64_t)i * 2 + 2, 41 }, RAW + EXITS, i * 1000003, 0);
        }
        g_assert_cmpint(call_printer_finish(f->printer), ==, 0);
        text_block_add_char(&f->block, '\0');
        g_assert_nonnull(strstr(f->block.data, "      7952           others\n"));
        g_assert_nonnull(strstr(f->block.data, "     10000           total\n"));
}

static void test_filter(Fixture *f, gconstpointer data) {
        CallFilter *filter = NULL;
        Reason reason = {};

        g_assert_cmpint(call_filter_new("!read,%process", &filter, &reason), ==, 0);
        f->style.filter = filter;
        make_calls(f);
        finish(f,
                        "[7 events lost on CPU 0]\n"
                        "[pid    43] <... uname resumed> = 0\n"
                        "[pid    42] NR 100000 (1, 0, 0, 0, 0, 0) <unfinished ...>\n");
        call_filter_free(filter);
}

/* The process of the command looks for it in PATH. */
static void run_command(Fixture *f, int starter) {
        f->style.starter = starter;
        leave(f, (Event){ 0, 1, 41 }, READ, 1);
        enter(f, (Event){ 0, 2, 41 }, EXECVE, 1);
        leave(f, (Event){ 0, 3, 41 }, EXECVE, -2);
        enter(f, (Event){ 0, 4, 41 }, EXECVE, 1);
        leave(f, (Event){ 0, 5, 41 }, EXECVE, 0);
        enter(f, (Event){ 0, 6, 41 }, EXECVE, 2);
        leave(f, (Event){ 0, 7, 41 }, EXECVE, -2);
        finish(f, "[pid    41] execve(fd=1) = 0\n[pid    41] execve(fd=2) = -2 ENOENT\n");
}

static void test_command(Fixture *f, gconstpointer data) {
        run_command(f, 41);
}

/* The command of another machine: its pid is not known here. */
static void test_command_there(Fixture *f, gconstpointer data) {
        run_command(f, CALL_STARTER_FIRST);
}

/* Names of tasks and times of day. */
static void test_columns(Fixture *f, gconstpointer data) {
        f->style.has_commands = true;
        f->style.time = CALL_TIME_USEC;
        g_assert_cmpint(decode_add_command(f->decode, 41, "a\033[2J\nb"), ==, 0);
        enter(f, (Event){ 0, 1000002000, 41 }, READ, 3);
        leave(f, (Event){ 0, 1250000000, 41 }, READ, 5);
        f->decode->has_wall = true;
        enter(f, (Event){ 0, 3601000002000, 42 }, READ, 3);
        leave(f, (Event){ 0, 3601250000000, 42 }, READ, 5);
        finish(f,
                        "[pid    41<a\\x1b[2J\\x0ab>] 1.000002 read(fd=3) = 5\n"
                        "[pid    42<<...>>] 01:00:01.000002 read(fd=3) = 5\n");
}

/* Records with any bytes, of any size, and losses. */
static void test_noise(Fixture *f, gconstpointer data) {
        static const int ids[] = { READ + 10,
                READ + 10 + EXITS,
                CLONE + 10 + EXITS,
                EXECVE + 10,
                RAW,
                RAW + EXITS,
                EXIT_GROUP + 10,
                PROCESS_EXEC,
                PROCESS_EXIT,
                9999 };
        uint8_t bytes[64];

        f->style = (CallStyle){
                .has_list = true, .has_table = true, .has_durations = true, .has_commands = true
        };
        enter(f, (Event){ 0, 1, 41 }, READ, 3);
        for (int i = 0; i < 200000; i++) {
                Event event = { (uint32_t)g_test_rand_int_range(0, 3),
                        (uint64_t)(uint32_t)g_test_rand_int(),
                        g_test_rand_int_range(-1, 20) };
                int id = ids[g_test_rand_int_range(0, G_N_ELEMENTS(ids))];
                Record record = call_fixture_record(bytes,
                                &event,
                                id,
                                g_test_rand_int_range(-1, 70),
                                g_test_rand_int());

                record.size = (uint32_t)g_test_rand_int_range(0, 65);
                g_assert_cmpint(call_printer_record(f->printer, &record, i % 7 ? "" : "b"), ==, 0);
                if (i % 100 == 0)
                        g_assert_cmpint(call_printer_loss(f->printer, event.cpu, -1), ==, 0);
                if (i % 1000 == 0)
                        f->block.used = 0;
        }
        g_assert_cmpint(call_printer_finish(f->printer), ==, 0);
        g_assert_nonnull(g_strstr_len(f->block.data, (gssize)f->block.used, " total\n"));
}

int main(int argc, char **argv) {
        static const struct {
                const char *path;
                void (*test)(Fixture *f, gconstpointer data);
        } tests[] = { { "/calls/list", test_list },
                { "/calls/table", test_table },
                { "/calls/many", test_many_calls },
                { "/calls/filter", test_filter },
                { "/calls/command", test_command },
                { "/calls/command-there", test_command_there },
                { "/calls/columns", test_columns },
                { "/calls/noise", test_noise } };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].path, Fixture, NULL, open_calls, tests[i].test, close_calls);
        return g_test_run();
}
