/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The error table, which scripts rely on, and reasons: one line of UTF-8 whatever went in. */

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "interfaces/error.h"
#include "interfaces/quote.h"

static void test_table(void) {
        static const struct {
                KtError code;
                const char *bus_name;
                int exit_status;
        } contract[] = {
                { KT_E_FAILED, "org.ktrace1.Error.Failed", 1 },
                { KT_E_INVALID_SPEC, "org.ktrace1.Error.InvalidSpec", 2 },
                { KT_E_UNKNOWN_KEY, "org.ktrace1.Error.UnknownKey", 2 },
                { KT_E_ACCESS_DENIED, "org.ktrace1.Error.AccessDenied", 3 },
                { KT_E_NO_SUCH_EVENT, "org.ktrace1.Error.NoSuchEvent", 1 },
                { KT_E_NO_SUCH_PROCESS, "org.ktrace1.Error.NoSuchProcess", 1 },
                { KT_E_NO_SUCH_SESSION, "org.ktrace1.Error.NoSuchSession", 1 },
                { KT_E_NAME_TAKEN, "org.ktrace1.Error.NameTaken", 1 },
                { KT_E_LIMIT_REACHED, "org.ktrace1.Error.LimitReached", 1 },
                { KT_E_BUSY, "org.ktrace1.Error.Busy", 1 },
                { KT_E_WRONG_STATE, "org.ktrace1.Error.WrongState", 1 },
                { KT_E_WRONG_MODE, "org.ktrace1.Error.WrongMode", 1 },
                { KT_E_STREAM_BUSY, "org.ktrace1.Error.StreamBusy", 1 },
                { KT_E_CANCELLED, "org.ktrace1.Error.Cancelled", 1 },
                { KT_E_KERNEL_REFUSED, "org.ktrace1.Error.KernelRefused", 1 },
                { KT_E_NO_TRACING, "org.ktrace1.Error.NoTracing", 1 },
                { KT_E_NO_CONSUMER, "org.ktrace1.Error.NoConsumer", 1 },
                { KT_E_AUTH_REQUIRED, "org.ktrace1.Error.InteractiveAuthorizationRequired", 3 },
                { KT_E_NO_SUCH_FUNCTION, "org.ktrace1.Error.NoSuchFunction", 1 },
                { KT_E_NO_SUCH_PROBE, "org.ktrace1.Error.NoSuchProbe", 1 },
                { KT_E_LOCKED, "org.ktrace1.Error.Locked", 3 },
        };

        g_assert_cmpuint(G_N_ELEMENTS(contract), ==, _KT_E_N - 1);
        for (size_t i = 0; i < G_N_ELEMENTS(contract); i++) {
                const ErrorEntry *entry = error_get((int)contract[i].code);

                g_assert_cmpint(entry->code, ==, contract[i].code);
                g_assert_cmpstr(entry->bus_name, ==, contract[i].bus_name);
                g_assert_cmpint(entry->exit_status, ==, contract[i].exit_status);
                g_assert_cmpuint(strlen(entry->text), >, 0);
                g_assert_true(error_find_by_bus_name(entry->bus_name) == entry);
        }
}

static void test_unknown(void) {
        static const int codes[] = { 0, -1, -ENOMEM, INT_MIN, _KT_E_N, INT_MAX };

        for (size_t i = 0; i < G_N_ELEMENTS(codes); i++)
                g_assert_cmpint(error_get(codes[i])->code, ==, KT_E_FAILED);
        g_assert_null(error_find_by_bus_name("org.ktrace1.Error.Nothing"));
        g_assert_null(error_find_by_bus_name("Failed"));
        g_assert_null(error_find_by_bus_name(""));
        g_assert_null(error_find_by_bus_name(NULL));
}

static void test_reason(void) {
        Reason reason;

        g_assert_cmpint(reason_set(NULL, KT_E_BUSY, "%s", "x"), ==, KT_E_BUSY);
        g_assert_cmpint(reason_set(&reason, -EIO, "%s: %d", "buffer-kb", 7), ==, -EIO);
        g_assert_cmpstr(reason.text, ==, "buffer-kb: 7");
}

static void test_reason_is_one_clean_line(void) {
        Reason reason;

        reason_set(&reason, 1, "%s", "a\nb\tc\033[31m\x7f");
        g_assert_cmpstr(reason.text, ==, "a?b?c?[31m?");
        reason_set(&reason,
                        1,
                        "%s",
                        "\xc2\x9b"
                        "31m €"); /* C1 CSI as UTF-8 */
        g_assert_cmpstr(reason.text, ==, "?31m €");
        reason_set(&reason, 1, "%s", "\x9b\xff\xc0\xaf\xed\xa0\x80.\xe2\x82");
        g_assert_cmpstr(reason.text,
                        ==,
                        "???"
                        "?"
                        "???"
                        ".??");
}

static void test_reason_is_cut_at_a_character(void) {
        char text[1024] = "";
        Reason reason;

        for (size_t shift = 0; shift < 4; shift++) {
                memset(text, 'a', shift);
                for (size_t i = shift; i + 5 < sizeof(text); i += 4)
                        memcpy(text + i, "😀", 5);
                reason_set(&reason, 1, "%s", text);
                g_assert_true(g_utf8_validate(reason.text, -1, NULL));
                g_assert_null(strchr(reason.text, '?'));
                g_assert_cmpuint(strlen(reason.text), >, sizeof(reason.text) - 5);
        }
}

static void test_reason_of_anything(void) {
        for (unsigned i = 0; i < 2000; i++) {
                char text[700];
                size_t size = (size_t)g_test_rand_int_range(0, sizeof(text));
                Reason reason;

                for (size_t k = 0; k < size; k++)
                        text[k] = (char)g_test_rand_int_range(1, 256);
                text[size] = '\0';
                reason_set(&reason, 1, "%s", text);
                g_assert_true(g_utf8_validate(reason.text, -1, NULL));
                for (const char *p = reason.text; *p; p = g_utf8_next_char(p))
                        g_assert_false(g_unichar_iscntrl(g_utf8_get_char(p)));
        }
}

static void test_quote(void) {
        char text[100] = "";

        g_assert_cmpstr(quote("").text, ==, "\"\"");
        g_assert_cmpstr(quote("a b").text, ==, "\"a b\"");

        memset(text, 'x', QUOTE_MAX);
        g_assert_cmpuint(strlen(quote(text).text), ==, QUOTE_MAX + 2);
        text[QUOTE_MAX] = 'x';
        g_assert_true(g_str_has_suffix(quote(text).text, "x...\""));
        g_assert_cmpuint(strlen(quote(text).text), ==, QUOTE_MAX + 5);

        memcpy(text + QUOTE_MAX - 1, "€", strlen("€") + 1);
        g_assert_true(g_utf8_validate(quote(text).text, -1, NULL));
        g_assert_true(g_str_has_suffix(quote(text).text, "x...\""));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/error/table", test_table);
        g_test_add_func("/error/unknown", test_unknown);
        g_test_add_func("/error/reason", test_reason);
        g_test_add_func("/error/reason-is-one-clean-line", test_reason_is_one_clean_line);
        g_test_add_func("/error/reason-is-cut-at-a-character", test_reason_is_cut_at_a_character);
        g_test_add_func("/error/reason-of-anything", test_reason_of_anything);
        g_test_add_func("/error/quote", test_quote);
        return g_test_run();
}
