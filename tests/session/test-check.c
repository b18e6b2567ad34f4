/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What CheckSession tells is what CreateSession does, and telling it changes nothing. */
#include <string.h>

#include "session-fixture.h"

/* Asks as the user itself; NULL when the spec cannot be read. */
static json_object *check(Fixture *f, uid_t uid, const char *spec_json) {
        _cleanup_json_ json_object *object = json_tokener_parse(spec_json);
        _cleanup_spec_ Spec *spec = spec_new();
        Subject subject = fixture_subject(uid);
        json_object *answer = NULL;
        Reason reason = {};

        int r = spec_from_json(spec, object, &reason);
        r = r ?: registry_check(f->registry, &subject, &subject, spec, &answer, &reason);
        g_assert_cmpint(r, ==, 0);
        return answer;
}

static const char *text(json_object *answer, const char *key) {
        return json_object_get_string(json_object_object_get(answer, key));
}

static bool is_allowed(json_object *answer) {
        json_object *reasons = json_object_object_get(answer, "reasons");
        bool allowed = json_object_get_boolean(json_object_object_get(answer, "allowed"));

        g_assert_cmpint(allowed, ==, json_object_array_length(reasons) == 0);
        return allowed;
}

static void test_allowed(Fixture *f, gconstpointer userdata) {
        _cleanup_json_ json_object *answer = check(f,
                        FIXTURE_USER,
                        "{\"scope\":\"own\",\"events\":[\"raw_syscalls:sys_enter\"]}");
        (void)userdata;

        g_assert_true(is_allowed(answer));
        g_assert_cmpstr(text(answer, "rule"), ==, "50-test.json: own");
        g_assert_cmpstr(text(answer, "polkit"), ==, "");
        g_assert_cmpstr(text(answer, "processes"), ==, "own");
        g_assert_cmpstr(text(answer, "scope"), ==, "own");
        json_object *limits = json_object_object_get(answer, "limits");
        g_assert_cmpint(json_object_get_int(json_object_object_get(limits, "max-sessions-per-uid")),
                        ==,
                        3);
        json_object *event = json_object_array_get_idx(json_object_object_get(answer, "events"), 0);
        g_assert_cmpstr(text(event, "name"), ==, "raw_syscalls:sys_enter");
        /* Its arguments are 8-byte words. */
        g_assert_cmpuint(json_object_array_length(json_object_object_get(event, "redacted")), >, 0);
        g_assert_nonnull(strstr(text(answer, "notes"), "every process of this machine pays"));
}

static void test_root(Fixture *f, gconstpointer userdata) {
        _cleanup_json_ json_object *answer = check(f, 0, SPEC_ROOT);
        (void)userdata;

        g_assert_true(is_allowed(answer));
        g_assert_cmpstr(text(answer, "rule"), ==, "root");
        g_assert_cmpstr(text(answer, "processes"), ==, "any");
        g_assert_cmpstr(text(answer, "notes"), ==, "[ ]");
}

static void test_polkit(Fixture *f, gconstpointer userdata) {
        _cleanup_json_ json_object *answer = check(f,
                        FIXTURE_ASKED_USER,
                        "{\"scope\":\"own\",\"events\":[\"sched:sched_process_*\"]}");
        (void)userdata;

        g_assert_true(is_allowed(answer));
        g_assert_cmpstr(text(answer, "polkit"), ==, "org.ktrace1.trace-own");
}

/* Everything that policy has against it. */
static void test_all_reasons(Fixture *f, gconstpointer userdata) {
        _cleanup_json_ json_object *answer = check(f,
                        FIXTURE_USER,
                        "{\"scope\":\"own\",\"events\":[\"sched:sched_switch\",\"raw_syscalls:sys_enter\","
                        "\"no:such\",{\"name\":\"raw_syscalls:sys_exit\",\"filter\":\"id == 1\"}]}");
        (void)userdata;

        g_assert_false(is_allowed(answer));
        g_assert_null(json_object_object_get(answer, "rule"));
        json_object *reasons = json_object_object_get(answer, "reasons");
        g_assert_nonnull(strstr(text(answer, "reasons"), "sched:sched_switch: not granted"));
        g_assert_nonnull(strstr(text(answer, "reasons"), "no:such: not granted"));
        g_assert_null(strstr(text(answer, "reasons"), "raw_syscalls:sys_enter"));
        g_assert_cmpuint(json_object_array_length(reasons), >=, 2);
}

/* What policy allows and this kernel does not have is refused as such, and nothing is made for it.
 */
static void test_lacks(Fixture *f, gconstpointer userdata) {
        static const char spec[] =
                        "{\"scope\":\"system\",\"events\":[\"raw_syscalls:sys_enter\"],\"triggers\":["
                        "{\"when\":\"raw_syscalls:sys_enter\",\"do\":\"hist\",\"keys\":[\"id\"]},"
                        "{\"when\":\"raw_syscalls:sys_enter\",\"do\":\"stop\"}],"
                        "\"tracer\":\"function_graph\",\"functions\":[\"vfs_read\"]}";
        Call call;

        (void)userdata;
        fake_kernel_set_kprobes(false);
        _cleanup_json_ json_object *answer = check(f, 0, spec);
        g_assert_false(is_allowed(answer));
        g_assert_cmpstr(text(answer, "rule"), ==, "root");
        json_object *lacks = json_object_object_get(answer, "lacks");
        g_assert_cmpuint(json_object_array_length(lacks), ==, 2);
        g_assert_true(json_object_equal(lacks, json_object_object_get(answer, "reasons")));
        g_assert_nonnull(strstr(text(answer, "lacks"), "triggers[0].do: hist"));
        g_assert_nonnull(strstr(text(answer, "lacks"), "no such tracer"));

        fake_kernel_clear_journal();
        fixture_create(f, &call, 0, ":1.5", spec);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_KERNEL_REFUSED);
        g_autofree char *journal = fake_kernel_get_journal();
        g_assert_cmpstr(journal, ==, "");

        fake_kernel_set_kprobes(true);
        _cleanup_json_ json_object *other = check(f, 0, spec);
        g_assert_cmpuint(json_object_array_length(json_object_object_get(other, "lacks")), ==, 1);
}

/* Limits of several kinds at once, and what it would have got but for them. */
static void test_limits(Fixture *f, gconstpointer userdata) {
        Call calls[3];

        (void)userdata;
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                g_autofree char *spec = g_strdup_printf(
                                "{\"scope\":\"own\",\"name\":\"n%zu\",\"events\":[\"raw_syscalls:sys_enter\"]}",
                                i);
                fixture_create(f, &calls[i], FIXTURE_USER, ":1.5", spec);
                fixture_wait(f, &calls[i]);
                g_assert_cmpint(calls[i].result, ==, 0);
        }
        _cleanup_json_ json_object *answer = check(f,
                        FIXTURE_USER,
                        "{\"scope\":\"own\",\"name\":\"n1\",\"buffer-kb\":1048576,\"events\":[\"raw_syscalls:sys_enter\"],"
                        "\"clock\":\"local\"}");
        g_assert_false(is_allowed(answer));
        g_assert_cmpstr(text(answer, "rule"), ==, "50-test.json: own");
        const char *const words[] = { "you have a session",
                "max-buffer-kb)",
                "max-sessions-per-uid",
                "max-buffer-kb-per-uid",
                "clock: local" };
        for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
                g_assert_nonnull(strstr(text(answer, "reasons"), words[i]));
        /* Nobody else's business. */
        _cleanup_json_ json_object *other = check(f,
                        FIXTURE_ASKED_USER,
                        "{\"scope\":\"own\",\"events\":[\"sched:sched_process_*\"]}");
        g_assert_true(is_allowed(other));
}

/* Events that are on in all sessions of a user count together. */
static void test_events_per_uid(Fixture *f, gconstpointer userdata) {
        Limits *limits = (Limits *)registry_get_limits(f->registry);
        Call calls[2];

        (void)userdata;
        limits->max_events_per_uid = 2;
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                fixture_create(f,
                                &calls[i],
                                FIXTURE_USER,
                                ":1.5",
                                "{\"scope\":\"own\",\"events\":[\"raw_syscalls:*\"]}");
                fixture_wait(f, &calls[i]);
        }
        g_assert_cmpint(calls[0].result, ==, 0);
        g_assert_cmpint(calls[1].result, ==, KT_E_LIMIT_REACHED);
        g_assert_nonnull(strstr(calls[1].reason.text, "max-events-per-uid: 4 events"));
}

/* The property: allowed here is made there, and the other way round. */
static void test_same_as_create(Fixture *f, gconstpointer userdata) {
        static const char *const scopes[] = {
                "own", "system", "command:1", "pids:1,2", "unit:x.service"
        };
        static const char *const events[] = { "\"raw_syscalls:sys_enter\"",
                "\"sched:*\"",
                "\"sched:sched_switch\"",
                "\"*:*\"",
                "\"nothing:*\"",
                "\"raw_syscalls:sys_exit\",\"sched:sched_process_exec\"",
                "{\"name\":\"raw_syscalls:sys_enter\",\"filter\":\"id == 1\"}",
                "{\"name\":\"raw_syscalls:sys_enter\",\"filter\":\"nope == 1\"}" };
        static const char *const rest[] = {
                "", ",\"clock\":\"local\"", ",\"where\":\"common_pid == 1\""
        };
        const uid_t uids[] = { 0, FIXTURE_USER };
        unsigned n_allowed = 0;

        (void)userdata;
        for (size_t i = 0; i < G_N_ELEMENTS(scopes) * G_N_ELEMENTS(events) * G_N_ELEMENTS(rest) *
                                               G_N_ELEMENTS(uids);
                        i++) {
                size_t at = i;
                const char *scope = scopes[at % G_N_ELEMENTS(scopes)];
                const char *event = events[(at /= G_N_ELEMENTS(scopes)) % G_N_ELEMENTS(events)];
                const char *more = rest[(at /= G_N_ELEMENTS(events)) % G_N_ELEMENTS(rest)];
                uid_t uid = uids[at / G_N_ELEMENTS(rest)];
                g_autofree char *spec = g_strdup_printf(
                                "{\"scope\":\"%s\",\"events\":[%s]%s}", scope, event, more);
                g_autofree char *before = fake_kernel_describe();
                _cleanup_json_ json_object *answer = check(f, uid, spec);
                g_autofree char *after = fake_kernel_describe();
                Call call, end;

                g_assert_cmpstr(before, ==, after);
                fixture_create(f, &call, uid, ":1.5", spec);
                fixture_wait(f, &call);
                if (is_allowed(answer) != (call.result == 0))
                        g_error("%s of %u: create says %d %s, check says %s",
                                        spec,
                                        uid,
                                        call.result,
                                        call.reason.text,
                                        json_object_to_json_string(answer));
                if (call.result != 0) {
                        /* The same words. */
                        g_autofree char *words = g_strdup(json_object_to_json_string_ext(
                                        answer, JSON_C_TO_STRING_NOSLASHESCAPE));
                        g_autofree char *quoted = g_strescape(call.reason.text, NULL);
                        if (!strstr(words, quoted))
                                g_error("%s is not in %s", quoted, words);
                        continue;
                }
                n_allowed++;
                fixture_destroy(f, &end, call.session);
                fixture_wait(f, &end);
        }
        g_assert_cmpuint(n_allowed, >, 10);
}

int main(int argc, char **argv) {
        static const struct {
                const char *path;
                void (*test)(Fixture *f, gconstpointer userdata);
        } tests[] = {
                { "/check/allowed", test_allowed },
                { "/check/root", test_root },
                { "/check/polkit", test_polkit },
                { "/check/all-reasons", test_all_reasons },
                { "/check/lacks", test_lacks },
                { "/check/limits", test_limits },
                { "/check/events-per-uid", test_events_per_uid },
                { "/check/same-as-create", test_same_as_create },
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].path,
                                Fixture,
                                NULL,
                                fixture_set_up,
                                tests[i].test,
                                fixture_tear_down);
        return g_test_run();
}
