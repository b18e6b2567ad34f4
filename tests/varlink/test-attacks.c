/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a user may try at the real daemon's Varlink socket: others are answered meanwhile, nothing
 * of theirs is told, nothing is left. */
#include "bus-fixture.h"
#include "varlink-client.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPEC \
        "{\"spec\":{\"scope\":\"own\",\"events\":[\"task:task_rename\"],\"lifetime\":\"client\"}}"
#define NO_ID "0123456789abcdef"
/* A user may have a second of the loop's time in one go. */
#ifdef __SANITIZE_ADDRESS__ /* slow, and keeps what was freed for a while */
#define SOON_USEC (15 * G_USEC_PER_SEC)
#define GROWTH_KB ((int64_t)512 * 1024)
#else
#define SOON_USEC (3 * G_USEC_PER_SEC)
/* What a user may make the daemon grow by: their bytes that wait, and one message being read. */
#define GROWTH_KB ((int64_t)96 * 1024)
#endif
#define N_FLOOD 500

static char *socket_path;

static int visit(uid_t uid) {
        return varlink_connect(socket_path, uid, NULL);
}

/* Once its user's calls are within their pace again. */
static int visit_when_let_in(uid_t uid) {
        static const char call[] = "{\"method\":\"org.varlink.service.GetInfo\"}";
        char answer[4096];

        for (int i = 0; i < 200; i++) {
                int sock = visit(uid);

                if (send(sock, call, sizeof(call), MSG_NOSIGNAL) > 0 &&
                                recv(sock, answer, sizeof(answer), 0) > 0)
                        return sock;
                close(sock);
                g_usleep(G_USEC_PER_SEC / 10);
        }
        g_error("uid %u is not let in any more", (unsigned)uid);
}

/* As that user, until it is killed. */
static pid_t attack(void (*function)(void)) {
        pid_t child = fork();

        g_assert_cmpint(child, >=, 0);
        if (child != 0)
                return child;
        if (setresgid(UID_STRANGER, UID_STRANGER, UID_STRANGER) < 0 ||
                        setresuid(UID_STRANGER, UID_STRANGER, UID_STRANGER) < 0)
                _exit(1);
        function();
        _exit(0);
}

static void end(pid_t child) {
        int status;

        kill(child, SIGKILL);
        g_assert_cmpint(waitpid(child, &status, 0), ==, child);
        g_assert_true(WIFSIGNALED(status));
}

/* Connects without a word if it fails. */
static int try_to_connect(int flags) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

        g_strlcpy(address.sun_path, socket_path, sizeof(address.sun_path));
        if (connect(sock, (struct sockaddr *)&address, sizeof(address)) < 0) {
                close(sock);
                return -1;
        }
        return sock;
}

/* For how long the daemon's loop has waited for a CPU: other programs of the machine had it. */
static gint64 get_delay_usec(void) {
        g_autofree char *file = g_strdup_printf("/proc/%d/schedstat", bus_fixture_get_daemon());
        g_autofree char *text = NULL;
        guint64 delay = 0;

        if (g_file_get_contents(file, &text, NULL, NULL))
                g_assert_cmpint(sscanf(text, "%*u %" G_GUINT64_FORMAT, &delay), ==, 1);
        return (gint64)(delay / 1000);
}

/* The longest of 20 calls of somebody else, each over a connection of its own. */
static gint64 measure_others(void) {
        gint64 most = 0;

        for (int i = 0; i < 20; i++) {
                gint64 since = g_get_monotonic_time(), delay = get_delay_usec();
                int sock = visit(i % 2 ? UID_OWNER : 0);
                g_autofree char *limits = varlink_get(sock, "GetLimits", NULL, "limits");

                most = MAX(most, g_get_monotonic_time() - since - (get_delay_usec() - delay));
                close(sock);
                g_usleep(20000);
        }
        g_test_message("the longest call took %" G_GINT64_FORMAT " us", most);
        return most;
}

static void hold_connections(void) {
        struct rlimit files = { 2 * N_FLOOD, 2 * N_FLOOD };

        (void)setrlimit(RLIMIT_NOFILE, &files);
        for (int i = 0; i < N_FLOOD; i++)
                (void)try_to_connect(0);
        (void)pause();
}

static void come_and_go(void) {
        for (;;)
                close(try_to_connect(SOCK_NONBLOCK));
}

static void call_without_end(void) {
        static const char text[] = "{\"method\":\"org.ktrace1.CheckSession\",\"oneway\":true,"
                                   "\"parameters\":{\"spec\":{\"scope\":\"own\","
                                   "\"events\":[\"*\"]}}}";
        int sock = try_to_connect(0);

        for (;;)
                if (send(sock, text, sizeof(text), MSG_NOSIGNAL) < 0) {
                        close(sock);
                        sock = try_to_connect(0);
                }
}

/* A byte a packet, none of which makes a message whole. */
static void drip(void) {
        int socks[32];

        for (size_t i = 0; i < G_N_ELEMENTS(socks); i++)
                socks[i] = try_to_connect(0);
        for (size_t i = 0;; i++)
                (void)send(socks[i % G_N_ELEMENTS(socks)], " ", 1, MSG_NOSIGNAL);
}

static void test_floods(void) {
        static void (*const attacks[])(
                        void) = { hold_connections, come_and_go, call_without_end, drip };

        for (size_t i = 0; i < G_N_ELEMENTS(attacks); i++) {
                pid_t children[2] = { attack(attacks[i]), attack(attacks[i]) };

                g_test_message("attack %zu", i);
                g_usleep(G_USEC_PER_SEC);
                gint64 most = measure_others();
                end(children[0]);
                end(children[1]);
                g_assert_cmpint(most, <, SOON_USEC);
        }
        close(visit_when_let_in(UID_STRANGER)); /* their time comes back */
}

/* Another's session is not there, by no method, whatever else a call has. */
static void test_others(void) {
        static const char *const methods[] = {
                "Start",
                "Stop",
                "Destroy",
                "OpenStream",
                "OpenSink",
                "Clear",
                "OpenMarker",
                "Snapshot",
                "Describe",
                "GetStatistics",
                "GetMetadata",
                "Subscribe",
                "GetHistogram",
                "Mark",
                "Configure",
        };
        static const char *const rests[] = {
                "", ",\"name\":\"x\"", ",\"text\":\"x\"", ",\"changes\":{\"events-on\":[\"*\"]}"
        };
        int owner = visit(UID_OWNER), sock = visit_when_let_in(UID_STRANGER);
        g_autofree char *id = varlink_get(owner, "CreateSession", SPEC, "id");

        for (size_t i = 0; i < G_N_ELEMENTS(methods); i++) {
                size_t rest = i < 12 ? 0 : i - 11;
                const char *const ids[] = { id, NO_ID };
                char *answers[2] = { NULL };

                for (int j = 0; j < 2; j++) {
                        g_autofree char *parameters = g_strdup_printf(
                                        "{\"session\":\"%s\"%s}", ids[j], rests[rest]);
                        g_autofree char *method = g_strconcat("org.ktrace1.", methods[i], NULL);
                        varlink_send(sock,
                                        strcmp(methods[i], "Subscribe") == 0,
                                        method,
                                        parameters);
                        json_object *answer = varlink_receive(sock, NULL);
                        answers[j] = g_strdup(json_object_to_json_string(answer));
                        json_object_put(answer);
                        char *named = strstr(answers[j], ids[j]);
                        if (named)
                                memset(named, '-', strlen(ids[j]));
                }
                g_assert_nonnull(strstr(answers[0], "org.ktrace1.NoSuchSession"));
                g_assert_cmpstr(answers[0], ==, answers[1]);
                g_free(answers[0]);
                g_free(answers[1]);
        }
        g_autofree char *sessions = varlink_get(sock, "ListSessions", NULL, "sessions");
        g_assert_null(strstr(sessions, id));
        varlink_expect(sock,
                        "CheckSession",
                        "{\"spec\":{\"scope\":\"own\",\"events\":[\"*\"],\"as-user\":0}}",
                        "AccessDenied",
                        NULL);
        close(sock);
        close(owner);
}

static gboolean is_empty(void) {
        for (int i = 0; i < 500; i++) {
                int sock = visit(0);
                VarlinkAnswer answer = varlink_call(sock, "GetStatus", NULL);
                g_autofree char *status = g_strdup(json_object_to_json_string(answer.parameters));

                varlink_answer_clear(&answer);
                close(sock);
                /* A session that is being made counts for its user, and so does a stream that has
                 * outlived its session. */
                if (strstr(status, "\"sessions\": 0") && strstr(status, "\"consumers\": [ ]"))
                        return bus_count_instances() == 0;
                g_usleep(20000);
        }
        return FALSE;
}

/* Who has called too much is let go of: then it is not sent. */
static void create_unheard(int sock) {
        static const char call[] =
                        "{\"method\":\"org.ktrace1.CreateSession\",\"parameters\":" SPEC "}";

        (void)!send(sock, call, sizeof(call), MSG_NOSIGNAL);
}

/* Who leaves in the middle of a call leaves nothing. */
static void test_leaving(void) {
        for (int i = 0; i < 60; i++) {
                int sock = visit(UID_STRANGER);

                create_unheard(sock);
                g_usleep((gulong)g_test_rand_int_range(0, 20000));
                if (i % 3 == 0) {
                        create_unheard(sock);
                        (void)shutdown(sock, SHUT_WR);
                }
                close(sock);
        }
        /* Calls of a user are decided in order: those of the clients that have left come before
         * this one. */
        int last = visit_when_let_in(UID_STRANGER);
        g_free(varlink_get(last, "CheckSession", SPEC, "decision"));
        close(last);
        g_assert_true(is_empty());

        for (int i = 0; i < 20; i++) {
                int sock = visit_when_let_in(UID_STRANGER);
                g_autofree char *id = varlink_get(sock, "CreateSession", SPEC, "id");
                g_autofree char *session = g_strdup_printf("{\"session\":\"%s\"}", id);

                varlink_send(sock, FALSE, "org.ktrace1.OpenStream", session);
                varlink_send(sock, FALSE, "org.ktrace1.Start", session);
                varlink_send(sock, TRUE, "org.ktrace1.Subscribe", session);
                g_usleep((gulong)g_test_rand_int_range(0, 50000));
                close(sock);
                if (i % 4 == 3) /* of eight that a user may have */
                        g_assert_true(is_empty());
        }
        g_assert_true(is_empty());
}

static int64_t get_memory_kb(void) {
        g_autofree char *file = g_strdup_printf("/proc/%d/status", bus_fixture_get_daemon());
        g_autofree char *text = NULL;
        char *line;

        g_assert_true(g_file_get_contents(file, &text, NULL, NULL));
        line = strstr(text, "VmRSS:");
        g_assert_nonnull(line);
        return g_ascii_strtoll(line + strlen("VmRSS:"), NULL, 10);
}

/* Long messages that never end, and short texts that are large in memory. */
static void test_memory(void) {
        g_autofree char *half = g_strnfill(1000000, ' ');
        g_autoptr(GString) values = g_string_new("{\"method\":\"org.ktrace1.CheckSession\","
                                                 "\"parameters\":{\"spec\":{\"events\":[{}");
        int64_t before = get_memory_kb(), most = before;
        int socks[60];

        for (int i = 0; i < 32000; i++)
                g_string_append(values, ",{}");
        g_string_append(values, "]}}}");
        for (size_t i = 0; i < G_N_ELEMENTS(socks); i++) {
                socks[i] = visit(UID_STRANGER);
                if (i % 2)
                        (void)send(socks[i], half, 1000000, MSG_NOSIGNAL | MSG_DONTWAIT);
                else
                        (void)send(socks[i],
                                        values->str,
                                        values->len + 1,
                                        MSG_NOSIGNAL | MSG_DONTWAIT);
                most = MAX(most, get_memory_kb());
        }
        gint64 longest = measure_others();
        most = MAX(most, get_memory_kb());
        for (size_t i = 0; i < G_N_ELEMENTS(socks); i++)
                close(socks[i]);
        g_test_message("%" G_GINT64_FORMAT " kB, %" G_GINT64_FORMAT " kB at most", before, most);
        g_assert_cmpint(most - before, <, GROWTH_KB);
        g_assert_cmpint(longest, <, SOON_USEC);
}

static void add_tests(void) {
        socket_path = bus_fixture_make_runtime_path("org.ktrace1");
        bus_test_add("/varlink/attacks/floods", FALSE, test_floods);
        bus_test_add("/varlink/attacks/others", TRUE, test_others);
        bus_test_add("/varlink/attacks/leaving", TRUE, test_leaving);
        bus_test_add("/varlink/attacks/memory", FALSE, test_memory);
}

int main(int argc, char **argv) {
        return bus_test_main(argc, argv, add_tests);
}
