/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Triggers of sessions on the fake kernel: in which order they are laid and lifted, what they
 * carry, and that a failure leaves nothing. */

#include <errno.h>
#include <string.h>

#include "session-fixture.h"

#include "session/session-state.h"

static Session *make(Fixture *f, uid_t uid, const char *scope, const char *rest) {
        g_autofree char *spec = g_strdup_printf(
                        "{\"scope\":\"%s\",\"lifetime\":\"linger\",%s}", scope, rest);
        Call call;

        fixture_create(f, &call, uid, NULL, spec);
        fixture_wait(f, &call);
        g_assert_cmpstr(call.reason.text, ==, "");
        return call.session;
}

static int start(Fixture *f, Session *session) {
        Call call;

        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        return call.result;
}

static void stop(Fixture *f, Session *session) {
        Call call;

        fixture_stop(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
}

#define WINDOW                                                                                                   \
        "\"events\":[\"raw_syscalls:sys_enter\"],\"triggers\":[{\"when\":\"raw_syscalls:sys_enter if id == 1\"," \
        "\"do\":\"start\"},{\"when\":\"raw_syscalls:sys_exit if id == 2\",\"do\":\"stop\",\"count\":3}]"

/* A trace of all: tracing_on is the window, closed at first; triggers come last and go first. */
static void test_all(Fixture *f, gconstpointer userdata) {
        Session *session = make(f, 0, "system", WINDOW);

        (void)userdata;
        fake_kernel_clear_journal();
        g_assert_cmpint(start(f, session), ==, 0);
        ssize_t closed = fake_kernel_find("tracing * off", 0),
                on = fake_kernel_find("enable * raw_syscalls:sys_enter on", 0),
                first = fake_kernel_find("trigger raw_syscalls:sys_enter traceon if id == 1", 0),
                second = fake_kernel_find(
                                "trigger raw_syscalls:sys_exit traceoff:count=3 if id == 2", 0);
        g_assert_cmpint(closed, >=, 0);
        g_assert_cmpint(closed, <, on);
        g_assert_cmpint(on, <, first);
        g_assert_cmpint(first, <, second);
        /* Named by a trigger alone. */
        g_assert_cmpint(fake_kernel_find("enable * raw_syscalls:sys_exit on", 0), ==, -1);
        fake_kernel_clear_journal();
        stop(f, session);
        ssize_t lifted = fake_kernel_find("trigger raw_syscalls:sys_exit !traceoff", 0),
                off = fake_kernel_find("disable-all *", 0);
        g_assert_cmpint(lifted, >=, 0);
        g_assert_cmpint(lifted, <, off);
}

/* Processes of one's own: tracing_on is the latch and is never written; each trigger has the
 * fence's condition, and start and stop turn the event on and off, which begins off. */
static void test_own(Fixture *f, gconstpointer userdata) {
        pid_t pid = fixture_spawn("--no-new-privs");
        g_autofree char *scope = g_strdup_printf("pids:%d", pid);
        Session *session = make(f, FIXTURE_USER, scope, WINDOW);

        (void)userdata;
        fake_kernel_clear_journal();
        g_assert_cmpint(start(f, session), ==, 0);
        g_assert_cmpint(fake_kernel_find("tracing *", 0), ==, -1);
        g_assert_cmpint(fake_kernel_find("trigger * trace*", 0), ==, -1);
        ssize_t lifetimes = fake_kernel_find("enable * sched:sched_process_fork on", 0),
                laid = fake_kernel_find(
                                "trigger raw_syscalls:sys_enter enable_event:raw_syscalls:sys_enter if *id == 1* && !(common_flags & 88)",
                                0);
        g_assert_cmpint(lifetimes, >=, 0);
        g_assert_cmpint(lifetimes, <, laid);
        g_assert_cmpint(fake_kernel_find(
                                        "trigger raw_syscalls:sys_exit "
                                        "disable_event:raw_syscalls:sys_enter:count=3 if *id == 2* "
                                        "&& !(common_flags & 88)",
                                        0),
                        >=,
                        0);
        g_assert_cmpint(fake_kernel_find("enable * raw_syscalls:sys_enter on", 0), ==, -1);
        stop(f, session);
        fixture_kill(pid);
}

/* The notify trigger of a user's flight recorder is a histogram of the kernel's: it has its twin on
 * the guard before it counts, is paused by a stop and goes on. */
static void test_hist(Fixture *f, gconstpointer userdata) {
        fake_kernel_set_kprobes(true);
        pid_t pid = fixture_spawn("--no-new-privs");
        g_autofree char *scope = g_strdup_printf("pids:%d", pid);
        Session *session = make(f,
                        FIXTURE_USER,
                        scope,
                        "\"mode\":\"flight\",\"events\":[\"raw_syscalls:sys_exit\"],"
                        "\"triggers\":[{\"when\":\"raw_syscalls:sys_enter\",\"do\":\"notify\"}]");

        (void)userdata;
        fake_kernel_clear_journal();
        g_assert_cmpint(start(f, session), ==, 0);
        ssize_t twin = fake_kernel_find("*disable_hist:raw_syscalls:sys_enter if uid*", 0),
                hist = fake_kernel_find("trigger raw_syscalls:sys_enter hist:keys=common_pid*", 0);
        g_assert_cmpint(hist, >=, 0);
        g_assert_cmpint(twin, <, hist);
        g_assert_cmpint(twin, >=, 0);
        stop(f, session);
        g_assert_cmpint(fake_kernel_find("trigger raw_syscalls:sys_enter pause hist*", 0), >=, 0);
        g_assert_cmpint(fake_kernel_find("trigger raw_syscalls:sys_enter !hist*", 0), ==, -1);
        g_assert_cmpint(start(f, session), ==, 0);
        g_assert_cmpint(fake_kernel_find("trigger raw_syscalls:sys_enter cont hist*", 0), >=, 0);
        stop(f, session);
        fixture_kill(pid);
}

static void change_histogram(Fixture *f, Session *session, const char *verb) {
        Call call = {};

        fixture_change_histogram(f, &call, session, verb);
        fixture_wait(f, &call);
        g_assert_cmpstr(call.reason.text, ==, "");
        g_assert_cmpint(call.result, ==, 0);
        /* The watch of the instance has reported the write, and all was read back. */
        for (gint64 end = g_get_monotonic_time() + G_USEC_PER_SEC / 5;
                        g_get_monotonic_time() < end;)
                g_assert_cmpint(sd_event_run(f->event, 20000), >=, 0);
        g_assert_null(strstr(f->reported->str, "ended"));
}

/* A verb of a histogram that the kernel counts writes to the instance, which goes on. */
static void test_hist_verbs(Fixture *f, gconstpointer userdata) {
        fake_kernel_set_kprobes(true);
        Session *session = make(f,
                        0,
                        "system",
                        "\"events\":[\"raw_syscalls:sys_exit\"],\"triggers\":[{\"when\":"
                        "\"raw_syscalls:sys_enter\",\"do\":\"hist\",\"keys\":[\"id\"]}]");

        (void)userdata;
        g_assert_cmpint(start(f, session), ==, 0);
        change_histogram(f, session, "hist-clear");
        change_histogram(f, session, "hist-pause");
        change_histogram(f, session, "hist-continue");
        stop(f, session);
}

/* Of a user's processes the stream worker counts: without one there is no start, and the kernel
 * gets no histogram. */
static void test_counted(Fixture *f, gconstpointer userdata) {
        pid_t pid = fixture_spawn("--no-new-privs");
        g_autofree char *scope = g_strdup_printf("pids:%d", pid);

        (void)userdata;
        fake_kernel_clear_journal();
        Session *session = make(f,
                        FIXTURE_USER,
                        scope,
                        "\"events\":[\"raw_syscalls:sys_exit\"],\"triggers\":["
                        "{\"when\":\"raw_syscalls:sys_enter\",\"do\":\"hist\",\"keys\":[\"id\"]},"
                        "{\"when\":\"raw_syscalls:sys_enter\",\"do\":\"notify\"}]");
        g_assert_cmpint(start(f, session), ==, KT_E_NO_CONSUMER);
        g_assert_cmpint(fake_kernel_find("*hist:*", 0), ==, -1);
        fixture_kill(pid);
}

/* On a kernel without histograms the stream worker also counts the histograms of all processes. */
static void test_counted_system(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        fake_kernel_set_kprobes(false);
        fake_kernel_clear_journal();
        Session *session = make(f,
                        0,
                        "system",
                        "\"triggers\":[{\"when\":\"raw_syscalls:sys_enter\",\"do\":\"hist\","
                        "\"keys\":[\"common_pid.execname\"]}]");
        g_assert_cmpint(start(f, session), ==, KT_E_NO_CONSUMER);
        g_assert_cmpint(fake_kernel_find("*hist:*", 0), ==, -1);
}

/* What triggers have done since the guard went off is told to nobody. */
static void test_look(Fixture *f, gconstpointer userdata) {
        fake_kernel_set_kprobes(true);
        pid_t pid = fixture_spawn("--no-new-privs");
        g_autofree char *scope = g_strdup_printf("pids:%d", pid);
        Session *session = make(f,
                        FIXTURE_USER,
                        scope,
                        "\"events\":[\"raw_syscalls:sys_enter\"],\"triggers\":[{\"when\":"
                        "\"raw_syscalls:sys_exit\",\"do\":\"stop\",\"count\":9}]");
        g_autofree char *name = g_strdup_printf("ktrace-%s", session_get_id(session));
        Call call;

        (void)userdata;
        g_assert_cmpint(start(f, session), ==, 0);
        fixture_look(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        /* Who looks after the guard has just looked, and looks again in a second. */
        for (gint64 end = g_get_monotonic_time() + G_USEC_PER_SEC / 5;
                        g_get_monotonic_time() < end;)
                g_assert_cmpint(sd_event_run(f->event, 20000), >=, 0);
        fake_kernel_fire_guard(name);
        fixture_look(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, !=, 0);
        fixture_kill(pid);
}

/* The kernel asks the pid list for a trigger with a condition only. */
static void test_listed(Fixture *f, gconstpointer userdata) {
        pid_t pid = fixture_spawn("--no-new-privs");
        g_autofree char *scope = g_strdup_printf("pids:%d", pid);
        Session *session = make(f,
                        0,
                        scope,
                        "\"events\":[\"raw_syscalls:sys_enter\"],\"triggers\":[{\"when\":"
                        "\"raw_syscalls:sys_exit\",\"do\":\"stop\"}]");

        (void)userdata;
        fake_kernel_clear_journal();
        g_assert_cmpint(start(f, session), ==, 0);
        g_assert_cmpint(fake_kernel_find(
                                        "trigger raw_syscalls:sys_exit traceoff if common_pid != 0",
                                        0),
                        >=,
                        0);
        stop(f, session);
        fixture_kill(pid);
}

/* The kernel runs a trigger without a condition before it writes the record of the event itself. */
static void test_own_record(Fixture *f, gconstpointer userdata) {
        fake_kernel_set_kprobes(true);
        Session *session = make(f,
                        0,
                        "system",
                        "\"mode\":\"flight\",\"events\":[\"raw_syscalls:sys_enter\"],\"triggers\":["
                        "{\"when\":\"raw_syscalls:sys_enter\",\"do\":\"snapshot\"}]");

        (void)userdata;
        fake_kernel_clear_journal();
        g_assert_cmpint(start(f, session), ==, 0);
        g_assert_cmpint(fake_kernel_find("trigger raw_syscalls:sys_enter snapshot* if "
                                         "common_pid >= 0",
                                        0),
                        >=,
                        0);
        stop(f, session);
}

/* Whichever step of a start fails: no trigger is left, and events are off. */
static void test_failure(Fixture *f, gconstpointer userdata) {
        bool is_over = false;

        (void)userdata;
        for (unsigned n = 1; !is_over; n++) {
                Session *session = make(f, 0, "system", WINDOW);
                Call call;

                fake_kernel_fail(n, -EIO);
                int r = start(f, session);
                is_over = !fake_kernel_has_failed();
                g_assert_cmpint(r == 0, ==, is_over);
                g_autofree char *kernel = fake_kernel_describe();
                g_assert_true(is_over || !strstr(kernel, " triggers "));
                g_assert_true(is_over || !strstr(kernel, "sys_enter on"));
                fake_kernel_fail(0, 0);
                fixture_destroy(f, &call, session);
                fixture_wait(f, &call);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/triggers/all", Fixture, NULL, fixture_set_up, test_all, fixture_tear_down);
        if (geteuid() == 0) {
                g_test_add("/triggers/own",
                                Fixture,
                                NULL,
                                fixture_set_up,
                                test_own,
                                fixture_tear_down);
                g_test_add("/triggers/hist-verbs",
                                Fixture,
                                NULL,
                                fixture_set_up,
                                test_hist_verbs,
                                fixture_tear_down);
                g_test_add("/triggers/counted",
                                Fixture,
                                NULL,
                                fixture_set_up,
                                test_counted,
                                fixture_tear_down);
                g_test_add("/triggers/counted-system",
                                Fixture,
                                NULL,
                                fixture_set_up,
                                test_counted_system,
                                fixture_tear_down);
                g_test_add("/triggers/hist",
                                Fixture,
                                NULL,
                                fixture_set_up,
                                test_hist,
                                fixture_tear_down);
        }
        if (geteuid() == 0)
                g_test_add("/triggers/look",
                                Fixture,
                                NULL,
                                fixture_set_up,
                                test_look,
                                fixture_tear_down);
        if (geteuid() == 0)
                g_test_add("/triggers/listed",
                                Fixture,
                                NULL,
                                fixture_set_up,
                                test_listed,
                                fixture_tear_down);
        g_test_add("/triggers/own-record",
                        Fixture,
                        NULL,
                        fixture_set_up,
                        test_own_record,
                        fixture_tear_down);
        g_test_add("/triggers/failure",
                        Fixture,
                        NULL,
                        fixture_set_up,
                        test_failure,
                        fixture_tear_down);
        return g_test_run();
}
