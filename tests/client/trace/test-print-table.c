/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "print-compare.h"
#include "stream-fixture.h"
#include "trace/print-run.h"
#include "trace/print-table.h"

typedef struct Fixture {
        Decode *decode;
        const EventLayout *layout;
        PrintTable *table;
} Fixture;

static const EventLayout *layout_of(Decode *decode, const char *format) {
        Record record = { .size = 8 };
        uint8_t id[8] = { 0 };
        Reason reason = { 0 };

        g_assert_cmpint(decode_add_event(decode, "test", format, strlen(format), &reason), ==, 0);
        id[0] = (uint8_t)atoi(strstr(format, "ID: ") + 4);
        record.data = id;
        return decode_find(decode, &record);
}

static char *with_print(const char *print) {
        g_autofree char *head = g_strdup(fixture_bytes_format);

        *strstr(head, "print fmt:") = '\0';
        return g_strconcat(head, "print fmt: ", print, "\n", NULL);
}

static void fixture_open(Fixture *fixture, const char *print) {
        g_autofree char *format = with_print(print);

        g_assert_cmpint(decode_new(false, &fixture->decode), ==, 0);
        fixture->layout = layout_of(fixture->decode, format);
        g_assert_nonnull(fixture->layout);
        g_assert_cmpint(print_table_new(fixture->layout, &fixture->table), ==, 0);
}

static void fixture_close(Fixture *fixture) {
        print_table_free(fixture->table);
        decode_free(fixture->decode);
}

static void test_widths(void) {
        g_assert_true(print_guard_check_widths("%d %-20s %016llx %.*s 100%% %*pbl %999d"));
        g_assert_false(print_guard_check_widths("%1000000000d"));
        g_assert_false(print_guard_check_widths("%.100000d"));
        g_assert_false(print_guard_check_widths("%*d"));
        g_assert_false(print_guard_check_widths("%.*d"));
        g_assert_false(print_guard_check_widths("%-5.*llx"));
        g_assert_true(print_guard_check_widths("%%1000000000d"));
}

/* libtraceevent would print as many bytes as the record claims. */
static void test_loop(void) {
        uint8_t record[24] = { FIXTURE_BYTES_ID };
        Fixture fixture;

        fixture_open(&fixture, "\"%s\", __print_hex(__get_dynamic_array(bytes), REC->n)");
        g_assert_true(fixture.table->is_compiled);
        g_assert_cmpuint(fixture.table->guard.n_loops, ==, 1);
        memcpy(record + 12, &(uint32_t){ 4 << 16 | 16 }, 4);
        memcpy(record + 8, &(uint32_t){ 4 }, 4);
        g_assert_true(print_guard_admits(&fixture.table->guard, record, 20));
        memcpy(record + 8, &(uint32_t){ 5 }, 4);
        g_assert_false(print_guard_admits(&fixture.table->guard, record, 20));
        memcpy(record + 8, &(uint32_t){ UINT32_MAX }, 4);
        g_assert_false(print_guard_admits(&fixture.table->guard, record, 20));
        fixture_close(&fixture);
}

/* libtraceevent would take any number of the stack for the address of the text. */
static void test_length(void) {
        uint8_t record[24] = { FIXTURE_BYTES_ID };
        Fixture fixture;

        fixture_open(&fixture, "\"%d %.*s\", REC->n, REC->n, __get_str(bytes)");
        g_assert_true(fixture.table->is_compiled);
        memcpy(record + 12, &(uint32_t){ 3 << 16 | 16 }, 4);
        memcpy(record + 8, &(int32_t){ INT32_MAX }, 4);
        g_assert_true(print_guard_admits(&fixture.table->guard, record, 20));
        memcpy(record + 8, &(int32_t){ -1 }, 4);
        g_assert_false(print_guard_admits(&fixture.table->guard, record, 20));
        memcpy(record + 8, &(int32_t){ INT32_MIN }, 4);
        g_assert_false(print_guard_admits(&fixture.table->guard, record, 20));
        fixture_close(&fixture);
        fixture_open(&fixture, "\"%*pbl %.*s\", 8, REC->n, REC->n, __get_str(bytes)");
        g_assert_false(print_guard_admits(&fixture.table->guard, record, 20));
        fixture_close(&fixture);
}

/* What the format guard lets through and would still make a line of gigabytes. */
static void test_wide(void) {
        static const struct {
                const char *print;
                bool is_safe;
        } cases[] = {
                { "\"%d\", REC->n / 2", true },
                { "\"%100000000d\", REC->n", false },
                { "\"%*d\", REC->n, 1", false },
                { "\"%.*d\", REC->n, 1", false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                Fixture fixture;

                fixture_open(&fixture, cases[i].print);
                g_assert_cmpint(fixture.table->guard.is_safe, ==, cases[i].is_safe);
                fixture_close(&fixture);
        }
}

/* Each construct of print formats, with the text that printf() would print. */
static void test_text(void) {
        static const struct {
                const char *print, *text;
        } cases[] = {
                { "\"a%%b\\n\"", "a%b\n" },
                { "\"%d %u %x %X %o\", REC->n, REC->n, REC->n, REC->n, REC->n",
                                "-2 4294967294 fffffffe FFFFFFFE 37777777776" },
                { "\"%hd %hhu %lld\", REC->n, REC->n, REC->n", "-2 254 4294967294" },
                { "\"[%12d|%-12d|%012d|%.12d|%#x|%#014x]\", REC->n, REC->n, REC->n, REC->n, REC->n, "
                  "REC->n",
                                "[          -2|-2          |-00000000002|-000000000002|0xfffffffe|"
                                "0x0000fffffffe]" },
                { "\"%.0d|%5.0d|\", 0, 0", "|     |" },
                { "\"%p %p\", 0, REC->n", "(nil) 0xfffffffe" },
                { "\"%ps %pS\", REC->n, REC->n", "0xfffffffe 0xfffffffe" },
                { "\"%d\", (REC->n & 0xff) == 254 ? (1 + 2) * 3 : !REC->n", "9" },
                { "\"%llx\", ~REC->n", "ffffffff00000001" },
                { "\"%d %d\", (u8)REC->n, (s16)REC->n", "254 65534" },
                { "\"%s|%8s|%-8s|%.2s\", \"abc\", \"abc\", \"abc\", \"abc\"",
                                "abc|     abc|abc     |ab" },
                { "\"%s %s\", REC->n > 7 ? \"many\" : \"few\", REC->n ? \"\" : \"none\"", "many " },
                { "\"%s\", __print_flags(REC->n & 7, \"|\", { 1, \"A\" }, { 2, \"B\" })", "B|0x4" },
                { "\"%s\", __print_flags(0, \"|\", { 1, \"A\" })", "" },
                { "\"%s\", __print_symbolic(REC->n & 3, { 1, \"one\" }, { 2, \"two\" })", "two" },
                { "\"%s\", __print_symbolic(REC->n & 4, { 1, \"one\" })", "0x4" },
                { "\"%s|%s\", __print_hex(__get_dynamic_array(bytes), 3), "
                  "__print_hex_str(__get_dynamic_array(bytes), 2)",
                                "68 69 00|6869" },
                { "\"%s\", __get_str(bytes)", "hi" },
                { "\"%d\", __get_dynamic_array_len(bytes)", "3" },
                { "\"%d\", ((u8*)__get_dynamic_array(bytes))[1]", "105" },
                { "\"%.*s|%-6.*s|%d\", 1, __get_str(bytes), 9, __get_str(bytes), REC->n",
                                "h|hi    |-2" },
                { "\"%.*s|\", REC->n ? 2 : 1, REC->n ? __get_str(bytes) : ((void *)0)", "hi|" },
                { "\"%u\", REC->n[(REC->n ? 1 : 0)]", "196624" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                uint8_t record[24] = { FIXTURE_BYTES_ID };
                TextBlock block = { 0 };
                Fixture fixture;

                memcpy(record + 8, &(int32_t){ -2 }, 4);
                memcpy(record + 12, &(uint32_t){ 3 << 16 | 16 }, 4);
                memcpy(record + 16, "hi", 3);
                fixture_open(&fixture, cases[i].print);
                if (!fixture.table->is_compiled)
                        g_error("not compiled: %s", cases[i].print);
                print_run(fixture.table, record, 20, &block);
                text_block_add_char(&block, '\0');
                g_assert_cmpstr(block.data, ==, cases[i].text);
                text_block_clear(&block);
                print_compare(fixture.decode, fixture.layout, 200);
                fixture_close(&fixture);
        }
}

static void assert_text(const TextBlock *block, const char *expected) {
        g_assert_cmpmem(block->data, block->used, expected, strlen(expected));
}

/* A text without a NUL, or one that points out of the record, ends with the record. */
static void test_ends(void) {
        uint8_t record[24] = { FIXTURE_BYTES_ID };
        TextBlock block = { 0 };
        Fixture fixture;

        memcpy(record + 12, &(uint32_t){ 3 << 16 | 16 }, 4);
        memcpy(record + 16, "abcdefgh", 8);
        fixture_open(&fixture, "\"%s|\", __get_str(bytes)");
        print_run(fixture.table, record, 20, &block);
        assert_text(&block, "abcd|");
        block.used = 0;
        memcpy(record + 12, &(uint32_t){ 3 << 16 | 60000 }, 4);
        print_run(fixture.table, record, 20, &block);
        assert_text(&block, "|");
        block.used = 0;
        print_run(fixture.table, record, 8, &block);
        assert_text(&block, "|");
        text_block_clear(&block);
        fixture_close(&fixture);
}

/* What two versions of libtraceevent print in different ways stays theirs. */
static void test_library(void) {
        static const char *const prints[] = {
                "\"%s\", __print_array(__get_dynamic_array(bytes), REC->n, 1)",
                "\"%+d\", REC->n",
                "\"%pM\", __get_dynamic_array(bytes)",
                "\"%d\", SOME_SYMBOL",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(prints); i++) {
                Fixture fixture;

                fixture_open(&fixture, prints[i]);
                g_assert_false(fixture.table->is_compiled);
                fixture_close(&fixture);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/print-table/widths", test_widths);
        g_test_add_func("/print-table/loop", test_loop);
        g_test_add_func("/print-table/length", test_length);
        g_test_add_func("/print-table/wide", test_wide);
        g_test_add_func("/print-table/text", test_text);
        g_test_add_func("/print-table/ends", test_ends);
        g_test_add_func("/print-table/library", test_library);
        return g_test_run();
}
