/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Numbers of processes in pid namespaces that the test makes, in a cgroup. Needs root for that. */

#include <glib.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup-fixture.h"
#include "scope/pid-namespace.h"
#include "scope/process.h"

static char *cgroup;

typedef struct Container {
        pid_t outside; /* makes it, lives in our namespace */
        pid_t first;   /* 1 inside, as we see it; 2 is its child */
} Container;

static void live(int ready) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        g_assert_cmpint(write(ready, "", 1), ==, 1);
        for (;;)
                pause();
}

static void make_container(int first_pid, int ready) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        cgroup_fixture_move(cgroup, getpid());
        g_assert_no_errno(unshare(CLONE_NEWPID));
        pid_t first = fork();
        if (first == 0) {
                (void)fork();
                live(ready);
        }
        g_assert_cmpint(write(first_pid, &first, sizeof(first)), ==, sizeof(first));
        waitpid(first, NULL, 0);
        _exit(0);
}

static Container container_new(void) {
        int first_pid[2], ready[2];
        Container c;
        char byte;

        g_assert_no_errno(pipe(first_pid));
        g_assert_no_errno(pipe(ready));
        c.outside = fork();
        g_assert_no_errno(c.outside);
        if (c.outside == 0)
                make_container(first_pid[1], ready[1]);
        g_assert_cmpint(read(first_pid[0], &c.first, sizeof(c.first)), ==, sizeof(c.first));
        for (unsigned i = 0; i < 2; i++)
                g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
        for (unsigned i = 0; i < 2; i++) {
                close(first_pid[i]);
                close(ready[i]);
        }
        return c;
}

static void container_end(Container *c) {
        kill(c->first, SIGKILL);
        waitpid(c->outside, NULL, 0);
}

static Caller caller_of(pid_t pid) {
        Caller caller = { .pid = pid };

        g_assert_cmpint(process_read_start(pid, pid, &caller.start_time), ==, 0);
        return caller;
}

static int translate(const Caller *caller, pid_t pid, pid_t **ret, Reason *reason) {
        return pid_namespace_translate(caller, cgroup, &pid, 1, ret, reason);
}

static void test_inside(void) {
        Container c = container_new();
        Caller caller = caller_of(c.first);
        _cleanup_free_ pid_t *found = NULL;
        const pid_t wanted[] = { 2, 1 };
        Reason reason = {};
        TaskStat stat;

        g_assert_cmpint(pid_namespace_translate(&caller, cgroup, wanted, 2, &found, &reason),
                        ==,
                        0);
        g_assert_cmpint(found[1], ==, c.first);
        g_assert_cmpint(process_read_stat(found[0], found[0], &stat), ==, 0);
        g_assert_cmpint(stat.parent, ==, c.first);
        /* Numbers of our namespace mean nothing in there. */
        pid_t *none = NULL;
        g_assert_cmpint(translate(&caller, c.first, &none, &reason), ==, KT_E_NO_SUCH_PROCESS);
        g_assert_null(none);
        container_end(&c);
}

static void test_outside(void) {
        Container c = container_new();
        Caller us = caller_of(getpid()), nobody = {}, gone = caller_of(c.first);
        pid_t *found = NULL;
        Reason reason = {};

        g_assert_cmpint(translate(&us, 2, &found, NULL), ==, 0);
        g_assert_null(found);
        g_assert_cmpint(translate(&nobody, 2, &found, &reason), ==, KT_E_NO_SUCH_PROCESS);
        g_assert_null(found);
        gone.start_time++; /* its number is another's by now */
        g_assert_cmpint(translate(&gone, 2, &found, &reason), ==, KT_E_NO_SUCH_PROCESS);
        g_assert_null(found);
        container_end(&c);
}

/* Only processes of the cgroup have a number that counts. */
static void test_other_cgroup(void) {
        Container c = container_new();
        Caller caller = caller_of(c.first);
        _cleanup_free_ pid_t *found = NULL;
        pid_t *none = NULL;
        Reason reason = {};

        g_assert_cmpint(translate(&caller, 1, &found, &reason), ==, 0);
        cgroup_fixture_move(NULL, c.first);
        g_assert_cmpint(translate(&caller, 1, &none, &reason), ==, KT_E_NO_SUCH_PROCESS);
        g_assert_null(none);
        container_end(&c);
}

static void test_ambiguous(void) {
        Container a = container_new(), b = container_new();
        Caller caller = caller_of(a.first);
        pid_t *found = NULL;
        Reason reason = {};

        g_assert_cmpint(translate(&caller, 2, &found, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "2 processes of the container have this number"));
        g_assert_null(found);
        container_end(&a);
        container_end(&b);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        cgroup = geteuid() == 0 ? cgroup_fixture_new("pids") : NULL;
        if (!cgroup) {
                g_print("1..0 # SKIP needs root and a cgroup v2 tree, to make pid namespaces\n");
                return 0;
        }
        g_test_add_func("/pid-namespace/numbers-of-a-container", test_inside);
        g_test_add_func("/pid-namespace/ours-need-no-translation", test_outside);
        g_test_add_func("/pid-namespace/nobody-is-guessed", test_ambiguous);
        g_test_add_func("/pid-namespace/other-cgroup", test_other_cgroup);
        int r = g_test_run();
        cgroup_fixture_free(cgroup);
        return r;
}
