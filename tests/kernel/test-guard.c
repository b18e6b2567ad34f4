/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the guard and the watch of a fenced instance rely on, asked of the kernel that runs: the
 * sentences at the heads of cred-guard.c, probe.c and watch.c. The guard's need kprobes. */

#include "native.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kernel/cred-guard.h"
#include "kernel/probe.h"
#include "kernel/watch.h"

#define USER           65534
#define SENTINEL       4194304
#define SETUID_PROGRAM "/bin/su"

/* Through a shell: another process, whose openings truncate where `>` is written. */
static void shell(const Instance *instance, const char *command) {
        g_autofree char *line = g_strdup_printf("cd '%s/instances/%s' && %s",
                        native_tracefs->path,
                        instance->name,
                        command);
        g_assert_cmpint(system(line), ==, 0);
}

static bool is_reported(const Watch *watch) {
        struct pollfd p = { .fd = watch_get_fd(watch), .events = POLLIN };

        return poll(&p, 1, 0) == 1;
}

static void assert_reported(Watch *watch, const char *path) {
        char name[WATCH_NAME_MAX] = "";

        g_assert_true(watch_take(watch, name));
        g_assert_cmpstr(name, ==, path);
        g_assert_false(is_reported(watch));
}

/* A write and an opening with O_TRUNC by another process are reported, reading is not. */
static void test_watch(Instance *instance) {
        char name[WATCH_NAME_MAX];
        Watch *watch = NULL;

        g_assert_cmpint(watch_new(instance, &watch), ==, 0);
        g_assert_cmpint(watch_add(watch, "."), ==, 0);
        g_assert_cmpint(watch_add(watch, "options"), ==, 0);
        g_assert_cmpint(watch_add(watch, "events"), ==, 0);
        g_assert_cmpint(watch_add(watch, "events/sched"), ==, 0);
        g_assert_cmpint(watch_add(watch, "events/sched/sched_switch"), ==, 0);
        g_assert_cmpint(watch_add(watch, "events/sched/sched_switch"), ==, 0);
        g_assert_cmpint(watch_add(watch, "events/nosuch"), ==, -ENOENT);
        g_assert_false(is_reported(watch));

        shell(instance, "cat set_event_pid events/sched/sched_switch/* >/dev/null");
        g_assert_false(is_reported(watch));
        shell(instance, "echo 1 >>set_event_pid");
        assert_reported(watch, "./set_event_pid");
        shell(instance, ": >set_event_pid");
        assert_reported(watch, "./set_event_pid");
        shell(instance, "echo 0 >tracing_on");
        assert_reported(watch, "./tracing_on");
        shell(instance, "echo event-fork >trace_options");
        assert_reported(watch, "./trace_options");
        shell(instance, "echo 1 >options/event-fork");
        assert_reported(watch, "options/event-fork");
        shell(instance, "echo 0 >events/enable");
        assert_reported(watch, "events/enable");
        shell(instance, "echo 0 >events/sched/filter");
        assert_reported(watch, "events/sched/filter");
        shell(instance, "echo 'prev_pid == 1' >events/sched/sched_switch/filter");
        assert_reported(watch, "events/sched/sched_switch/filter");
        shell(instance, "echo traceoff >events/sched/sched_switch/trigger");
        assert_reported(watch, "events/sched/sched_switch/trigger");
        shell(instance, "echo '!traceoff' >events/sched/sched_switch/trigger");
        assert_reported(watch, "events/sched/sched_switch/trigger");
        /* What does not make the fence. */
        shell(instance, "echo 10 >buffer_percent");
        g_assert_false(watch_take(watch, name));
        watch_free(watch);
}

/* What takes records out of the rings is reported, too. */
static void test_watch_alone(Instance *instance) {
        char name[WATCH_NAME_MAX];
        Watch *watch = NULL;

        g_assert_cmpint(watch_new_alone(instance, &watch), ==, 0);
        g_assert_cmpint(watch_add(watch, "."), ==, 0);
        g_assert_cmpint(watch_add(watch, "per_cpu/cpu0"), ==, 0);
        shell(instance, "cat trace trace_clock per_cpu/cpu0/stats >/dev/null; ls per_cpu/cpu0 >/dev/null");
        g_assert_false(watch_take(watch, name));
        shell(instance, "dd if=trace_pipe iflag=nonblock of=/dev/null count=1 2>/dev/null || true");
        assert_reported(watch, "./trace_pipe");
        shell(instance, "dd if=per_cpu/cpu0/trace_pipe_raw iflag=nonblock of=/dev/null count=1 2>/dev/null || true");
        assert_reported(watch, "per_cpu/cpu0/trace_pipe_raw");
        shell(instance, ": >per_cpu/cpu0/trace");
        assert_reported(watch, "per_cpu/cpu0/trace");
        shell(instance, "echo 10 >buffer_percent");
        assert_reported(watch, "./buffer_percent");
        watch_free(watch);
}

/* A watched instance can be removed. */
static void test_watched_is_removable(Instance *instance) {
        g_autofree char *name = g_strdup_printf(KT_INSTANCE_PREFIX "%s", native_id());
        Instance *other = NULL;
        Watch *watch = NULL;

        g_assert_cmpint(instance_create(native_tracefs, name + strlen(KT_INSTANCE_PREFIX), &other),
                        ==,
                        0);
        g_assert_cmpint(watch_new(other, &watch), ==, 0);
        g_assert_cmpint(watch_add(watch, "."), ==, 0);
        g_assert_cmpint(watch_add(watch, "events/sched/sched_switch"), ==, 0);
        g_assert_cmpint(instance_remove(native_tracefs, name), ==, 0);
        watch_free(watch);
        instance_free(other);
}

/* The guard */

static bool lacks_guard(void) {
        int r = cred_guard_define(native_tracefs);

        if (r == -EOPNOTSUPP) {
                g_test_skip("the kernel has no kprobes");
                return true;
        }
        g_assert_cmpint(r, ==, 0);
        return false;
}

/* An unprivileged process of USER that does `command` when its pipe ends. */
typedef struct Victim {
        pid_t pid;
        int go_fd;
} Victim;

static void victim_start(Victim *victim, const char *command) {
        int go[2], ready[2];
        char byte;

        g_assert_no_errno(pipe2(go, O_CLOEXEC));
        g_assert_no_errno(pipe2(ready, O_CLOEXEC));
        victim->pid = fork();
        g_assert_cmpint(victim->pid, >=, 0);
        if (victim->pid == 0) {
                close(go[1]);
                if (setgroups(0, NULL) < 0 || setresgid(USER, USER, USER) < 0 ||
                                setresuid(USER, USER, USER) < 0 || write(ready[1], "", 1) != 1)
                        _exit(99);
                (void)!read(go[0], &byte, 1);
                execl("/bin/sh", "sh", "-c", command, NULL);
                _exit(99);
        }
        close(go[0]);
        close(ready[1]);
        g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
        close(ready[0]);
        victim->go_fd = go[1];
}

static void victim_go(Victim *victim) {
        int status;

        close(victim->go_fd);
        g_assert_cmpint(waitpid(victim->pid, &status, 0), ==, victim->pid);
        g_assert_true(WIFEXITED(status));
        g_assert_cmpint(WEXITSTATUS(status), !=, 99);
}

static void guard_lay(Instance *instance, const Victim *victim) {
        pid_t pids[] = { SENTINEL, victim->pid };
        bool stands = false, has_fired = true;

        g_assert_cmpint(instance_set_option(instance, "event-fork", true), ==, 0);
        g_assert_cmpint(instance_add_pids(instance, pids, victim->pid > 0 ? 2 : 1), ==, 0);
        g_assert_cmpint(cred_guard_install(instance, USER, USER), ==, 0);
        g_assert_cmpint(cred_guard_stands(instance, USER, USER, &(CredGuardTwins){}, &stands),
                        ==,
                        0);
        g_assert_true(stands);
        g_assert_cmpint(cred_guard_has_fired(instance, &has_fired), ==, 0);
        g_assert_false(has_fired);
}

static void guard_lift(Instance *instance) {
        bool stands = true;

        g_assert_cmpint(cred_guard_lift(instance, USER, USER), ==, 0);
        g_assert_cmpint(cred_guard_stands(instance, USER, USER, &(CredGuardTwins){}, &stands),
                        ==,
                        0);
        g_assert_false(stands);
        g_assert_cmpint(probe_remove(native_tracefs,
                                        PROBE_KERNEL,
                                        CRED_GUARD_GROUP,
                                        CRED_GUARD_EVENT),
                        ==,
                        0);
}

static void assert_guard(Instance *instance, bool is_on, bool wants_fired) {
        bool on = !is_on, has_fired = !wants_fired;

        g_assert_cmpint(instance_get_tracing(instance, &on), ==, 0);
        g_assert_cmpint(on, ==, is_on);
        g_assert_cmpint(cred_guard_has_fired(instance, &has_fired), ==, 0);
        g_assert_cmpint(has_fired, ==, wants_fired);
}

static void assert_defined(bool is_wanted) {
        _cleanup_free_ char *definition = NULL;

        g_assert_cmpint(probe_read(native_tracefs,
                                        PROBE_KERNEL,
                                        CRED_GUARD_GROUP,
                                        CRED_GUARD_EVENT,
                                        &definition),
                        ==,
                        0);
        g_assert_cmpint(definition != NULL, ==, is_wanted);
}

/* It stands once, however often it is asked for; another's under its name is not taken for it. */
static void test_definition(Instance *instance) {
        _cleanup_free_ char *first = NULL, *second = NULL;

        if (lacks_guard())
                return;
        g_assert_cmpint(probe_read(native_tracefs,
                                        PROBE_KERNEL,
                                        CRED_GUARD_GROUP,
                                        CRED_GUARD_EVENT,
                                        &first),
                        ==,
                        0);
        g_assert_nonnull(first);
        g_assert_cmpint(cred_guard_define(native_tracefs), ==, 0);
        g_assert_cmpint(probe_read(native_tracefs,
                                        PROBE_KERNEL,
                                        CRED_GUARD_GROUP,
                                        CRED_GUARD_EVENT,
                                        &second),
                        ==,
                        0);
        g_assert_cmpstr(first, ==, second);
        /* It stays as long as an instance of ours has a guard. */
        g_assert_cmpint(cred_guard_install(instance, USER, USER), ==, 0);
        g_assert_cmpint(cred_guard_remove_unused(native_tracefs), ==, 0);
        assert_defined(true);
        g_assert_cmpint(cred_guard_lift(instance, USER, USER), ==, 0);
        g_assert_cmpint(cred_guard_remove_unused(native_tracefs), ==, 0);
        assert_defined(false);
        GString *other = g_string_new(first);
        g_string_replace(other, " commit_creds ", " prepare_creds ", 0);
        g_assert_cmpint(probe_add(native_tracefs, PROBE_KERNEL, other->str), ==, 0);
        g_string_free(other, TRUE);
        g_assert_cmpint(cred_guard_define(native_tracefs), ==, -EEXIST);
        g_assert_cmpint(probe_remove(native_tracefs,
                                        PROBE_KERNEL,
                                        CRED_GUARD_GROUP,
                                        CRED_GUARD_EVENT),
                        ==,
                        0);
}

/* The last program executed made no system call after that. Its name tells nothing: the trace names
 * a task by what it is called when it is read. */
static void assert_ends_with_exec(const char *text) {
        g_autofree char *call = g_strdup_printf("sys_enter: NR %d (", SYS_execve);
        const char *exec = g_strrstr(text, call);

        g_assert_nonnull(exec);
        const char *line = g_strrstr_len(text, exec - text, "\n");
        g_autofree char *head = g_strndup(line + 1, (gsize)strcspn(line + 1, "["));
        const char *dash = strrchr(g_strchomp(head), '-');
        g_assert_nonnull(dash);
        g_autofree char *task = g_strdup_printf("%s ", dash);
        g_assert_null(strstr(exec, task));
}

/* A program that gains privileges turns tracing off, and none of its records is there. */
static void test_setuid(Instance *instance) {
        _cleanup_free_ char *text = NULL;
        Victim victim;

        if (lacks_guard())
                return;
        victim_start(&victim, SETUID_PROGRAM " --version >/dev/null 2>&1; true");
        guard_lay(instance, &victim);
        g_assert_cmpint(instance_enable_event(instance, "raw_syscalls", "sys_enter", true), ==, 0);
        victim_go(&victim);
        g_assert_cmpint(instance_disable_all(instance), ==, 0);
        assert_guard(instance, false, true);
        g_assert_cmpint(tracefs_read(instance->fd, "trace", &text, NULL), ==, 0);
        assert_ends_with_exec(text);
        guard_lift(instance);
}

/* A process without privileges that stays so goes on being traced. */
static void test_harmless(Instance *instance) {
        Victim victim;

        if (lacks_guard())
                return;
        victim_start(&victim, "/bin/true; exec /bin/true");
        guard_lay(instance, &victim);
        g_assert_cmpint(instance_enable_event(instance, "raw_syscalls", "sys_enter", true), ==, 0);
        victim_go(&victim);
        assert_guard(instance, true, false);
        g_assert_cmpint(instance_disable_all(instance), ==, 0);
        guard_lift(instance);
}

/* Only tasks that the pid list admits count. */
static void test_unrelated(Instance *instance) {
        Victim victim;

        if (lacks_guard())
                return;
        guard_lay(instance, &(Victim){});
        victim_start(&victim, SETUID_PROGRAM " --version >/dev/null 2>&1; true");
        victim_go(&victim);
        assert_guard(instance, true, false);
        guard_lift(instance);
}

/* hist is evaluated while tracing is off. */
static void test_counts_while_off(Instance *instance) {
        Victim victim;

        if (lacks_guard())
                return;
        victim_start(&victim, SETUID_PROGRAM " --version >/dev/null 2>&1; true");
        guard_lay(instance, &victim);
        g_assert_cmpint(instance_set_tracing(instance, false), ==, 0);
        victim_go(&victim);
        assert_guard(instance, false, true);
        guard_lift(instance);
}

/* Whoever adds to it or takes of it is found. */
static void test_stands(Instance *instance) {
        bool stands = true;

        if (lacks_guard())
                return;
        guard_lay(instance, &(Victim){});
        g_assert_cmpint(cred_guard_stands(instance, USER, USER + 1, &(CredGuardTwins){}, &stands),
                        ==,
                        0);
        g_assert_false(stands);
        shell(instance, "echo stacktrace >>" CRED_GUARD_PATH "/trigger");
        g_assert_cmpint(cred_guard_stands(instance, USER, USER, &(CredGuardTwins){}, &stands),
                        ==,
                        0);
        g_assert_false(stands);
        shell(instance, "echo '!stacktrace' >>" CRED_GUARD_PATH "/trigger");
        g_assert_cmpint(cred_guard_stands(instance, USER, USER, &(CredGuardTwins){}, &stands),
                        ==,
                        0);
        g_assert_true(stands);
        guard_lift(instance);
}

static void add_tests(void) {
        native_add_test("/guard/watch/writes-are-told", test_watch);
        native_add_test("/guard/watch/takings-are-told", test_watch_alone);
        native_add_test("/guard/watch/does-not-hold", test_watched_is_removable);
        native_add_test("/guard/definition", test_definition);
        native_add_test("/guard/set-uid-program", test_setuid);
        native_add_test("/guard/harmless-program", test_harmless);
        native_add_test("/guard/unrelated-process", test_unrelated);
        native_add_test("/guard/counts-while-off", test_counts_while_off);
        native_add_test("/guard/stands", test_stands);
}

int main(int argc, char **argv) {
        return native_main(argc, argv, add_tests);
}
