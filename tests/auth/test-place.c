/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The place of processes in namespaces that the test makes. Needs root for that. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auth/place.h"

#define STATUS_NO_NAMESPACE 77

/* Starts a process that lives in these namespaces. *ret_outside is the process that waits for it
 * and ends with it. Returns 0 if they may not be made here: in a chroot, no user namespace. */
static pid_t start(int namespaces, pid_t *ret_outside) {
        int pids[2];
        pid_t inside;

        g_assert_no_errno(pipe(pids));
        *ret_outside = fork();
        g_assert_no_errno(*ret_outside);
        if (*ret_outside == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                int r = unshare(namespaces);
                if (r < 0 && errno == EPERM)
                        _exit(STATUS_NO_NAMESPACE);
                g_assert_no_errno(r);
                inside = fork();
                if (inside == 0) {
                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                        for (;;)
                                pause();
                }
                g_assert_cmpint(write(pids[1], &inside, sizeof(inside)), ==, sizeof(inside));
                waitpid(inside, NULL, 0);
                _exit(0);
        }
        close(pids[1]);
        if (read(pids[0], &inside, sizeof(inside)) != sizeof(inside)) {
                int status;

                g_assert_cmpint(waitpid(*ret_outside, &status, 0), ==, *ret_outside);
                g_assert_true(WIFEXITED(status));
                g_assert_cmpint(WEXITSTATUS(status), ==, STATUS_NO_NAMESPACE);
                inside = 0;
        }
        close(pids[0]);
        return inside;
}

static void end(pid_t inside, pid_t outside) {
        kill(inside, SIGKILL);
        g_assert_cmpint(waitpid(outside, NULL, 0), ==, outside);
}

static void write_map(pid_t pid, const char *name) {
        static const char text[] = "0 0 4294967295\n";
        g_autofree char *path = g_strdup_printf("/proc/%d/%s", pid, name);
        int fd = open(path, O_WRONLY);

        g_assert_no_errno(fd);
        g_assert_cmpint(write(fd, text, strlen(text)), ==, strlen(text));
        close(fd);
}

static void test_here(void) {
        pid_t outside, inside = start(0, &outside);

        g_assert_cmpint(place_read(getpid()), ==, PLACE_HERE);
        g_assert_cmpint(place_read(inside), ==, PLACE_HERE);
        g_assert_cmpint(place_check(PLACE_HERE, NULL), ==, 0);
        end(inside, outside);
        g_assert_cmpint(place_read(inside), ==, PLACE_UNKNOWN);
        g_assert_cmpint(place_read(0), ==, PLACE_UNKNOWN);
}

static void test_pid_namespace(void) {
        pid_t outside, inside = start(CLONE_NEWPID, &outside);
        Reason reason = {};

        if (inside == 0) {
                g_test_skip("no new pid namespace here");
                return;
        }
        g_assert_cmpint(place_read(inside), ==, PLACE_PID_NAMESPACE);
        /* Only its children are in the new namespace. */
        g_assert_cmpint(place_read(outside), ==, PLACE_HERE);
        g_assert_cmpint(place_check(PLACE_PID_NAMESPACE, &reason), ==, KT_E_ACCESS_DENIED);
        g_assert_nonnull(strstr(reason.text, "another pid namespace"));
        end(inside, outside);
}

/* Also when a privileged process has mapped all ids to themselves. */
static void test_user_namespace(void) {
        pid_t outside, inside = start(CLONE_NEWUSER, &outside);
        Reason reason = {};

        if (inside == 0) {
                g_test_skip("no new user namespace here");
                return;
        }
        g_assert_cmpint(place_read(inside), ==, PLACE_USER_NAMESPACE);
        write_map(inside, "uid_map");
        g_assert_cmpint(place_read(inside), ==, PLACE_USER_NAMESPACE);
        write_map(inside, "gid_map");
        g_assert_cmpint(place_read(inside), ==, PLACE_USER_NAMESPACE);
        g_assert_cmpint(place_check(PLACE_USER_NAMESPACE, &reason), ==, KT_E_ACCESS_DENIED);
        g_assert_nonnull(strstr(reason.text, "another user namespace"));
        end(inside, outside);
}

static void test_unknown(void) {
        Reason reason = {};

        g_assert_cmpint(place_check(PLACE_UNKNOWN, &reason), ==, KT_E_ACCESS_DENIED);
        g_assert_nonnull(strstr(reason.text, "has ended"));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        if (geteuid() != 0) {
                g_test_skip("making namespaces needs root");
                return g_test_run();
        }
        g_test_add_func("/place/here", test_here);
        g_test_add_func("/place/pid-namespace", test_pid_namespace);
        g_test_add_func("/place/user-namespace", test_user_namespace);
        g_test_add_func("/place/unknown", test_unknown);
        return g_test_run();
}
