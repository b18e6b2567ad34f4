/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The fence of a session that is not root's, on a fake kernel and with real processes of another
 * uid: the order in which it is laid, whom it lists, what stops it. Needs root, to make those
 * processes. */

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "arm.h"
#include "session-fixture.h"

static void start_on(Fixture *f, const char *scope, pid_t pid, Call *call) {
        g_autofree char *spec = g_strdup_printf(
                        "{\"scope\":\"%s%d\",\"events\":[\"raw_syscalls:sys_enter\"],\"lifetime\":\"linger\"}",
                        scope,
                        pid);

        fixture_create(f, call, FIXTURE_USER, NULL, spec);
        fixture_wait(f, call);
        g_assert_cmpstr(call->reason.text, ==, "");
        Session *session = call->session;
        fixture_start(f, call, session);
        fixture_wait(f, call);
        call->session = session;
}

/* Event-fork, sentinel, pid, filter, event; and tracing_on never written. */
static void test_order(Fixture *f, gconstpointer userdata) {
        pid_t pid = fixture_spawn("--no-new-privs");
        g_autofree char *pid_line = g_strdup_printf("pid * %d", pid);
        Call call;

        (void)userdata;
        fake_kernel_clear_journal();
        start_on(f, "command:", pid, &call);
        g_assert_cmpint(call.result, ==, 0);
        ssize_t sentinel = fake_kernel_find("pid * 4194304", 0),
                fork = fake_kernel_find("option * event-fork on", 0),
                listed = fake_kernel_find(pid_line, 0),
                filter = fake_kernel_find(
                                "filter * raw_syscalls:sys_enter !(common_flags & 88)", 0),
                enable = fake_kernel_find("enable * raw_syscalls:sys_enter on", 0);
        g_assert_cmpint(sentinel, >=, 0);
        g_assert_cmpint(fork, <, sentinel);
        g_assert_cmpint(sentinel, <, listed);
        g_assert_cmpint(listed, <, filter);
        g_assert_cmpint(filter, <, enable);
        g_assert_cmpint(fake_kernel_find("tracing *", 0), ==, -1);
        g_assert_cmpint(fake_kernel_find("truncate *", 0), ==, -1);
        fixture_stop(f, &call, call.session);
        fixture_wait(f, &call);
        g_assert_cmpint(fake_kernel_find("tracing *", 0), ==, -1);
        fixture_kill(pid);
}

static void check_refused(Fixture *f, pid_t pid, const char *scope, int result, const char *text) {
        Call call;

        start_on(f, scope, pid, &call);
        g_assert_cmpint(call.result, ==, result);
        g_assert_nonnull(strstr(call.reason.text, text));
        g_autofree char *now = fake_kernel_describe();
        g_assert_null(strstr(now, "raw_syscalls:sys_enter on"));
        g_autofree char *listed = g_strdup_printf(" %d", pid);
        g_assert_null(strstr(strstr(now, "pids") ?: "", listed));
        g_assert_cmpint(session_get_state(call.session), ==, SESSION_CONFIGURED);
}

static void test_not_theirs(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        check_refused(f, getpid(), "pids:", KT_E_ACCESS_DENIED, "is not yours");
}

static void test_init(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        check_refused(f, 1, "pids:", KT_E_ACCESS_DENIED, "is not yours");
}

static void test_may_gain_privileges(Fixture *f, gconstpointer userdata) {
        pid_t pid = fixture_spawn(NULL);

        (void)userdata;
        check_refused(f, pid, "pids:", KT_E_ACCESS_DENIED, "may gain privileges");
        fixture_kill(pid);
}

static void test_dead(Fixture *f, gconstpointer userdata) {
        pid_t pid = fixture_spawn("--no-new-privs");

        (void)userdata;
        fixture_kill(pid);
        check_refused(f, pid, "pids:", KT_E_NO_SUCH_PROCESS, "does not exist");
}

/* Its uid is right, but the kernel holds it back from its own user: never exec'ed after the change
 * of uid. */
static void test_not_dumpable(Fixture *f, gconstpointer userdata) {
        pid_t pid = fork();

        (void)userdata;
        if (pid == 0) {
                if (setgroups(0, NULL) == 0 &&
                                setresgid(FIXTURE_USER, FIXTURE_USER, FIXTURE_USER) == 0 &&
                                setresuid(FIXTURE_USER, FIXTURE_USER, FIXTURE_USER) == 0 &&
                                prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
                        pause();
                _exit(1);
        }
        g_usleep(200000);
        check_refused(f, pid, "pids:", KT_E_ACCESS_DENIED, "not dumpable");
        fixture_kill(pid);
}

/* Someone turned tracing off, on, or emptied the list: never resumed. */
static void test_foreign_changes(Fixture *f, gconstpointer userdata) {
        pid_t pid = fixture_spawn("--no-new-privs");
        Call call;

        (void)userdata;
        start_on(f, "pids:", pid, &call);
        Session *session = call.session;
        g_autofree char *name = g_strdup_printf("ktrace-%s", session_get_id(session));
        fixture_stop(f, &call, session);
        fixture_wait(f, &call);
        fake_kernel_change_tracing(name, false);
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, !=, 0);
        g_assert_nonnull(strstr(call.reason.text, "tracing_on"));
        fake_kernel_change_tracing(name, true);
        fake_kernel_change_pids(name, NULL, 0);
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, !=, 0);
        g_assert_nonnull(strstr(call.reason.text, "set_event_pid"));
        g_assert_cmpint(fake_kernel_find("tracing * on", 0), ==, -1);
        fixture_kill(pid);
}

/* Scope own takes those that may be listed and tells how many were not. */
static void test_own(Fixture *f, gconstpointer userdata) {
        pid_t fit = fixture_spawn("--no-new-privs"), unfit = fixture_spawn(NULL);
        g_autofree char *fit_line = g_strdup_printf("pid * %d", fit),
                        *unfit_line = g_strdup_printf("pid * %d", unfit);
        json_object *description = NULL;
        Call call;

        (void)userdata;
        fixture_create(f,
                        &call,
                        FIXTURE_USER,
                        NULL,
                        "{\"scope\":\"own\",\"events\":[\"raw_syscalls:sys_enter\"],\"lifetime\":\"linger\"}");
        fixture_wait(f, &call);
        Session *session = call.session;
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpstr(call.reason.text, ==, "");
        g_assert_cmpint(fake_kernel_find(fit_line, 0), >=, 0);
        g_assert_cmpint(fake_kernel_find(unfit_line, 0), ==, -1);
        g_assert_cmpint(session_describe(session, &description), ==, 0);
        g_assert_nonnull(strstr(json_object_to_json_string(description), "left out"));
        json_object_put(description);
        fixture_kill(fit);
        fixture_kill(unfit);
}

static void test_denied(Fixture *f, gconstpointer userdata) {
        Call call;

        (void)userdata;
        fixture_create(f, &call, FIXTURE_USER, NULL, SPEC_ROOT);
        g_assert_cmpint(call.result, ==, KT_E_ACCESS_DENIED);
        fixture_create(f,
                        &call,
                        FIXTURE_USER,
                        NULL,
                        "{\"scope\":\"own\",\"events\":[\"sched:sched_switch\"]}");
        g_assert_cmpint(call.result, ==, KT_E_ACCESS_DENIED);
        fixture_create(f,
                        &call,
                        FIXTURE_USER,
                        NULL,
                        "{\"scope\":\"own\",\"events\":[{\"name\":\"raw_syscalls:sys_enter\",\"filter\":\"id==1\"}]}");
        g_assert_cmpint(call.result, ==, KT_E_ACCESS_DENIED);
}

#define ADD(path, function) \
        g_test_add("/fence/" path, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        if (geteuid() != 0) {
                g_print("1..0 # SKIP needs root, to make processes of another user\n");
                return 0;
        }
        ADD("laid-in-order", test_order);
        ADD("another-users-process", test_not_theirs);
        ADD("process-1", test_init);
        ADD("a-process-that-may-gain-privileges", test_may_gain_privileges);
        ADD("a-process-that-is-gone", test_dead);
        ADD("a-process-that-is-not-dumpable", test_not_dumpable);
        ADD("foreign-changes-are-never-resumed", test_foreign_changes);
        ADD("own-leaves-the-unfit-out", test_own);
        ADD("denied-by-policy", test_denied);
        return g_test_run();
}
