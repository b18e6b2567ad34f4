/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What files are read, in which order, and what is refused in them. */
#include <errno.h>
#include <sys/stat.h>

#include "policy-fixture.h"

#define RULE(extra)                                                                           \
        "{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],\"scopes\":[\"own\"],\"events\":" \
        "[\"a:*\"]" extra "}]}"

static const Subject user = { .uid = 1000, .gids = (gid_t[]){ 1000, 44 }, .n_gids = 2 };
static const Subject root = { .uid = 0 };

static bool sees(const Policy *policy, const char *system) {
        return policy_may_see_event(policy, &user, system, "x");
}

static void test_no_directory(void) {
        Policy *policy = NULL;
        Reason reason = { "" };

        g_assert_cmpint(policy_load("/nonexistent/a", "/nonexistent/b", &policy, &reason), ==, 0);
        g_assert_false(sees(policy, "a"));
        g_assert_true(policy_may_see_event(policy, &root, "a", "x"));
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
        g_assert_true(policy_may_see_event(policy, &(Subject){ .uid = 1001 }, "a", "x"));
        policy_free(policy);
        fixture_clear(&fixture);
}

static void test_subjects(void) {
        Fixture fixture;

        fixture_init(&fixture);
        fixture_write(fixture.lib,
                        "10-x.json",
                        "{\"rules\":["
                        "{\"name\":\"g\",\"subjects\":[{\"group\":\"daemon\"}],\"scopes\":[\"own\"],"
                        "\"events\":[\"g:*\"]},"
                        "{\"name\":\"none\",\"subjects\":[{\"group\":\"no-such-group-here\"}],"
                        "\"scopes\":[\"own\"],\"events\":[\"n:*\"]}]}");
        Policy *policy = fixture_load(&fixture);
        Subject member = { .uid = 5, .gids = (gid_t[]){ 7, 1 }, .n_gids = 2 };
        g_assert_true(policy_may_see_event(policy, &member, "g", "x"));
        g_assert_false(policy_may_see_event(policy, &member, "n", "x"));
        g_assert_false(sees(policy, "g"));
        policy_free(policy);
        fixture_clear(&fixture);
}

static void test_refused(void) {
        fixture_refused("{\"rules\":[", KT_E_INVALID_SPEC, "10-x.json");
        fixture_refused("[]", KT_E_INVALID_SPEC, "an object is wanted");
        fixture_refused("{}", KT_E_INVALID_SPEC, "rules: a list is wanted");
        fixture_refused("{\"rules\":[],\"rule\":1}", KT_E_UNKNOWN_KEY, "10-x.json: rule: no such");
        fixture_refused("{\"rules\":[1]}", KT_E_INVALID_SPEC, "rules[0]: an object");
        fixture_refused(RULE(",\"limits\":{}"), KT_E_UNKNOWN_KEY, "rules[0].limits: no such key");
        fixture_refused(RULE(",\"deny\":1"), KT_E_INVALID_SPEC, "rules[0].deny: true or false");
        fixture_refused(RULE(",\"polkit\":\"reload\""),
                        KT_E_INVALID_SPEC,
                        "rules[0].polkit: trace-own,");
        fixture_refused(RULE(",\"deny\":true"), KT_E_INVALID_SPEC, "rules[0].events: a rule that");
        fixture_refused("{\"rules\":[{\"subjects\":[\"any\"],\"scopes\":[\"own\"],\"deny\":true}]}",
                        KT_E_INVALID_SPEC,
                        "rules[0].name: is missing");
        fixture_refused("{\"rules\":[{\"name\":\"r\",\"scopes\":[\"own\"],\"events\":[\"a:b\"]}]}",
                        KT_E_INVALID_SPEC,
                        "rules[0].subjects: is missing");
        fixture_refused("{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],\"events\":[\"a:b\"]}]}",
                        KT_E_INVALID_SPEC,
                        "rules[0].scopes: is missing");
        fixture_refused("{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],\"scopes\":[\"own\"]}]}",
                        KT_E_INVALID_SPEC,
                        "rules[0].events: is missing");
        fixture_refused("{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],\"scopes\":[\"own\"],"
                        "\"events\":[\"openat\"]}]}",
                        KT_E_INVALID_SPEC,
                        "SYSTEM:EVENT");
        fixture_refused("{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],\"scopes\":[\"seat\"]}]}",
                        KT_E_INVALID_SPEC,
                        "rules[0].scopes: each is");
        fixture_refused("{\"rules\":[{\"name\":\"r\",\"subjects\":[{\"uid\":-1}]}]}",
                        KT_E_INVALID_SPEC,
                        "rules[0].subjects: each is");
        fixture_refused("{\"rules\":[{\"name\":\"r\",\"subjects\":[{\"uid\":1,\"group\":\"a\"}]}]}",
                        KT_E_INVALID_SPEC,
                        "rules[0].subjects: each is");
        fixture_refused("{\"rules\":[{\"name\":\"r\",\"subjects\":[]}]}",
                        KT_E_INVALID_SPEC,
                        "rules[0].subjects: a list of 1");
}

static void test_system_scope_is_refused(void) {
        fixture_refused("{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],\"scopes\":[\"system\"],"
                        "\"events\":[\"a:b\"]}]}",
                        KT_E_INVALID_SPEC,
                        "scope system is root's alone");
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
        g_test_add_func("/policy/system-scope-is-refused", test_system_scope_is_refused);
        return g_test_run();
}
