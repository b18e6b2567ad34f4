/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Spans of time: what is taken, what is refused, and that text and number go both ways. */

#include <errno.h>
#include <glib.h>

#include "interfaces/duration.h"

static void test_parse(void) {
        static const struct {
                const char *text;
                uint64_t usec;
        } good[] = {
                { "0", 0 },
                { "30", 30000000 },
                { "7us", 7 },
                { "500ms", 500000 },
                { "30s", 30000000 },
                { "5min", 300000000 },
                { "1h", UINT64_C(3600000000) },
                { "7d", UINT64_C(604800000000) },
        };

        static const char *const bad[] = {
                "", "s", "-1s", "+1s", " 1s", "1s ", "1 s", "1.5s", "1m", "1S", "1h30min", "0x10"
        };
        static const char *const too_long[] = { "18446744073709551616us",
                "99999999999999999999",
                "18446744073709551615s",
                "213503983d" };
        uint64_t usec = 42;

        for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
                g_assert_cmpint(duration_parse(good[i].text, &usec), ==, 0);
                g_assert_cmpuint(usec, ==, good[i].usec);
        }
        usec = 42;
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
                g_assert_cmpint(duration_parse(bad[i], &usec), ==, -EINVAL);
        for (size_t i = 0; i < G_N_ELEMENTS(too_long); i++)
                g_assert_cmpint(duration_parse(too_long[i], &usec), ==, -ERANGE);
        g_assert_cmpuint(usec, ==, 42);
}

static void test_format(void) {
        static const struct {
                uint64_t usec;
                const char *text;
        } cases[] = {
                { 0, "0d" },
                { 1, "1us" },
                { 1500, "1500us" },
                { 90000000, "90s" },
                { UINT64_C(5400000000), "90min" },
                { UINT64_C(604800000000), "7d" },
                { UINT64_MAX, "18446744073709551615us" },
        };

        char text[DURATION_TEXT_MAX];

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                duration_format(cases[i].usec, text);
                g_assert_cmpstr(text, ==, cases[i].text);
        }
}

static void test_both_ways(void) {
        for (unsigned i = 0; i < 10000; i++) {
                uint64_t usec = ((uint64_t)g_test_rand_int() << 32 | (uint32_t)g_test_rand_int()) >>
                                (i % 64);
                char text[DURATION_TEXT_MAX];
                uint64_t again;

                duration_format(usec, text);
                g_assert_cmpint(duration_parse(text, &again), ==, 0);
                g_assert_cmpuint(again, ==, usec);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/duration/parse", test_parse);
        g_test_add_func("/duration/format", test_format);
        g_test_add_func("/duration/both-ways", test_both_ways);
        return g_test_run();
}
