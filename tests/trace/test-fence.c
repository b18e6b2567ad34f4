/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The fence of a session that is not root's, on a fake kernel and with real processes of another
 * uid: the order in which it is laid, whom it lists, what stops it. Needs root, to make those
 * processes. */

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "scope/arm.h"
#include "session-fixture.h"
#include "session/session-describe.h"
#include "session/session-state.h"

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
        fake_kernel_clear_journal();
        fixture_stop(f, &call, call.session);
        fixture_wait(f, &call);
        g_assert_cmpint(fake_kernel_find("tracing *", 0), ==, -1);
        ssize_t off = fake_kernel_find("enable * raw_syscalls off", 0);
        g_assert_cmpint(off, >=, 0);
        g_assert_cmpint(off, <, fake_kernel_find("disable-all *", 0));
        g_assert_cmpint(fake_kernel_find("enable * sched*", 0), ==, -1);
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

static char *instance_of(const Call *call) {
        return g_strdup_printf("ktrace-%s", session_get_id(call->session));
}

/* A session that was started and stopped. */
static void stop_on(Fixture *f, pid_t pid, Call *call) {
        start_on(f, "pids:", pid, call);
        g_assert_cmpstr(call->reason.text, ==, "");
        Session *session = call->session;
        fixture_stop(f, call, session);
        fixture_wait(f, call);
        call->session = session;
}

static void check_not_resumed(Fixture *f, Call *call, const char *text) {
        fixture_start(f, call, call->session);
        fixture_wait(f, call);
        g_assert_cmpint(call->result, !=, 0);
        g_assert_nonnull(strstr(call->reason.text, text));
        g_assert_cmpint(fake_kernel_find("tracing * on", 0), ==, -1);
        fixture_wait_report(f, "ended interference");
        fixture_wait_report(f, "state gone");
}

/* Someone turned tracing off while nobody was looking: never resumed, and the session ends. */
static void test_tracing_off(Fixture *f, gconstpointer userdata) {
        pid_t pid = fixture_spawn("--no-new-privs");
        Call call;

        (void)userdata;
        stop_on(f, pid, &call);
        g_autofree char *name = instance_of(&call);
        fake_kernel_change_tracing(name, false);
        check_not_resumed(f, &call, "tracing_on");
        fixture_kill(pid);
}

static void test_list_emptied(Fixture *f, gconstpointer userdata) {
        pid_t pid = fixture_spawn("--no-new-privs");
        Call call;

        (void)userdata;
        stop_on(f, pid, &call);
        g_autofree char *name = instance_of(&call);
        fake_kernel_change_pids(name, NULL, 0);
        check_not_resumed(f, &call, "set_event_pid");
        fixture_kill(pid);
}

/* What others write, while it runs or is stopped, is reported by the watch. */
static void check_watched(Fixture *f, bool is_stopped, const char *path, const char *text) {
        pid_t pid = fixture_spawn("--no-new-privs");
        Call call;

        g_string_truncate(f->reported, 0);
        if (is_stopped)
                stop_on(f, pid, &call);
        else
                start_on(f, "pids:", pid, &call);
        g_autofree char *name = instance_of(&call);
        /* Whatever the daemon itself wrote is read back and forgotten. */
        for (unsigned i = 0; i < 20; i++)
                g_assert_cmpint(sd_event_run(f->event, 10000), >=, 0);
        g_assert_null(strstr(f->reported->str, "ended"));
        fake_kernel_write(name, path, text);
        fixture_wait_report(f, "ended interference");
        fixture_wait_report(f, "state gone");
        fixture_kill(pid);
}

static void test_watch(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        check_watched(f, false, "set_event_pid", "1");
        check_watched(f, true, "set_event_pid", "1");
        check_watched(f, false, "events/raw_syscalls/sys_enter/filter", "0");
        check_watched(f, true, "events/raw_syscalls/sys_enter/trigger", "traceon");
        check_watched(f, false, "events/sched/sched_process_exit/enable", "0");
}

/* Nothing tells of a write that is made while a plan of ours is: then all is read back. */
static void test_readback(Fixture *f, gconstpointer userdata) {
        pid_t pid = fixture_spawn("--no-new-privs");
        Call call;

        (void)userdata;
        stop_on(f, pid, &call);
        g_autofree char *name = instance_of(&call);
        Session *session = call.session;
        fake_kernel_hold(FAKE_ENABLE);
        fixture_start(f, &call, session);
        fixture_wait_held(f);
        fake_kernel_write(name, "events/raw_syscalls/sys_enter/filter", "0");
        fake_kernel_release();
        fixture_wait(f, &call);
        fixture_wait_report(f, "ended interference");
        fixture_kill(pid);
}

/* Pids before the guard, the guard before the events; it stays while the session is stopped, and
 * its probe goes with the last session. */
static void test_guard(Fixture *f, gconstpointer userdata) {
        pid_t pid = fixture_spawn(NULL);
        Call call;

        (void)userdata;
        fake_kernel_set_kprobes(true);
        fake_kernel_clear_journal();
        start_on(f, "pids:", pid, &call);
        if (strstr(call.reason.text, "may gain privileges")) {
                g_test_skip("this machine's kernel tells no types (BTF)");
                fake_kernel_set_kprobes(false);
                fixture_kill(pid);
                return;
        }
        g_assert_cmpstr(call.reason.text, ==, "");
        g_autofree char *pid_line = g_strdup_printf("pid * %d", pid);
        ssize_t probe = fake_kernel_find("probe p:ktrace_guard/commit_creds *", 0),
                listed = fake_kernel_find(pid_line, 0),
                hist = fake_kernel_find("write * hist:keys=common_pid if uid != *", 0),
                guard = fake_kernel_find("write * traceoff if *cap != 0", 0),
                fork = fake_kernel_find("enable * sched:sched_process_fork on", 0),
                enable = fake_kernel_find("enable * raw_syscalls:sys_enter on", 0);
        g_assert_cmpint(probe, >=, 0);
        g_assert_cmpint(probe, <, listed);
        g_assert_cmpint(listed, <, hist);
        g_assert_cmpint(hist, <, guard);
        g_assert_cmpint(guard, <, fork);
        g_assert_cmpint(fork, <, enable);
        Session *session = call.session;
        fixture_stop(f, &call, session);
        fixture_wait(f, &call);
        g_autofree char *stopped = fake_kernel_describe();
        g_assert_nonnull(strstr(stopped, "ktrace_guard:commit_creds off triggers 2"));
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpstr(call.reason.text, ==, "");
        fixture_destroy(f, &call, session);
        fixture_wait(f, &call);
        fixture_wait_removed(f);
        g_assert_cmpint(fake_kernel_find("probe -:ktrace_guard/commit_creds", 0), >=, 0);
        fake_kernel_set_kprobes(false);
        fixture_kill(pid);
}

/* Within a second, without anybody who reads. */
static void test_guard_fires(Fixture *f, gconstpointer userdata) {
        pid_t pid = fixture_spawn(NULL);
        Call call;

        (void)userdata;
        fake_kernel_set_kprobes(true);
        start_on(f, "pids:", pid, &call);
        if (call.result == 0) {
                g_autofree char *name = instance_of(&call);

                fake_kernel_fire_guard(name);
                fixture_wait_report(f, "ended guard");
                fixture_wait_report(f, "state gone");
        } else
                g_test_skip("this machine's kernel tells no types (BTF)");
        fake_kernel_set_kprobes(false);
        fixture_kill(pid);
}

/* The command alone is held to no_new_privs where there is a guard; and none without one may do
 * without. */
static void test_allow_setuid(Fixture *f, gconstpointer userdata) {
        static const char spec[] =
                        "{\"scope\":\"command:1\",\"events\":[\"raw_syscalls:sys_enter\"],\"allow-setuid\":true}";
        Call call;

        (void)userdata;
        fixture_create(f, &call, FIXTURE_USER, NULL, spec);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_ACCESS_DENIED);
        g_assert_nonnull(strstr(call.reason.text, "allow-setuid"));
        pid_t pid = fixture_spawn(NULL);
        fake_kernel_set_kprobes(true);
        check_refused(f, pid, "command:", KT_E_ACCESS_DENIED, "may gain privileges");
        fixture_kill(pid);
}

static void test_pid_max(Fixture *f, gconstpointer userdata) {
        pid_t pid = fixture_spawn("--no-new-privs");

        (void)userdata;
        fake_kernel_set_pid_max(32768);
        check_refused(f, pid, "pids:", KT_E_KERNEL_REFUSED, "sysctl kernel.pid_max=4194304");
        fixture_kill(pid);
}

/* What the consumer needs to know who is a member cannot be thinned out. */
static void test_lifetimes(Fixture *f, gconstpointer userdata) {
        pid_t pid = fixture_spawn("--no-new-privs");
        Call call;

        (void)userdata;
        start_on(f, "pids:", pid, &call);
        g_autofree char *now = fake_kernel_describe();
        g_assert_nonnull(strstr(now, "event sched:sched_process_fork on\n"));
        g_assert_nonnull(strstr(now, "event sched:sched_process_exit on\n"));
        g_assert_nonnull(strstr(now, "event sched:sched_process_exec on\n"));
        fixture_create(f,
                        &call,
                        FIXTURE_USER,
                        NULL,
                        "{\"scope\":\"own\",\"clock\":\"local\",\"events\":[\"raw_syscalls:sys_enter\"]}");
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(call.reason.text, "clock: local"));
        fixture_kill(pid);
}

/* Who ends when it has been judged, and before exits are recorded, is no member. */
static void test_ended_before_lifetimes(Fixture *f, gconstpointer userdata) {
        pid_t stays = fixture_spawn("--no-new-privs"), ends = fixture_spawn("--no-new-privs");
        uint64_t since = 0;
        Call call;

        (void)userdata;
        fixture_create(f,
                        &call,
                        FIXTURE_USER,
                        NULL,
                        "{\"scope\":\"own\",\"events\":[\"raw_syscalls:sys_enter\"],\"lifetime\":\"linger\"}");
        fixture_wait(f, &call);
        Session *session = call.session;
        fake_kernel_clear_journal();
        fake_kernel_hold(FAKE_ENABLE);
        fixture_start(f, &call, session);
        fixture_wait_held(f);
        fixture_kill(ends);
        fake_kernel_release();
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        g_assert_false(fixture_find_member(f, session, ends, &since));
        g_assert_true(fixture_find_member(f, session, stays, &since));
        g_assert_cmpuint(since, >, 0);
        fixture_kill(stays);
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
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_ACCESS_DENIED);
        fixture_create(f,
                        &call,
                        FIXTURE_USER,
                        NULL,
                        "{\"scope\":\"own\",\"events\":[\"sched:sched_switch\"]}");
        fixture_wait(f, &call);
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
        ADD("tracing-off-is-never-resumed", test_tracing_off);
        ADD("an-emptied-list-is-never-resumed", test_list_emptied);
        ADD("foreign-writes-end-it", test_watch);
        ADD("foreign-writes-beside-ours-end-it", test_readback);
        ADD("the-guard-is-laid-in-order", test_guard);
        ADD("the-guard-ends-it", test_guard_fires);
        ADD("allow-setuid-is-for-few", test_allow_setuid);
        ADD("pid-max", test_pid_max);
        ADD("births-and-ends-are-always-recorded", test_lifetimes);
        ADD("ended-before-ends-are-recorded", test_ended_before_lifetimes);
        ADD("own-leaves-the-unfit-out", test_own);
        ADD("denied-by-policy", test_denied);
        return g_test_run();
}
