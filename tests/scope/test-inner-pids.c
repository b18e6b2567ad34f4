/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The pids of a container, read from the real /proc for the tasks on a list: whose are read, each
 * one once, and which tasks have joined. Needs root, to make pid namespaces. */

#include "scope/inner-pids.h"

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scope/process.h"

/* A process in a pid namespace, and a fake instance with a list. */
typedef struct Fixture {
        pid_t maker, inner;
        char *directory;
        Instance instance;
        Task task; /* the one in the namespace */
} Fixture;

/* Each process makes the next one, in a namespace of its own. depth: of the last one. */
static void live_in(unsigned depth, int ready) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (; depth > 0; depth--) {
                g_assert_no_errno(unshare(CLONE_NEWPID));
                pid_t child = fork();
                if (child != 0) {
                        waitpid(child, NULL, 0);
                        _exit(0);
                }
                prctl(PR_SET_PDEATHSIG, SIGKILL);
        }
        g_assert_cmpint(write(ready, "", 1), ==, 1);
        for (;;)
                pause();
}

/* Returns the process that is that many generations below. */
static pid_t find_descendant(pid_t pid, unsigned n) {
        for (; n > 0; n--) {
                g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/children", pid, pid);
                g_autofree char *text = NULL;

                g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
                pid = (pid_t)strtol(text, NULL, 10);
        }
        return pid;
}

static void fixture_set_up(Fixture *f, unsigned depth) {
        int ready[2];
        char byte;

        g_assert_no_errno(pipe(ready));
        f->maker = fork();
        g_assert_no_errno(f->maker);
        if (f->maker == 0)
                live_in(depth, ready[1]);
        close(ready[1]);
        g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
        close(ready[0]);
        f->inner = find_descendant(f->maker, depth);
        f->task.tid = f->inner;
        g_assert_cmpint(process_read_start(f->inner, f->inner, &f->task.start_time), ==, 0);
        f->directory = g_dir_make_tmp("ktrace-inner-pids-XXXXXX", NULL);
        f->instance.fd = open(f->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        g_assert_no_errno(f->instance.fd);
        g_autofree char *path = g_build_filename(f->directory, "set_event_pid", NULL),
                        *list = g_strdup_printf("%d\n%d\n%d\n", getpid(), f->inner, ARM_SENTINEL);
        g_assert_true(g_file_set_contents(path, list, -1, NULL));
}

static void fixture_tear_down(Fixture *f) {
        g_autofree char *path = g_build_filename(f->directory, "set_event_pid", NULL);

        kill(f->inner, SIGKILL);
        kill(f->maker, SIGKILL);
        waitpid(f->maker, NULL, 0);
        g_unlink(path);
        g_rmdir(f->directory);
        close(f->instance.fd);
        g_free(f->directory);
}

static bool lacks_root(void) {
        if (geteuid() == 0)
                return false;
        g_test_skip("pid namespaces need root");
        return true;
}

static void test_read(void) {
        InnerPids inner = {};
        Fixture f = {};

        if (lacks_root())
                return;
        fixture_set_up(&f, 1);
        const Arm arm = { .instance = &f.instance };
        g_assert_cmpint(inner_pids_read(&inner, &arm, CLOCK_MONOTONIC), ==, 0);
        g_assert_cmpuint(inner.n, ==, 1); /* this process has none */
        g_assert_cmpuint(inner.pids[0].tid, ==, f.inner);
        g_assert_cmpuint(inner.pids[0].inner, ==, 1);
        g_assert_cmpuint(inner.pids[0].depth, ==, 1);
        g_assert_cmpuint(inner.pids[0].from_nsec, <, inner.pids[0].until_nsec);
        g_assert_cmpint(inner_pids_read(&inner, &arm, CLOCK_MONOTONIC), ==, 0);
        g_assert_cmpuint(inner.n, ==, 1);
        inner_pids_clear(&inner);
        fixture_tear_down(&f);
}

/* In a namespace inside of the container, the number is that of the container. */
static void test_nested(void) {
        InnerPids inner = {};
        Fixture f = {};

        if (lacks_root())
                return;
        fixture_set_up(&f, 2);
        const Arm arm = { .instance = &f.instance };
        g_assert_cmpint(inner_pids_read(&inner, &arm, CLOCK_MONOTONIC), ==, 0);
        g_assert_cmpuint(inner.n, ==, 1);
        g_assert_cmpuint(inner.pids[0].inner, ==, 2);
        g_assert_cmpuint(inner.pids[0].depth, ==, 2);
        inner_pids_clear(&inner);
        fixture_tear_down(&f);
}

/* The number of a member may belong to a process of another container by now. */
static void test_only_members(void) {
        InnerPids inner = {};
        Fixture f = {};

        if (lacks_root())
                return;
        fixture_set_up(&f, 1);
        Arm arm = { .instance = &f.instance, .is_judged = true };
        g_assert_cmpint(inner_pids_read(&inner, &arm, CLOCK_MONOTONIC), ==, 0);
        g_assert_cmpuint(inner.n, ==, 0);
        arm.verified = (TaskSet){ &(Task){ f.inner, f.task.start_time - 1, "" }, 1 };
        g_assert_cmpint(inner_pids_read(&inner, &arm, CLOCK_MONOTONIC), ==, 0);
        g_assert_cmpuint(inner.n, ==, 0);
        arm.verified = (TaskSet){ &f.task, 1 };
        g_assert_cmpint(inner_pids_read(&inner, &arm, CLOCK_MONOTONIC), ==, 0);
        g_assert_cmpuint(inner.n, ==, 1);
        inner_pids_clear(&inner);
        fixture_tear_down(&f);
}

/* Each task that was not there at the start, also one that has the number of an earlier one. */
static void test_joined(void) {
        static Task first[] = { { 5, 70, "" }, { 6, 70, "" } },
                    later[] = { { 5, 70, "" }, { 6, 90, "" }, { 7, 91, "" } };
        InnerPids inner = {};
        Arm arm = { .listed = { first, 2 } };

        g_assert_cmpint(inner_pids_take_over(&inner, &arm, &(TaskSet){}), ==, 0);
        g_assert_cmpint(inner_pids_add_joined(&inner, &arm, 1000), ==, 0);
        g_assert_cmpuint(inner.n, ==, 0);
        arm.listed = (TaskSet){ later, 3 };
        for (unsigned i = 0; i < 2; i++) { /* each of them once */
                g_assert_cmpint(inner_pids_add_joined(&inner, &arm, 2000 + i), ==, 0);
                g_assert_cmpuint(inner.n, ==, 2);
                g_assert_cmpuint(inner.pids[0].tid, ==, 6);
                g_assert_cmpuint(inner.pids[0].inner, ==, 0);
                g_assert_cmpuint(inner.pids[0].from_nsec, ==, 2000);
                g_assert_cmpuint(inner.pids[1].tid, ==, 7);
        }
        inner_pids_clear(&inner);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/inner-pids/read", test_read);
        g_test_add_func("/inner-pids/nested", test_nested);
        g_test_add_func("/inner-pids/only-members", test_only_members);
        g_test_add_func("/inner-pids/joined", test_joined);
        return g_test_run();
}
