/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Globs mean what a shell means by them, and a hostile one costs no time. */

#include <fnmatch.h>
#include <glib.h>
#include <string.h>

#include "interfaces/glob.h"

static void test_is_pattern(void) {
        g_assert_true(glob_is_pattern("a*"));
        g_assert_true(glob_is_pattern("?"));
        g_assert_true(glob_is_pattern("[a]"));
        g_assert_false(glob_is_pattern("sched:sched_switch"));
        g_assert_false(glob_is_pattern("a]"));
        g_assert_false(glob_is_pattern(""));
}

static void test_match(void) {
        static const struct {
                const char *pattern, *text;
                bool match;
        } cases[] = {
                { "", "", true },
                { "", "a", false },
                { "a", "", false },
                { "*", "", true },
                { "*", "abc", true },
                { "**", "abc", true },
                { "a*c", "abbc", true },
                { "a*c", "abcd", false },
                { "*b*", "abc", true },
                { "*aab", "aaaab", true },
                { "?", "", false },
                { "?", "a", true },
                { "a?c", "abc", true },
                { "a?c", "ac", false },
                { "[abc]", "b", true },
                { "[abc]", "d", false },
                { "[a-c]x", "bx", true },
                { "[!a-c]", "d", true },
                { "[^a-c]", "b", false },
                { "[]a]", "]", true },
                { "[]a]", "a", true },
                { "[!]a]", "]", false },
                { "[a-]", "-", true },
                { "[-a]", "-", true },
                { "[z-a]", "m", false },
                { "[", "[", true },
                { "[a", "[a", true },
                { "a[", "a", false },
                { "[]", "[]", true },
                { "*[0-9]", "abc7", true },
                { "*[0-9]", "abc7x", false },
                { "A", "a", false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                if (glob_match(cases[i].pattern, cases[i].text) != cases[i].match)
                        g_error("\"%s\" against \"%s\"", cases[i].pattern, cases[i].text);
}

static void test_match_event(void) {
        g_assert_true(glob_match_event("sched:sched_switch", "sched", "sched_switch"));
        g_assert_true(glob_match_event("sched:*", "sched", "sched_switch"));
        g_assert_true(glob_match_event("sched_switch", "sched", "sched_switch"));
        g_assert_true(glob_match_event("*:sched_*", "sched", "sched_switch"));
        g_assert_true(glob_match_event("s*d:*", "sched", "sched_switch"));
        g_assert_false(glob_match_event("sched:sched_switch", "sched", "sched_switch2"));
        g_assert_false(glob_match_event("sched:*", "sched_ext", "x"));
        g_assert_false(glob_match_event("sche:*", "sched", "x"));
        g_assert_false(glob_match_event("sched:", "sched", "x"));
        g_assert_false(glob_match_event(":x", "sched", "x"));
        g_assert_false(glob_match_event("s*:b", "s", "a"));
}

/* The sets of fnmatch(3) know classes and escapes that ours do not: the alphabet has none. */
static void test_as_the_shell(void) {
        for (unsigned i = 0; i < 50000; i++) {
                static const char in_text[] = "abc";
                char pattern[24] = "", text[12] = "";
                size_t n_pattern = (size_t)g_test_rand_int_range(0, 8);
                size_t n_text = (size_t)g_test_rand_int_range(0, 8);
                bool is_match;

                for (size_t k = 0; k < n_pattern; k++) {
                        static const char *const pieces[] = {
                                "a", "b", "*", "?", "[ab]", "[!a]", "[a-b]", "[b-c]"
                        };
                        const char *piece = pieces[g_test_rand_int_range(0, G_N_ELEMENTS(pieces))];

                        if (strlen(pattern) + strlen(piece) < sizeof(pattern))
                                strcat(pattern, piece);
                }
                for (size_t k = 0; k < n_text; k++)
                        text[k] = in_text[g_test_rand_int_range(0, (gint32)strlen(in_text))];

                is_match = fnmatch(pattern, text, 0) == 0;
                if (glob_match(pattern, text) != is_match)
                        g_error("\"%s\" against \"%s\"", pattern, text);
        }
}

static void test_hostile_is_cheap(void) {
        char pattern[257] = "", text[1025] = "";
        gint64 start = g_get_monotonic_time();

        memset(text, 'a', sizeof(text) - 1);
        for (size_t i = 0; i + 2 < sizeof(pattern); i += 2)
                memcpy(pattern + i, "*a", 2);
        pattern[sizeof(pattern) - 2] = 'b';
        g_assert_false(glob_match(pattern, text));

        memset(text, '[', sizeof(text) - 1);
        memset(pattern, '[', sizeof(pattern) - 1);
        pattern[0] = '*';
        pattern[sizeof(pattern) - 2] = 'b';
        g_assert_false(glob_match(pattern, text));

        /* Half a second is a thousand times what it takes; exponential would be centuries. */
        g_assert_cmpint(g_get_monotonic_time() - start, <, G_USEC_PER_SEC / 2);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/glob/is-pattern", test_is_pattern);
        g_test_add_func("/glob/match", test_match);
        g_test_add_func("/glob/match-event", test_match_event);
        g_test_add_func("/glob/as-the-shell", test_as_the_shell);
        g_test_add_func("/glob/hostile-is-cheap", test_hostile_is_cheap);
        return g_test_run();
}
