/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Numbers and bytes for a reader, and text that must not steer a terminal. */

#include <glib.h>
#include <string.h>

#include "terminal/message.h"
#include "terminal/table.h"

static void test_number(void) {
        char out[TABLE_NUMBER_MAX];

        g_assert_cmpstr(table_format_number(out, 0), ==, "0");
        g_assert_cmpstr(table_format_number(out, 999), ==, "999");
        g_assert_cmpstr(table_format_number(out, 1000), ==, "1,000");
        g_assert_cmpstr(table_format_number(out, 12345678), ==, "12,345,678");
        g_assert_cmpstr(table_format_number(out, UINT64_MAX), ==, "18,446,744,073,709,551,615");
}

static void test_bytes(void) {
        char out[TABLE_NUMBER_MAX];

        g_assert_cmpstr(table_format_bytes(out, 0), ==, "0 bytes");
        g_assert_cmpstr(table_format_bytes(out, 999), ==, "999 bytes");
        g_assert_cmpstr(table_format_bytes(out, 1000), ==, "1.0 kB");
        g_assert_cmpstr(table_format_bytes(out, 999999), ==, "1.0 MB");
        g_assert_cmpstr(table_format_bytes(out, 1234567), ==, "1.2 MB");
        g_assert_cmpstr(table_format_bytes(out, UINT64_MAX), ==, "18.4 EB");
}

static void assert_clean(const char *before, const char *after) {
        g_autofree char *text = g_strdup(before);

        message_clean(text);
        g_assert_cmpstr(text, ==, after);
}

static void test_clean(void) {
        assert_clean("plain", "plain");
        assert_clean("a\033[2Jb\r\n\t\177", "a?[2Jb????");
        assert_clean("\302\233K", "??K"); /* CSI as one C1 character */
        assert_clean("\303\244\302\265", "\303\244\302\265");
        assert_clean("\302", "\302");
}

static void assert_parts(const char *first, const char *second, const char *after) {
        g_autofree char *a = g_strdup(first), *b = g_strdup(second);
        bool is_open = false;

        message_clean_lines(a, strlen(a), &is_open);
        message_clean_lines(b, strlen(b), &is_open);
        g_autofree char *both = g_strconcat(a, b, NULL);
        g_assert_cmpstr(both, ==, after);
}

/* No part ends with the first byte of a C1 character: the second may come from another text. */
static void test_parts(void) {
        assert_parts("a\033b\n\t", "\302\233K\177", "a?b\n\t??K?");
        assert_parts("\302\265", "\303\244", "\302\265\303\244");
        assert_parts("a\302", "\233K", "a??K");
        assert_parts("a\302", "\265K", "a??K");
        assert_parts("a\302", "K", "a?K");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/client/table/number", test_number);
        g_test_add_func("/client/table/bytes", test_bytes);
        g_test_add_func("/client/table/clean", test_clean);
        g_test_add_func("/client/table/parts", test_parts);
        return g_test_run();
}
