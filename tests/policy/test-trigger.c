/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Triggers in a decision: whose events and filters they may have, and what excludes what. */
#include "policy-fixture.h"

#include <string.h>

#include "interfaces/spec-json.h"
#include "interfaces/spec-trigger.h"
#include "policy/grant.h"
#include "policy/same.h"

static const char rules[] =
                "{\"rules\":[{\"name\":\"own\",\"subjects\":[\"any\"],\"scopes\":[\"own\"],"
                "\"events\":[\"a:*\",{\"name\":\"b:cut\",\"cut\":[\"ip\"]},"
                "{\"name\":\"c:others\",\"class\":\"others\",\"keep\":[\"pid\"]},"
                "{\"name\":\"d:ruled\",\"filter\":\"pid > 1\"}]}]}";
static const char *const names[] = { "a:one",
        "a:two",
        "b:cut",
        "c:others",
        "d:ruled",
        "e:foreign" };

static int get_format(const char *system, const char *name, const Format **ret, void *userdata) {
        static FormatField fields[] = {
                { .type = (char *)"pid_t", .name = (char *)"pid", .offset = 8, .size = 4 },
                { .type = (char *)"unsigned int", .name = (char *)"ip", .offset = 12, .size = 4 },
        };
        static const Format format = {
                .name = (char *)"any", .fields = fields, .n_fields = G_N_ELEMENTS(fields)
        };

        *ret = &format;
        return 0;
}

static const PolicyEvents kernel = { .names = names,
        .n_names = G_N_ELEMENTS(names),
        .get_format = get_format };
static Policy *policy;

static int decide_spec(uid_t uid, const char *text, Grant **ret, Reason *reason) {
        const Subject subject = { .uid = uid, .gids = (gid_t[]){ uid }, .n_gids = 1 };
        _cleanup_json_ json_object *object = NULL;
        _cleanup_spec_ Spec *spec = spec_new();

        int r = json_parse_strict("SPEC", text, strlen(text), &object, reason);
        r = r ?: spec_from_json(spec, object, reason);
        g_assert_cmpint(r, ==, 0);
        return policy_decide(policy, &subject, spec, &kernel, ret, reason);
}

/* triggers: the JSON objects between the brackets. */
static int decide(uid_t uid, const char *triggers, Grant **ret, Reason *reason) {
        g_autofree char *text = g_strdup_printf(
                        "{\"scope\":\"own\",\"where\":\"pid != 7\",\"events\":[\"a:one\",{\"name\":"
                        "\"a:two\",\"enabled\":false}],\"triggers\":[%s]}",
                        triggers);

        return decide_spec(uid, text, ret, reason);
}

static Grant *expect(uid_t uid, const char *triggers) {
        Reason reason = { "" };
        Grant *grant = NULL;

        int r = decide(uid, triggers, &grant, &reason);
        if (r != 0)
                g_error("%s: %d %s", triggers, r, reason.text);
        return grant;
}

static void expect_refused(const char *triggers, int code, const char *part) {
        Reason reason = { "" };
        Grant *grant = NULL;

        int r = decide(1000, triggers, &grant, &reason);
        if (r != code || !strstr(reason.text, part))
                g_error("%s: %d %s", triggers, r, reason.text);
        g_assert_null(grant);
}

/* Its filter is printed anew, its own and not the events'; it knows its event and its target. */
static void test_granted(void) {
        _cleanup_(grant_free_cleanup) Grant *grant = expect(1000,
                        "{\"when\":\"a:one if (pid>0x10)\",\"do\":\"enable\",\"event\":\"a:two\"},"
                        "{\"when\":\"a:two\",\"do\":\"notify\"}");

        g_assert_cmpuint(grant->n_triggers, ==, 2);
        g_assert_cmpstr(grant->triggers[0].filter, ==, "pid > 16");
        g_assert_cmpstr(grant->events[grant->triggers[0].event].name, ==, "one");
        g_assert_cmpstr(grant->events[grant->triggers[0].target].name, ==, "two");
        g_assert_null(grant->triggers[1].filter);
        g_assert_true(grant->triggers[1].target == GRANT_NO_TARGET);
        g_assert_true(grant->events[grant->triggers[0].target].is_off);
        g_assert_cmpstr(grant->events[0].filter, ==, "pid != 7");
}

/* Named by a trigger alone: granted like one that is recorded, and not recorded; the session's
 * filter is not for it, the rule's is. */
static void test_unrecorded(void) {
        _cleanup_(grant_free_cleanup) Grant *grant =
                        expect(1000, "{\"when\":\"d:ruled\",\"do\":\"stop\"}");
        const GrantEvent *event = &grant->events[grant->triggers[0].event];

        g_assert_cmpuint(grant->n_events, ==, 3);
        g_assert_cmpstr(event->name, ==, "ruled");
        g_assert_true(event->is_unrecorded);
        g_assert_null(event->filter);
        g_assert_cmpstr(event->policy_filter, ==, "pid > 1");
        g_assert_cmpuint(grant->n_requests, ==, 2);
}

static void test_refused(void) {
        expect_refused("{\"when\":\"e:foreign\",\"do\":\"stop\"}",
                        KT_E_ACCESS_DENIED,
                        "e:foreign: not granted");
        expect_refused("{\"when\":\"a:none\",\"do\":\"stop\"}",
                        KT_E_NO_SUCH_EVENT,
                        "a:none: no such event");
        expect_refused("{\"when\":\"a:one if nosuch == 1\",\"do\":\"stop\"}",
                        KT_E_INVALID_SPEC,
                        "a:one: triggers[0].when column 1");
        expect_refused("{\"when\":\"a:one if pid\",\"do\":\"stop\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].when");
        expect_refused("{\"when\":\"a:one\",\"do\":\"notify\"},"
                       "{\"when\":\"b:cut if ip == 1\",\"do\":\"stop\"}",
                        KT_E_ACCESS_DENIED,
                        "triggers[1].when");
        expect_refused("{\"when\":\"c:others if pid == 1\",\"do\":\"stop\"}",
                        KT_E_ACCESS_DENIED,
                        "it can describe tasks that are not traced");
        expect_refused("{\"when\":\"a:one\",\"do\":\"enable\",\"event\":\"b:cut\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[0].event: b:cut is not an event of the session");
        expect_refused("{\"when\":\"b:cut\",\"do\":\"notify\"},"
                       "{\"when\":\"a:one\",\"do\":\"enable\",\"event\":\"b:cut\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[1].event: b:cut is not an event of the session");
        expect_refused("{\"when\":\"a:one\",\"do\":\"stacktrace\"}",
                        KT_E_ACCESS_DENIED,
                        "triggers[0].do: stacktrace: kernel addresses are cut");
}

/* Both are named as they stand in the spec. */
static void test_excluded_by_event(void) {
        static const char text[] =
                        "{\"scope\":\"own\",\"events\":[\"a:two\",{\"name\":\"a:one\",\"triggers\":"
                        "[{\"do\":\"notify\"},{\"do\":\"start\"}]}],"
                        "\"triggers\":[{\"when\":\"a:one\",\"do\":\"stop\"}]}";
        Reason reason = { "" };
        Grant *grant = NULL;

        g_assert_cmpint(decide_spec(1000, text, &grant, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text,
                        "triggers[0]: stop on a:one excludes start of events[1].triggers[1] there"));
}

static void test_excluded(void) {
        expect_refused("{\"when\":\"a:one if pid == 1\",\"do\":\"start\"},"
                       "{\"when\":\"a:one if pid == 2\",\"do\":\"stop\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[1]: stop on a:one excludes start of triggers[0] there");
        expect_refused("{\"when\":\"a:one if pid == 1\",\"do\":\"stop\"},"
                       "{\"when\":\"a:one if pid == 2\",\"do\":\"stop\"}",
                        KT_E_INVALID_SPEC,
                        "join their filters with ||");
        expect_refused("{\"when\":\"a:one if pid == 1\",\"do\":\"enable\",\"event\":\"a:two\"},"
                       "{\"when\":\"a:one if pid == 2\",\"do\":\"disable\",\"event\":\"a:two\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[1]: disable on a:one excludes enable");
        /* There the windows are switches of every event. */
        expect_refused("{\"when\":\"a:one if pid == 1\",\"do\":\"enable\",\"event\":\"a:two\"},"
                       "{\"when\":\"a:one if pid == 2\",\"do\":\"stop\"}",
                        KT_E_INVALID_SPEC,
                        "triggers[1]: stop on a:one excludes enable");
        grant_free(expect(0,
                        "{\"when\":\"a:one if pid == 1\",\"do\":\"enable\",\"event\":\"a:two\"},"
                        "{\"when\":\"a:one if pid == 2\",\"do\":\"stop\"}"));
        grant_free(expect(1000,
                        "{\"when\":\"a:one if pid == 1\",\"do\":\"enable\",\"event\":\"a:two\"},"
                        "{\"when\":\"a:one if pid == 2\",\"do\":\"disable\",\"event\":\"a:one\"},"
                        "{\"when\":\"a:two\",\"do\":\"stop\"}"));
}

/* A yes about one trigger is none about another. */
static void test_same(void) {
        _cleanup_(grant_free_cleanup)
                        Grant *a = expect(1000, "{\"when\":\"a:one\",\"do\":\"stop\"}"),
                              *b = expect(1000, "{\"when\":\"a:one if pid == 1\",\"do\":\"stop\"}"),
                              *c = expect(1000, "{\"when\":\"a:one\",\"do\":\"stop\"}"),
                              *d = expect(1000, "");

        g_assert_true(grant_is_same(a, c));
        g_assert_false(grant_is_same(a, b));
        g_assert_false(grant_is_same(a, d));
}

int main(int argc, char **argv) {
        Fixture fixture;

        g_test_init(&argc, &argv, NULL);
        fixture_init(&fixture);
        fixture_write(fixture.lib, "50-test.json", rules);
        policy = fixture_load(&fixture);
        g_test_add_func("/grant-trigger/granted", test_granted);
        g_test_add_func("/grant-trigger/unrecorded", test_unrecorded);
        g_test_add_func("/grant-trigger/refused", test_refused);
        g_test_add_func("/grant-trigger/excluded", test_excluded);
        g_test_add_func("/grant-trigger/excluded-by-event", test_excluded_by_event);
        g_test_add_func("/grant-trigger/same", test_same);
        int r = g_test_run();
        policy_free(policy);
        fixture_clear(&fixture);
        return r;
}
