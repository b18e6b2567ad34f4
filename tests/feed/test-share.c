/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sessions that share an instance, with the reader of the instance in the hand of the test: what
 * the daemon tells it, and how long the daemon waits for it. */

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "session-fixture.h"

#include "base/fd.h"
#include "interfaces/control.h"
#include "interfaces/share.h"
#include "session/registry.h"
#include "session/session-state.h"

#define READERS_MAX 2
#define SLOW_USEC   (11 * G_USEC_PER_SEC) /* the daemon waits for ten seconds */

/* What the readers got. */
typedef struct Told {
        unsigned n_classes, n_views, n_joins, n_rings;
        uint32_t class;  /* of the last viewer */
        uint32_t off[4]; /* ids of the last EVENTS */
        size_t n_off;
        uint32_t asks[256], n_asks; /* viewers of JOINs that were not answered */
} Told;

static int listener = -1, readers[READERS_MAX];
static unsigned n_readers;
static bool is_mute; /* the readers do not answer JOIN */
static Told told;

/* As systemd does for ktrace-consumer.socket. */
static void set_up(Fixture *f, gconstpointer userdata) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        fixture_set_up(f, userdata);
        g_assert_cmpuint(strlen(f->worker_path), <, sizeof(address.sun_path));
        strcpy(address.sun_path, f->worker_path);
        listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        g_assert_no_errno(bind(listener, (struct sockaddr *)&address, sizeof(address)));
        g_assert_no_errno(listen(listener, 4));
        n_readers = 0;
        is_mute = false;
        told = (Told){};
}

static void tear_down(Fixture *f, gconstpointer userdata) {
        close(listener);
        for (unsigned i = 0; i < n_readers; i++)
                if (readers[i] >= 0)
                        close(readers[i]);
        (void)g_unlink(f->worker_path);
        fixture_tear_down(f, userdata);
}

static void say(int reader, ControlType type, uint32_t number) {
        const ControlMessage message = {
                .type = type, .version = CONTROL_VERSION, .viewer = { .number = number }
        };

        g_assert_cmpint(send(reader, &message, sizeof(message), MSG_NOSIGNAL), ==, sizeof(message));
}

static void take_events(const int *fds, size_t n_fds) {
        told.n_off = 0;
        if (n_fds == 0)
                return;
        ssize_t size = read(fds[0], told.off, sizeof(told.off));
        g_assert_cmpint(size, >, 0);
        told.n_off = (size_t)size / sizeof(told.off[0]);
}

static void take_message(int reader, const ControlMessage *message, const int *fds, size_t n_fds) {
        switch (message->type) {
        case CONTROL_SHARE:
                say(reader, CONTROL_READY, 0);
                break;
        case CONTROL_CLASS:
                told.n_classes++;
                break;
        case CONTROL_VIEWER:
                told.n_views++;
                told.class = message->viewer.class;
                break;
        case CONTROL_EVENTS:
                take_events(fds, n_fds);
                break;
        case CONTROL_RINGS:
                told.n_rings++;
                break;
        case CONTROL_JOIN:
                told.n_joins++;
                if (is_mute)
                        told.asks[told.n_asks++] = message->viewer.number;
                else
                        say(reader, CONTROL_JOINED, message->viewer.number);
                break;
        case CONTROL_LEAVE:
                say(reader, CONTROL_LEFT, message->viewer.number);
                break;
        default:
                break;
        }
}

static void run_readers(void) {
        int reader = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (reader >= 0) {
                g_assert_cmpuint(n_readers, <, READERS_MAX);
                readers[n_readers++] = reader;
        }
        for (unsigned i = 0; i < n_readers; i++) {
                ControlMessage message;
                int fds[FD_SEND_MAX];
                size_t n_fds = 0;

                while (fd_receive(readers[i],
                                       &message,
                                       sizeof(message),
                                       fds,
                                       G_N_ELEMENTS(fds),
                                       &n_fds) == sizeof(message)) {
                        take_message(readers[i], &message, fds, n_fds);
                        while (n_fds > 0)
                                close(fds[--n_fds]);
                }
        }
}

static void turn(Fixture *f) {
        g_assert_cmpint(sd_event_run(f->event, 10000), >=, 0);
        run_readers();
}

static int await(Fixture *f, Call *call) {
        gint64 end = g_get_monotonic_time() + 2 * SLOW_USEC;

        while (!call->is_answered && g_get_monotonic_time() < end)
                turn(f);
        g_assert_true(call->is_answered);
        return call->result;
}

#define SPEC(clock, event)                                                                      \
        "{\"scope\":\"system\",\"clock\":\"" clock "\",\"share\":\"auto\",\"events\":[\"" event \
        "\",\"raw_syscalls:sys_enter\"],\"lifetime\":\"linger\"}"
#define EVENT "sched:sched_switch"

static Session *create(Fixture *f, const char *spec) {
        Call call;

        fixture_create(f, &call, 0, ":1.1", spec);
        g_assert_cmpint(await(f, &call), ==, 0);
        return call.session;
}

static int start(Fixture *f, Session *session) {
        Call call;

        fixture_start(f, &call, session);
        int r = await(f, &call);
        if (r != 0)
                g_test_message("%s", call.reason.text);
        return r;
}

static void switch_event(Fixture *f, Session *session, bool on) {
        Call call;

        fixture_switch(f, &call, session, EVENT, on);
        g_assert_cmpint(await(f, &call), ==, 0);
}

static void kill_reader(void) {
        close(readers[0]);
        readers[0] = -1;
}

/* The reader knows what is off before the call is answered, and the next reader from the beginning.
 */
static void test_switched(Fixture *f, gconstpointer userdata) {
        Session *session = create(f, SPEC("mono", EVENT));

        (void)userdata;
        g_assert_cmpint(start(f, session), ==, 0);
        g_assert_cmpuint(told.n_off, ==, 0);
        g_assert_cmpuint(told.n_joins, ==, 1);
        switch_event(f, session, false);
        g_assert_cmpuint(told.n_off, ==, 1);
        g_assert_cmpuint(told.n_joins, ==, 2);
        kill_reader();
        told.n_off = 0;
        while (told.n_rings < 2)
                turn(f);
        g_assert_cmpuint(told.n_views, ==, 2);
        g_assert_cmpuint(told.n_off, ==, 1);
        switch_event(f, session, true);
        g_assert_cmpuint(told.n_off, ==, 0);
        g_assert_cmpuint(told.n_joins, ==, 3);
}

static void change_event(uint32_t id, const char *field) {
        g_autofree char *format = g_strdup_printf(
                        "name: sched_switch\nID: %u\nformat:\n"
                        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
                        "\tfield:int %s;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n",
                        id,
                        field);

        fake_kernel_add_event("sched", "sched_switch", format);
}

/* An event was registered again with another layout, while a session has the earlier one. */
static void test_registered_again(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        change_event(77, "a");
        Session *first = create(f, SPEC("mono", EVENT));
        Session *like = create(f, SPEC("mono", EVENT));
        turn(f);
        g_assert_cmpuint(told.n_classes, ==, 1);
        g_assert_cmpint(start(f, first), ==, 0);
        change_event(77, "b");
        g_assert_cmpint(start(f, like), ==, KT_E_NO_SUCH_EVENT);
        Session *later = create(f, SPEC("mono", EVENT));
        for (unsigned i = 0; i < 100 && told.n_views < 3; i++)
                turn(f);
        g_assert_cmpuint(told.n_classes, ==, 2);
        g_assert_cmpuint(told.class, ==, 1);
        /* The first one still gets the records with this id, with the cuts of the other layout. */
        g_assert_cmpint(start(f, later), ==, KT_E_BUSY);
        /* A further session does not depend on the first one's. */
        g_assert_cmpint(start(f, create(f, SPEC("mono", EVENT))), ==, 0);
        g_assert_cmpuint(n_readers, ==, 2);
        switch_event(f, first, false);
        g_assert_cmpint(start(f, later), ==, 0);
}

/* The worker thread is busy with other plans: the reader has done its part. */
static void test_busy_worker(Fixture *f, gconstpointer userdata) {
        Session *session = create(f, SPEC("mono", EVENT));
        gint64 end = g_get_monotonic_time() + SLOW_USEC;
        Call call;

        (void)userdata;
        fake_kernel_hold(FAKE_ANY);
        while (g_get_monotonic_time() < end)
                turn(f);
        g_assert_cmpuint(told.n_rings, ==, 0);
        fake_kernel_release();
        fixture_start(f, &call, session);
        g_assert_cmpint(await(f, &call), ==, 0);
}

static gint64 get_cpu_usec(void) {
        struct timespec now;

        g_assert_no_errno(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now));
        return (gint64)now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000;
}

/* A reader that works for long is not late: it reads what the rings hold. Takes eleven seconds of a
 * CPU. */
static void test_busy_reader(Fixture *f, gconstpointer userdata) {
        Session *session = create(f, SPEC("mono", EVENT));
        Call call;

        (void)userdata;
        is_mute = true;
        fixture_start(f, &call, session);
        while (told.n_asks == 0)
                turn(f);
        /* The daemon measures the process that sends, which is this one. */
        gint64 end = get_cpu_usec() + SLOW_USEC;
        while (get_cpu_usec() < end)
                g_assert_cmpint(sd_event_run(f->event, 0), >=, 0);
        g_assert_false(call.is_answered);
        say(readers[0], CONTROL_JOINED, told.asks[0]);
        g_assert_cmpint(await(f, &call), ==, 0);
}

#define N_GONE 60

/* More messages than the socket takes wait until the reader reads them. */
static void test_full_socket(Fixture *f, gconstpointer userdata) {
        Session *session = create(f, SPEC("mono", EVENT));
        Call call;

        (void)userdata;
        g_assert_cmpint(start(f, session), ==, 0);
        for (size_t i = 0; i < N_GONE; i++) { /* the reader reads nothing */
                fixture_create(f, &call, 0, ":1.1", SPEC("mono", EVENT));
                fixture_wait(f, &call);
                g_assert_cmpint(call.result, ==, 0);
                fixture_destroy(f, &call, call.session);
                fixture_wait(f, &call);
        }
        fixture_switch(f, &call, session, EVENT, false);
        g_assert_cmpint(await(f, &call), ==, 0);
        g_assert_cmpuint(told.n_views, ==, N_GONE + 1);
        g_assert_cmpuint(told.n_off, ==, 1);
}

/* Sends messages without end, none of which is an answer. */
static pid_t spawn_chatter(int reader) {
        pid_t pid = fork();

        g_assert_cmpint(pid, >=, 0);
        while (pid == 0) {
                const ControlMessage message = { .type = CONTROL_FLUSHED,
                        .version = CONTROL_VERSION };

                if (send(reader, &message, sizeof(message), MSG_NOSIGNAL) < 0)
                        _exit(0);
                g_usleep(G_USEC_PER_SEC / 10);
        }
        return pid;
}

/* Readers that were taken over do not delay the end of the daemon. */
static void test_chatter(Fixture *f, gconstpointer userdata) {
        pid_t chatters[READERS_MAX];

        (void)userdata;
        g_assert_cmpint(start(f, create(f, SPEC("mono", EVENT))), ==, 0);
        g_assert_cmpint(start(f, create(f, SPEC("boot", EVENT))), ==, 0);
        g_assert_cmpuint(n_readers, ==, 2);
        for (unsigned i = 0; i < READERS_MAX; i++)
                chatters[i] = spawn_chatter(readers[i]);
        gint64 begin = g_get_monotonic_time();
        f->registry = registry_free(f->registry);
        g_assert_cmpint(g_get_monotonic_time() - begin, <, 5 * G_USEC_PER_SEC);
        for (unsigned i = 0; i < READERS_MAX; i++)
                fixture_kill(chatters[i]);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        if (geteuid() != 0) {
                g_print("1..0 # SKIP only root listens where the daemon connects to\n");
                return 0;
        }
#define ADD(path, test) g_test_add("/share/" path, Fixture, NULL, set_up, test, tear_down)
        ADD("the-reader-knows-what-is-off", test_switched);
        ADD("an-event-is-registered-again", test_registered_again);
        ADD("the-worker-thread-is-busy", test_busy_worker);
        if (g_strcmp0(g_getenv("TAP_DEEP"), "1") == 0)
                ADD("the-reader-works-for-long", test_busy_reader);
        ADD("the-socket-is-full", test_full_socket);
        ADD("readers-talk-without-end", test_chatter);
        return g_test_run();
}
