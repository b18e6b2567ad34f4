/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The protocol, byte by byte, over a raw socket. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "varlink-fixture.h"

#define ECHO(text)   CALL("Echo", ",\"parameters\":{\"text\":\"" text "\"}")
#define ANSWER(text) "{\"parameters\":{\"text\":\"" text "\"}}"

static void test_answers(void) {
        Fixture *fixture = fixture_new();
        static const char *const cases[][2] = {
                { ECHO("a"), ANSWER("a") },
                { " {\"parameters\" : {\"text\":\"\\u00fc\"}, \"method\":\"org.example.test.Echo\"}\n",
                                ANSWER("\xc3\xbc") },
                { CALL("Echo",
                                  ",\"more\":false,\"oneway\":false,\"upgrade\":false,"
                                  "\"parameters\":{\"text\":\"\",\"number\":null}"),
                                "{\"parameters\":{\"text\":\"\",\"number\":null}}" },
        };
        int fd = fixture_connect(fixture);

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                fixture_send(fd, cases[i][0]);
                fixture_expect(fd, cases[i][1]);
        }
        close(fd);
        fixture_free(fixture);
}

static void test_errors(void) {
        Fixture *fixture = fixture_new();
        static const char *const cases[][2] = {
                { "{\"method\":\"org.example.none.Echo\"}",
                                "{\"error\":\"org.varlink.service.InterfaceNotFound\","
                                "\"parameters\":{\"interface\":\"org.example.none\"}}" },
                { "{\"method\":\"org.example.Echo\"}",
                                "{\"error\":\"org.varlink.service.InterfaceNotFound\","
                                "\"parameters\":{\"interface\":\"org.example\"}}" },
                { CALL("Nothing", ""),
                                "{\"error\":\"org.varlink.service.MethodNotFound\","
                                "\"parameters\":{\"method\":\"org.example.test.Nothing\"}}" },
                { CALL("Absent", ""),
                                "{\"error\":\"org.varlink.service.MethodNotImplemented\","
                                "\"parameters\":{\"method\":\"org.example.test.Absent\"}}" },
                { CALL("Echo", ",\"upgrade\":true,\"parameters\":{\"text\":\"\"}"),
                                "{\"error\":\"org.varlink.service.MethodNotImplemented\","
                                "\"parameters\":{\"method\":\"org.example.test.Echo\"}}" },
                { CALL("Broken", ""),
                                "{\"error\":\"org.example.test.Broken\","
                                "\"parameters\":{\"text\":\"a\xc3\xa4?(?\"}}" },
                { CALL("Count", ",\"parameters\":{\"n\":1}"),
                                "{\"error\":\"org.varlink.service.ExpectedMore\","
                                "\"parameters\":{}}" },
                { CALL("Echo", ""),
                                "{\"error\":\"org.varlink.service.InvalidParameter\","
                                "\"parameters\":{\"parameter\":\"text\"}}" },
                { CALL("Echo", ",\"parameters\":null"),
                                "{\"error\":\"org.varlink.service.InvalidParameter\","
                                "\"parameters\":{\"parameter\":\"text\"}}" },
                { CALL("Echo", ",\"parameters\":{\"text\":1}"),
                                "{\"error\":\"org.varlink.service.InvalidParameter\","
                                "\"parameters\":{\"parameter\":\"text\"}}" },
                { CALL("Echo", ",\"parameters\":{\"text\":null}"),
                                "{\"error\":\"org.varlink.service.InvalidParameter\","
                                "\"parameters\":{\"parameter\":\"text\"}}" },
                { CALL("Echo", ",\"parameters\":{\"text\":\"\",\"number\":1.5}"),
                                "{\"error\":\"org.varlink.service.InvalidParameter\","
                                "\"parameters\":{\"parameter\":\"number\"}}" },
                { CALL("Echo", ",\"parameters\":{\"text\":\"\",\"te\\\"xt\":\"\"}"),
                                "{\"error\":\"org.varlink.service.InvalidParameter\","
                                "\"parameters\":{\"parameter\":\"te\\\"xt\"}}" },
                { CALL("Hold", ",\"parameters\":{\"x\":1}"),
                                "{\"error\":\"org.varlink.service.InvalidParameter\","
                                "\"parameters\":{\"parameter\":\"x\"}}" },
                { "{\"method\":\"org.varlink.service.GetInterfaceDescription\","
                  "\"parameters\":{\"interface\":\"org.example\"}}",
                                "{\"error\":\"org.varlink.service.InterfaceNotFound\","
                                "\"parameters\":{\"interface\":\"org.example\"}}" },
        };
        int fd = fixture_connect(fixture);

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                fixture_send(fd, cases[i][0]);
                fixture_expect(fd, cases[i][1]);
        }
        fixture_send(fd, ECHO("still there"));
        fixture_expect(fd, ANSWER("still there"));
        close(fd);
        fixture_free(fixture);
}

static void test_service(void) {
        Fixture *fixture = fixture_new();
        int fd = fixture_connect(fixture);

        fixture_send(fd, "{\"method\":\"org.varlink.service.GetInfo\"}");
        fixture_expect(fd,
                        "{\"parameters\":{\"vendor\":\"vendor\",\"product\":\"product\","
                        "\"version\":\"1\",\"url\":\"http://localhost/\","
                        "\"interfaces\":[\"org.varlink.service\",\"org.example.test\"]}}");
        fixture_send(fd,
                        "{\"method\":\"org.varlink.service.GetInterfaceDescription\","
                        "\"parameters\":{\"interface\":\"org.example.test\"}}");
        fixture_expect(fd,
                        "{\"parameters\":{\"description\":"
                        "\"interface org.example.test\\nmethod Hold() -> ()\\n\"}}");
        fixture_send(fd,
                        "{\"method\":\"org.varlink.service.GetInterfaceDescription\","
                        "\"parameters\":{\"interface\":\"org.varlink.service\"}}");
        g_autofree char *text = fixture_receive(fd);
        g_assert_nonnull(strstr(text, "error InvalidParameter (parameter: string)"));
        close(fd);
        fixture_free(fixture);
}

/* What has no answer: nothing of the message is done, and nothing behind it. */
static void test_garbage(void) {
        Fixture *fixture = fixture_new();
        g_autofree char *deep = g_strnfill(100000, '[');
        static const char *const cases[] = {
                "",
                " ",
                "null",
                "[]",
                "[" ECHO("") "]",
                "\"org.example.test.Echo\"",
                "{}",
                "{\"parameters\":{\"text\":\"\"}}",
                ECHO("") "x",
                ECHO("") ECHO(""),
                "\xef\xbb\xbf" ECHO(""),
                "{\"method\":\"Echo\"}",
                "{\"method\":\"\"}",
                "{\"method\":\".Echo\"}",
                "{\"method\":\"org.example.test.\"}",
                "{\"method\":null}",
                "{\"method\":[\"org.example.test.Echo\"]}",
                "{\"Method\":\"org.example.test.Echo\"}",
                CALL("Echo", ",\"parameters\":{\"text\":\"\"},\"other\":1"),
                CALL("Echo", ",\"parameters\":{\"text\":\"\"},\"error\":\"x.Y\""),
                CALL("Echo", ",\"parameters\":{\"text\":\"\"},\"continues\":true"),
                CALL("Echo", ",\"parameters\":[\"\"]"),
                CALL("Echo", ",\"parameters\":\"\""),
                CALL("Echo", ",\"parameters\":{\"text\":\"\"},\"more\":1"),
                CALL("Echo", ",\"parameters\":{\"text\":\"\"},\"more\":null"),
                CALL("Echo", ",\"parameters\":{\"text\":\"\"},\"more\":\"true\""),
                CALL("Echo", ",\"parameters\":{\"text\":\"\"},\"oneway\":0"),
                CALL("Echo", ",\"parameters\":{\"text\":\"\"},\"oneway\":true,\"more\":true"),
                CALL("Echo", ",\"parameters\":{\"text\":\"\"},\"oneway\":true,\"upgrade\":true"),
                CALL("Echo", ",\"method\":\"org.example.test.Echo\""),
                CALL("Echo", ",\"parameters\":{\"text\":\"a\",\"text\":\"b\"}"),
                CALL("Echo", ",\"parameters\":{\"text\":\"\",\"number\":18446744073709551616}"),
                CALL("Echo", ",\"parameters\":{\"text\":\"\",\"number\":NaN}"),
                CALL("Echo", ",\"parameters\":{\"text\":\"\",\"number\":01}"),
                CALL("Echo", ",\"parameters\":{\"text\":\"\\u0000\"}"),
                CALL("Echo", ",\"parameters\":{\"text\":\"\\ud800\"}"),
                CALL("Echo", ",\"parameters\":{\"text\":\"\xff\"}"),
                CALL("Echo", ",\"parameters\":{\"text\":\"\xc0\x80\"}"),
                CALL("Echo", ",\"parameters\":{\"text\":\"\n\"}"),
                CALL("Echo", ",/**/\"parameters\":{\"text\":\"\"}"),
                "GET / HTTP/1.1\r\n\r\n",
        };

        for (size_t i = 0; i <= ELEMENTSOF(cases); i++) {
                const char *text = i < ELEMENTSOF(cases) ? cases[i] : deep;
                int fd = fixture_connect(fixture);

                g_test_message("case %zu", i);
                fixture_send(fd, text);
                fixture_send(fd, ECHO("behind"));
                fixture_expect_end(fd);
                close(fd);
        }
        g_assert_cmpint(fixture->n_handled, ==, 0);
        fixture_measure_call(fixture);
        fixture_free(fixture);
}

static void test_pieces(void) {
        Fixture *fixture = fixture_new();
        static const char text[] = ECHO("one") "\0" ECHO("two");
        int fd = fixture_connect(fixture);

        for (size_t i = 0; i < sizeof(text); i++) {
                fixture_send_bytes(fd, text + i, 1);
                if (i % 16 == 0)
                        g_usleep(1000);
        }
        fixture_expect(fd, ANSWER("one"));
        fixture_expect(fd, ANSWER("two"));

        fixture_send_bytes(fd, text, sizeof(text) - 5);
        fixture_expect(fd, ANSWER("one"));
        fixture_send_bytes(fd, text + sizeof(text) - 5, 5);
        fixture_expect(fd, ANSWER("two"));
        close(fd);
        fixture_free(fixture);
}

/* Half a message is none. */
static void test_no_end(void) {
        Fixture *fixture = fixture_new();
        int fd = fixture_connect(fixture);

        fixture_send(fd, ECHO("whole"));
        fixture_send_bytes(fd, ECHO("half"), strlen(ECHO("half")));
        g_assert_cmpint(shutdown(fd, SHUT_WR), ==, 0);
        fixture_expect(fd, ANSWER("whole"));
        fixture_expect_end(fd);
        g_assert_cmpint(fixture->n_handled, ==, 1);
        close(fd);
        fixture_free(fixture);
}

/* Who sends no more is answered what it asked. */
static void test_half_close(void) {
        Fixture *fixture = fixture_new();
        int fd = fixture_connect(fixture), other = fixture_connect(fixture);

        fixture_send(fd, ECHO("a"));
        fixture_send(fd, CALL("Hold", ""));
        fixture_send(fd, ECHO("b"));
        g_assert_cmpint(shutdown(fd, SHUT_WR), ==, 0);
        fixture_expect(fd, ANSWER("a"));
        fixture_wait_for(&fixture->n_handled, 2);
        g_usleep(20000);
        fixture_send(other, CALL("Release", ""));
        fixture_expect(fd, "{\"parameters\":{}}");
        fixture_expect(fd, ANSWER("b"));
        fixture_expect_end(fd);
        close(fd);
        close(other);
        fixture_free(fixture);
}

static void test_oneway(void) {
        Fixture *fixture = fixture_new();
        int fd = fixture_connect(fixture);

        fixture_send(fd, CALL("Echo", ",\"oneway\":true,\"parameters\":{\"text\":\"a\"}"));
        fixture_send(fd, CALL("Echo", ",\"oneway\":true"));
        fixture_send(fd, CALL("Nothing", ",\"oneway\":true"));
        fixture_send(fd, CALL("Open", ",\"oneway\":true"));
        fixture_send(fd, ECHO("b"));
        fixture_expect(fd, ANSWER("b"));
        g_assert_cmpint(fixture->n_handled, ==, 3);

        /* … also from who has left already. */
        fixture_send(fd, CALL("Echo", ",\"oneway\":true,\"parameters\":{\"text\":\"c\"}"));
        close(fd);
        fixture_wait_for(&fixture->n_handled, 4);
        fixture_wait_for(&fixture->n_disconnected, 1);
        fixture_free(fixture);
}

static void test_more(void) {
        Fixture *fixture = fixture_new();
        int fd = fixture_connect(fixture);

        fixture_send(fd, CALL("Count", ",\"more\":true,\"parameters\":{\"n\":3}"));
        fixture_send(fd, CALL("Echo", ",\"more\":true,\"parameters\":{\"text\":\"behind\"}"));
        fixture_expect(fd, "{\"parameters\":{\"i\":1},\"continues\":true}");
        fixture_expect(fd, "{\"parameters\":{\"i\":2},\"continues\":true}");
        fixture_expect(fd, "{\"parameters\":{\"i\":3},\"continues\":true}");
        fixture_expect(fd, "{\"parameters\":{}}");
        fixture_expect(fd, ANSWER("behind"));
        close(fd);
        fixture_free(fixture);
}

/* Fewer than fit into the socket. */
#define N_BEHIND 100

/* A call that waits holds up those behind it, of its own connection alone. */
static void test_order(void) {
        Fixture *fixture = fixture_new();
        int fd = fixture_connect(fixture), other = fixture_connect(fixture);

        fixture_send(fd, CALL("Hold", ""));
        for (int i = 0; i < N_BEHIND; i++)
                fixture_send(fd, ECHO("behind"));
        fixture_wait_for(&fixture->n_handled, 1);
        fixture_send(other, ECHO("other"));
        fixture_expect(other, ANSWER("other"));
        g_assert_cmpint(fixture->n_handled, ==, 2);
        fixture_send(other, CALL("Release", ""));
        fixture_expect(other, "{\"parameters\":{}}");
        fixture_expect(fd, "{\"parameters\":{}}");
        for (int i = 0; i < N_BEHIND; i++)
                fixture_expect(fd, ANSWER("behind"));
        close(fd);
        close(other);
        fixture_free(fixture);
}

/* Whose connection is gone is told at once, and its call may still be answered. */
static void test_gone(void) {
        Fixture *fixture = fixture_new();
        int fd = fixture_connect(fixture), other = fixture_connect(fixture);

        fixture_send(fd, CALL("Hold", ""));
        fixture_send(fd, ECHO("dropped"));
        fixture_wait_for(&fixture->n_handled, 1);
        close(fd);
        fixture_wait_for(&fixture->n_disconnected, 1);
        fixture_send(other, CALL("Release", ""));
        fixture_expect(other, "{\"parameters\":{}}");
        g_assert_cmpint(fixture->n_handled, ==, 1);

        /* Also of a server that is gone: fixture_free() answers it. */
        fixture_send(other, CALL("Hold", ""));
        fixture_wait_for(&fixture->n_handled, 2);
        fixture_free(fixture);
        fixture_expect_end(other);
        close(other);
}

static void test_many(void) {
        Fixture *fixture = fixture_new();
        g_autoptr(GString) all = g_string_new(NULL);
        int fd = fixture_connect(fixture);
        pid_t writer;

        for (int i = 0; i < 10000; i++) {
                g_string_append_printf(all, CALL("Echo", ",\"parameters\":{\"text\":\"%d\"}"), i);
                g_string_append_c(all, '\0');
        }
        writer = fork();
        if (writer == 0) {
                fixture_send_bytes(fd, all->str, all->len);
                _exit(0);
        }
        for (int i = 0; i < 10000; i++) {
                g_autofree char *answer = g_strdup_printf("{\"parameters\":{\"text\":\"%d\"}}", i);

                fixture_expect(fd, answer);
        }
        g_assert_cmpint(waitpid(writer, NULL, 0), ==, writer);
        close(fd);
        fixture_free(fixture);
}

/* Where the kernel does not know who is there nobody is let in. */
static void test_wrong_socket(void) {
        static const int kinds[][2] = {
                { AF_INET, SOCK_STREAM }, { AF_UNIX, SOCK_DGRAM }, { AF_UNIX, SOCK_SEQPACKET }
        };
        _cleanup_(varlink_server_free_cleanup) VarlinkServer *server = NULL;
        VarlinkOptions options = {
                .vendor = "vendor", .product = "product", .version = "1", .url = ""
        };
        sd_event *event = NULL;

        g_assert_cmpint(sd_event_new(&event), >=, 0);
        options.event = event;
        g_assert_cmpint(varlink_server_new(&options, &server), ==, 0);
        for (size_t i = 0; i < ELEMENTSOF(kinds); i++) {
                int fd = socket(kinds[i][0], kinds[i][1] | SOCK_CLOEXEC, 0);

                g_assert_cmpint(varlink_server_listen_fd(server, fd, (uid_t)-1), ==, -EPROTOTYPE);
                g_assert_cmpint(fcntl(fd, F_GETFD), ==, -1);
        }
        server = varlink_server_free(server);
        sd_event_unref(event);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/varlink/server/answers", test_answers);
        g_test_add_func("/varlink/server/errors", test_errors);
        g_test_add_func("/varlink/server/service", test_service);
        g_test_add_func("/varlink/server/garbage", test_garbage);
        g_test_add_func("/varlink/server/pieces", test_pieces);
        g_test_add_func("/varlink/server/no-end", test_no_end);
        g_test_add_func("/varlink/server/half-close", test_half_close);
        g_test_add_func("/varlink/server/oneway", test_oneway);
        g_test_add_func("/varlink/server/more", test_more);
        g_test_add_func("/varlink/server/order", test_order);
        g_test_add_func("/varlink/server/gone", test_gone);
        g_test_add_func("/varlink/server/10000-calls", test_many);
        g_test_add_func("/varlink/server/wrong-socket", test_wrong_socket);
        return g_test_run();
}
