/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What one client, or one user, may cost the server and all others. */

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "varlink-fixture.h"

#define HEAD "{\"method\":\"org.example.test.Echo\",\"parameters\":{\"text\":\""
#define TAIL "\"}}"
/* Of a call, while somebody else does their worst. */
#define SOON_USEC 5000000
#define NOBODY    65534

static char *make_message(size_t size) {
        g_autofree char *text = g_strnfill(size - strlen(HEAD TAIL), 'x');

        return g_strconcat(HEAD, text, TAIL, NULL);
}

static void send_in_background(int fd, const char *text) {
        if (fork() == 0) {
                fixture_send(fd, text);
                _exit(0);
        }
}

static void test_size(void) {
        Fixture *fixture = fixture_new();
        g_autofree char *fits = make_message(VARLINK_MESSAGE_MAX);
        g_autofree char *too_long = make_message(VARLINK_MESSAGE_MAX + 1);
        g_autofree char *no_end = g_strnfill(2 * VARLINK_MESSAGE_MAX, ' ');
        int fd = fixture_connect(fixture);

        for (int i = 0; i < 3; i++) {
                send_in_background(fd, fits);
                g_autofree char *answer = fixture_receive(fd);
                g_assert_cmpuint(strlen(answer),
                                ==,
                                strlen(fits) - strlen("\"method\":\"org.example.test.Echo\","));
                g_assert_cmpint(wait(NULL), >, 0);
        }
        send_in_background(fd, too_long);
        fixture_expect_end(fd);
        g_assert_cmpint(wait(NULL), >, 0);
        close(fd);

        fd = fixture_connect(fixture);
        send_in_background(fd, no_end);
        fixture_expect_end(fd);
        g_assert_cmpint(wait(NULL), >, 0);
        close(fd);
        g_assert_cmpint(fixture->n_handled, ==, 3);
        fixture_free(fixture);
}

/* An Echo of a list in an object, with so many values in all. */
static char *make_values(size_t n) {
        g_autoptr(GString) text =
                        g_string_new("{\"method\":\"org.example.test.Echo\","
                                     "\"parameters\":{\"text\":\"\",\"object\":{\"a\":[0");

        for (size_t i = 7; i < n; i++)
                g_string_append(text, ",0");
        g_string_append(text, "]}}}");
        return g_string_free(g_steal_pointer(&text), FALSE);
}

/* What is short to write and long to keep. */
static void test_values(void) {
        Fixture *fixture = fixture_new();
        g_autofree char *most = make_values(VARLINK_VALUES_MAX);
        g_autofree char *more = make_values(VARLINK_VALUES_MAX + 1);
        int fd = fixture_connect(fixture);

        fixture_send(fd, most);
        g_autofree char *answer = fixture_receive(fd);
        g_assert_nonnull(answer);
        fixture_send(fd, more);
        fixture_expect_end(fd);
        close(fd);
        fixture_free(fixture);
}

/* A reader that does not read is dropped, and holds up nobody. */
static void test_no_reader(void) {
        Fixture *fixture = fixture_new();
        int fd = fixture_connect(fixture);
        size_t n = 0;

        fixture_send(fd, CALL("Fill", ",\"more\":true,\"parameters\":{\"size\":1000}"));
        fixture_wait_for(&fixture->n_disconnected, 1);
        g_assert_cmpint(fixture_measure_call(fixture), <, SOON_USEC);
        /* What the kernel had taken is whole up to somewhere. */
        for (char data[4096]; recv(fd, data, sizeof(data), 0) > 0; n++)
                ;
        g_assert_cmpuint(n, >, 0);
        close(fd);
        fixture_free(fixture);
}

/* One answer may be longer than what may wait: it is there already. */
static void test_slow_reader(void) {
        static const size_t sizes[] = { 4 * VARLINK_OUT_MAX, 2 * VARLINK_USER_BYTES_MAX };
        Fixture *fixture = fixture_new();

        for (size_t i = 0; i < ELEMENTSOF(sizes); i++) {
                int fd = fixture_connect(fixture);
                g_autofree char *call = g_strdup_printf(
                                CALL("Fill", ",\"more\":true,\"parameters\":{\"size\":%zu}"),
                                sizes[i]);

                fixture_send(fd, call);
                g_usleep(50000);
                g_autofree char *answer = fixture_receive(fd);
                g_assert_cmpuint(strlen(answer), >, sizes[i]);
                g_assert_cmpint(fixture->n_disconnected, ==, (int)i);
                close(fd);
                fixture_wait_for(&fixture->n_disconnected, (int)i + 1);
        }
        fixture_free(fixture);
}

/* … but not one for each connection. */
static void test_slow_readers(void) {
        Fixture *fixture = fixture_new();
        g_autofree char *call = g_strdup_printf(
                        CALL("Fill", ",\"more\":true,\"parameters\":{\"size\":%zu}"),
                        2 * VARLINK_USER_BYTES_MAX);
        int fds[8];

        for (size_t i = 0; i < ELEMENTSOF(fds); i++) {
                fds[i] = fixture_connect(fixture);
                fixture_send(fds[i], call);
                fixture_wait_for(&fixture->n_handled, (int)i + 1);
        }
        fixture_wait_for(&fixture->n_disconnected, ELEMENTSOF(fds) - 1);
        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                close(fds[i]);
        fixture_free(fixture);
}

/* All that a user's connections have waiting is counted together. */
static void test_bytes(void) {
        Fixture *fixture = fixture_new();
        g_autofree char *half = g_strnfill(VARLINK_MESSAGE_MAX - 1, ' ');
        int fds[24];
        size_t n_ended = 0;

        for (size_t i = 0; i < ELEMENTSOF(fds); i++) {
                fds[i] = fixture_connect(fixture);
                fixture_send_bytes(fds[i], half, VARLINK_MESSAGE_MAX - 1);
        }
        fixture_measure_call(fixture);
        n_ended = (size_t)atomic_load(&fixture->n_disconnected);
        g_test_message("%zu of %zu closed", n_ended, ELEMENTSOF(fds));
        g_assert_cmpuint(n_ended,
                        >=,
                        ELEMENTSOF(fds) - VARLINK_USER_BYTES_MAX / VARLINK_MESSAGE_MAX);
        g_assert_cmpuint(n_ended, <, ELEMENTSOF(fds));
        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                close(fds[i]);
        fixture_wait_for(&fixture->n_disconnected, ELEMENTSOF(fds) + 1);
        fixture_measure_call(fixture);
        fixture_free(fixture);
}

/* Connects until the kernel has no more for it, and stays. Returns how many were let in. */
static void flood(const Fixture *fixture, int ready) {
        unsigned char n_open = 0;
        int fds[1000];

        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                fds[i] = fixture_connect(fixture);
        g_usleep(100000);
        for (size_t i = 0; i < ELEMENTSOF(fds); i++) {
                char c;

                n_open += recv(fds[i], &c, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
        }
        g_assert_cmpint(write(ready, &n_open, 1), ==, 1);
        pause();
}

static void test_connections(void) {
        struct rlimit files = { 4096, 4096 };
        unsigned char n_open = 0;
        int pair[2];

        if (geteuid() != 0) {
                g_test_skip("only root can be two users");
                return;
        }
        Fixture *fixture = fixture_new();
        g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &files), ==, 0);
        g_assert_cmpint(pipe(pair), ==, 0);
        pid_t child = fork();
        if (child == 0) {
                if (setresuid(NOBODY, NOBODY, NOBODY) < 0)
                        _exit(1);
                flood(fixture, pair[1]);
        }
        g_assert_cmpint(read(pair[0], &n_open, 1), ==, 1);
        g_assert_cmpuint(n_open, ==, VARLINK_USER_CONNECTIONS_MAX);
        g_assert_cmpint(fixture_measure_call(fixture), <, SOON_USEC);
        kill(child, SIGKILL);
        g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
        fixture_wait_for(&fixture->n_disconnected, VARLINK_USER_CONNECTIONS_MAX + 1);
        close(pair[0]);
        close(pair[1]);
        fixture_free(fixture);
}

static void test_come_and_go(void) {
        Fixture *fixture = fixture_new();

        for (int i = 0; i < 3000; i++)
                close(fixture_connect(fixture));
        fixture_measure_call(fixture);
        fixture_free(fixture);
}

static int64_t get_cpu_usec(void) {
        struct rusage usage;

        g_assert_cmpint(getrusage(RUSAGE_SELF, &usage), ==, 0);
        return usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec +
               usage.ru_stime.tv_sec * 1000000 + usage.ru_stime.tv_usec;
}

/* Who has had their time waits, which costs nothing, and goes on; who is new is not let in. */
static void test_pace(void) {
        Fixture *fixture = fixture_new();
        int fd = fixture_connect(fixture);
        int64_t since;
        char c;

        fixture_send(fd, CALL("Echo", ",\"parameters\":{\"text\":\"a\"}"));
        fixture_expect(fd, "{\"parameters\":{\"text\":\"a\"}}");
        atomic_store(&fixture->is_refusing, true);
        fixture_send(fd, CALL("Echo", ",\"parameters\":{\"text\":\"b\"}"));
        shutdown(fd, SHUT_WR);
        since = get_cpu_usec();
        g_usleep(300000);
        g_assert_cmpint(get_cpu_usec() - since, <, 50000);
        g_assert_cmpint(recv(fd, &c, 1, MSG_DONTWAIT), ==, -1);
        int other = fixture_connect(fixture);
        fixture_expect_end(other);
        close(other);
        atomic_store(&fixture->is_refusing, false);
        fixture_expect(fd, "{\"parameters\":{\"text\":\"b\"}}");
        fixture_expect_end(fd);
        close(fd);
        fixture_free(fixture);
}

/* Without a descriptor for it a connection waits; the daemon does not spin meanwhile. */
static void test_no_descriptors(void) {
        Fixture *fixture = fixture_new();
        struct rlimit before, none;
        int64_t since;
        int status = 0;

        fixture_measure_call(fixture);
        g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
        pid_t child = fork();
        if (child == 0) {
                g_usleep(50000);
                fixture_measure_call(fixture);
                _exit(0);
        }
        none = before;
        none.rlim_cur = 3;
        g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
        since = get_cpu_usec();
        g_usleep(300000);
        g_assert_cmpint(get_cpu_usec() - since, <, 50000);
        g_assert_cmpint(waitpid(child, &status, WNOHANG), ==, 0);
        g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &before), ==, 0);
        g_assert_cmpint(waitpid(child, &status, 0), ==, child);
        g_assert_cmpint(status, ==, 0);
        fixture_free(fixture);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/varlink/limits/size", test_size);
        g_test_add_func("/varlink/limits/values", test_values);
        g_test_add_func("/varlink/limits/no-reader", test_no_reader);
        g_test_add_func("/varlink/limits/slow-reader", test_slow_reader);
        g_test_add_func("/varlink/limits/slow-readers", test_slow_readers);
        g_test_add_func("/varlink/limits/bytes", test_bytes);
        g_test_add_func("/varlink/limits/connections", test_connections);
        g_test_add_func("/varlink/limits/come-and-go", test_come_and_go);
        g_test_add_func("/varlink/limits/pace", test_pace);
        g_test_add_func("/varlink/limits/no-descriptors", test_no_descriptors);
        return g_test_run();
}
