/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The daemon's side: how a consumer comes to be, and that nobody waits for one. The programs that
 * stand in for ktrace-consumer are scripts of the test's. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "work/spawn.h"

typedef struct Fixture {
        char *dir, *binary, *socket_path, *output;
        sd_event *event;
        Consumer *consumer;
        ConsumerLauncher launcher;
        GArray *types; /* of the messages that came */
        int taken;     /* descriptor of the last of them */
        bool is_closed;
} Fixture;

static void on_message(Consumer *consumer, const ControlMessage *message, void *userdata) {
        Fixture *f = userdata;

        g_assert_nonnull(consumer);
        g_array_append_val(f->types, message->type);
        f->taken = consumer_take_fd(consumer);
}

static void on_closed(Consumer *consumer, void *userdata) {
        Fixture *f = userdata;

        g_assert_false(f->is_closed);
        g_assert_true(consumer == f->consumer);
        f->is_closed = true;
}

static const ConsumerHandlers handlers = { on_message, on_closed };

static void set_up(Fixture *f, gconstpointer data _unused_) {
        *f = (Fixture){ .dir = g_dir_make_tmp("ktrace-spawn-XXXXXX", NULL),
                .types = g_array_new(FALSE, FALSE, sizeof(uint32_t)) };
        f->binary = g_build_filename(f->dir, "consumer", NULL);
        f->output = g_build_filename(f->dir, "output", NULL);
        f->socket_path = g_build_filename(f->dir, "socket", NULL);
        g_assert_cmpint(sd_event_new(&f->event), >=, 0);
        f->launcher = (ConsumerLauncher){ f->event, f->binary, "nobody", f->socket_path };
}

static void tear_down(Fixture *f, gconstpointer data _unused_) {
        consumer_free(f->consumer);
        sd_event_unref(f->event);
        (void)g_unlink(f->binary);
        (void)g_unlink(f->output);
        (void)g_unlink(f->socket_path);
        g_assert_no_errno(g_rmdir(f->dir));
        g_array_unref(f->types);
        g_free(f->dir);
        g_free(f->binary);
        g_free(f->output);
        g_free(f->socket_path);
}

static void write_binary(Fixture *f, const char *body) {
        g_autofree char *text = g_strdup_printf("#!/bin/sh\n%s\n", body);

        g_assert_true(g_file_set_contents_full(
                        f->binary, text, -1, G_FILE_SET_CONTENTS_NONE, 0755, NULL));
}

static void spawn(Fixture *f) {
        Reason reason = {};

        g_assert_cmpint(consumer_spawn(&f->launcher, &handlers, f, &f->consumer, &reason), ==, 0);
        g_assert_nonnull(f->consumer);
}

static void run_until_closed(Fixture *f) {
        for (int i = 0; i < 1000 && !f->is_closed; i++)
                g_assert_cmpint(sd_event_run(f->event, 10 * 1000), >=, 0);
        g_assert_true(f->is_closed);
}

/* Runs the loop until the child is reaped. */
static void run_until_reaped(Fixture *f, pid_t pid) {
        for (int i = 0; i < 1000; i++) {
                if (kill(pid, 0) < 0) {
                        g_assert_cmpint(errno, ==, ESRCH);
                        return;
                }
                g_assert_cmpint(sd_event_run(f->event, 10 * 1000), >=, 0);
        }
        g_error("the child is still there");
}

static void refuse(Fixture *f, int code, const char *wanted) {
        Consumer *consumer = NULL;
        Reason reason = {};

        g_assert_cmpint(consumer_spawn(&f->launcher, &handlers, f, &consumer, &reason), ==, code);
        g_assert_null(consumer);
        g_assert_nonnull(strstr(reason.text, wanted));
}

static void test_refused(Fixture *f, gconstpointer data _unused_) {
        f->launcher.user = "no-such-user";
        refuse(f, KT_E_NO_CONSUMER, "\"no-such-user\" does not exist: run systemd-sysusers");
        f->launcher.user = "root";
        refuse(f, KT_E_NO_CONSUMER, "\"root\" is root");
        f->launcher.user = "nobody";
        refuse(f, KT_E_NO_CONSUMER, f->binary);
}

/* Only the control socket, nothing of the daemon's environment, fds and signals. */
static void test_child(Fixture *f, gconstpointer data _unused_) {
        g_autofree char *body = g_strdup_printf(
                        "exec >%s 2>&1; echo \"$*\"; /bin/readlink /proc/$$/fd/0; /bin/ls /proc/$$/fd; "
                        "/bin/grep -E '^Sig(Blk|Ign)' /proc/self/status; /usr/bin/env",
                        f->output);
        g_autofree char *text = NULL;
        struct sigaction ignored = { .sa_handler = SIG_IGN }, before;
        sigset_t blocked;

        write_binary(f, body);
        int leaked = dup(0); /* without CLOEXEC */
        g_assert_no_errno(leaked);
        g_assert_no_errno(sigaction(SIGUSR1, &ignored, &before));
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGUSR2);
        g_assert_no_errno(sigprocmask(SIG_BLOCK, &blocked, NULL));
        spawn(f);
        run_until_closed(f);
        g_assert_no_errno(sigprocmask(SIG_UNBLOCK, &blocked, NULL));
        g_assert_no_errno(sigaction(SIGUSR1, &before, NULL));
        close(leaked);

        g_assert_true(g_file_get_contents(f->output, &text, NULL, NULL));
        /* The shell has its script as 10. */
        static const char wanted[] = "--user nobody\n/dev/null\n0\n1\n10\n2\n3\n"
                                     "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n";
        g_autofree char *head = g_strndup(text, strlen(wanted));
        g_assert_cmpstr(head, ==, wanted);
        g_auto(GStrv) variables = g_strsplit(text + strlen(wanted), "\n", -1);
        for (char **v = variables; *v; v++) /* the shell's own */
                g_assert_true(**v == '\0' || g_str_has_prefix(*v, "PWD=") ||
                                g_str_has_prefix(*v, "OLDPWD=") || g_str_has_prefix(*v, "SHLVL=") ||
                                g_str_has_prefix(*v, "_="));
}

static void test_closed_and_reaped(Fixture *f, gconstpointer data _unused_) {
        write_binary(f, "exit 1");
        spawn(f);
        pid_t pid = consumer_get_pid(f->consumer);
        g_assert_cmpint(pid, >, 0);
        run_until_closed(f);
        run_until_reaped(f, pid);
}

static void test_no_such_program(Fixture *f, gconstpointer data _unused_) {
        g_assert_true(g_file_set_contents_full(f->binary,
                        "#!/no/such/interpreter\n",
                        -1,
                        G_FILE_SET_CONTENTS_NONE,
                        0755,
                        NULL));
        spawn(f);
        run_until_closed(f);
}

static void test_kill(Fixture *f, gconstpointer data _unused_) {
        write_binary(f, "exec /bin/sleep 1000");
        spawn(f);
        pid_t pid = consumer_get_pid(f->consumer);
        consumer_kill(f->consumer);
        run_until_closed(f);
        run_until_reaped(f, pid);
}

/* Reaped by the loop, long after nobody knows it any more. */
static void test_free(Fixture *f, gconstpointer data _unused_) {
        write_binary(f, "exec /bin/sleep 1000");
        spawn(f);
        pid_t pid = consumer_get_pid(f->consumer);
        f->consumer = consumer_free(f->consumer);
        g_assert_null(f->consumer);
        run_until_reaped(f, pid);
        g_assert_false(f->is_closed);
}

static void test_release(Fixture *f, gconstpointer data _unused_) {
        write_binary(f, "read line <&3; exec /bin/sleep 0.2");
        spawn(f);
        pid_t pid = consumer_get_pid(f->consumer);
        f->consumer = consumer_release(f->consumer);
        g_assert_no_errno(kill(pid, 0)); /* it ends by itself */
        run_until_reaped(f, pid);
}

/* systemd's side of ktrace-consumer.socket */

static int listen_at(const Fixture *f, int type) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        g_assert_no_errno(fd);
        g_assert_cmpuint(strlen(f->socket_path), <, sizeof(address.sun_path));
        strcpy(address.sun_path, f->socket_path);
        g_assert_no_errno(bind(fd, (struct sockaddr *)&address, sizeof(address)));
        return fd;
}

static void test_socket(Fixture *f, gconstpointer data _unused_) {
        ControlMessage message = { .type = CONTROL_READY, .version = CONTROL_VERSION };
        _cleanup_close_ int fd = listen_at(f, SOCK_SEQPACKET);
        size_t n_fds;
        int given;

        g_assert_no_errno(listen(fd, 4));
        spawn(f); /* there is no binary: it must be the socket */
        g_assert_cmpint(consumer_get_pid(f->consumer), ==, 0);
        _cleanup_close_ int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        g_assert_no_errno(peer);

        g_assert_cmpint(consumer_send(f->consumer,
                                        &(ControlMessage){ .type = CONTROL_FINISH },
                                        (int[]){ 0 },
                                        1),
                        ==,
                        0);
        g_assert_cmpint(fd_receive(peer, &message, sizeof(message), &given, 1, &n_fds),
                        ==,
                        sizeof(message));
        g_assert_cmpuint(message.type, ==, CONTROL_FINISH);
        g_assert_cmpuint(n_fds, ==, 1);
        close(given);

        message = (ControlMessage){ .type = CONTROL_READY, .version = CONTROL_VERSION };
        g_assert_cmpint(fd_send(peer, &message, sizeof(message), NULL, 0), ==, 0);
        g_assert_cmpint(sd_event_run(f->event, 1000 * 1000), >, 0);
        g_assert_cmpuint(f->types->len, ==, 1);
        g_assert_cmpuint(g_array_index(f->types, uint32_t, 0), ==, CONTROL_READY);

        /* Another build's is the end of it. */
        message.version = CONTROL_VERSION + 1;
        g_assert_cmpint(fd_send(peer, &message, sizeof(message), NULL, 0), ==, 0);
        run_until_closed(f);
        g_assert_cmpuint(f->types->len, ==, 1);
}

/* It leaves without having read what we said: its last words come all the same. */
static void test_socket_reset(Fixture *f, gconstpointer data _unused_) {
        ControlMessage message = { .type = CONTROL_GONE, .version = CONTROL_VERSION };
        _cleanup_close_ int fd = listen_at(f, SOCK_SEQPACKET);

        g_assert_no_errno(listen(fd, 4));
        spawn(f);
        int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        g_assert_no_errno(peer);
        g_assert_cmpint(consumer_send(f->consumer, &message, NULL, 0), ==, 0);
        g_assert_cmpint(fd_send(peer, &message, sizeof(message), NULL, 0), ==, 0);
        close(peer);
        run_until_closed(f);
        g_assert_cmpuint(f->types->len, ==, 1);
        g_assert_cmpuint(g_array_index(f->types, uint32_t, 0), ==, CONTROL_GONE);
}

static ino_t get_inode(int fd) {
        struct stat status;

        g_assert_no_errno(fstat(fd, &status));
        return status.st_ino;
}

/* One that was asked for comes; those before and after it never reach this process. */
static void test_socket_fd(Fixture *f, gconstpointer data _unused_) {
        ControlMessage message = { .type = CONTROL_FACTS, .version = CONTROL_VERSION };
        _cleanup_close_ int fd = listen_at(f, SOCK_SEQPACKET);
        _cleanup_close_ int given = open("/dev/null", O_PATH | O_CLOEXEC);

        g_assert_no_errno(listen(fd, 4));
        spawn(f);
        _cleanup_close_ int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        g_assert_no_errno(peer);
        for (unsigned i = 0; i < 5; i++) {
                bool is_wanted = i == 2;
                int before = dup(given); /* the next free number */

                close(before);
                if (i == 1) /* from here on, and this message brings none */
                        consumer_expect_fd(f->consumer);
                g_assert_cmpint(fd_send(peer, &message, sizeof(message), &given, i == 1 ? 0 : 1),
                                ==,
                                0);
                g_assert_cmpint(sd_event_run(f->event, 1000 * 1000), >, 0);
                g_assert_cmpuint(f->types->len, ==, i + 1);
                g_assert_cmpint(f->taken >= 0, ==, is_wanted);
                if (is_wanted) {
                        g_assert_cmpuint(get_inode(f->taken), ==, get_inode(given));
                        close(f->taken);
                }
                int after = dup(given);
                close(after);
                g_assert_cmpint(after, ==, before);
        }
}

/* Killing one that is not ours to kill: the end of its control socket. */
static void test_socket_kill(Fixture *f, gconstpointer data _unused_) {
        _cleanup_close_ int fd = listen_at(f, SOCK_SEQPACKET);
        char byte;

        g_assert_no_errno(listen(fd, 4));
        spawn(f);
        _cleanup_close_ int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        g_assert_no_errno(peer);
        consumer_kill(f->consumer);
        g_assert_cmpint(recv(peer, &byte, 1, 0), ==, 0);
        close_cleanup(&peer);
        run_until_closed(f);
}

static void test_socket_full(Fixture *f, gconstpointer data _unused_) {
        _cleanup_close_ int fd = listen_at(f, SOCK_SEQPACKET);
        GPtrArray *waiting = g_ptr_array_new();
        Consumer *consumer = NULL;
        Reason reason = {};
        int r;

        g_assert_no_errno(listen(fd, 1));
        while ((r = consumer_spawn(&f->launcher, &handlers, f, &consumer, &reason)) == 0) {
                g_assert_cmpuint(waiting->len, <, 16);
                g_ptr_array_add(waiting, consumer);
        }
        g_assert_cmpint(r, ==, KT_E_LIMIT_REACHED);
        for (size_t i = 0; i < waiting->len; i++)
                consumer_free(g_ptr_array_index(waiting, i));
        g_ptr_array_unref(waiting);
}

/* Left behind by a systemd that is gone: nothing listens, so it is forked. */
static void test_stale_socket(Fixture *f, gconstpointer data _unused_) {
        int fd = listen_at(f, SOCK_SEQPACKET);

        close(fd);
        write_binary(f, "exit 0");
        spawn(f);
        g_assert_cmpint(consumer_get_pid(f->consumer), >, 0);
        run_until_closed(f);
}

/* Only root's listener gets the rings: systemd made the socket. */
static void test_foreign_listener(Fixture *f, gconstpointer data _unused_) {
        Consumer *consumer = NULL;
        Reason reason = {};
        int status, ready[2];
        char byte;

        if (geteuid() != 0) {
                g_test_skip("needs root");
                return;
        }
        write_binary(f, "exit 0");
        g_assert_no_errno(pipe(ready));
        g_assert_no_errno(chmod(f->dir, 0777));
        pid_t pid = fork();
        g_assert_cmpint(pid, >=, 0);
        if (pid == 0) {
                if (setresuid(65534, 65534, 65534) < 0)
                        _exit(1);
                int fd = listen_at(f, SOCK_SEQPACKET);
                close(ready[0]);
                if (listen(fd, 4) < 0 || write(ready[1], "r", 1) != 1)
                        _exit(1);
                for (;;)
                        pause();
        }
        close(ready[1]);
        g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
        close(ready[0]);
        int r = consumer_spawn(&f->launcher, &handlers, f, &consumer, &reason);
        g_assert_no_errno(kill(pid, SIGKILL));
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        g_assert_cmpint(r, ==, -EPERM);
        g_assert_null(consumer);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
#define ADD(path, run) g_test_add(path, Fixture, NULL, set_up, run, tear_down)
        ADD("/spawn/refused", test_refused);
        ADD("/spawn/child", test_child);
        ADD("/spawn/closed-and-reaped", test_closed_and_reaped);
        ADD("/spawn/no-such-program", test_no_such_program);
        ADD("/spawn/kill", test_kill);
        ADD("/spawn/free", test_free);
        ADD("/spawn/release", test_release);
        ADD("/spawn/socket", test_socket);
        ADD("/spawn/socket-reset", test_socket_reset);
        ADD("/spawn/socket-fd", test_socket_fd);
        ADD("/spawn/socket-kill", test_socket_kill);
        ADD("/spawn/socket-full", test_socket_full);
        ADD("/spawn/stale-socket", test_stale_socket);
        ADD("/spawn/foreign-listener", test_foreign_listener);
        return g_test_run();
}
