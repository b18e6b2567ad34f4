/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* New rules and limits, and the sessions that exist. */
#include <string.h>

#include "session-fixture.h"

#define RULE(events)                                                                                                         \
        "{\"rules\":[{\"name\":\"new\",\"subjects\":[\"any\"],\"scopes\":[\"command\",\"own\",\"pids\"],\"events\":[" events \
        "]}]}"
#define SPEC "{\"scope\":\"own\",\"lifetime\":\"linger\",\"events\":[\"raw_syscalls:*\"]}"

static Session *make(Fixture *f, uid_t uid, const char *spec) {
        Call call;

        fixture_create(f, &call, uid, ":1.5", spec);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        return call.session;
}

static bool has_ended(const Fixture *f) {
        return strstr(f->told->str, "ended policy\n");
}

static void test_same_and_wider(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        make(f, FIXTURE_USER, SPEC);
        fixture_set_rules(f, NULL, NULL);
        fixture_set_rules(f, RULE("\"*:*\""), NULL);
        g_assert_false(has_ended(f));
}

static void test_denied(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        make(f, FIXTURE_USER, SPEC);
        make(f, 0, SPEC_ROOT);
        fixture_set_rules(f, "{\"rules\":[]}", NULL);
        fixture_wait_told(f, "ended policy\n");
        fixture_wait_told(f, "state gone\n");
        /* The other one is root's. */
        g_assert_null(strstr(strstr(f->told->str, "ended policy\n") + 1, "ended"));
        Call call;
        fixture_create(f, &call, FIXTURE_USER, ":1.5", SPEC);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_ACCESS_DENIED);
}

/* A glob would be narrowed; what it had is less now. */
static void test_fewer_events(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        make(f, FIXTURE_USER, SPEC);
        fixture_set_rules(f, RULE("\"raw_syscalls:sys_enter\""), NULL);
        fixture_wait_told(f, "state gone\n");
        g_assert_true(has_ended(f));
}

static void test_polkit_comes_in(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        make(f, FIXTURE_USER, SPEC);
        fixture_set_rules(f,
                        "{\"rules\":[{\"name\":\"asks\",\"subjects\":[\"any\"],\"scopes\":[\"own\"],"
                        "\"polkit\":\"trace-own\",\"events\":[\"raw_syscalls:*\"]}]}",
                        NULL);
        fixture_wait_told(f, "state gone\n");
        g_assert_true(has_ended(f));
}

static void test_limits(Fixture *f, gconstpointer userdata) {
        Limits limits = *registry_get_limits(f->registry);

        (void)userdata;
        make(f, FIXTURE_USER, SPEC);
        /* What a user may have is not one session's. */
        limits.max_sessions_per_uid = 1;
        limits.max_buffer_kb = 1024; /* what it has */
        fixture_set_rules(f, NULL, &limits);
        g_assert_false(has_ended(f));
        Call call;
        fixture_create(f, &call, FIXTURE_USER, ":1.5", SPEC);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_LIMIT_REACHED);

        limits.max_event_rate = 1000;
        fixture_set_rules(f, NULL, &limits);
        fixture_wait_told(f, "state gone\n");
        g_assert_true(has_ended(f));
}

static void test_running(Fixture *f, gconstpointer userdata) {
        Session *session = make(f, 0, SPEC_ROOT);
        Session *users = make(f,
                        FIXTURE_USER,
                        "{\"scope\":\"own\",\"lifetime\":\"linger\",\"buffer-kb\":2048,\"events\":[\"raw_syscalls:*\"]}");
        Limits limits = *registry_get_limits(f->registry);
        Call call;

        (void)userdata;
        (void)users;
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        limits.max_buffer_kb = 1024;
        fixture_set_rules(f, NULL, &limits);
        fixture_wait_told(f, "state gone\n");
        g_assert_true(has_ended(f));
        /* root's goes on. */
        g_assert_cmpint(session_get_state(session), ==, SESSION_RUNNING);
}

/* Made by the old rules, and not there yet: it never will be. */
static void test_pending(Fixture *f, gconstpointer userdata) {
        Call call;

        (void)userdata;
        fake_kernel_hold(FAKE_BUFFER);
        fixture_create(f, &call, FIXTURE_USER, ":1.5", SPEC);
        fixture_wait_held(f);
        fixture_set_rules(f, "{\"rules\":[]}", NULL);
        fake_kernel_release();
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_CANCELLED);
        g_assert_nonnull(strstr(call.reason.text, "the rules were changed"));
        /* Nobody was told of it, so nobody is told of its end. */
        g_assert_cmpstr(f->told->str, ==, "");
        g_autofree char *now = fake_kernel_describe();
        g_assert_cmpstr(now, ==, f->baseline);
}

int main(int argc, char **argv) {
        static const struct {
                const char *path;
                void (*test)(Fixture *f, gconstpointer userdata);
        } tests[] = {
                { "/reload/same-and-wider", test_same_and_wider },
                { "/reload/denied", test_denied },
                { "/reload/fewer-events", test_fewer_events },
                { "/reload/polkit-comes-in", test_polkit_comes_in },
                { "/reload/limits", test_limits },
                { "/reload/running", test_running },
                { "/reload/pending", test_pending },
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
