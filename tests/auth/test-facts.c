/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Seat and unit are what logind and the kernel say now, of the process that was first seen. */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <systemd/sd-login.h>
#include <unistd.h>

#include "auth/facts.h"

/* Where no process is of any unit, nothing can be told apart. */
static char *get_own_unit(void) {
        char *unit = NULL;

        return sd_pid_get_unit(getpid(), &unit) < 0 ? NULL : unit;
}

static void expect_unit(pid_t pid, uid_t uid, uint64_t start, const char *unit) {
        Subject subject = { .uid = uid };

        facts_read(&subject, pid, start);
        g_assert_cmpstr(subject.unit, ==, unit);
        subject_clear(&subject);
}

static void test_unit(void) {
        _cleanup_free_ char *unit = get_own_unit();
        uint64_t start = facts_read_start(getpid(), getuid());

        g_assert_cmpuint(start, >, 0);
        if (!unit) {
                g_test_skip("this process belongs to no systemd unit");
                return;
        }
        expect_unit(getpid(), getuid(), start, unit);
        /* Another process that has its pid by now; one that was never seen; one of another user. */
        expect_unit(getpid(), getuid(), start + 1, NULL);
        expect_unit(getpid(), getuid(), 0, NULL);
        expect_unit(getpid(), getuid() + 1, start, NULL);
}

static void test_group(void) {
        gid_t gid = 7;

        g_assert_true(facts_read_group(getpid(), getuid(), &gid));
        g_assert_cmpuint(gid, ==, getegid());
        g_assert_false(facts_read_group(getpid(), getuid() + 1, &gid));
        g_assert_false(facts_read_group(0, getuid(), &gid));
}

/* The name of a process is its user's choice: it can neither end a line of the journal nor look
 * like the rest of the message. */
static void test_command(void) {
        static const struct {
                const char *name, *shown;
        } cases[] = {
                { "make", "make" },
                { "a\") (uid 0\n\x1b", "a\\x22) (uid 0\\x0a\\x1b" },
                { "\x9b\xff\\012345678901", "\\x9b\\xff\\x5c012345678901" },
                { "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n",
                                "\\x0a\\x0a\\x0a\\x0a\\x0a\\x0a\\x0a\\x0a\\x0a\\x0a\\x0a\\x0a\\x0a"
                                "\\x0a\\x0a" },
        };

        uint64_t start = facts_read_start(getpid(), getuid());
        char before[16] = "";

        g_assert_cmpint(prctl(PR_GET_NAME, before), ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                Subject subject = { .uid = getuid() };

                g_assert_cmpint(prctl(PR_SET_NAME, cases[i].name), ==, 0);
                facts_read(&subject, getpid(), start);
                g_assert_cmpstr(subject.command, ==, cases[i].shown);
                facts_read(&subject, getpid(), start + 1); /* another process has the pid now */
                g_assert_cmpstr(subject.command, ==, "");
                subject_clear(&subject);
        }
        g_assert_cmpint(prctl(PR_SET_NAME, before), ==, 0);
}

static void test_process(void) {
        pid_t pid = fork();

        if (pid == 0) {
                (void)pause();
                _exit(0);
        }
        uint64_t start = facts_read_start(pid, getuid());
        g_assert_cmpuint(start, >=, facts_read_start(getpid(), getuid()));
        g_assert_cmpuint(facts_read_start(pid, getuid() + 1), ==, 0);
        g_assert_cmpuint(facts_read_start(0, getuid()), ==, 0);
        g_assert_no_errno(kill(pid, SIGKILL));
        g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
        g_assert_cmpuint(facts_read_start(pid, getuid()), ==, 0);
        expect_unit(pid, getuid(), start, NULL);
}

static bool is_active(uid_t uid) {
        Subject subject = { .uid = uid };

        facts_read(&subject, 0, 0);
        bool active = subject.is_active;
        subject_clear(&subject);
        return active;
}

static void write_user(const char *active_seats) {
        g_autofree char *text = g_strdup_printf("NAME=u4242\nSTATE=active\nSEATS=seat0\n"
                                                "ACTIVE_SEATS=%s\n",
                        active_seats);
        g_assert_true(g_file_set_contents("/run/systemd/users/4242", text, -1, NULL));
}

/* logind's files in a mount namespace of our own. */
static void test_seat(void) {
        if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
                        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
                        mount("tmpfs", "/run", "tmpfs", 0, NULL) < 0) {
                g_test_skip("no mount namespace of one's own here");
                return;
        }
        g_assert_false(is_active(4242));
        g_assert_no_errno(g_mkdir_with_parents("/run/systemd/users", 0755));
        write_user("");
        g_assert_false(is_active(4242));
        write_user("seat0");
        g_assert_true(is_active(4242));
        g_assert_false(is_active(4243));
        /* Not kept: the user switched away. */
        write_user("");
        g_assert_false(is_active(4242));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/auth/facts/unit", test_unit);
        g_test_add_func("/auth/facts/command", test_command);
        g_test_add_func("/auth/facts/group", test_group);
        g_test_add_func("/auth/facts/process", test_process);
        g_test_add_func("/auth/facts/seat", test_seat);
        return g_test_run();
}
