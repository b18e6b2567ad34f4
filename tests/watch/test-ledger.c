/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What others change in a session that needs no fence is put back and reported; what cannot be ends
 * it.
 */
#include <string.h>

#include "session-fixture.h"
#include "session/registry.h"
#include "session/session-state.h"

#define SPEC \
        "{\"scope\":\"system\",\"lifetime\":\"linger\",\"events\":[{\"name\":\"raw_syscalls:sys_enter\",\"filter\":\"id == 1\"}]}"

static Session *start(Fixture *f) {
        Call call;

        fixture_create(f, &call, 0, ":1.5", SPEC);
        fixture_wait(f, &call);
        g_assert_cmpstr(call.reason.text, ==, "");
        Session *session = call.session;
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpstr(call.reason.text, ==, "");
        return session;
}

static void run_msec(Fixture *f, unsigned msec) {
        gint64 end = g_get_monotonic_time() + msec * 1000;

        while (g_get_monotonic_time() < end)
                g_assert_cmpint(sd_event_run(f->event, 10000), >=, 0);
}

static bool has_reported(void *userdata) {
        const Session *session = userdata;

        return session->n_interferences > 0;
}

/* Others write; afterwards the kernel is as it was, and one change was reported. */
static void check_put_back(Fixture *f, const char *path, const char *text) {
        Session *session = start(f);
        g_autofree char *name = g_strdup_printf("ktrace-%s", session_get_id(session));

        run_msec(f, 100);
        g_assert_cmpuint(session->n_interferences, ==, 0);
        g_autofree char *before = fake_kernel_describe();
        fake_kernel_write(name, path, text);
        fixture_run_until(f, has_reported, session);
        g_autofree char *after = fake_kernel_describe();
        g_assert_cmpstr(before, ==, after);
        run_msec(f, 200);
        g_assert_cmpuint(session->n_interferences, ==, 1);
        g_assert_cmpint(session_get_state(session), ==, SESSION_RUNNING);
}

static void test_enable(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        check_put_back(f, "events/raw_syscalls/sys_enter/enable", "0");
}

static void test_filter(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        check_put_back(f, "events/raw_syscalls/sys_enter/filter", "0");
}

static void test_tracing(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        check_put_back(f, "tracing_on", "0");
}

static void test_clock(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        check_put_back(f, "trace_clock", "global");
}

static void test_size(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        check_put_back(f, "buffer_size_kb", "7");
}

/* Nothing to put back. */
static void test_emptied(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        check_put_back(f, "trace", "");
}

static void test_own(Fixture *f, gconstpointer userdata) {
        Session *session = start(f);
        Call call;

        (void)userdata;
        for (unsigned i = 0; i < 3; i++) {
                fixture_switch(f, &call, session, "raw_syscalls:sys_enter", i % 2);
                fixture_wait(f, &call);
                fixture_resize(f, &call, session, 64 << i);
                fixture_wait(f, &call);
                fixture_stop(f, &call, session);
                fixture_wait(f, &call);
                fixture_start(f, &call, session);
                fixture_wait(f, &call);
        }
        run_msec(f, 200);
        g_assert_cmpuint(session->n_interferences, ==, 0);
}

/* A list that is empty traces everybody. */
static void test_list(Fixture *f, gconstpointer userdata) {
        g_autofree char *spec = g_strdup_printf(
                        "{\"scope\":\"pids:%d\",\"lifetime\":\"linger\",\"events\":[\"raw_syscalls:sys_enter\"]}",
                        getpid());
        Call call;

        (void)userdata;
        fixture_create(f, &call, 0, ":1.5", spec);
        fixture_wait(f, &call);
        Session *session = call.session;
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpstr(call.reason.text, ==, "");
        g_autofree char *name = g_strdup_printf("ktrace-%s", session_get_id(session));
        fake_kernel_write(name, "set_event_pid", "1");
        fixture_wait_report(f, "ended interference");
        fixture_wait_report(f, "state gone");
}

int main(int argc, char **argv) {
        static const struct {
                const char *path;
                void (*run)(Fixture *f, gconstpointer userdata);
        } tests[] = {
                { "/ledger/enable", test_enable },
                { "/ledger/filter", test_filter },
                { "/ledger/tracing", test_tracing },
                { "/ledger/clock", test_clock },
                { "/ledger/size", test_size },
                { "/ledger/emptied", test_emptied },
                { "/ledger/own", test_own },
                { "/ledger/list", test_list },
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].path,
                                Fixture,
                                NULL,
                                fixture_set_up,
                                tests[i].run,
                                fixture_tear_down);
        return g_test_run();
}
