/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <json-c/json.h>
#include <string.h>

#include "timeline-stream.h"

#define TS FIXTURE_TS

static void test_exact(void) {
        static const char expected[] =
                        "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
                        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"CPUs\"}},\n"
                        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,\"tid\":0,\"args\":{\"name\":\"Threads\"}},\n"
                        "{\"ph\":\"i\",\"name\":\"hello\",\"pid\":2,\"tid\":41,\"s\":\"t\",\"ts\":100000001.500,"
                        "\"args\":{\"cpu\":0,\"system\":\"ftrace\",\"fields\":{\"ip\":0,\"buf\":\"hello\"}}},\n"
                        "{\"ph\":\"X\",\"name\":\"read\",\"pid\":2,\"tid\":41,\"ts\":100000001.000,\"dur\":2.001,"
                        "\"args\":{\"result\":-4,\"entry\":{\"id\":0,\"args\":[5,0,0,0,0,0]}}},\n"
                        "{\"ph\":\"X\",\"name\":\"one\",\"pid\":1,\"tid\":0,\"ts\":100000000.000,\"dur\":4.000,"
                        "\"args\":{\"tid\":41,\"prio\":110}},\n"
                        "{\"ph\":\"X\",\"name\":\"two\",\"pid\":1,\"tid\":0,\"ts\":100000004.000,\"dur\":2.000,"
                        "\"args\":{\"tid\":42,\"prio\":110}},\n"
                        "{\"ph\":\"i\",\"name\":\"\",\"pid\":2,\"tid\":41,\"s\":\"t\",\"ts\":100000008.000,"
                        "\"args\":{\"cpu\":0,\"system\":\"ftrace\",\"fields\":{\"ip\":0,\"buf\":\"\"}}},\n"
                        "{\"ph\":\"X\",\"name\":\"write\",\"pid\":2,\"tid\":42,\"ts\":100000006.000,\"dur\":2.000,"
                        "\"args\":{\"unfinished\":true,\"entry\":{\"id\":1,\"args\":[5,0,0,0,0,0]}}},\n"
                        "{\"ph\":\"X\",\"name\":\"swapper\",\"pid\":1,\"tid\":0,\"ts\":100000006.000,\"dur\":2.000,"
                        "\"args\":{\"tid\":0,\"prio\":110}},\n"
                        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"CPU 0\"}},\n"
                        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":2,\"tid\":41,\"args\":{\"name\":\"one\"}},\n"
                        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":2,\"tid\":42,\"args\":{\"name\":\"two\"}}\n"
                        "],\"otherData\":{\"missing\":\"\",\"receipt\":{\"uid\":7,";
        g_autoptr(GByteArray) stream = stream_new();
        g_autofree char *text = NULL, *missing = NULL;
        json_object *whole;
        Page page;

        timeline_add_metadata(stream, 1);
        page_init(&page, TS);
        timeline_add_switch(&page, TS, 0, 41, 0, "one");
        timeline_add_entry(&page, TS + 1000, 41, 0);
        timeline_add_mark(&page, TS + 1500, 41, "hello\n");
        timeline_add_exit(&page, TS + 3001, 41, 0, -4);
        timeline_add_switch(&page, TS + 4000, 41, 42, 1, "two");
        timeline_add_entry(&page, TS + 6000, 42, 1);
        timeline_add_switch(&page, TS + 6000, 42, 0, 1, "swapper");
        timeline_add_mark(&page, TS + 8000, 41, "");
        stream_add_page(stream, 0, 0, &page);
        stream_add_end(stream);
        missing = timeline_convert(stream, EXPORT_CHROME, &text);
        g_assert_cmpstr(missing, ==, "");
        whole = json_tokener_parse(text);
        g_assert_nonnull(whole);
        json_object_put(whole);
        g_assert_cmpuint(strlen(text), >, strlen(expected));
        text[strlen(expected)] = '\0';
        g_assert_cmpstr(text, ==, expected);
}

/* A loss ends what is known: no slice covers it. */
static void test_loss(void) {
        g_autoptr(GByteArray) stream = stream_new();
        g_autofree char *text = NULL, *missing = NULL;
        Page page;

        timeline_add_metadata(stream, 1);
        page_init(&page, TS);
        timeline_add_switch(&page, TS, 0, 41, 0, "one");
        stream_add_page(stream, 0, 0, &page);
        page_init(&page, TS + 5000);
        timeline_add_switch(&page, TS + 5000, 43, 42, 0, "two");
        timeline_add_switch(&page, TS + 6000, 42, 0, 0, "swapper");
        stream_add_page(stream, 0, 12, &page);
        missing = timeline_convert(stream, EXPORT_CHROME, &text);
        g_assert_nonnull(strstr(missing, "no end frame"));
        g_assert_nonnull(strstr(text,
                        "\"name\":\"12 events lost\",\"pid\":1,\"tid\":0,\"s\":\"t\",\"ts\":100000005.000"));
        g_assert_null(strstr(text, "\"name\":\"one\",\"pid\":1"));
        g_assert_nonnull(strstr(text,
                        "\"name\":\"two\",\"pid\":1,\"tid\":0,\"ts\":100000005.000,\"dur\":1.000"));
        g_assert_nonnull(strstr(text, missing));
}

/* In a recording of own processes, the switch to thread 41 is missing. */
static void test_missing_switch(void) {
        g_autoptr(GByteArray) stream = stream_new();
        g_autofree char *text = NULL, *missing = NULL;
        Page page;

        timeline_add_metadata(stream, 1);
        page_init(&page, TS);
        timeline_add_switch(&page, TS, 41, 0, 0, "");
        timeline_add_switch(&page, TS + 5000, 41, 42, 0, "two");
        timeline_add_switch(&page, TS + 6000, 42, 0, 0, "");
        timeline_add_mark(&page, TS + 7000, 42, "end");
        stream_add_page(stream, 0, 0, &page);
        stream_add_end(stream);
        missing = timeline_convert(stream, EXPORT_CHROME, &text);
        g_assert_cmpstr(missing, ==, "");
        g_assert_null(strstr(text, "\"name\":\"\""));
        g_assert_null(strstr(text, "\"dur\":5.000"));
        g_assert_nonnull(strstr(text,
                        "\"name\":\"two\",\"pid\":1,\"tid\":0,\"ts\":100000005.000,\"dur\":1.000"));
}

/* Names of programs and texts of marks are anything. */
static void test_hostile(void) {
        static const char *const texts[] = {
                "</script>", "a\"b\\", "\x1b[2J\x01", "\xff\xfe\xc3", "\xc2\x9b"
        };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                g_autoptr(GByteArray) stream = stream_new();
                g_autofree char *text = NULL, *missing = NULL;
                json_object *whole;
                Page page;

                timeline_add_metadata(stream, 1);
                page_init(&page, TS);
                timeline_add_switch(&page, TS, 0, 41, 0, texts[i]);
                timeline_add_mark(&page, TS + 1, 99, texts[i]);
                stream_add_page(stream, 0, 0, &page);
                stream_add_end(stream);
                missing = timeline_convert(stream, EXPORT_CHROME, &text);
                g_assert_true(g_utf8_validate(text, -1, NULL));
                for (const char *c = text; *c; c++)
                        g_assert_true((unsigned char)*c >= ' ' || *c == '\n');
                whole = json_tokener_parse(text);
                g_assert_nonnull(whole);
                json_object_put(whole);
        }
}

static void test_other_clock(void) {
        g_autoptr(GByteArray) stream = stream_new();
        g_autofree char *text = NULL;
        ExportSummary summary;
        Reason reason = {};

        timeline_add_metadata(stream, 1);
        memcpy(memmem(stream->data, stream->len, "\"mono\"", 6), "\"tick\"", 6);
        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        EXPORT_CHROME,
                                        &text,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        KT_E_FAILED);
        g_assert_nonnull(strstr(reason.text, "its clock (tick)"));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/chrome/exact", test_exact);
        g_test_add_func("/chrome/loss", test_loss);
        g_test_add_func("/chrome/missing-switch", test_missing_switch);
        g_test_add_func("/chrome/hostile", test_hostile);
        g_test_add_func("/chrome/other-clock", test_other_clock);
        return g_test_run();
}
