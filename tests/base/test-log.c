/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/log.h"

#include <errno.h>
#include <glib.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/fd.h"

/* What `run` writes to stderr; g_free it. */
static char *capture(void (*run)(void)) {
        char *text = NULL;
        int pipe_fds[2], saved = dup(STDERR_FILENO);

        g_assert_cmpint(saved, >=, 0);
        g_assert_cmpint(pipe(pipe_fds), ==, 0);
        g_assert_cmpint(dup2(pipe_fds[1], STDERR_FILENO), >=, 0);
        close(pipe_fds[1]);
        run();
        g_assert_cmpint(dup2(saved, STDERR_FILENO), >=, 0);
        close(saved);
        g_assert_cmpint(fd_read_all(pipe_fds[0], 65536, &text, NULL), ==, 0);
        close(pipe_fds[0]);
        return text;
}

static void write_controls(void) {
        log_error("a\nb\x1b[31mc\td\x7f \xc2\x9b \xc3\xa4");
}

static void test_harmless(void) {
        log_open(LOG_TARGET_CONSOLE);
        _cleanup_free_ char *text = capture(write_controls);
        g_assert_cmpstr(text, ==, "a?b?[31mc?d? ?? \xc3\xa4\n");
}

static void write_levels(void) {
        log_set_level(LOG_NOTICE);
        log_info("not this");
        log_notice("this %d", 1);
        log_set_level(LOG_DEBUG);
        log_debug("and this");
        log_set_level(LOG_INFO);
}

static void test_level(void) {
        log_open(LOG_TARGET_CONSOLE);
        _cleanup_free_ char *text = capture(write_levels);
        g_assert_cmpstr(text, ==, "this 1\nand this\n");
}

static void write_errors(void) {
        LogContext context = { .session = "0123456789abcdef", .uid = 1000 };

        errno = EINTR;
        g_assert_cmpint(log_errno(-ENOENT, LOG_ERR, &context, "cannot %s", "go"), ==, -ENOENT);
        g_assert_cmpint(log_errno(2, LOG_ERR, NULL, "cannot"), ==, 2);
        g_assert_cmpint(errno, ==, EINTR);
}

static void test_errno(void) {
        log_open(LOG_TARGET_CONSOLE);
        _cleanup_free_ char *text = capture(write_errors);
        g_assert_true(g_str_has_prefix(
                        text, "0123456789abcdef: cannot go: No such file or directory\ncannot: "));
        g_assert_null(strstr(strchr(text, '\n') + 1, "No such file"));
}

static void write_long(void) {
        g_autofree char *longer = g_strnfill(10000, 'x');
        log_errno(-ENOENT, LOG_ERR, NULL, "%s", longer);
}

static void test_long(void) {
        log_open(LOG_TARGET_CONSOLE);
        _cleanup_free_ char *text = capture(write_long);
        g_assert_cmpuint(strlen(text), <, 3000);
        g_assert_cmpuint(strlen(text), >, 1000);
        g_assert_true(g_str_has_suffix(text, "x\n"));
}

static void write_nowhere(void) {
        log_error("nothing");
}

static void test_targets(void) {
        g_assert_cmpint(log_set_target("nowhere"), ==, -EINVAL);
        g_assert_cmpint(log_set_target("null"), ==, 0);
        g_assert_cmpstr(log_get_target(), ==, "null");
        _cleanup_free_ char *text = capture(write_nowhere);
        g_assert_cmpstr(text, ==, "");

        /* Inherited from a service, but this stderr is another file. */
        g_setenv("JOURNAL_STREAM", "1:1", TRUE);
        g_assert_cmpint(log_set_target("auto"), ==, 0);
        _cleanup_free_ char *console = capture(write_nowhere);
        g_assert_cmpstr(console, ==, "nothing\n");
}

static void assert_field(const char *datagram, size_t size, const char *field) {
        g_autofree char *line = g_strconcat(field, "\n", NULL);
        if (!memmem(datagram, size, line, strlen(line)))
                g_error("'%s' is not in: %.*s", field, (int)size, datagram);
}

/* A journald of our own, where only we see it. */
static void receive_from_log(void) {
        struct sockaddr_un address = { .sun_family = AF_UNIX,
                .sun_path = "/run/systemd/journal/socket" };
        LogContext context = { "0123456789abcdef", "ktrace-0123456789abcdef", 1000 };
        char datagram[4096];

        g_assert_cmpint(unshare(CLONE_NEWNS), ==, 0);
        g_assert_cmpint(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), ==, 0);
        g_assert_cmpint(mount("tmpfs", "/run", "tmpfs", 0, NULL), ==, 0);
        g_assert_cmpint(g_mkdir_with_parents("/run/systemd/journal", 0755), ==, 0);
        int sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        g_assert_cmpint(bind(sock, (struct sockaddr *)&address, sizeof(address)), ==, 0);

        log_open(LOG_TARGET_JOURNAL);
        log_write(LOG_WARNING, &context, "one\n%s", "PRIORITY=0");
        ssize_t n = recv(sock, datagram, sizeof(datagram), MSG_DONTWAIT);
        g_assert_cmpint(n, >, 0);
        assert_field(datagram, (size_t)n, "MESSAGE=one?PRIORITY=0");
        assert_field(datagram, (size_t)n, "PRIORITY=4");
        assert_field(datagram, (size_t)n, "KTRACE_SESSION=0123456789abcdef");
        assert_field(datagram, (size_t)n, "KTRACE_INSTANCE=ktrace-0123456789abcdef");
        assert_field(datagram, (size_t)n, "KTRACE_UID=1000");
}

static void test_journal(void) {
        int status = -1;

        if (geteuid() != 0) {
                g_test_skip("needs root");
                return;
        }
        pid_t pid = fork();
        g_assert_cmpint(pid, >=, 0);
        if (pid == 0) {
                receive_from_log();
                _exit(0);
        }
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        g_assert_cmpint(status, ==, 0);
}

static void test_level_names(void) {
        for (int level = LOG_EMERG; level <= LOG_DEBUG; level++)
                g_assert_cmpint(log_level_from_string(log_level_to_string(level)), ==, level);
        g_assert_cmpint(log_level_from_string("loud"), ==, -EINVAL);
        g_assert_cmpint(log_level_from_string(""), ==, -EINVAL);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/log/harmless", test_harmless);
        g_test_add_func("/log/level", test_level);
        g_test_add_func("/log/errno", test_errno);
        g_test_add_func("/log/long", test_long);
        g_test_add_func("/log/targets", test_targets);
        g_test_add_func("/log/journal", test_journal);
        g_test_add_func("/log/level-names", test_level_names);
        return g_test_run();
}
