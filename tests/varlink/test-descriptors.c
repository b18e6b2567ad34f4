/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Descriptors: ours to a client with the message that they belong to, a client's to us never. */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "varlink-fixture.h"

#define ECHO(text)   CALL("Echo", ",\"parameters\":{\"text\":\"" text "\"}")
#define ANSWER(text) "{\"parameters\":{\"text\":\"" text "\"}}"
#define SOON_USEC    5000000

typedef union Control {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
} Control;

/* One read, and the descriptor that came with it or -1. */
static size_t receive_some(int fd, char *data, size_t size, int *ret) {
        Control control = {};
        struct iovec iov = { .iov_base = data, .iov_len = size };
        struct msghdr message = {
                .msg_iov = &iov,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };
        ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);

        g_assert_cmpint(n, >=, 0);
        *ret = -1;
        if (CMSG_FIRSTHDR(&message))
                memcpy(ret, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
        return (size_t)n;
}

/* Borrows `passed`. */
static void send_with(int fd, const void *data, size_t size, int passed) {
        Control control = {};
        struct iovec iov = { .iov_base = (void *)data, .iov_len = size };
        struct msghdr message = {
                .msg_iov = &iov,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };

        control.header = (struct cmsghdr){
                .cmsg_level = SOL_SOCKET,
                .cmsg_type = SCM_RIGHTS,
                .cmsg_len = CMSG_LEN(sizeof(int)),
        };
        memcpy(CMSG_DATA(&control.header), &passed, sizeof(int));
        g_assert_cmpint(sendmsg(fd, &message, MSG_NOSIGNAL), ==, size);
}

/* Who asks for descriptors and does not take them has few of ours; and gets all of them in the end.
 */
static void test_untaken(void) {
        Fixture *fixture = fixture_new();
        int fd = fixture_connect(fixture), n_calls = 100;

        for (int i = 0; i < n_calls; i++)
                fixture_send(fd, CALL("Open", ""));
        g_usleep(300000);
        g_assert_cmpint(atomic_load(&fixture->n_handled), ==, VARLINK_UNREAD_FDS_MAX);
        g_assert_cmpint(fixture_measure_call(fixture), <, SOON_USEC);
        for (int i = 0; i < n_calls; i++) {
                char data[26];
                int passed;

                g_assert_cmpmem(data,
                                receive_some(fd, data, sizeof(data), &passed),
                                "{\"parameters\":{\"pipe\":0}}",
                                26);
                g_assert_cmpint(passed, >=, 0);
                close(passed);
        }
        g_assert_cmpint(atomic_load(&fixture->n_handled), ==, n_calls + 1);
        close(fd);
        fixture_free(fixture);
}

static void test_reply(void) {
        Fixture *fixture = fixture_new();
        int fd = fixture_connect(fixture), passed;
        char data[1000];
        size_t n;

        fixture_send(fd, CALL("Open", ""));
        n = receive_some(fd, data, sizeof(data), &passed);
        g_assert_cmpmem(data, n, "{\"parameters\":{\"pipe\":0}}", 26);
        g_assert_cmpint(passed, >=, 0);
        g_assert_cmpint(read(passed, data, sizeof(data)), ==, 4);
        g_assert_cmpint(read(passed, data, sizeof(data)), ==, 0);
        close(passed);

        /* By somebody without room for it. */
        fixture_send(fd, CALL("Open", ""));
        fixture_expect(fd, "{\"parameters\":{\"pipe\":0}}");
        close(fd);
        fixture_free(fixture);
}

/* With its first byte, wherever it stands in the stream: the read that it comes with ends in that
 * message. */
static void test_boundaries(void) {
        Fixture *fixture = fixture_new();
        int fd = fixture_connect(fixture), passed, n_passed = 0;
        static const char calls[] = ECHO("a") "\0" CALL("Open", "") "\0" ECHO("b") "\0" CALL(
                        "Open", "") "\0" ECHO("c");
        g_autoptr(GString) all = g_string_new(NULL);
        char data[1000];

        fixture_send_bytes(fd, calls, sizeof(calls));
        while (!strstr(all->str, "c\"")) {
                size_t n = receive_some(fd, data, sizeof(data), &passed);

                for (size_t i = 0; i < n; i++)
                        g_string_append_c(all, data[i] ?: '\n');
                if (passed < 0)
                        continue;
                g_assert_true(g_str_has_suffix(all->str, "{\"parameters\":{\"pipe\":0}}\n"));
                close(passed);
                n_passed++;
        }
        g_assert_cmpint(n_passed, ==, 2);
        close(fd);
        fixture_free(fixture);
}

/* The connection ends, nothing of the message is done, and nobody holds the file any more. */
static void check_refused(Fixture *fixture, int fd, const void *text, size_t size) {
        int pair[2], n_handled = atomic_load(&fixture->n_handled);
        char c;

        g_assert_cmpint(pipe2(pair, O_CLOEXEC), ==, 0);
        send_with(fd, text, size, pair[1]);
        close(pair[1]);
        fixture_expect_end(fd);
        g_assert_cmpint(read(pair[0], &c, 1), ==, 0);
        g_assert_cmpint(fixture->n_handled, ==, n_handled);
        close(pair[0]);
        close(fd);
        fixture_measure_call(fixture);
}

static void test_refused(void) {
        Fixture *fixture = fixture_new();
        int fd;

        check_refused(fixture, fixture_connect(fixture), ECHO("a"), sizeof(ECHO("a")));
        check_refused(fixture, fixture_connect(fixture), "{", 1);
        check_refused(fixture, fixture_connect(fixture), "", 1);

        fd = fixture_connect(fixture);
        fixture_send_bytes(fd, ECHO("a"), 10);
        check_refused(fixture, fd, ECHO("a") + 10, sizeof(ECHO("a")) - 10);

        /* What came before is answered. */
        fd = fixture_connect(fixture);
        fixture_send(fd, ECHO("before"));
        fixture_expect(fd, ANSWER("before"));
        check_refused(fixture, fd, ECHO("a"), sizeof(ECHO("a")));
        fixture_free(fixture);
}

/* Behind what is never read. */
static void test_unread(void) {
        Fixture *fixture = fixture_new();
        int fd = fixture_connect(fixture), other = fixture_connect(fixture);
        int pair[2];
        char c;

        fixture_send(fd, CALL("Hold", ""));
        fixture_wait_for(&fixture->n_handled, 1);
        g_assert_cmpint(pipe2(pair, O_CLOEXEC), ==, 0);
        send_with(fd, ECHO("a"), sizeof(ECHO("a")), pair[1]);
        close(pair[1]);
        close(fd);
        g_assert_cmpint(read(pair[0], &c, 1), ==, 0);
        close(pair[0]);

        /* Held, so that all of it is there before any is looked at. */
        fd = fixture_connect(fixture);
        fixture_send(other, CALL("Hold", ""));
        fixture_wait_for(&fixture->n_handled, 2);
        g_assert_cmpint(pipe2(pair, O_CLOEXEC), ==, 0);
        fixture_send(other, "garbage");
        send_with(other, ECHO("a"), sizeof(ECHO("a")), pair[1]);
        close(pair[1]);
        fixture_send(fd, CALL("Release", ""));
        fixture_expect(other, "{\"parameters\":{}}");
        fixture_expect_end(other);
        g_assert_cmpint(read(pair[0], &c, 1), ==, 0);
        close(pair[0]);
        close(other);
        close(fd);
        fixture_measure_call(fixture);
        fixture_free(fixture);
}

/* Behind a call that waits, so that the sender is gone before we look at it: the last copy is the
 * one in our socket. */
static void drop_last(Fixture *fixture, pid_t (*send_from_child)(int fd, void *data), void *data) {
        int fd = fixture_connect(fixture), other = fixture_connect(fixture);
        int n_handled = atomic_load(&fixture->n_handled);

        fixture_send(fd, CALL("Hold", ""));
        fixture_wait_for(&fixture->n_handled, n_handled + 1);
        pid_t child = send_from_child(fd, data);
        g_assert_cmpint(child, >, 0);
        g_usleep(50000);
        fixture_send(other, CALL("Release", ""));
        fixture_expect(other, "{\"parameters\":{}}");
        fixture_expect(fd, "{\"parameters\":{}}");
        fixture_expect_end(fd);
        close(fd);
        close(other);
        g_assert_cmpint(fixture_measure_call(fixture), <, SOON_USEC);
}

/* A TCP socket with more in it than its other end takes, whose last close waits for an hour. */
static pid_t send_lingering(int fd, void *data) {
        static const char text[65536];
        struct linger linger = { .l_onoff = 1, .l_linger = 3600 };
        struct sockaddr_in address = { .sin_family = AF_INET };
        socklen_t size = sizeof(address);
        int *listening = data;
        pid_t child = fork();

        if (child != 0)
                return child;
        int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        g_assert_cmpint(getsockname(*listening, (struct sockaddr *)&address, &size), ==, 0);
        g_assert_cmpint(connect(sock, (struct sockaddr *)&address, sizeof(address)), ==, 0);
        while (send(sock, text, sizeof(text), MSG_DONTWAIT) > 0)
                ;
        g_assert_cmpint(setsockopt(sock, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), ==, 0);
        send_with(fd, ECHO("a"), sizeof(ECHO("a")), sock);
        _exit(0);
}

static int listen_locally(void) {
        struct sockaddr_in address = {
                .sin_family = AF_INET,
                .sin_addr = { htonl(INADDR_LOOPBACK) },
        };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                        listen(fd, 4) == 0)
                return fd;
        close(fd);
        return -1;
}

static void test_lingering(void) {
        int listening = listen_locally(), status = 0;
        Fixture *fixture;

        if (listening < 0) {
                g_test_skip("no loopback device here");
                return;
        }
        fixture = fixture_new();
        for (int i = 0; i < 3; i++) {
                drop_last(fixture, send_lingering, &listening);
                g_assert_cmpint(wait(&status), >, 0);
                g_assert_cmpint(status, ==, 0);
        }
        /* Nor does the daemon's end wait for it. */
        fixture_free(fixture);
        close(listening);
}

static pid_t send_file(int fd, void *data) {
        pid_t child = fork();

        if (child != 0)
                return child;
        int file = open(data, O_RDWR | O_CLOEXEC);
        if (file >= 0)
                send_with(fd, ECHO("a"), sizeof(ECHO("a")), file);
        _exit(file < 0); /* hangs until its server ends */
}

/* Somewhere where nobody else sees it. -1: cannot be. */
static pid_t start_silent_server(const char *directory) {
        const char *program = g_getenv("SILENT_FUSE");
        char line[32] = "";
        int ends[2];

        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return -1;
        g_assert_cmpint(pipe2(ends, O_CLOEXEC), ==, 0);
        pid_t pid = fork();
        if (pid == 0) {
                dup2(ends[1], 1);
                execl(program, program, directory, NULL);
                _exit(127);
        }
        close(ends[1]);
        ssize_t n = read(ends[0], line, sizeof(line) - 1);
        close(ends[0]);
        if (n > 0 && strcmp(line, "mounted\n") == 0)
                return pid;
        g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
        return -1;
}

static void test_silent_file(void) {
        g_autofree char *directory = g_dir_make_tmp("silent-XXXXXX", NULL);
        g_autofree char *path = g_build_filename(directory, "file", NULL);
        pid_t server = start_silent_server(directory);

        if (server < 0) {
                g_test_skip("FUSE cannot be mounted here");
        } else {
                Fixture *fixture = fixture_new();

                drop_last(fixture, send_file, path);
                drop_last(fixture, send_file, path);
                g_assert_cmpint(kill(server, SIGKILL), ==, 0);
                while (wait(NULL) > 0)
                        ;
                (void)umount2(directory, MNT_DETACH);
                fixture_free(fixture);
        }
        g_rmdir(directory);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/varlink/descriptors/reply", test_reply);
        g_test_add_func("/varlink/descriptors/untaken", test_untaken);
        g_test_add_func("/varlink/descriptors/boundaries", test_boundaries);
        g_test_add_func("/varlink/descriptors/refused", test_refused);
        g_test_add_func("/varlink/descriptors/unread", test_unread);
        g_test_add_func("/varlink/descriptors/lingering", test_lingering);
        g_test_add_func("/varlink/descriptors/silent-file", test_silent_file);
        return g_test_run();
}
