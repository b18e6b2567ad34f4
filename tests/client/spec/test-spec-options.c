/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Words of the command line to a session spec, and which words are refused. */

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#include "spec/spec-options.h"

#include "interfaces/spec-json.h"

typedef struct Word {
        int option;
        const char *text;
} Word;

/* Feeds words (ended by option 0) and builds; *ret is the spec as JSON text, NULL when refused. */
static int build(const Word *words,
                pid_t command,
                const char *lifetime,
                char **ret,
                Reason *reason) {
        _cleanup_json_ json_object *object = NULL;
        _cleanup_spec_ Spec *spec = NULL;
        SpecOptions options = {};
        int r = 0;

        *ret = NULL;
        *reason = (Reason){};
        for (; r == 0 && words->option; words++)
                r = spec_options_take(&options, words->option, words->text, reason);
        if (r == 0)
                r = spec_options_build(&options, command, NULL, lifetime, &spec, reason);
        spec_options_done(&options);
        if (r != 0)
                return r;
        g_assert_cmpint(spec_to_json(spec, &object), ==, 0);
        *ret = g_strdup(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
        return 0;
}

static void assert_built(const Word *words, pid_t command, const char *expected) {
        g_autofree char *json = NULL;
        Reason reason;

        g_assert_cmpint(build(words, command, NULL, &json, &reason), ==, 0);
        g_assert_nonnull(strstr(json, expected));
}

static void assert_refused(const Word *words, int code, const char *said) {
        g_autofree char *json = NULL;
        Reason reason;

        g_assert_cmpint(build(words, 0, NULL, &json, &reason), ==, code);
        g_assert_null(json);
        g_assert_nonnull(strstr(reason.text, said));
}

static void test_filters(void) {
        assert_built((Word[]){ { 'e', "a:b" }, { 'f', "x==1" }, { 'e', "c:d" }, {} },
                        7,
                        "\"events\":[{\"name\":\"a:b\",\"filter\":\"x==1\"},{\"name\":\"c:d\"}]");
        assert_built((Word[]){ { OPTION_WHERE, "y" },
                                     { 'e', "a:b" },
                                     { 'f', "x" },
                                     { 'e', "c:d" },
                                     {} },
                        7,
                        "\"events\":[{\"name\":\"a:b\",\"filter\":\"x\"},{\"name\":\"c:d\"}],"
                        "\"where\":\"y\"");
        assert_refused((Word[]){ { 'f', "x" }, {} }, KT_E_INVALID_SPEC, "-f");
        assert_refused((Word[]){ { 'e', "a:b" }, { 'f', "x" }, { 'f', "y" }, {} },
                        KT_E_INVALID_SPEC,
                        "two filters");
}

static size_t count_inner_pids(const Word *words) {
        _cleanup_spec_ Spec *spec = NULL;
        SpecOptions options = { .has_inner_pids = true };
        Reason reason = {};
        int r = spec_options_set_container(&options, "web", "/web.scope", &reason);

        for (; r == 0 && words->option; words++)
                r = spec_options_take(&options, words->option, words->text, &reason);
        if (r == 0)
                r = spec_options_build(&options, 0, NULL, NULL, &spec, &reason);
        spec_options_done(&options);
        g_assert_cmpint(r, ==, 0);
        for (size_t i = 1; i < spec->n_events; i++)
                g_assert_null(spec->events[i].filter);
        return spec->n_events > 0 ? spec->n_events - 1 : 0;
}

/* -M also records what its pids need, unless the daemon would give none. */
static void test_inner_pids(void) {
        g_assert_cmpuint(count_inner_pids((Word[]){ { 'e', "a:b" }, { 'f', "x" }, {} }), >=, 6);
        g_assert_cmpuint(count_inner_pids((Word[]){ { OPTION_TRACER, "function" }, {} }), ==, 0);
        g_assert_cmpuint(count_inner_pids((Word[]){ { 'e', "a:b" }, { OPTION_WHERE, "y" }, {} }),
                        ==,
                        0);
        g_assert_cmpuint(
                        count_inner_pids((Word[]){ { 'e', "a:b" }, { OPTION_MODE, "flight" }, {} }),
                        ==,
                        0);
        g_assert_cmpuint(count_inner_pids((Word[]){ { 'e', "a:b" }, { OPTION_SPOOL, NULL }, {} }),
                        ==,
                        0);
        g_assert_cmpuint(count_inner_pids((Word[]){ { 'e', "a:b" }, { OPTION_CPUS, "0" }, {} }),
                        ==,
                        0);
}

static void test_triggers(void) {
        assert_built((Word[]){ { 'e', "a:b" }, { OPTION_OFF, NULL }, { 'e', "c:d" }, {} },
                        7,
                        "\"events\":[{\"name\":\"a:b\",\"enabled\":false},{\"name\":\"c:d\"}]");
        assert_built((Word[]){ { OPTION_TRIGGER,
                                               "a:b if comm == \"x do y\" do enable c:d times 3" },
                                     { OPTION_TRIGGER, "a:b do hist pid,comm" },
                                     { OPTION_TRIGGER, "a:b do stop times 1" },
                                     {} },
                        7,
                        "\"triggers\":[{\"when\":\"a:b if comm == \\\"x do y\\\"\",\"do\":\"enable\","
                        "\"event\":\"c:d\",\"count\":3},{\"when\":\"a:b\",\"do\":\"hist\",\"keys\":"
                        "[\"pid\",\"comm\"]},{\"when\":\"a:b\",\"do\":\"stop\",\"count\":1}]");
        assert_refused((Word[]){ { OPTION_OFF, NULL }, {} },
                        KT_E_INVALID_SPEC,
                        "--off must follow");
        assert_refused((Word[]){ { OPTION_TRIGGER, "a:b" }, {} }, KT_E_INVALID_SPEC, "no 'do'");
        assert_refused((Word[]){ { OPTION_TRIGGER, "a:b do " }, {} },
                        KT_E_INVALID_SPEC,
                        "nothing after 'do'");
        assert_refused((Word[]){ { OPTION_TRIGGER, "a:b do stop times -1" }, {} },
                        KT_E_INVALID_SPEC,
                        "no number");
        assert_refused((Word[]){ { OPTION_TRIGGER, "a:b do stop times 0" }, {} },
                        KT_E_INVALID_SPEC,
                        "--trigger \"a:b do stop times 0\", times: 0 is less than the minimum "
                        "of 1");
        assert_refused((Word[]){ { OPTION_TRIGGER, "a:b do enable c:d e" }, {} },
                        KT_E_INVALID_SPEC,
                        "too many words");
}

static void test_scope(void) {
        assert_built((Word[]){ {} }, 42, "\"scope\":\"command:42\"");
        assert_built((Word[]){ { OPTION_SCOPE, "command" }, {} }, 42, "\"scope\":\"command:42\"");
        assert_built((Word[]){ { 'a', NULL }, {} }, 42, "\"scope\":\"system\"");
        assert_built((Word[]){ { 'p', "1,2" }, { 'p', "3" }, {} }, 0, "\"scope\":\"pids:1,2,3\"");
        assert_built((Word[]){ { OPTION_SCOPE, "own" }, {} }, 0, "\"scope\":\"own\"");
        assert_refused((Word[]){ { 'a', NULL }, { OPTION_SCOPE, "own" }, {} },
                        KT_E_INVALID_SPEC,
                        "-a and --scope exclude each other");
        assert_refused((Word[]){ { 'a', NULL }, { 'a', NULL }, {} },
                        KT_E_INVALID_SPEC,
                        "-a is given twice");
        assert_refused((Word[]){ { 'a', NULL }, { 'p', "1" }, {} },
                        KT_E_INVALID_SPEC,
                        "-p and -a exclude each other");
        assert_refused((Word[]){ { 'p', "one" }, {} },
                        KT_E_INVALID_SPEC,
                        "-p \"one\": expected a pid");
        assert_refused((Word[]){ { OPTION_SCOPE, "unit:x" }, {} },
                        KT_E_INVALID_SPEC,
                        "--scope \"unit:x\" names no unit");
        assert_built((Word[]){ { 'u', "x" }, {} }, 0, "\"scope\":\"unit:x.service\"");
        assert_built((Word[]){ { 'u', "x.slice" }, {} }, 42, "\"scope\":\"unit:x.slice\"");
        assert_built((Word[]){ { OPTION_SCOPE, "cgroup:/x.slice" }, {} }, 0, "cgroup:");
        assert_refused((Word[]){ { 'u', "x" }, { 'a', NULL }, {} },
                        KT_E_INVALID_SPEC,
                        "-u and -a exclude each other");
        assert_refused((Word[]){ { 'u', "x" }, { 'p', "1" }, {} },
                        KT_E_INVALID_SPEC,
                        "-p and -u exclude each other");
}

static void test_numbers(void) {
        assert_built((Word[]){ { 'b', "64" }, {} }, 1, "\"buffer-kb\":64");
        assert_refused((Word[]){ { 'b', "0" }, {} }, KT_E_INVALID_SPEC, "--buffer: 0 is");
        assert_refused((Word[]){ { 'b', "64Q" }, {} },
                        KT_E_INVALID_SPEC,
                        "--buffer: expected a number of kB per CPU such as 4096, got \"64Q\"");
        assert_refused((Word[]){ { 'b', "10000000000" }, {} },
                        KT_E_INVALID_SPEC,
                        "--buffer: 10000000000 is");
        /* Beyond 64 bits. */
        assert_refused((Word[]){ { 'b', "99999999999999999999999" }, {} },
                        KT_E_INVALID_SPEC,
                        "--buffer \"99999999999999999999999\": ");
        assert_refused((Word[]){ { 'b', "-1" }, {} }, KT_E_INVALID_SPEC, "number");
        assert_refused((Word[]){ { 'b', "64k" }, {} }, KT_E_INVALID_SPEC, "number");
        assert_refused((Word[]){ { 'b', "" }, {} }, KT_E_INVALID_SPEC, "number");
}

static void test_many_events(void) {
        g_autofree Word *words = g_new0(Word, 10001);

        for (size_t i = 0; i < 10000; i++)
                words[i] = (Word){ 'e', "a:b" };
        assert_refused(words, KT_E_INVALID_SPEC, "-e: more than");
}

static void test_lifetime(void) {
        g_autofree char *reported = NULL, *wanted = NULL;
        Reason reason;

        g_assert_cmpint(build((Word[]){ {} }, 1, "linger", &reported, &reason), ==, 0);
        g_assert_nonnull(strstr(reported, "\"lifetime\":\"linger\""));
        g_assert_cmpint(build((Word[]){ { OPTION_LIFETIME, "linger:30s" }, {} },
                                        1,
                                        "linger",
                                        &wanted,
                                        &reason),
                        ==,
                        0);
        g_assert_nonnull(strstr(wanted, "\"lifetime\":\"linger:30s\""));
        assert_refused((Word[]){ { OPTION_MODE, "fight" }, {} },
                        KT_E_INVALID_SPEC,
                        "--mode: \"fight\" is not known");
}

static char *write_spec(const char *text) {
        char *path = NULL;
        int fd = g_file_open_tmp("ktrace-spec-XXXXXX", &path, NULL);

        g_assert_cmpint(fd, >=, 0);
        close(fd);
        g_assert_true(g_file_set_contents(path, text, -1, NULL));
        return path;
}

static void test_file(void) {
        g_autofree char *path = write_spec("{\"events\": [\"a:b\"], \"scope\": \"command\", "
                                           "\"lifetime\": \"client\", \"buffer-kb\": 16}");
        g_autofree char *json = NULL;
        Reason reason;

        /* The file's scope takes the held-back command, its lifetime wins over the default. */
        g_assert_cmpint(build((Word[]){ { OPTION_SPEC, path },
                                              { 'e', "c:d" },
                                              { OPTION_WHERE, "x" },
                                              {} },
                                        5,
                                        "linger",
                                        &json,
                                        &reason),
                        ==,
                        0);
        g_assert_nonnull(strstr(json, "\"scope\":\"command:5\""));
        g_assert_nonnull(strstr(json, "\"lifetime\":\"client\""));
        g_assert_nonnull(strstr(json, "[{\"name\":\"a:b\"},{\"name\":\"c:d\"}],\"where\":\"x\""));
        assert_refused((Word[]){ { OPTION_SPEC, path }, { 'b', "32" }, {} },
                        KT_E_INVALID_SPEC,
                        "--buffer \"32\": given twice");
        g_unlink(path);
        assert_refused((Word[]){ { OPTION_SPEC, path }, {} }, KT_E_INVALID_SPEC, path);
}

static void test_bad_file(void) {
        g_autofree char *path = write_spec("{\"probe\": \"x\"}");

        assert_refused((Word[]){ { OPTION_SPEC, path }, {} }, KT_E_UNKNOWN_KEY, path);
        g_assert_true(g_file_set_contents(path, "{\"events\": [}", -1, NULL));
        assert_refused((Word[]){ { OPTION_SPEC, path }, {} }, KT_E_INVALID_SPEC, path);
        g_unlink(path);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/client/spec-options/filters", test_filters);
        g_test_add_func("/client/spec-options/triggers", test_triggers);
        g_test_add_func("/client/spec-options/inner-pids", test_inner_pids);
        g_test_add_func("/client/spec-options/scope", test_scope);
        g_test_add_func("/client/spec-options/numbers", test_numbers);
        g_test_add_func("/client/spec-options/many-events", test_many_events);
        g_test_add_func("/client/spec-options/lifetime", test_lifetime);
        g_test_add_func("/client/spec-options/file", test_file);
        g_test_add_func("/client/spec-options/bad-file", test_bad_file);
        return g_test_run();
}
