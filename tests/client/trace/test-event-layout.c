/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "stream-fixture.h"
#include "trace/decode.h"
#include "trace/event-layout.h"

static const EventLayout *layout_of(Decode *decode, const char *format) {
        Record record = { .size = 8 };
        uint8_t id[8] = { 0 };
        const char *line = strstr(format, "ID: ");
        Reason reason = { 0 };

        g_assert_cmpint(decode_add_event(decode, "test", format, strlen(format), &reason), ==, 0);
        id[0] = (uint8_t)atoi(line + 4);
        record.data = id;
        return decode_find(decode, &record);
}

static void test_fits(void) {
        _cleanup_(decode_free_cleanup) Decode *decode = NULL;
        uint8_t record[64] = { FIXTURE_HELLO_ID };
        const EventLayout *layout;

        g_assert_cmpint(decode_new(false, &decode), ==, 0);
        layout = layout_of(decode, fixture_hello_format);
        g_assert_nonnull(layout);
        g_assert_cmpuint(layout->n_fields, ==, 5);
        g_assert_true(event_layout_fits(layout, record, 56));
        g_assert_false(event_layout_fits(layout, record, 55));
        /* A string of 4 bytes at 56, of 5, and one at 60000. */
        memcpy(record + 28, &(uint32_t){ 4 << 16 | 56 }, 4);
        g_assert_true(event_layout_fits(layout, record, 60));
        memcpy(record + 28, &(uint32_t){ 5 << 16 | 56 }, 4);
        g_assert_false(event_layout_fits(layout, record, 60));
        memcpy(record + 28, &(uint32_t){ 1 << 16 | 60000 }, 4);
        g_assert_false(event_layout_fits(layout, record, 60));
}

static void test_find(void) {
        _cleanup_(decode_free_cleanup) Decode *decode = NULL;
        const EventLayout *layout;

        g_assert_cmpint(decode_new(false, &decode), ==, 0);
        layout = layout_of(decode, fixture_hello_format);
        g_assert_nonnull(layout);
        for (size_t i = 0; i < layout->n_fields; i++) {
                const EventLayoutField *field = &layout->fields[i];
                EventLayoutKind other = field->kind == EVENT_LAYOUT_NUMBER ? EVENT_LAYOUT_STRING
                                                                           : EVENT_LAYOUT_NUMBER;

                g_assert_true(event_layout_find_field(layout, field->name) == field);
                g_assert_true(event_layout_find_kind(layout, field->name, field->kind) == field);
                g_assert_null(event_layout_find_kind(layout, field->name, other));
        }
        g_assert_null(event_layout_find_field(layout, "absent"));
}

static void test_insane_field(void) {
        static const char *const fields[] = {
                "\tfield:int a;\toffset:100000;\tsize:4;\tsigned:1;\n",
                "\tfield:int a;\toffset:8;\tsize:2000000000;\tsigned:1;\n",
                "\tfield:__data_loc char[] a;\toffset:8;\tsize:2;\tsigned:0;\n",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
                _cleanup_(decode_free_cleanup) Decode *decode = NULL;
                g_autoptr(GString) format = g_string_new(fixture_bytes_format);

                g_string_replace(format,
                                "\tfield:u32 n;\toffset:8;\tsize:4;\tsigned:0;\n",
                                fields[i],
                                1);
                g_assert_cmpint(decode_new(false, &decode), ==, 0);
                /* The event stays unknown, nothing else suffers. */
                g_assert_null(layout_of(decode, format->str));
        }
}

/* The record says how long it is: it is no number of 4 bytes. */
static void test_dynamic_number(void) {
        _cleanup_(decode_free_cleanup) Decode *decode = NULL;
        g_autoptr(GString) format = g_string_new(fixture_bytes_format);

        g_string_replace(format, "\tfield:u32 n;", "\tfield:__data_loc int n;", 1);
        g_assert_cmpint(decode_new(false, &decode), ==, 0);
        const EventLayout *layout = layout_of(decode, format->str);
        g_assert_nonnull(layout);
        g_assert_true(layout->fields[0].is_dynamic);
        g_assert_cmpint(layout->fields[0].kind, ==, EVENT_LAYOUT_ARRAY);
}

static void test_number(void) {
        static const uint8_t bytes[8] = { 0xff, 0xff, 0xff, 0xff, 0x01 };

        g_assert_cmpint((int64_t)event_layout_number(bytes, 1, true), ==, -1);
        g_assert_cmpuint(event_layout_number(bytes, 1, false), ==, 255);
        g_assert_cmpint((int64_t)event_layout_number(bytes, 4, true), ==, -1);
        g_assert_cmphex(event_layout_number(bytes, 8, true), ==, UINT64_C(0x1ffffffff));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/event-layout/fits", test_fits);
        g_test_add_func("/event-layout/find", test_find);
        g_test_add_func("/event-layout/insane-field", test_insane_field);
        g_test_add_func("/event-layout/dynamic-number", test_dynamic_number);
        g_test_add_func("/event-layout/number", test_number);
        return g_test_run();
}
