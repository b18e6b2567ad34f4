/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What files are read, in which order, and what is refused in them. */
#include <errno.h>
#include <sys/stat.h>

#include "policy-fixture.h"

#include "interfaces/spec-list.h"
#include "policy/grant.h"
#include "policy/same.h"

#define RULE(extra)                                                                           \
        "{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],\"scopes\":[\"own\"],\"events\":" \
        "[\"a:*\"]" extra "}]}"

static const Subject user = { .uid = 1000, .gids = (gid_t[]){ 1000, 44 }, .n_gids = 2 };
static const Subject root = { .uid = 0 };

static bool subject_sees(const Policy *policy, const Subject *subject, const char *system) {
        PolicyView view = policy_get_view(policy, subject);

        return policy_view_has(&view, system, "x");
}

static bool sees(const Policy *policy, const char *system) {
        return subject_sees(policy, &user, system);
}

static void test_no_directory(void) {
        Policy *policy = NULL;
        Reason reason = { "" };

        g_assert_cmpint(policy_load("/nonexistent/a", "/nonexistent/b", &policy, &reason), ==, 0);
        g_assert_false(sees(policy, "a"));
        g_assert_true(subject_sees(policy, &root, "a"));
        policy_free(policy);
}

static void test_override_and_mask(void) {
        Fixture fixture;

        fixture_init(&fixture);
        fixture_write(fixture.lib, "10-x.json", RULE(""));
        fixture_write(fixture.lib, "ignored.txt", "not JSON");
        Policy *policy = fixture_load(&fixture);
        g_assert_true(sees(policy, "a"));
        policy_free(policy);

        fixture_write(fixture.etc,
                        "10-x.json",
                        "{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],\"scopes\":[\"own\"],"
                        "\"events\":[\"b:*\"]}]}");
        policy = fixture_load(&fixture);
        g_assert_false(sees(policy, "a"));
        g_assert_true(sees(policy, "b"));
        policy_free(policy);

        fixture_write(fixture.etc, "10-x.json", "");
        policy = fixture_load(&fixture);
        g_assert_false(sees(policy, "a"));
        g_assert_false(sees(policy, "b"));
        policy_free(policy);
        fixture_clear(&fixture);
}

/* What an administrator's `sha256sum *.json | sha256sum` says, where one directory has all. */
static char *hash_by_hand(Fixture *fixture, const char *files) {
        g_autofree char *command = g_strdup_printf(
                        "sh -c \"cd %s/policy.d && sha256sum %s | sha256sum | cut -c 1-64\"",
                        fixture->lib,
                        files);
        char *text = NULL;

        g_assert_true(g_spawn_command_line_sync(command, &text, NULL, NULL, NULL));
        return g_strchomp(text);
}

static void test_digest(void) {
        Fixture fixture;

        fixture_init(&fixture);
        fixture_write(fixture.lib, "20-y.json", RULE(""));
        fixture_write(fixture.lib, "10-x.json", RULE(",\"description\":\"d\""));
        Policy *policy = fixture_load(&fixture);
        g_autofree char *both = hash_by_hand(&fixture, "10-x.json 20-y.json");
        g_assert_cmpstr(policy_get_digest(policy), ==, both);
        policy_free(policy);
        /* One byte more, and what is masked does not count. */
        fixture_write(fixture.lib, "20-y.json", RULE("") "\n");
        policy = fixture_load(&fixture);
        g_assert_cmpstr(policy_get_digest(policy), !=, both);
        policy_free(policy);
        fixture_write(fixture.etc, "20-y.json", "");
        policy = fixture_load(&fixture);
        g_autofree char *one = hash_by_hand(&fixture, "10-x.json");
        g_assert_cmpstr(policy_get_digest(policy), ==, one);
        policy_free(policy);
        fixture_clear(&fixture);
}

/* The first rule that covers subject and scope counts, over the files in order of their names. */
static void test_first_match(void) {
        Fixture fixture;

        fixture_init(&fixture);
        fixture_write(fixture.lib, "50-x.json", RULE(""));
        fixture_write(fixture.etc,
                        "20-y.json",
                        "{\"rules\":[{\"name\":\"no\",\"subjects\":[{\"uid\":1000}],\"scopes\":"
                        "[\"own\"],\"deny\":true}]}");
        Policy *policy = fixture_load(&fixture);
        g_assert_false(sees(policy, "a"));
        g_assert_true(subject_sees(policy, &(Subject){ .uid = 1001 }, "a"));
        policy_free(policy);
        fixture_clear(&fixture);
}

/* All that a subject names must hold, and one of the subjects; each is tried as the only rule. */
static void test_subjects(void) {
        gid_t *gids = (gid_t[]){ 7, 1 };
        const Subject plain = { .uid = 5, .gids = (gid_t[]){ 7 }, .n_gids = 1 },
                      daemon = { .uid = 5, .gids = gids, .n_gids = 2 },
                      at_seat = { .uid = 5, .gids = gids, .n_gids = 2, .is_active = true },
                      games = { .uid = 5,
                              .gids = gids,
                              .n_gids = 2,
                              .unit = (char *)"a@1.service" },
                      other = {
                              .uid = 6, .gids = gids, .n_gids = 2, .unit = (char *)"a@1.service"
                      };

        const struct {
                const char *subject;
                bool plain, daemon, at_seat, games, other;
        } cases[] = {
                { "\"any\"", true, true, true, true, true },
                { "{\"uid\":5}", true, true, true, true, false },
                { "{\"user\":\"games\"}", true, true, true, true, false },
                { "{\"user\":\"no-such-user-here\"}", false, false, false, false, false },
                { "{\"group\":\"daemon\"}", false, true, true, true, true },
                { "{\"group\":\"no-such-group-here\"}", false, false, false, false, false },
                { "{\"seat\":\"active\"}", false, false, true, false, false },
                { "{\"uid\":5,\"group\":\"daemon\"}", false, true, true, true, false },
                { "{\"uid\":5,\"unit\":\"a@*.service\"}", false, false, false, true, false },
                { "{\"uid\":5,\"unit\":\"b@*.service\"}", false, false, false, false, false },
                { "{\"uid\":9},{\"seat\":\"active\"}", false, false, true, false, false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *json = g_strdup_printf(
                                "{\"rules\":[{\"name\":\"r\",\"subjects\":[%s],\"scopes\":[\"own\"],"
                                "\"events\":[\"a:*\"]}]}",
                                cases[i].subject);
                Fixture fixture;

                g_test_message("%s", cases[i].subject);
                fixture_init(&fixture);
                fixture_write(fixture.lib, "10-x.json", json);
                Policy *policy = fixture_load(&fixture);
                g_assert_cmpint(subject_sees(policy, &plain, "a"), ==, cases[i].plain);
                g_assert_cmpint(subject_sees(policy, &daemon, "a"), ==, cases[i].daemon);
                g_assert_cmpint(subject_sees(policy, &at_seat, "a"), ==, cases[i].at_seat);
                g_assert_cmpint(subject_sees(policy, &games, "a"), ==, cases[i].games);
                g_assert_cmpint(subject_sees(policy, &other, "a"), ==, cases[i].other);
                policy_free(policy);
                fixture_clear(&fixture);
        }
}

/* What users define is granted by its system's name, not by a glob that happens to match. */
static void test_defined_events_are_named(void) {
        Fixture fixture;

        fixture_init(&fixture);
        fixture_write(fixture.lib,
                        "10-x.json",
                        "{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],\"scopes\":[\"own\"],"
                        "\"events\":[\"*:*\",\"k*:*\",\"ktrace_web:*\",\"uprobes:[x]\"]}]}");
        Policy *policy = fixture_load(&fixture);
        g_assert_true(sees(policy, "sched"));
        g_assert_true(sees(policy, "ktrace_web"));
        g_assert_true(sees(policy, "uprobes"));
        g_assert_false(sees(policy, "ktrace_other"));
        g_assert_false(sees(policy, "kprobes"));
        g_assert_false(sees(policy, "synthetic"));
        policy_free(policy);
        fixture_clear(&fixture);
}

/* A rule that wants a password shows nothing to who has not given it. */
static void test_polkit_shows_nothing(void) {
        Fixture fixture;

        fixture_init(&fixture);
        fixture_write(fixture.lib, "10-x.json", RULE(",\"polkit\":\"trace-system\""));
        Policy *policy = fixture_load(&fixture);
        g_assert_false(sees(policy, "a"));
        policy_free(policy);
        fixture_clear(&fixture);
}

/* Only a rule that lets the user trace all processes, and asks nobody, shows the numbers of all. */
static void test_may_trace_all(void) {
        static const struct {
                const char *rest;
                bool may;
        } cases[] = {
                { "\"scopes\":[\"system\"],\"processes\":\"any\",\"events\":[\"a:*\"]", true },
                { "\"scopes\":[\"system\"],\"processes\":\"any\",\"events\":[\"a:*\"],"
                  "\"polkit\":\"trace-system\"",
                                false },
                { "\"scopes\":[\"system\"],\"deny\":true", false },
                { "\"scopes\":[\"own\",\"pids\"],\"processes\":\"any\",\"events\":[\"a:*\"]",
                                false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = g_strdup_printf(
                                "{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],%s}]}",
                                cases[i].rest);
                Fixture fixture;

                g_test_message("%s", text);
                fixture_init(&fixture);
                fixture_write(fixture.lib, "10-x.json", text);
                Policy *policy = fixture_load(&fixture);
                g_assert_cmpint(policy_may_trace_all(policy, &user), ==, cases[i].may);
                g_assert_true(policy_may_trace_all(policy, &root));
                policy_free(policy);
                fixture_clear(&fixture);
        }
}

#define ONE(rest) "{\"rules\":[{\"name\":\"r\"," rest "}]}"
#define OWN       "\"subjects\":[\"any\"],\"scopes\":[\"own\"]"
#define EVENT(e)  ONE(OWN ",\"events\":[\"a:*\"," e "]")

static void test_refused(void) {
        static const struct {
                const char *json;
                int code;
                const char *text;
        } cases[] = {
                { "{\"rules\":[", KT_E_INVALID_SPEC, "10-x.json" },
                { "[]", KT_E_INVALID_SPEC, "10-x.json: expected an object, got a list of 0" },
                { "{}", KT_E_INVALID_SPEC, "10-x.json: rules: is missing" },
                { "{\"rules\":{}}",
                                KT_E_INVALID_SPEC,
                                "10-x.json: rules: expected a list, got an object of 0" },
                { "{\"rules\":[],\"rule\":1}", KT_E_UNKNOWN_KEY, "10-x.json: rule: no such key" },
                { "{\"rules\":[1]}", KT_E_INVALID_SPEC, "rules[0]: expected an object, got 1" },
                { RULE(",\"spool\":[]"), KT_E_UNKNOWN_KEY, "rules[0].spool: no such key" },
                { RULE(",\"probes\":[]"),
                                KT_E_INVALID_SPEC,
                                "rules[0].probes: expected an object" },
                { RULE(",\"probes\":{\"functions\":[\"a\"]}"),
                                KT_E_INVALID_SPEC,
                                "rules[0].probes: takes: missing" },
                { RULE(",\"probes\":{\"use\":[\"a\"],\"polkit\":true}"),
                                KT_E_INVALID_SPEC,
                                "rules[0].probes: takes and polkit" },
                { RULE(",\"probes\":{\"use\":[\"a\"],\"except\":[\"b\"]}"),
                                KT_E_INVALID_SPEC,
                                "rules[0].probes: except: requires functions" },
                { RULE(",\"probes\":{\"functions\":[\"f\"],\"takes\":[\"all\"]}"),
                                KT_E_INVALID_SPEC,
                                "rules[0].probes.takes[0]: expected values, members," },
                { RULE(",\"probes\":{\"files\":\"mine\"}"),
                                KT_E_INVALID_SPEC,
                                "rules[0].probes.files: expected own, none or" },
                { RULE(",\"probes\":{\"files\":true}"),
                                KT_E_INVALID_SPEC,
                                "rules[0].probes.files: expected own, none or" },
                { RULE(",\"probes\":{\"files\":[\"\"]}"),
                                KT_E_INVALID_SPEC,
                                "rules[0].probes.files[0]: " },
                { ONE("\"subjects\":[\"any\"],\"probes\":{},\"scopes\":[\"own\"]"),
                                KT_E_INVALID_SPEC,
                                "rules[0].events: is missing" },
                { RULE(",\"deny\":1"),
                                KT_E_INVALID_SPEC,
                                "rules[0].deny: expected true or false, got 1" },
                { RULE(",\"black-box\":\"all\""),
                                KT_E_INVALID_SPEC,
                                "rules[0].black-box: expected own or deny" },
                { RULE(",\"deny\":true"),
                                KT_E_INVALID_SPEC,
                                "rules[0].events: a rule that denies" },
                { ONE(OWN ",\"deny\":true,\"addresses\":\"keep\""),
                                KT_E_INVALID_SPEC,
                                "rules[0].addresses: a rule that denies" },
                { RULE(",\"polkit\":\"reload\""),
                                KT_E_INVALID_SPEC,
                                "rules[0].polkit: expected trace-own or" },
                { "{\"rules\":[{" OWN ",\"deny\":true}]}",
                                KT_E_INVALID_SPEC,
                                "rules[0].name: is missing" },
                { ONE("\"scopes\":[\"own\"],\"events\":[\"a:b\"]"),
                                KT_E_INVALID_SPEC,
                                "rules[0].subjects: is missing" },
                { ONE("\"subjects\":[\"any\"],\"events\":[\"a:b\"]"),
                                KT_E_INVALID_SPEC,
                                "rules[0].scopes: is missing" },
                { ONE(OWN), KT_E_INVALID_SPEC, "rules[0].events: is missing" },
                { EVENT("\"openat\""),
                                KT_E_INVALID_SPEC,
                                "rules[0].events[1]: expected SYSTEM:EVENT" },
                { EVENT("{\"name\":1}"),
                                KT_E_INVALID_SPEC,
                                "rules[0].events[1].name: expected a string" },
                { EVENT("{}"), KT_E_INVALID_SPEC, "rules[0].events[1]: name is missing" },
                { EVENT("{\"nam\":\"a:b\"}"), KT_E_UNKNOWN_KEY, "rules[0].events[1].nam: no such" },
                { EVENT("{\"name\":\"a:b\",\"class\":\"mine\"}"),
                                KT_E_INVALID_SPEC,
                                "rules[0].events[1].class: expected own or others" },
                { EVENT("{\"name\":\"a:b\",\"keep\":[]}"),
                                KT_E_INVALID_SPEC,
                                "rules[0].events[1].keep: expected a list of 1 to 64" },
                { EVENT("{\"name\":\"a:b\",\"cut\":[\"x\",7]}"),
                                KT_E_INVALID_SPEC,
                                "rules[0].events[1].cut[1]: expected a string, got" },
                { EVENT("{\"name\":\"a:b\",\"members\":{\"pid\":[\"comm\"]}}"),
                                KT_E_INVALID_SPEC,
                                "rules[0].events[1]: members: only allowed if" },
                { EVENT("{\"name\":\"a:b\",\"class\":\"others\",\"members\":{\"pid\":\"comm\"}}"),
                                KT_E_INVALID_SPEC,
                                "rules[0].events[1].members.pid: expected a list" },
                { EVENT("{\"name\":\"a:b\",\"class\":\"others\",\"members\":{\"pid\":[\"comm\"]},"
                        "\"also-of\":\"tid\"}"),
                                KT_E_INVALID_SPEC,
                                "rules[0].events[1]: also-of: tid: expected one of the fields in members" },
                { EVENT("{\"name\":\"a:b\",\"also-of\":[\"pid\"]}"),
                                KT_E_INVALID_SPEC,
                                "rules[0].events[1].also-of: expected a string, got" },
                { EVENT("{\"name\":\"a:b\",\"filter\":\"pid == 1 &&\"}"),
                                KT_E_INVALID_SPEC,
                                "rules[0].events[1].filter: filter column 12:" },
                { ONE("\"subjects\":[\"any\"],\"scopes\":[\"seat\"]"),
                                KT_E_INVALID_SPEC,
                                "rules[0].scopes[0]: expected command, own," },
                { ONE("\"subjects\":[{\"uid\":-1}]"),
                                KT_E_INVALID_SPEC,
                                "rules[0].subjects[0].uid: expected a whole number from 0 to 4294967294" },
                { ONE("\"subjects\":[{\"uid\":4294967295}]"),
                                KT_E_INVALID_SPEC,
                                "rules[0].subjects[0].uid: expected a whole number" },
                { ONE("\"subjects\":[{\"uid\":1,\"user\":\"root\"}]"),
                                KT_E_INVALID_SPEC,
                                "rules[0].subjects[0].user: there is a uid already" },
                { ONE("\"subjects\":[{}]"),
                                KT_E_INVALID_SPEC,
                                "rules[0].subjects[0]: expected \"any\"" },
                { ONE("\"subjects\":[{\"unit\":\"a.service\"}]"),
                                KT_E_INVALID_SPEC,
                                "rules[0].subjects[0]: unit: only narrows" },
                { ONE("\"subjects\":[{\"seat\":true}]"),
                                KT_E_INVALID_SPEC,
                                "rules[0].subjects[0].seat: expected a string" },
                { ONE("\"subjects\":[]"),
                                KT_E_INVALID_SPEC,
                                "rules[0].subjects: expected a list of 1 to" },
                { ONE("\"subjects\":[\"any\"],\"scopes\":[\"system\"],\"events\":[\"a:b\"]"),
                                KT_E_INVALID_SPEC,
                                "rules[0]: scopes: system includes processes of other users" },
                { RULE(",\"processes\":\"all\""),
                                KT_E_INVALID_SPEC,
                                "rules[0].processes: expected own or any" },
                { RULE(",\"addresses\":\"hash\""),
                                KT_E_INVALID_SPEC,
                                "rules[0].addresses: expected zero, pseudonym or keep" },
                { RULE(",\"limits\":{\"max-sessions\":1}"),
                                KT_E_INVALID_SPEC,
                                "rules[0].limits.max-sessions: is for all users" },
                { RULE(",\"limits\":{\"max-event-rate\":-1}"),
                                KT_E_INVALID_SPEC,
                                "rules[0].limits.max-event-rate: expected a whole number from 0 to" },
                { RULE(",\"limits\":{\"max\":1}"),
                                KT_E_UNKNOWN_KEY,
                                "rules[0].limits.max: no such key" },
                { RULE(",\"lifetimes\":[\"boot\"]"),
                                KT_E_INVALID_SPEC,
                                "rules[0].lifetimes[0]: expected client, linger or unit" },
                { RULE(",\"max-linger-sec\":0"),
                                KT_E_INVALID_SPEC,
                                "rules[0].max-linger-sec: expected a whole number from 1 to 604800" },
                { RULE(",\"lifetimes\":[\"client\"],\"max-linger-sec\":5"),
                                KT_E_INVALID_SPEC,
                                "rules[0]: max-linger-sec: linger is not among" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_test_message("%s", cases[i].json);
                fixture_refused(cases[i].json, cases[i].code, cases[i].text);
        }
}

/* The rule that counts says which action; root is asked nothing. */
static void test_polkit(void) {
        static const char *const names[] = { "a:x" };
        const PolicyEvents kernel = { names, 1 };

        const struct {
                const Subject *subject;
                const char *action;
        } expected[] = { { &user, "org.ktrace1.trace-own" }, { &root, NULL } };

        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason = { "" };
        Fixture fixture;

        fixture_init(&fixture);
        fixture_write(fixture.lib, "10-x.json", RULE(",\"polkit\":\"trace-own\""));
        Policy *policy = fixture_load(&fixture);
        g_assert_cmpint(spec_set_string(spec, "scope", "own", &reason), ==, 0);
        g_assert_cmpint(spec_add_event(spec, "a:x", NULL, &reason), ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
                Grant *grant = NULL;
                g_assert_cmpint(policy_decide(policy,
                                                expected[i].subject,
                                                spec,
                                                &kernel,
                                                &grant,
                                                &reason),
                                ==,
                                0);
                g_assert_cmpstr(grant->polkit_action, ==, expected[i].action);
                g_assert_true(grant_is_same(grant, grant));
                grant_free(grant);
        }
        policy_free(policy);
        fixture_clear(&fixture);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/policy/no-directory", test_no_directory);
        g_test_add_func("/policy/override-and-mask", test_override_and_mask);
        g_test_add_func("/policy/digest", test_digest);
        g_test_add_func("/policy/first-match", test_first_match);
        g_test_add_func("/policy/subjects", test_subjects);
        g_test_add_func("/policy/refused", test_refused);
        g_test_add_func("/policy/polkit", test_polkit);
        g_test_add_func("/policy/defined-events-are-named", test_defined_events_are_named);
        g_test_add_func("/policy/polkit-shows-nothing", test_polkit_shows_nothing);
        g_test_add_func("/policy/may-trace-all", test_may_trace_all);
        return g_test_run();
}
