/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of histograms, made of what a reader tells: nothing of it is believed. */

#include <glib.h>
#include <string.h>

#include "trace/hist-rows.h"

static const char *make(HistKind kind, bool is_signed, const ControlKey *key, const char *text) {
        static char out[512];
        ControlMessage message = { .type = CONTROL_ENTRY };
        const HistLayout layout = {
                .n_keys = 1,
                .keys = { { .name = "k", .kind = kind, .is_signed = is_signed } },
        };

        message.entry.hitcount = 7;
        message.entry.keys[0] = *key;
        if (text)
                memcpy(message.entry.text + key->text_at, text, key->text_size);
        _cleanup_json_ json_object *row = hist_rows_make_entry(&layout, &message);
        json_object *k = json_object_object_get(json_object_object_get(row, "keys"), "k");
        (void)snprintf(out,
                        sizeof(out),
                        "%s",
                        json_object_to_json_string_ext(k, JSON_C_TO_STRING_NOSLASHESCAPE));
        return row ? out : NULL;
}

static const char *make_number(HistKind kind, bool is_signed, uint64_t number, uint64_t last) {
        return make(kind, is_signed, &(ControlKey){ .number = number, .last = last }, NULL);
}

static const char *make_text(HistKind kind, const char *text, size_t size) {
        return make(kind,
                        true,
                        &(ControlKey){ .number = 3, .text_at = 5, .text_size = (uint32_t)size },
                        text);
}

static void test_numbers(void) {
        g_assert_cmpstr(make_number(HIST_NUMBER, false, UINT64_MAX, 0), ==, "18446744073709551615");
        g_assert_cmpstr(make_number(HIST_NUMBER, true, UINT64_MAX, 0), ==, "-1");
        g_assert_cmpstr(make_number(HIST_LOG2, false, 0, 0), ==, "{\"from\":0,\"to\":1}");
        g_assert_cmpstr(make_number(HIST_LOG2, false, 1, 0), ==, "{\"from\":2,\"to\":2}");
        g_assert_cmpstr(make_number(HIST_LOG2, false, 9, 0), ==, "{\"from\":257,\"to\":512}");
        g_assert_cmpstr(make_number(HIST_LOG2, false, 64, 0),
                        ==,
                        "{\"from\":9223372036854775809,\"to\":18446744073709551615}");
        g_assert_nonnull(make_number(HIST_LOG2, false, UINT64_MAX, 0));
        g_assert_cmpstr(make_number(HIST_BUCKETS, false, 512, 1023),
                        ==,
                        "{\"from\":512,\"to\":1023}");
}

static void test_texts(void) {
        g_assert_cmpstr(make_text(HIST_STRING, "plain", 5), ==, "\"plain\"");
        g_assert_cmpstr(make_text(HIST_STRING, "a\nb\xff\\", 5),
                        ==,
                        "\"a\\\\x0ab\\\\xff\\\\\\\\\"");
        g_assert_cmpstr(make_text(HIST_STRING, "\xc3\xa4\xc3", 3), ==, "\"\xc3\xa4\\\\xc3\"");
        g_assert_cmpstr(make_text(HIST_STRING, "\0x", 2), ==, "\"\\\\x00x\"");
        g_assert_cmpstr(make_text(HIST_EXECNAME, "dd", 2), ==, "{\"pid\":3,\"comm\":\"dd\"}");
        g_assert_cmpstr(make_text(HIST_SYSCALL, "sys_write", 9),
                        ==,
                        "{\"nr\":3,\"name\":\"write\"}");
        g_assert_cmpstr(make_text(HIST_SYSCALL, "unknown_syscall", 15), ==, "{\"nr\":3}");
        g_assert_cmpstr(make_text(HIST_SYM, "a+0x1", 5),
                        ==,
                        "{\"address\":3,\"symbol\":\"a+0x1\"}");
        g_assert_cmpstr(make_text(HIST_STACKTRACE, "a\nb\n", 4), ==, "[\"a\",\"b\"]");
        g_assert_cmpstr(make_text(HIST_STACKTRACE, "", 0), ==, "[]");
}

/* Outside of the message. */
static void test_unsound(void) {
        g_assert_null(make(HIST_STRING,
                        false,
                        &(ControlKey){ .text_at = CONTROL_KEYS_MAX + 1 },
                        NULL));
        g_assert_null(make(HIST_STRING,
                        false,
                        &(ControlKey){ .text_at = 1, .text_size = CONTROL_KEYS_MAX },
                        NULL));
        g_assert_null(make(HIST_STACKTRACE,
                        false,
                        &(ControlKey){ .text_at = UINT32_MAX, .text_size = 2 },
                        NULL));
        g_assert_nonnull(make(
                        HIST_STRING, false, &(ControlKey){ .text_at = CONTROL_KEYS_MAX }, NULL));
}

static void test_head(void) {
        const SpecTrigger trigger = {
                .event = (char *)"a:b",
                .hist = { .keys = { .items = (char *[]){ (char *)"id.hex" }, .n = 1 } },
        };
        const ControlMessage totals = {
                .totals = { .hits = 9, .entries = 4, .dropped = 2, .is_paused = 1 },
        };
        _cleanup_json_ json_object *head = hist_rows_make_head(
                        &trigger, &(HistText){ .n_rows = 128 }, true, &totals, 3);

        g_assert_cmpstr(json_object_to_json_string_ext(head, JSON_C_TO_STRING_PLAIN),
                        ==,
                        "{\"name\":\"a:b\",\"event\":\"a:b\",\"keys\":[\"id.hex\"],\"values\":[],\"sort\":[],"
                        "\"size\":128,\"counted-by\":\"consumer\",\"hits\":9,\"entries\":4,\"told\":3,\"dropped\":2,\"paused\":true}");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/trace/hist-rows/numbers", test_numbers);
        g_test_add_func("/trace/hist-rows/texts", test_texts);
        g_test_add_func("/trace/hist-rows/unsound", test_unsound);
        g_test_add_func("/trace/hist-rows/head", test_head);
        return g_test_run();
}
