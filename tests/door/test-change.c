/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What Configure takes as JSON, and what it refuses by name. */

#include <glib.h>

#include "door/change.h"

static int read_change(const char *text, Change *change, json_object **ret, Reason *reason) {
        *ret = json_tokener_parse(text);
        g_assert_nonnull(*ret);
        *change = (Change){};
        return change_from_json(*ret, change, reason);
}

static void test_good(void) {
        _cleanup_json_ json_object *list = NULL, *empty = NULL, *size = NULL, *hist = NULL;
        _cleanup_(change_clear) Change on = {}, none = {}, kb = {}, clear = {};
        Reason reason = { "" };

        g_assert_cmpint(read_change("{\"events-on\":[\"a:b\",\"c*\"]}", &on, &list, &reason),
                        ==,
                        0);
        g_assert_true(on.on);
        g_assert_cmpstr(on.patterns[1], ==, "c*");
        g_assert_null(on.patterns[2]);
        g_assert_cmpint(read_change("{\"events-off\":[]}", &none, &empty, &reason), ==, 0);
        g_assert_false(none.on);
        g_assert_null(none.patterns[0]);
        g_assert_cmpint(read_change("{\"buffer-kb\":64}", &kb, &size, &reason), ==, 0);
        g_assert_cmpuint(kb.buffer_kb, ==, 64);
        g_assert_null(kb.patterns);
        g_assert_cmpint(read_change("{\"hist-clear\":\"h\"}", &clear, &hist, &reason), ==, 0);
        g_assert_cmpstr(clear.hist_verb, ==, "hist-clear");
        g_assert_cmpstr(clear.hist, ==, "h");
}

static void expect(const char *text, int result, const char *said) {
        _cleanup_json_ json_object *o = NULL;
        _cleanup_(change_clear) Change change = {};
        Reason reason = { "" };

        g_assert_cmpint(read_change(text, &change, &o, &reason), ==, result);
        g_assert_nonnull(strstr(reason.text, said));
}

static void test_bad(void) {
        g_autofree char *name = g_strnfill(2000, 'x');
        g_autofree char *longer = g_strdup_printf("{\"events-on\":[\"%s\"]}", name);
        g_autoptr(GString) many = g_string_new("{\"events-off\":[\"a\"");

        for (int i = 0; i < 64; i++)
                g_string_append(many, ",\"a\"");
        g_string_append(many, "]}");
        expect("{}", KT_E_UNKNOWN_KEY, "nothing to change");
        expect("{\"events\":[]}", KT_E_UNKNOWN_KEY, "events:");
        expect("{\"buffer-kb\":1,\"events-on\":[]}", KT_E_INVALID_SPEC, "one change");
        expect("{\"buffer-kb\":-1}", KT_E_INVALID_SPEC, "buffer-kb");
        expect("{\"buffer-kb\":\"1\"}", KT_E_INVALID_SPEC, "buffer-kb");
        expect("{\"events-on\":\"a\"}", KT_E_INVALID_SPEC, "a list of names");
        expect("{\"events-on\":[1]}", KT_E_INVALID_SPEC, "events-on[0]");
        expect("{\"hist-pause\":null}", KT_E_INVALID_SPEC, "hist-pause");
        expect(longer, KT_E_INVALID_SPEC, "64 names");
        expect(many->str, KT_E_INVALID_SPEC, "64 names");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/change/good", test_good);
        g_test_add_func("/change/bad", test_bad);
        return g_test_run();
}
