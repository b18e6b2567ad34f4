/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hellos: what one side says is what the other reads, newer sides may say more, and the side that
 * is too old is named. */

#include <glib.h>
#include <string.h>

#include "remote/hello.h"

static void test_same(void) {
        Hello hello = hello_make(0), read = {};
        g_autofree char *text = NULL;
        Reason reason = {};

        hello.wants_stream = hello.wants_series = true;
        hello.columns = 132;
        text = hello_to_text(&hello);
        g_assert_cmpint(hello_parse(text, strlen(text), &read, &reason), ==, 0);
        g_assert_cmpmem(&read, sizeof(read), &hello, sizeof(hello));
        g_assert_cmpint(hello_check_there(&hello, &read, &reason), ==, 0);
}

static int parse(const char *text, Hello *ret, Reason *reason) {
        *reason = (Reason){};
        return hello_parse(text, strlen(text), ret, reason);
}

static void test_versions(void) {
        Hello here = hello_make(0), hello;
        Reason reason;

        g_assert_cmpint(parse("{\"protocol\":7,\"oldest\":1,\"version\":\"9\",\"new\":[{}]}",
                                        &hello,
                                        &reason),
                        ==,
                        0);
        g_assert_cmpint(hello_check_there(&here, &hello, &reason), ==, 0);
        hello.oldest = HELLO_PROTOCOL + 1;
        g_assert_cmpint(hello_check_there(&here, &hello, &reason), ==, KT_E_FAILED);
        g_assert_nonnull(strstr(reason.text, "the one here is too old"));
        hello.oldest = hello.protocol = HELLO_OLDEST - 1;
        g_assert_cmpint(hello_check_there(&here, &hello, &reason), ==, KT_E_FAILED);
        g_assert_nonnull(strstr(reason.text, "the one there is too old"));
}

/* A verb that a far side of protocol 2 refuses. */
static void test_needed(void) {
        Hello here = hello_make(3), old = hello_make(0), new = hello_make(0);
        Reason reason = {};

        old.protocol = 2;
        g_assert_cmpint(hello_check_there(&here, &new, &reason), ==, 0);
        g_assert_cmpint(hello_check_there(&here, &old, &reason), ==, KT_E_FAILED);
        g_assert_nonnull(strstr(reason.text, "the one there is too old"));
        g_assert_false(hello_is_spoken(&old, &here)); /* the old one does not run it */
        here = hello_make(0);
        g_assert_cmpint(hello_check_there(&here, &old, &reason), ==, 0);
}

static void test_bad(void) {
        static const char *const texts[] = {
                "",
                "[]",
                "{}",
                "{\"protocol\":1,\"oldest\":1}",
                "{\"protocol\":0,\"oldest\":0,\"version\":\"1\"}",
                "{\"protocol\":1,\"oldest\":2,\"version\":\"1\"}",
                "{\"protocol\":-1,\"oldest\":1,\"version\":\"1\"}",
                "{\"protocol\":\"1\",\"oldest\":1,\"version\":\"1\"}",
                "{\"protocol\":4294967297,\"oldest\":1,\"version\":\"1\"}",
                "{\"protocol\":1,\"oldest\":1,\"version\":1}",
                "{\"protocol\":1,\"oldest\":1,\"version\":\"1\",\"stream\":1}",
                "{\"protocol\":1,\"oldest\":1,\"version\":\"1\",\"columns\":10001}",
                "{\"protocol\":1,\"oldest\":1,\"version\":\"1\"} x",
        };
        g_autofree char *version = g_strnfill(HELLO_VERSION_MAX, '1');
        g_autofree char *text = g_strdup_printf(
                        "{\"protocol\":1,\"oldest\":1,\"version\":\"%s\"}", version);
        Reason reason;
        Hello hello;

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
                if (parse(texts[i], &hello, &reason) != KT_E_INVALID_SPEC || !reason.text[0])
                        g_error("%s is accepted", texts[i]);
        g_assert_cmpint(parse(text, &hello, &reason), ==, KT_E_INVALID_SPEC);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/hello/same", test_same);
        g_test_add_func("/hello/versions", test_versions);
        g_test_add_func("/hello/needed", test_needed);
        g_test_add_func("/hello/bad", test_bad);
        return g_test_run();
}
