/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The reading of all tasks of the machine. */

#include <errno.h>
#include <glib.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scope/census.h"
#include "scope/process.h"
#include "work/plan.h"

#define USER      54321
#define N_GROUPS  4000
#define N_THREADS 600

static void *wait_for_end(void *userdata) {
        pause();
        return userdata;
}

/* Starts a process of another user with a status of 29 KB, and with many threads. */
static pid_t start_process(unsigned n_threads) {
        static gid_t groups[N_GROUPS];
        int ready[2];
        char byte;

        g_assert_no_errno(pipe(ready));
        pid_t pid = fork();
        g_assert_no_errno(pid);
        if (pid == 0) {
                pthread_attr_t small;
                pthread_t thread;

                pthread_attr_init(&small);
                pthread_attr_setstacksize(&small, 65536);
                for (unsigned i = 0; i < N_GROUPS; i++)
                        groups[i] = 1000000 + i;
                if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || setgroups(N_GROUPS, groups) < 0 ||
                                setresuid(USER, USER, USER) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0)
                        _exit(1);
                for (unsigned i = 0; i < n_threads; i++)
                        if (pthread_create(&thread, &small, wait_for_end, NULL) != 0)
                                _exit(1);
                if (write(ready[1], "x", 1) == 1)
                        pause();
                _exit(1);
        }
        close(ready[1]);
        g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
        close(ready[0]);
        return pid;
}

static void end_process(pid_t pid) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
}

/* Returns the number of steps of a whole census. */
static unsigned take_census(void) {
        Census census = {};
        unsigned n = 0;
        int r;

        do {
                r = census_advance(&census);
                n++;
        } while (r == PLAN_AGAIN);
        g_assert_cmpint(r, ==, 0);
        g_assert_cmpuint(census.next, ==, census.n_pids);
        census_clear(&census);
        return n;
}

/* One process of a user must not end the census of all. */
static void test_long_status(void) {
        TaskStatus status;
        pid_t pid;

        if (geteuid() != 0) {
                g_test_skip("needs root, for a process of another user");
                return;
        }
        pid = start_process(0);
        g_assert_cmpint(process_read_status(pid, pid, &status), ==, -EFBIG);
        g_assert_cmpint(process_touch_status(pid, pid), ==, 0);
        take_census();
        end_process(pid);
        g_assert_cmpint(process_touch_status(pid, pid), ==, -ESRCH);
        take_census();
}

/* The threads of one process are read in several steps. */
static void test_many_threads(void) {
        pid_t pid;

        if (geteuid() != 0) {
                g_test_skip("needs root, for a process of another user");
                return;
        }
        pid = start_process(N_THREADS);
        g_assert_cmpuint(take_census(), >=, N_THREADS / 128);
        end_process(pid);
}

/* Long censuses are rare. */
static void test_pause(void) {
        g_assert_cmpuint(census_count_pause(0), ==, 2000000);
        g_assert_cmpuint(census_count_pause(1000000), ==, 20000000);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/census/long-status", test_long_status);
        g_test_add_func("/census/many-threads", test_many_threads);
        g_test_add_func("/census/pause", test_pause);
        return g_test_run();
}
