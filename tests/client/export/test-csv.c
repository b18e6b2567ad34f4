/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "stream-fixture.h"

#define HEADING "time,cpu,pid,comm,event,fields\n"

static char *convert(const GByteArray *stream, ExportSummary *ret) {
        Reason reason = {};
        char *text;

        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        EXPORT_CSV,
                                        &text,
                                        NULL,
                                        ret,
                                        &reason),
                        ==,
                        0);
        return text;
}

static GByteArray *new_stream(const char *comm, const char *text) {
        GByteArray *stream = stream_new();
        g_autofree char *commands = g_strdup_printf("{\"41\":\"%s\"}", comm);
        Page page;

        stream_add_metadata(stream, 1);
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page, FIXTURE_TS, 41, -1, text);
        stream_add_page(stream, 0, 0, &page);
        stream_add_json(stream, FRAME_COMMANDS, commands);
        stream_add_end(stream);
        return stream;
}

static void test_records(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        ExportSummary summary;
        g_autofree char *text = convert(stream, &summary);

        g_assert_cmpstr(text,
                        ==,
                        HEADING "100.000001000,0,41,first,test:hello,"
                                "\"number=1 name=somebody text=one args=[7,8] where=0xabcd\"\n"
                                "100.000002000,1,42,second,test:hello,"
                                "\"number=2 name=somebody text=two args=[7,8] where=0xabcd\"\n"
                                "100.000003000,0,41,first,test:hello,"
                                "\"number=-3 name=somebody text=three args=[7,8] where=0xabcd\"\n"
                                "100.000004000,1,42,second,test:bytes,\"n=3 bytes=[1,2,255]\"\n");
        g_assert_cmpuint(summary.n_events, ==, 4);
        g_assert_true(summary.complete);
}

/* A spreadsheet runs =, +, - and @ at the start of a cell; a terminal runs control characters. */
static void test_hostile(void) {
        static const struct {
                const char *comm, *text, *cell, *value;
        } cases[] = {
                { "=1+2", "a", "'=1+2", "text=a " },
                { "+a", "-b", "'+a", "text=-b " },
                { "-a", "@c", "'-a", "text=@c " },
                { "@a", "=d", "'@a", "text=\"\"=d\"\" " },
                { "a,b", "x y", "\"a,b\"", "text=\"\"x y\"\" " },
                { "a\\\"b", "", "\"a\"\"b\"", "text=\"\"\"\" " },
                { "=\\\",", "q\"\\q", "\"'=\"\",\"", "text=\"\"q\\\"\"\\\\q\"\" " },
                { "\\u001b[2J",
                                "\x1b]0;x\a\xff\n.",
                                "\\x1b[2J",
                                "text=\"\"\\x1b]0;x\\x07\\xff\\x0a.\"\" " },
                { "</script>", "a\rb", "</script>", "text=\"\"a\\x0db\"\" " },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GByteArray) stream = new_stream(cases[i].comm, cases[i].text);
                ExportSummary summary;
                g_autofree char *text = convert(stream, &summary);
                g_autofree char *expected = g_strdup_printf(HEADING
                                "100.000000000,0,41,%s,test:hello,"
                                "\"number=-1 name=somebody %sargs=[7,8] where=0xabcd\"\n",
                                cases[i].cell,
                                cases[i].value);

                g_assert_cmpstr(text, ==, expected);
        }
}

static void test_loss(void) {
        g_autoptr(GByteArray) stream = stream_new();
        g_autofree char *text = NULL;
        uint8_t unknown[12] = { 200 };
        ExportSummary summary;
        Page page;

        stream_add_metadata(stream, 1);
        page_init(&page, FIXTURE_TS);
        page_add(&page, FIXTURE_TS, unknown, sizeof(unknown));
        page_add_bytes(&page, FIXTURE_TS + 5, 0, 60000, "", 0);
        stream_add_page(stream, 0, 15, &page);
        stream_add_frame(stream, FRAME_DATA, 0, 3, "", 0);
        text = convert(stream, &summary);
        g_assert_cmpstr(text,
                        ==,
                        HEADING "100.000000000,0,,,[15 events lost],\n"
                                "100.000000000,0,0,<idle>,[unknown or damaged record],\n"
                                "100.000000005,0,0,<idle>,test:bytes,n=60000 bytes=[]\n"
                                "100.000000005,0,,,[3 events lost],\n");
        g_assert_cmpuint(summary.n_lost, ==, 18);
        g_assert_false(summary.complete);
        g_assert_nonnull(strstr(summary.missing, "no end frame"));
}

static void test_other_clock(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        g_autofree char *text = NULL;
        ExportSummary summary;
        char *clock = memmem(stream->data, stream->len, "\"clock\":\"mono\"", 14);

        g_assert_nonnull(clock);
        memcpy(clock, "\"clock\":\"tick\"", 14);
        text = convert(stream, &summary);
        g_assert_true(g_str_has_prefix(text, HEADING "100000001000,0,41,first"));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/csv/records", test_records);
        g_test_add_func("/csv/hostile", test_hostile);
        g_test_add_func("/csv/loss", test_loss);
        g_test_add_func("/csv/other-clock", test_other_clock);
        return g_test_run();
}
