/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Triggers of a session spec: each value's limits, what belongs together, each refusal's words, and
 * that they survive the way to JSON and back. */

#include <glib.h>
#include <string.h>

#include "interfaces/spec-trigger.h"

#include "interfaces/spec-json.h"

static int feed(Spec *spec, const char *text, Reason *reason) {
        _cleanup_json_ json_object *object = NULL;

        int r = json_parse_strict("SPEC", text, strlen(text), &object, reason);
        return r != 0 ? r : spec_from_json(spec, object, reason);
}

static void assert_refused(const char *triggers, int code, const char *message) {
        g_autofree char *text = g_strdup_printf("{\"triggers\":[%s]}", triggers);
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason = { "" };

        int r = feed(spec, text, &reason);
        if (r != code || strcmp(reason.text, message) != 0)
                g_error("%s: %d %s", text, r, reason.text);
}

static void test_own_list(void) {
        _cleanup_spec_ Spec *spec = spec_new();

        g_assert_cmpint(feed(spec,
                                        "{\"triggers\":[{\"when\":\"a:b if x == 1\",\"do\":\"stop\"},"
                                        "{\"do\":\"enable\",\"event\":\"c:d\",\"count\":3,\"when\":\"a:b\"},"
                                        "{\"when\":\"a:b\",\"do\":\"snapshot\"},"
                                        "{\"when\":\"a:b\",\"do\":\"hist\",\"keys\":[\"x\",\"y\"],"
                                        "\"values\":[\"z\"],\"sort\":[\"z\"],\"size\":256,\"name\":\"h\"}]}",
                                        NULL),
                        ==,
                        0);
        const SpecTrigger *t = spec->triggers;
        g_assert_cmpuint(spec->n_triggers, ==, 4);
        g_assert_cmpint(t[0].action, ==, ACTION_STOP);
        g_assert_cmpstr(t[0].event, ==, "a:b");
        g_assert_cmpstr(t[0].filter, ==, "x == 1");
        g_assert_cmpuint(t[0].count, ==, 0);
        g_assert_cmpstr(t[1].target, ==, "c:d");
        g_assert_null(t[1].filter);
        g_assert_cmpuint(t[1].count, ==, 3);
        g_assert_cmpuint(t[2].count, ==, 1); /* the first moment is the one that matters */
        g_assert_cmpuint(t[3].hist.keys.n, ==, 2);
        g_assert_cmpstr(t[3].hist.keys.items[1], ==, "y");
        g_assert_cmpstr(t[3].hist.values.items[0], ==, "z");
        g_assert_cmpstr(t[3].hist.name, ==, "h");
        g_assert_cmpuint(t[3].hist.size, ==, 256);
}

static void test_of_an_event(void) {
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason;

        g_assert_cmpint(feed(spec,
                                        "{\"events\":[\"a:*\",{\"triggers\":[{\"when\":\"x > 1\",\"do\":\"stop\"},"
                                        "{\"do\":\"stacktrace\"}],\"name\":\"a:b\",\"enabled\":false}]}",
                                        NULL),
                        ==,
                        0);
        g_assert_false(spec->events[0].is_off);
        g_assert_true(spec->events[1].is_off);
        g_assert_cmpstr(spec->triggers[0].event, ==, "a:b");
        g_assert_cmpstr(spec->triggers[0].filter, ==, "x > 1");
        g_assert_null(spec->triggers[1].filter);

        g_autoptr(GString) glob = g_string_new(
                        "{\"events\":[\"c:d\",{\"name\":\"a:*\",\"triggers\":[{\"do\":\"stop\"}]}]}");
        _cleanup_spec_ Spec *other = spec_new();
        g_assert_cmpint(feed(other, glob->str, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text,
                        ==,
                        "events[1].triggers[0]: \"a:*\" is not one event: name it as system:event");
}

static void test_values(void) {
        assert_refused("{\"when\":\"a:b\",\"do\":\"explode\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].do: \"explode\" is not known: write start, stop, snapshot, "
                        "enable, disable, stacktrace, hist or notify");
        assert_refused("{\"when\":\"a:b\",\"do\":\"stop\",\"count\":0}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].count: 0 is less than the minimum of 1");
        assert_refused("{\"when\":\"a:b\",\"do\":\"stop\",\"count\":-1}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].count: expected a number, got a negative number");
        assert_refused("{\"when\":\"a:b\",\"do\":\"stop\",\"count\":1000000001}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].count: 1000000001 is more than the maximum of 1000000000");
        assert_refused("{\"when\":\"a:b\",\"do\":\"stop\"},{\"when\":\"a:b if x\\n!traceoff\",\"do\":\"stop\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[1].when: \"a:b if x?!traceoff\": byte 9 is not printable: write "
                        "it on one line of text");
        assert_refused("{\"when\":\"a:../b\",\"do\":\"stop\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].when: \"a:../b\" is not one event: write system:event, as "
                        "'ktracectl events' lists them");
        assert_refused("{\"when\":\"a:..\",\"do\":\"stop\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].when: \"a:..\" is not one event: write system:event, as "
                        "'ktracectl events' lists them");
        assert_refused("{\"when\":\"sched:*\",\"do\":\"stop\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].when: \"sched:*\" is not one event: write system:event, as "
                        "'ktracectl events' lists them");
        assert_refused("{\"when\":\"a:b && x\",\"do\":\"stop\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].when: \"&& x\" after the event: write \"system:event if "
                        "FILTER\"");
        assert_refused("{\"when\":\"a:b if \",\"do\":\"stop\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].when: \"if \" after the event: write \"system:event if "
                        "FILTER\"");
        assert_refused("{\"when\":\"a:b\",\"do\":\"enable\",\"event\":\"c\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].event: \"c\" is not one event: write system:event, as "
                        "'ktracectl events c' lists them");
        assert_refused("{\"when\":\"a:b\",\"do\":\"hist\",\"keys\":[\"a\",\"b\",\"c\",\"d\"]}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].keys: more than 3 entries");
        assert_refused("{\"when\":\"a:b\",\"do\":\"hist\",\"keys\":[\"a\"],\"size\":131073}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].size: 131073 is more than the maximum of 131072");
        assert_refused("{\"when\":\"a:b\",\"do\":\"hist\",\"keys\":[\"a\"],\"name\":\"a/b\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].name: \"a/b\" contains characters other than letters, "
                        "digits, '.', '_', '-'");
}

static void test_types(void) {
        assert_refused("7", KT_E_INVALID_SPEC, "triggers[0]: expected an object, got a number");
        assert_refused("{\"when\":7}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].when: expected a string, got a number");
        assert_refused("{\"keys\":\"a\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].keys: expected a list of strings, got a string");
        assert_refused("{\"count\":\"a\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].count: expected a number, got a string");
        assert_refused("{\"then\":\"a\"}",
                        KT_E_UNKNOWN_KEY,
                        "triggers[0]: unknown key \"then\": the known ones are when, do, count, "
                        "event, keys, values, sort, size, name");
}

static void test_what_belongs_together(void) {
        assert_refused("{\"do\":\"stop\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].when: missing: write \"system:event\" or \"system:event if "
                        "FILTER\"");
        assert_refused("{\"when\":\"a:b\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].do: missing: write start, stop, snapshot, enable, disable, "
                        "stacktrace, hist or notify");
        assert_refused("{\"when\":\"a:b\",\"do\":\"enable\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].event: missing: name the event to enable");
        assert_refused("{\"when\":\"a:b\",\"do\":\"stop\",\"event\":\"c:d\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].event: is not for do stop: leave it out");
        assert_refused("{\"when\":\"a:b\",\"do\":\"hist\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].keys: missing: name the fields to count by");
        assert_refused("{\"when\":\"a:b\",\"do\":\"hist\",\"keys\":[\"x\"],\"count\":2}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].count: is not for do hist: leave it out");
        assert_refused("{\"when\":\"a:b\",\"do\":\"notify\",\"keys\":[\"x\"]}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].keys: is not for do notify: leave it out");
}

static void test_limits(void) {
        g_autoptr(GString) text = g_string_new("{\"scope\":\"own\",\"triggers\":[");
        _cleanup_spec_ Spec *spec = spec_new(), *none = spec_new(), *many = spec_new();
        Reason reason = { "" };

        for (unsigned i = 0; i < 1000; i++)
                g_string_append_printf(text,
                                "%s{\"when\":\"a:b%u\",\"do\":\"stop\"}",
                                i > 0 ? "," : "",
                                i);
        g_string_append(text, "]}");
        g_assert_cmpint(feed(spec, text->str, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text, ==, "triggers: more than 64 in a session");

        /* One more, which is none. */
        g_string_assign(text, "{\"scope\":\"own\",\"triggers\":[");
        for (unsigned i = 0; i < 64; i++)
                g_string_append(text, "{},");
        g_string_append(text, "1]}");
        g_assert_cmpint(feed(none, text->str, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text, ==, "triggers: more than 64 in a session");

        g_string_assign(text, "{\"scope\":\"own\",\"triggers\":[");
        for (unsigned i = 0; i < 17; i++)
                g_string_append_printf(
                                text, "%s{\"when\":\"a:b\",\"do\":\"notify\"}", i > 0 ? "," : "");
        g_string_append(text, "]}");
        g_assert_cmpint(feed(many, text->str, &reason), ==, 0);
        g_assert_cmpint(spec_complete(many, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text, ==, "triggers: more than 16 of \"a:b\"");
}

static void test_names_of_histograms(void) {
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason;

        g_assert_cmpint(feed(spec,
                                        "{\"scope\":\"own\",\"triggers\":["
                                        "{\"when\":\"a:b\",\"do\":\"hist\",\"keys\":[\"x\"],\"name\":\"h\"},"
                                        "{\"when\":\"c:d\",\"do\":\"hist\",\"keys\":[\"x\"],\"name\":\"h\"}]}",
                                        &reason),
                        ==,
                        0);
        g_assert_cmpint(spec_complete(spec, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text, ==, "triggers: two histograms are called \"h\"");
}

static void test_both_ways(void) {
        static const char text[] =
                        "{\"mode\":\"flight\",\"events\":[{\"name\":\"a:b\",\"enabled\":false}],"
                        "\"triggers\":[{\"when\":\"a:b if x == 1\",\"do\":\"snapshot\",\"count\":1},"
                        "{\"when\":\"a:b\",\"do\":\"disable\",\"event\":\"c:d\"},"
                        "{\"when\":\"a:b\",\"do\":\"hist\",\"keys\":[\"x\"],\"values\":[\"y\"],"
                        "\"sort\":[\"y\"],\"size\":128,\"name\":\"h\"}],"
                        "\"buffer-kb\":1024,\"clock\":\"mono\",\"lifetime\":\"client\"}";
        _cleanup_json_ json_object *object = NULL;
        _cleanup_spec_ Spec *spec = spec_new();

        g_assert_cmpint(feed(spec, text, NULL), ==, 0);
        g_assert_cmpint(spec_to_json(spec, &object), ==, 0);
        g_assert_cmpstr(json_object_to_json_string_ext(object,
                                        JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
                        ==,
                        text);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/spec-trigger/own-list", test_own_list);
        g_test_add_func("/spec-trigger/of-an-event", test_of_an_event);
        g_test_add_func("/spec-trigger/values", test_values);
        g_test_add_func("/spec-trigger/types", test_types);
        g_test_add_func("/spec-trigger/what-belongs-together", test_what_belongs_together);
        g_test_add_func("/spec-trigger/limits", test_limits);
        g_test_add_func("/spec-trigger/names-of-histograms", test_names_of_histograms);
        g_test_add_func("/spec-trigger/both-ways", test_both_ways);
        return g_test_run();
}
