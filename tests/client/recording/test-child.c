/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command held back: what it is before its exec, how the exec's outcome comes, and that it is
 * gone when nobody releases it. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>

#include "recording/child.h"

static Child *new_child(char **argv) {
        Child *child = NULL;
        Reason reason = {};
        ChildOptions options = {};

        (void)sigemptyset(&options.mask);
        g_assert_cmpint(child_new(argv, &options, &child, &reason), ==, 0);
        return child;
}

static char *read_proc(pid_t pid, const char *file) {
        g_autofree char *path = g_strdup_printf("/proc/%d/%s", (int)pid, file);
        char *text = NULL;

        return g_file_get_contents(path, &text, NULL, NULL) ? text : NULL;
}

static int outcome_of(Child *child) {
        struct pollfd pollfd = { .fd = child_get_fd(child), .events = POLLIN };

        g_assert_cmpint(poll(&pollfd, 1, 10000), ==, 1);
        return child_read_outcome(child);
}

static int status_of(pid_t pid) {
        siginfo_t si = {};

        g_assert_cmpint(waitid(P_PID, (id_t)pid, &si, WEXITED), ==, 0);
        return child_exit_status(si.si_code, si.si_status);
}

static void test_held(void) {
        g_autofree char *path = NULL;
        int fd = g_file_open_tmp("ktrace-child-XXXXXX", &path, NULL);
        char *argv[] = { (char *)"rm", path, NULL };
        g_autofree char *status = NULL, *comm = NULL;
        Child *child = new_child(argv);
        pid_t pid = child_get_pid(child);

        close(fd);
        comm = read_proc(pid, "comm");
        status = read_proc(pid, "status");
        /* Still us: the program was not executed. */
        g_assert_cmpstr(g_strstrip(comm), !=, "rm");
        g_assert_nonnull(strstr(status, "Threads:\t1\n"));
        g_assert_nonnull(strstr(status, geteuid() == 0 ? "NoNewPrivs:\t0\n" : "NoNewPrivs:\t1\n"));
        g_usleep(20000);
        g_assert_cmpint(access(path, F_OK), ==, 0);

        g_assert_cmpint(child_release(child), ==, 0);
        g_assert_cmpint(outcome_of(child), ==, 0);
        g_assert_cmpint(status_of(pid), ==, 0);
        g_assert_cmpint(access(path, F_OK), <, 0);
        child_free(child);
}

static void assert_not_listed(const char *listing, int fd) {
        g_autofree char *line = g_strdup_printf("\n%d\n", fd);

        g_assert_null(strstr(listing, line));
}

/* Between the byte and the exec nothing of ours runs but the exec itself: the held process blocks
 * in read(2), and no descriptor of ours is in the new program. */
static void test_no_fd_leaks(void) {
        int leaky = open("/dev/null", O_RDONLY | O_CLOEXEC);
        g_autofree char *path = NULL, *text = NULL;
        int fd = g_file_open_tmp("ktrace-child-XXXXXX", &path, NULL);
        g_autofree char *script = g_strdup_printf("ls /proc/$$/fd >%s", path);
        char *argv[] = { (char *)"sh", (char *)"-c", script, NULL };
        Child *child = new_child(argv);
        int status;

        close(fd);
        g_assert_cmpint(child_release(child), ==, 0);
        g_assert_cmpint(outcome_of(child), ==, 0);
        status = status_of(child_get_pid(child));
        g_assert_cmpint(status, ==, 0);
        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        assert_not_listed(text, leaky);
        assert_not_listed(text, child_get_fd(child));
        child_free(child);
        close(leaky);
        g_unlink(path);
}

static void assert_exec_fails(const char *program, int error, int status) {
        char *argv[] = { (char *)program, NULL };
        Child *child = new_child(argv);
        int outcome;

        g_assert_cmpint(child_release(child), ==, 0);
        outcome = outcome_of(child);
        g_assert_cmpint(outcome, ==, error);
        g_assert_cmpint(child_exec_status(outcome), ==, status);
        g_assert_cmpint(status_of(child_get_pid(child)), ==, status);
        child_free(child);
}

static void test_exec_failure(void) {
        assert_exec_fails("/nonexistent/program", ENOENT, KT_EXIT_NOT_FOUND);
        assert_exec_fails("/", EACCES, KT_EXIT_NOT_EXECUTABLE);
}

static void test_status(void) {
        char *leaves[] = { (char *)"sh", (char *)"-c", (char *)"exit 7", NULL };
        char *dies[] = { (char *)"sh", (char *)"-c", (char *)"kill -TERM $$", NULL };
        Child *child = new_child(leaves);

        g_assert_cmpint(child_release(child), ==, 0);
        g_assert_cmpint(status_of(child_get_pid(child)), ==, 7);
        child_free(child);

        child = new_child(dies);
        g_assert_cmpint(child_release(child), ==, 0);
        g_assert_cmpint(status_of(child_get_pid(child)), ==, 128 + SIGTERM);
        child_free(child);
}

/* The mask it is given, not the one that ktracectl blocked for its loop. */
static void test_signals(void) {
        char *argv[] = { (char *)"sleep", (char *)"100", NULL };
        sigset_t blocked, before;
        g_autofree char *status = NULL;
        Child *child;

        (void)sigemptyset(&blocked);
        (void)sigaddset(&blocked, SIGINT);
        (void)sigaddset(&blocked, SIGCHLD);
        g_assert_cmpint(sigprocmask(SIG_BLOCK, &blocked, &before), ==, 0);
        child = new_child(argv);
        g_assert_cmpint(sigprocmask(SIG_SETMASK, &before, NULL), ==, 0);
        status = read_proc(child_get_pid(child), "status");
        g_assert_nonnull(strstr(status, "SigBlk:\t0000000000000000\n"));
        g_assert_cmpint(child_release(child), ==, 0);
        g_assert_cmpint(outcome_of(child), ==, 0);
        g_assert_cmpint(kill(child_get_pid(child), SIGINT), ==, 0);
        g_assert_cmpint(status_of(child_get_pid(child)), ==, 128 + SIGINT);
        child_free(child);
}

/* The signal reaches what the command has started, too. */
static void test_group(void) {
        int ends[2];
        char byte;
        Child *child = NULL;
        Reason reason = {};
        ChildOptions options = { .has_group = true };

        g_assert_cmpint(pipe(ends), ==, 0);
        g_autofree char *script = g_strdup_printf("sleep 100 & echo >&%d; wait", ends[1]);
        char *argv[] = { (char *)"sh", (char *)"-c", script, NULL };
        struct pollfd pollfd = { .fd = ends[0], .events = POLLIN };
        (void)sigemptyset(&options.mask);
        g_assert_cmpint(child_new(argv, &options, &child, &reason), ==, 0);
        close(ends[1]);
        g_assert_cmpint(getpgid(child_get_pid(child)), ==, child_get_pid(child));
        g_assert_cmpint(child_release(child), ==, 0);
        g_assert_cmpint(read(ends[0], &byte, 1), ==, 1);
        child_signal(child, SIGTERM);
        /* Both have it open. */
        g_assert_cmpint(poll(&pollfd, 1, 10000), ==, 1);
        g_assert_cmpint(read(ends[0], &byte, 1), ==, 0);
        g_assert_cmpint(status_of(child_get_pid(child)), ==, 128 + SIGTERM);
        child_free(child);
        close(ends[0]);
}

static void test_never_released(void) {
        char *argv[] = { (char *)"true", NULL };
        Child *child = new_child(argv);
        pid_t pid = child_get_pid(child);

        child_free(child);
        g_assert_cmpint(kill(pid, 0), <, 0);
        g_assert_cmpint(errno, ==, ESRCH);
}

/* ktracectl itself dies: the pipe's end tells the held one. */
static void test_parent_dies(void) {
        char *argv[] = { (char *)"true", NULL };
        g_autofree char *path = NULL, *text = NULL;
        int fd = g_file_open_tmp("ktrace-child-XXXXXX", &path, NULL);
        pid_t parent, pid;

        parent = fork();
        if (parent == 0) {
                pid = child_get_pid(new_child(argv));
                _exit(write(fd, &pid, sizeof(pid)) == sizeof(pid) ? 0 : 1);
        }
        g_assert_cmpint(status_of(parent), ==, 0);
        g_assert_cmpint(pread(fd, &pid, sizeof(pid), 0), ==, sizeof(pid));
        for (int i = 0; i < 500; i++) {
                g_autofree char *stat = read_proc(pid, "stat");

                if (!stat || strstr(stat, ") Z "))
                        break;
                g_assert_cmpint(i, <, 499);
                g_usleep(10000);
        }
        close(fd);
        g_unlink(path);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/client/child/held", test_held);
        g_test_add_func("/client/child/no-fd-leaks", test_no_fd_leaks);
        g_test_add_func("/client/child/exec-failure", test_exec_failure);
        g_test_add_func("/client/child/status", test_status);
        g_test_add_func("/client/child/signals", test_signals);
        g_test_add_func("/client/child/group", test_group);
        g_test_add_func("/client/child/never-released", test_never_released);
        g_test_add_func("/client/child/parent-dies", test_parent_dies);
        return g_test_run();
}
