/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One user has 100,000 calls in flight at once. All are answered or refused, the daemon's memory is
 * bounded, and who else calls meanwhile is answered as ever. The flood is a process of its own: it
 * sends all it has before it reads a single answer.
 *
 * The bus itself lets a connection wait for 128 answers and refuses further calls (LimitsExceeded).
 * Calls that want no answer it passes on, however many there are. While it refuses them it has less
 * time for others, too: with many connections that is most of what others wait for. */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "bus-fixture.h"

#define CREATE_EVERY 10U    /* the others ask what would be granted */
#ifdef __SANITIZE_ADDRESS__ /* slow, and keeps what was freed for a while */
#define N_CALLS       5000U
#define CONNECTIONS   10U
#define MEMORY_KB_MAX (1024U * 1024)
#else
#define N_CALLS       100000U
#define CONNECTIONS   50U
#define MEMORY_KB_MAX 65536U
#endif

/* Shared with the process that floods. */
typedef struct Flood {
        unsigned n_calls, n_connections;
        bool wants_answers; /* else to a last call of each connection alone */
        unsigned n_sent, n_granted, n_limited, n_held_back, n_other;
        char other[128];
} Flood;

static int on_answer(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Flood *flood = userdata;
        uint64_t cookie;

        if (sd_bus_message_get_reply_cookie(m, &cookie) < 0)
                return 0;
        const sd_bus_error *said = sd_bus_message_get_error(m);
        if (!said)
                flood->n_granted++;
        else if (strcmp(said->name, KT_ERROR_PREFIX "LimitReached") == 0)
                flood->n_limited++;
        else if (strcmp(said->name, SD_BUS_ERROR_LIMITS_EXCEEDED) == 0)
                flood->n_held_back++; /* by the bus */
        else {
                flood->n_other++;
                snprintf(flood->other, sizeof(flood->other), "%s: %s", said->name, said->message);
        }
        return 0;
}

static int send_call(sd_bus *bus, const char *member, bool wants_answer) {
        sd_bus_message *m = NULL;
        uint64_t cookie;

        int r = sd_bus_message_new_method_call(
                        bus, &m, KT_BUS_NAME, KT_OBJECT, KT_MANAGER_INTERFACE, member);
        if (r >= 0)
                r = sd_bus_message_append(m,
                                "a{sv}",
                                2,
                                "scope",
                                "s",
                                "own",
                                "events",
                                "as",
                                1,
                                "task:task_rename");
        if (r >= 0)
                r = sd_bus_message_set_expect_reply(m, wants_answer);
        if (r >= 0)
                r = sd_bus_send(bus, m, wants_answer ? &cookie : NULL);
        sd_bus_message_unref(m);
        return r;
}

static unsigned count_answers(const Flood *flood) {
        return flood->n_granted + flood->n_limited + flood->n_held_back + flood->n_other;
}

static void run_flood(Flood *flood) {
        unsigned n_answers = flood->wants_answers ? flood->n_calls : flood->n_connections;
        sd_bus *buses[CONNECTIONS] = {};

        for (unsigned i = 0; i < flood->n_connections; i++)
                if (sd_bus_open_system(&buses[i]) < 0 ||
                                sd_bus_add_filter(buses[i], NULL, on_answer, flood) < 0)
                        _exit(1);
        for (; flood->n_sent < flood->n_calls; flood->n_sent++)
                if (send_call(buses[flood->n_sent % flood->n_connections],
                                    flood->n_sent % CREATE_EVERY ? "CheckSession" : "CreateSession",
                                    flood->wants_answers) < 0)
                        _exit(2);
        for (unsigned i = 0; !flood->wants_answers && i < flood->n_connections; i++)
                if (send_call(buses[i], "CheckSession", true) < 0)
                        _exit(2);
        for (unsigned i = 0; count_answers(flood) < n_answers;) {
                int r = sd_bus_process(buses[i], NULL);

                if (r < 0)
                        _exit(3);
                if (r == 0)
                        i = (i + 1) % flood->n_connections;
                if (r == 0 && i == 0)
                        usleep(1000);
        }
        for (unsigned i = 0; i < flood->n_connections; i++)
                sd_bus_flush_close_unref(buses[i]);
        _exit(0);
}

static pid_t start_flood(Flood *flood) {
        pid_t pid = fork();

        g_assert_no_errno(pid);
        if (pid > 0)
                return pid;
        if (setresgid(UID_OWNER, UID_OWNER, UID_OWNER) < 0 ||
                        setresuid(UID_OWNER, UID_OWNER, UID_OWNER) < 0)
                _exit(4);
        run_flood(flood);
        _exit(5);
}

static unsigned read_memory_kb(const char *key) {
        g_autofree char *path = g_strdup_printf("/proc/%d/status", bus_fixture_get_daemon());
        g_autofree char *text = NULL;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        const char *at = strstr(text, key);
        g_assert_nonnull(at);
        return (unsigned)strtoul(at + strlen(key), NULL, 10);
}

/* Waits of somebody else, in microseconds. */
typedef struct Waits {
        unsigned n, longest;
        guint64 all;
} Waits;

static void wait_for(Waits *waits,
                GDBusConnection *bus,
                const char *path,
                const char *interface,
                const char *member) {
        gint64 asked = g_get_monotonic_time();
        g_autofree char *error = NULL;
        g_autoptr(GVariant) answer = bus_call(bus, path, interface, member, NULL, NULL, &error);
        unsigned usec = (unsigned)(g_get_monotonic_time() - asked);

        g_assert_cmpstr(error, ==, NULL);
        waits->n++;
        waits->all += usec;
        waits->longest = MAX(waits->longest, usec);
}

static void flood(unsigned n_connections, bool wants_answers) {
        /* Of many connections that want answers it is the bus that has the work. */
        unsigned n_calls = n_connections > 1 && wants_answers ? N_CALLS / 5 : N_CALLS;
        Flood *shared = mmap(NULL,
                        sizeof(*shared),
                        PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS,
                        -1,
                        0);
        g_autoptr(GDBusConnection) stranger = bus_connect(UID_STRANGER);
        Waits ours = {}, theirs = {};
        gint64 begin = g_get_monotonic_time();
        int status;

        g_assert_true(shared != MAP_FAILED);
        *shared = (Flood){
                .n_calls = n_calls, .n_connections = n_connections, .wants_answers = wants_answers
        };
        pid_t pid = start_flood(shared);
        while (waitpid(pid, &status, WNOHANG) == 0) {
                wait_for(&theirs,
                                stranger,
                                "/org/freedesktop/DBus",
                                "org.freedesktop.DBus",
                                "GetId");
                wait_for(&ours, stranger, KT_OBJECT, KT_MANAGER_INTERFACE, "GetLimits");
                g_usleep(5000);
        }
        g_assert_cmpint(status, ==, 0);
        g_test_message("%u connections: %u granted, %u refused, %u by the bus, in %u ms; %u calls of another user: %u us on average, %u at most, from the bus itself %u, %u; VmHWM %u kB",
                        n_connections,
                        shared->n_granted,
                        shared->n_limited,
                        shared->n_held_back,
                        (unsigned)((g_get_monotonic_time() - begin) / 1000),
                        ours.n,
                        (unsigned)(ours.all / ours.n),
                        ours.longest,
                        (unsigned)(theirs.all / theirs.n),
                        theirs.longest,
                        read_memory_kb("VmHWM:"));
        if (shared->n_other > 0)
                g_error("%u calls were answered otherwise: %s", shared->n_other, shared->other);
        g_assert_cmpuint(shared->n_sent, ==, n_calls);
        g_assert_cmpuint(count_answers(shared), ==, wants_answers ? n_calls : n_connections);
        g_assert_cmpuint(read_memory_kb("VmHWM:"), <, MEMORY_KB_MAX);
        munmap(shared, sizeof(*shared));
}

static void test_one_connection(void) {
        flood(1, true);
}

static void test_many_connections(void) {
        flood(CONNECTIONS, true);
}

static void test_without_answers(void) {
        flood(1, false);
        flood(CONNECTIONS, false);
}

static void add_tests(void) {
        bus_test_add("/flood/one-connection", TRUE, test_one_connection);
        bus_test_add("/flood/many-connections", TRUE, test_many_connections);
        bus_test_add("/flood/without-answers", TRUE, test_without_answers);
}

int main(int argc, char **argv) {
        return bus_test_main(argc, argv, add_tests);
}
