/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a container gets that has a socket of its own: what a rule that names it grants, for its own
 * processes, and nothing else. */
#include "policy-fixture.h"

#include "interfaces/spec-json.h"
#include "policy/grant.h"

static const char *const names[] = { "a:one", "sched:sched_switch" };

#define RULE(subjects, rest)                                                            \
        "{\"rules\":[{\"name\":\"r\",\"subjects\":[" subjects "],\"scopes\":[\"own\"]," \
        "\"events\":[\"a:*\"]" rest "}]}"
#define WEB "{\"container\":\"web\"}"
#define WIDE                                                  \
        "{\"rules\":[{\"name\":\"r\",\"subjects\":[" WEB "]," \
        "\"scopes\":[\"command\",\"own\",\"pids\"],\"events\":[\"a:*\"]}]}"
#define OWN               "{\"scope\":\"own\",\"events\":[\"a:one\"]}"
#define SPEC(scope, rest) "{\"scope\":\"" scope "\",\"events\":[\"a:one\"]" rest "}"

static const Subject web = {
        .uid = CONTAINER_UID_FIRST,
        .container = (char *)"web",
        .cgroup = (char *)"/machine.slice/web.scope",
};

static int decide(const char *rules, const Subject *subject, const char *request, Reason *reason) {
        _cleanup_(grant_free_cleanup) Grant *grant = NULL;
        _cleanup_json_ json_object *object = NULL;
        _cleanup_spec_ Spec *spec = spec_new();
        Limits limits;
        Fixture fixture;

        limits_init(&limits);
        const PolicyEvents kernel = {
                .names = names, .n_names = G_N_ELEMENTS(names), .limits = &limits
        };
        fixture_init(&fixture);
        fixture_write(fixture.lib, "10-x.json", rules);
        Policy *policy = fixture_load(&fixture);
        g_assert_cmpint(json_parse_strict("spec", request, strlen(request), &object, reason),
                        ==,
                        0);
        g_assert_cmpint(spec_from_json(spec, object, reason), ==, 0);
        int r = policy_decide(policy, subject, spec, &kernel, &grant, reason);
        if (r == 0) {
                g_assert_true(grant->fenced);
                g_assert_true(grant->redacted);
                g_assert_cmpint(grant->addresses, ==, ADDRESS_ZERO);
        }
        policy_free(policy);
        fixture_clear(&fixture);
        return r;
}

static void assert_denied(const char *rules,
                const Subject *subject,
                const char *request,
                const char *text) {
        Reason reason = {};

        g_assert_cmpint(decide(rules, subject, request, &reason), ==, KT_E_ACCESS_DENIED);
        if (!strstr(reason.text, text))
                g_error("%s: \"%s\" is not in \"%s\"", request, text, reason.text);
}

static void test_granted(void) {
        static const char *const requests[] = {
                OWN, SPEC("pids:7", ""), SPEC("command:7", ""), SPEC("own", ",\"mode\":\"flight\"")
        };
        Reason reason = {};

        for (size_t i = 0; i < G_N_ELEMENTS(requests); i++)
                g_assert_cmpint(decide(WIDE, &web, requests[i], &reason), ==, 0);
}

/* Without a rule that names it, a container gets nothing. */
static void test_denied_by_default(void) {
        Subject other = web, nameless = { .uid = CONTAINER_UID_FIRST }, homeless = web,
                user = { .uid = 1000, .container = (char *)"web" };
        gid_t groups[] = { 0 };

        other.container = (char *)"web2";
        homeless.cgroup = NULL;
        nameless.gids = groups;
        nameless.n_gids = 1;
        assert_denied("{\"rules\":[]}", &web, OWN, "no rule grants container web");
        assert_denied(RULE("\"any\"", ""), &web, OWN, "no rule grants container web");
        assert_denied(RULE("{\"uid\":4294901760}", ""), &web, OWN, "no rule grants container web");
        assert_denied(RULE("{\"group\":\"root\"}", ""), &web, OWN, "no rule grants container web");
        assert_denied(WIDE, &other, OWN, "no rule grants container web2");
        /* A name alone, or a uid alone, is not a container. */
        assert_denied(WIDE, &nameless, OWN, "no rule grants");
        assert_denied(RULE("\"any\"", ""), &nameless, OWN, "no rule grants");
        assert_denied(WIDE, &homeless, OWN, "no rule grants");
        assert_denied(WIDE, &user, OWN, "no rule grants");
        /* And the rule of a container is for no user. */
        user.container = NULL;
        assert_denied(WIDE, &user, OWN, "no rule grants");
}

static void test_spec(void) {
        static const char *const scopes[] = { "system", "unit:a.service", "cgroup:/machine.slice" };
        static const char *const rests[][2] = {
                { ",\"lifetime\":\"linger\"", "lifetime: not possible" },
                { ",\"lifetime\":\"unit:a.service\"", "lifetime: not possible" },
                { ",\"spool\":{}", "spool: not possible" },
                { ",\"probes\":[\"p\"]", "probes: not possible" },
                { ",\"instance\":\"x\"", "instance: not possible" },
                { ",\"tracer\":\"function\"", "tracer: not possible" },
                { ",\"stacktrace\":true", "stacktrace: not possible" },
                { ",\"unredacted\":true", "unredacted: not possible" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(scopes); i++) {
                g_autofree char *spec = g_strdup_printf(SPEC("%s", ""), scopes[i]);

                assert_denied(WIDE, &web, spec, "a container may only trace its own processes");
        }
        for (size_t i = 0; i < G_N_ELEMENTS(rests); i++) {
                g_autofree char *spec = g_strdup_printf(SPEC("own", "%s"), rests[i][0]);

                assert_denied(WIDE, &web, spec, rests[i][1]);
        }
}

/* Keys that a rule for containers cannot have. */
static void test_rules(void) {
        static const char *const bad[][2] = {
                { RULE(WEB, ",\"processes\":\"any\""), "processes: expected own" },
                { RULE(WEB, ",\"addresses\":\"keep\""), "addresses: expected zero" },
                { RULE(WEB, ",\"addresses\":\"pseudonym\""), "addresses: expected zero" },
                { RULE(WEB, ",\"lifetimes\":[\"client\",\"linger\"]"),
                                "lifetimes: expected client" },
                { RULE(WEB, ",\"allow-setuid\":true"), "allow-setuid: has no effect" },
                { RULE(WEB, ",\"probes\":{\"use\":[\"*\"]}"), "probes: leave it out" },
                { RULE(WEB, ",\"ship\":[\"*\"]"), "ship: leave it out" },
                { RULE(WEB, ",\"polkit\":\"trace-own\""), "polkit: " },
                { RULE(WEB ",\"any\"", ""), "users need a rule of their own" },
                { RULE("{\"container\":\"web\",\"uid\":0}", ""), "takes no other key" },
                { RULE("{\"container\":\"\"}", ""), "container" },
                { "{\"rules\":[{\"name\":\"r\",\"subjects\":[" WEB "],\"scopes\":[\"system\"],"
                  "\"events\":[\"a:*\"]}]}",
                                "scopes: expected command, own or pids" },
                { "{\"rules\":[{\"name\":\"r\",\"subjects\":[" WEB "],\"scopes\":[\"cgroup\"],"
                  "\"events\":[\"a:*\"]}]}",
                                "scopes: expected command, own or pids" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
                fixture_refused(bad[i][0], KT_E_INVALID_SPEC, bad[i][1]);
}

static void test_uids(void) {
        g_assert_false(container_has_uid(0));
        g_assert_false(container_has_uid(1000));
        g_assert_false(container_has_uid(CONTAINER_UID_FIRST - 1));
        g_assert_true(container_has_uid(CONTAINER_UID_FIRST));
        g_assert_true(container_has_uid(CONTAINER_UID_FIRST + CONTAINERS_MAX - 1));
        g_assert_false(container_has_uid(CONTAINER_UID_FIRST + CONTAINERS_MAX));
        g_assert_false(container_has_uid((uid_t)-1));
}

static void test_copy(void) {
        Subject copy = {};

        g_assert_cmpint(subject_copy(&copy, &web), ==, 0);
        g_assert_cmpstr(copy.container, ==, "web");
        g_assert_cmpstr(copy.cgroup, ==, web.cgroup);
        subject_clear(&copy);
        g_assert_null(copy.container);
        g_assert_null(copy.cgroup);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/container/granted", test_granted);
        g_test_add_func("/container/denied-by-default", test_denied_by_default);
        g_test_add_func("/container/spec", test_spec);
        g_test_add_func("/container/rules", test_rules);
        g_test_add_func("/container/uids", test_uids);
        g_test_add_func("/container/copy", test_copy);
        return g_test_run();
}
