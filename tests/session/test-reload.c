/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* New rules and limits, and the sessions that exist. */
#include <errno.h>
#include <string.h>

#include "session-fixture.h"
#include "session/registry.h"
#include "session/session-state.h"

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
        return strstr(f->reported->str, "ended policy\n");
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
        fixture_wait_report(f, "ended policy\n");
        fixture_wait_report(f, "state gone\n");
        /* The other one is root's. */
        g_assert_null(strstr(strstr(f->reported->str, "ended policy\n") + 1, "ended"));
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
        fixture_wait_report(f, "state gone\n");
        g_assert_true(has_ended(f));
}

static void test_polkit_comes_in(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        make(f, FIXTURE_USER, SPEC);
        fixture_set_rules(f,
                        "{\"rules\":[{\"name\":\"asks\",\"subjects\":[\"any\"],\"scopes\":[\"own\"],"
                        "\"polkit\":\"trace-own\",\"events\":[\"raw_syscalls:*\"]}]}",
                        NULL);
        fixture_wait_report(f, "state gone\n");
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
        fixture_wait_report(f, "state gone\n");
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
        fixture_wait_report(f, "state gone\n");
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
        g_assert_cmpstr(f->reported->str, ==, "");
        g_autofree char *now = fake_kernel_describe();
        g_assert_cmpstr(now, ==, f->baseline);
}

#define N_MANY   700
#define RULE_ALL RULE("\"many:*\",\"raw_syscalls:*\"")
/* Some turns of work. */
#define SPEC_MANY(name)                                                                      \
        "{\"scope\":\"own\",\"lifetime\":\"linger\",\"name\":\"" name "\",\"buffer-kb\":64," \
        "\"events\":[{\"name\":\"many:*\",\"filter\":\"value == 1\"},"                       \
        "{\"name\":\"many:*\",\"filter\":\"value == 2\"}]}"

static void add_many(Fixture *f) {
        for (unsigned i = 0; i < N_MANY; i++) {
                char name[16];

                g_snprintf(name, sizeof(name), "e%u", i);
                fake_kernel_add_event("many", name, NULL);
        }
        fixture_set_rules(f, RULE_ALL, NULL);
}

/* The next decision reads each format anew: work that can be counted. */
static void forget_formats(void) {
        static unsigned n;
        g_autofree char *modules = g_strdup_printf("module%u\n", n++);

        fake_kernel_set_file("modules", modules);
        (void)fake_kernel_take_format_reads();
}

static void run_turn(Fixture *f) {
        g_assert_cmpint(sd_event_run(f->event, 20000), >=, 0);
}

static bool is_reported_twice(const Fixture *f, const char *line) {
        const char *first = strstr(f->reported->str, line);

        return first && strstr(first + 1, line);
}

/* One turn of the loop judges a part of one session, and others are served in between. */
static void test_turns(Fixture *f, gconstpointer userdata) {
        unsigned n_turns = 0, n_turns_other = 0;
        Call other;

        (void)userdata;
        add_many(f);
        make(f, FIXTURE_USER, SPEC_MANY("a"));
        make(f, FIXTURE_USER, SPEC_MANY("b"));
        make(f, FIXTURE_USER, SPEC_MANY("c"));
        forget_formats();
        fixture_begin_rules(f, RULE_ALL, NULL);
        g_assert_cmpuint(fake_kernel_take_format_reads(), ==, 0);
        fixture_create(f, &other, 0, ":1.6", SPEC_ROOT);
        while (f->n_reloads > 0) {
                run_turn(f);
                g_assert_cmpuint(fake_kernel_take_format_reads(), <=, 101);
                g_assert_cmpuint(++n_turns, <, 10000);
                if (!other.is_answered) {
                        n_turns_other++;
                        g_usleep(20000); /* for its worker, which is another thread */
                }
        }
        g_assert_cmpuint(n_turns, >, 10);
        /* It has waited for no more than some of them. */
        fixture_wait(f, &other);
        g_assert_cmpint(other.result, ==, 0);
        g_assert_cmpuint(n_turns_other, <, n_turns);
        g_assert_false(has_ended(f));
}

/* When the caller is reported, no session has what the new rules deny; and none of that is given in
 * between. */
static void test_denied_in_turns(Fixture *f, gconstpointer userdata) {
        Call call;

        (void)userdata;
        add_many(f);
        make(f, FIXTURE_USER, SPEC_MANY("a"));
        make(f, FIXTURE_USER, SPEC_MANY("b"));
        forget_formats();
        fixture_begin_rules(f, "{\"rules\":[]}", NULL);
        fixture_create(f, &call, FIXTURE_USER, ":1.5", SPEC_MANY("c"));
        while (f->n_reloads > 0)
                run_turn(f);
        g_assert_true(is_reported_twice(f, "ended policy\n"));
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_ACCESS_DENIED);
        fixture_wait_report(f, "state gone\n");
}

/* The session that is being judged ends and is freed, in each turn once. */
static void test_end_in_any_turn(Fixture *f, gconstpointer userdata) {
        bool is_over_before = false;

        (void)userdata;
        add_many(f);
        for (unsigned n_turns = 0; !is_over_before; n_turns++) {
                Session *a = make(f, FIXTURE_USER, SPEC_MANY("a"));
                Session *b = make(f, FIXTURE_USER, SPEC_MANY("b"));
                Call end_a, end_b;

                fixture_begin_rules(f, RULE_ALL, NULL);
                for (unsigned i = 0; i < n_turns && f->n_reloads > 0; i++)
                        run_turn(f);
                is_over_before = f->n_reloads == 0;
                fixture_destroy(f, &end_a, a);
                fixture_wait(f, &end_a);
                fixture_destroy(f, &end_b, b);
                fixture_wait(f, &end_b);
                while (f->n_reloads > 0)
                        run_turn(f);
        }
        g_assert_false(has_ended(f));
}

/* The session that is being judged cannot be made, and is freed at once. */
static void test_creation_fails(Fixture *f, gconstpointer userdata) {
        Call call;

        (void)userdata;
        add_many(f);
        fake_kernel_hold(FAKE_BUFFER);
        fixture_create(f, &call, FIXTURE_USER, ":1.5", SPEC_MANY("a"));
        fixture_wait_held(f);
        forget_formats();
        fixture_begin_rules(f, RULE_ALL, NULL);
        run_turn(f);
        g_assert_cmpuint(f->n_reloads, ==, 1);
        fake_kernel_fail(1, -EIO);
        fake_kernel_release();
        /* The worker is done before the next part is judged. */
        while (fake_kernel_find("remove *", 0) < 0)
                g_usleep(1000);
        g_usleep(20000);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, -EIO);
        while (f->n_reloads > 0)
                run_turn(f);
        g_assert_false(has_ended(f));
}

/* The last rules are the ones that count, in whatever turn they come: what the ones before denied
 * and was not reached yet goes on, and what they allowed ends. Both callers are reported. */
static void test_again_in_any_turn(Fixture *f, gconstpointer userdata) {
        bool is_over_before = false;

        (void)userdata;
        add_many(f);
        for (unsigned n_turns = 0; !is_over_before; n_turns++) {
                make(f, FIXTURE_USER, SPEC_MANY("a"));
                make(f, FIXTURE_USER, SPEC_MANY("b"));
                g_string_truncate(f->reported, 0);
                fixture_begin_rules(f, RULE_ALL, NULL);
                for (unsigned i = 0; i < n_turns && f->n_reloads > 0; i++)
                        run_turn(f);
                is_over_before = f->n_reloads == 0;
                g_assert_false(has_ended(f));
                fixture_begin_rules(f, RULE("\"many:e1\""), NULL);
                while (f->n_reloads > 0)
                        run_turn(f);
                g_assert_true(is_reported_twice(f, "ended policy\n"));
                while (!is_reported_twice(f, "state gone\n"))
                        run_turn(f);
                fixture_set_rules(f, RULE_ALL, NULL);
        }
}

/* The daemon ends, or leaves, while sessions are judged. */
static void test_daemon_ends(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        add_many(f);
        make(f, FIXTURE_USER, SPEC_MANY("a"));
        fixture_begin_rules(f, RULE_ALL, NULL);
        run_turn(f);
        g_assert_cmpuint(f->n_reloads, ==, 1);
        fixture_restart(f);
        g_assert_cmpuint(f->n_reloads, ==, 0);
        fixture_begin_rules(f, RULE_ALL, NULL);
        run_turn(f);
        g_assert_cmpuint(f->n_reloads, ==, 1); /* the end is the fixture's */
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
                { "/reload/one-turn-does-a-little", test_turns },
                { "/reload/denied-when-it-is-over", test_denied_in_turns },
                { "/reload/a-session-ends-in-any-turn", test_end_in_any_turn },
                { "/reload/a-creation-fails", test_creation_fails },
                { "/reload/again-in-any-turn", test_again_in_any_turn },
                { "/reload/the-daemon-ends", test_daemon_ends },
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
