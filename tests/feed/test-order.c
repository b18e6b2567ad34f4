/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A stream worker that sends its messages in another order, as one would that hostile data has
 * taken over. The test is the worker. The daemon's loop must go on, and no limit may get longer. */

#include <glib/gstdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "session-fixture.h"

#include "interfaces/control.h"
#include "session/session-snapshot.h"
#include "session/session-state.h"
#include "session/session-stream.h"

#define TURN_USEC 10000

static int listener = -1, worker = -1;

/* As systemd does for ktrace-consumer.socket. */
static void listen_for_worker(Fixture *f) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        g_assert_cmpuint(strlen(f->worker_path), <, sizeof(address.sun_path));
        strcpy(address.sun_path, f->worker_path);
        listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        g_assert_no_errno(bind(listener, (struct sockaddr *)&address, sizeof(address)));
        g_assert_no_errno(listen(listener, 4));
}

static void accept_worker(void) {
        worker = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        g_assert_cmpint(worker, >=, 0);
}

static void say(ControlType type) {
        const ControlMessage message = { .type = type, .version = CONTROL_VERSION };

        g_assert_cmpint(send(worker, &message, sizeof(message), MSG_NOSIGNAL), ==, sizeof(message));
}

/* Returns whether the daemon has sent a message of this type. Earlier ones are dropped, and all
 * descriptors. */
static bool is_told(ControlType type) {
        ControlMessage message;

        while (recv(worker, &message, sizeof(message), 0) == sizeof(message))
                if (message.type == type)
                        return true;
        return false;
}

static bool is_told_within(Fixture *f, ControlType type, unsigned n_turns) {
        bool told = is_told(type);

        for (unsigned i = 0; !told && i < n_turns; i++) {
                g_assert_cmpint(sd_event_run(f->event, TURN_USEC), >=, 0);
                told = is_told(type);
        }
        return told;
}

static void run_turns(Fixture *f, unsigned n) {
        for (unsigned i = 0; i < n; i++)
                g_assert_cmpint(sd_event_run(f->event, TURN_USEC), >=, 0);
}

static void leave(Fixture *f) {
        close(worker);
        close(listener);
        (void)g_unlink(f->worker_path);
        run_turns(f, 20);
}

static Session *make(Fixture *f, uid_t uid, const char *spec) {
        Call call;

        fixture_create(f, &call, uid, ":1.1", spec);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        Session *session = call.session;
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        return session;
}

typedef struct Answer {
        unsigned n;
        int result;
} Answer;

static void on_answer(Request *request, int result, const Reason *reason) {
        Answer *answer = request->userdata;

        (void)reason;
        answer->n++;
        answer->result = result;
        request_free(request);
}

static Request *ask(Answer *answer, uid_t uid) {
        Subject subject = fixture_subject(uid);
        Request *request = request_new(&subject, NULL);

        *answer = (Answer){};
        request->done = on_answer;
        request->userdata = answer;
        return request;
}

static void take_snapshot(Fixture *f, Session *session, Answer *answer) {
        Reason reason = {};
        Request *request = ask(answer, session_get_uid(session));

        listen_for_worker(f);
        if (session_snapshot(session, CONTROL_SINK_PIPE, NULL, request, &reason) != 0)
                g_error("%s", reason.text);
        accept_worker();
}

#define SPEC_FLIGHT(scope)                                                                      \
        "{\"mode\":\"flight\",\"scope\":\"" scope "\",\"events\":[\"raw_syscalls:sys_enter\"]," \
        "\"lifetime\":\"linger\"}"

/* The snapshot is handed on at RELEASED, and READY has no receiver any more. */
static void test_released_before_ready(Fixture *f, gconstpointer userdata) {
        Session *session = make(f, 0, SPEC_FLIGHT("system"));
        Answer answer;

        (void)userdata;
        take_snapshot(f, session, &answer);
        say(CONTROL_RELEASED);
        run_turns(f, 10);
        g_assert_cmpuint(answer.n, ==, 1);
        g_assert_cmpint(answer.result, ==, KT_E_NO_CONSUMER);
        say(CONTROL_READY);
        say(CONTROL_ATTACHED);
        run_turns(f, 10);
        g_assert_false(is_told(CONTROL_RINGS));
        g_assert_cmpuint(answer.n, ==, 1);
        leave(f);
}

/* A proof belongs to rings. One that is wanted before them would wait in the worker's queue while
 * the rings are opened with the same plan. */
static void test_flushed_before_attached(Fixture *f, gconstpointer userdata) {
        pid_t child = fixture_spawn("--no-new-privs");
        Session *session = make(f, FIXTURE_USER, SPEC_FLIGHT("own"));
        Answer answer;

        (void)userdata;
        take_snapshot(f, session, &answer);
        say(CONTROL_READY);
        say(CONTROL_FLUSHED);
        say(CONTROL_ATTACHED);
        g_assert_true(is_told_within(f, CONTROL_RINGS, 300));
        g_assert_true(is_told_within(f, CONTROL_FLUSH, 300));
        g_assert_false(is_told_within(f, CONTROL_FINISH, 20));
        say(CONTROL_FLUSHED);
        g_assert_true(is_told_within(f, CONTROL_FINISH, 300));
        say(CONTROL_RELEASED);
        run_turns(f, 10);
        g_assert_cmpuint(answer.n, ==, 1);
        g_assert_cmpint(answer.result, ==, 0);
        leave(f);
        fixture_kill(child);
}

/* The black box answers no user after a change by another program, also not one who has asked
 * before, and not because others ask. Root gets its records. */
static void test_views(Fixture *f, gconstpointer userdata) {
        _cleanup_close_ int metadata = memfd_create("metadata", MFD_CLOEXEC),
                            lives = memfd_create("lives", MFD_CLOEXEC);
        Session *session = make(f, 0, SPEC_FLIGHT("system"));
        SnapshotView view = { 1000, 4, { metadata, lives, 0 } };
        int workers[3];
        Answer answers[4];
        Reason reason = {};

        (void)userdata;
        g_assert_cmpint(write(metadata, "{}", 2), ==, 2);
        listen_for_worker(f);
        for (size_t i = 0; i < G_N_ELEMENTS(workers); i++, view.uid++) {
                Request *request = ask(&answers[i], view.uid);

                if (session_snapshot(session, CONTROL_SINK_PIPE, &view, request, &reason) != 0)
                        g_error("%s", reason.text);
                accept_worker();
                workers[i] = worker;
        }
        Request *request = ask(&answers[3], view.uid);
        g_assert_cmpint(session_snapshot(session, CONTROL_SINK_PIPE, &view, request, &reason),
                        ==,
                        KT_E_BUSY);
        g_assert_cmpstr(reason.text, ==, "the black box cannot answer now: try again");
        request_free(request);
        session_end_views(session, "another program has changed it");
        for (size_t i = 0; i < G_N_ELEMENTS(workers); i++) {
                worker = workers[i];
                say(CONTROL_READY);
                say(CONTROL_ATTACHED);
                g_assert_true(is_told_within(f, CONTROL_FINISH, 300));
                say(CONTROL_RELEASED);
                run_turns(f, 10);
                g_assert_false(is_told(CONTROL_RINGS));
                g_assert_cmpuint(answers[i].n, ==, 1);
                if (i < 2)
                        close(worker);
        }
        leave(f);
}

/* A second ATTACHED opens no rings again. */
static void test_attached_again(Fixture *f, gconstpointer userdata) {
        Session *session = make(f, 0, SPEC_ROOT);
        Reason reason = {};
        Answer answer;

        (void)userdata;
        listen_for_worker(f);
        Request *request = ask(&answer, 0);
        g_assert_cmpint(session_open_stream(session, CONTROL_SINK_PIPE, request, &reason), ==, 0);
        accept_worker();
        say(CONTROL_ATTACHED);
        say(CONTROL_ATTACHED);
        g_assert_true(is_told_within(f, CONTROL_RINGS, 300));
        say(CONTROL_READY);
        say(CONTROL_READY);
        say(CONTROL_ATTACHED);
        g_assert_false(is_told_within(f, CONTROL_RINGS, 20));
        g_assert_cmpuint(answer.n, ==, 1);
        leave(f);
}

/* The daemon measures the process that sends, so this one must sleep. */
static pid_t spawn_examiner(void) {
        const ControlMessage message = { .type = CONTROL_EXAMINING, .version = CONTROL_VERSION };
        pid_t pid = fork();

        g_assert_cmpint(pid, >=, 0);
        while (pid == 0) {
                if (send(worker, &message, sizeof(message), MSG_NOSIGNAL) < 0)
                        _exit(0);
                g_usleep(G_USEC_PER_SEC / 2);
        }
        return pid;
}

/* The worker must release the rings within ten seconds, whatever it examines by then. */
static void test_examining_for_ever(Fixture *f, gconstpointer userdata) {
        Session *session = make(f, 0, SPEC_ROOT);
        Reason reason = {};
        Answer answer;
        Call call;

        (void)userdata;
        listen_for_worker(f);
        Request *request = ask(&answer, 0);
        g_assert_cmpint(session_open_stream(session, CONTROL_SINK_PIPE, request, &reason), ==, 0);
        accept_worker();
        say(CONTROL_READY);
        say(CONTROL_ATTACHED);
        g_assert_true(is_told_within(f, CONTROL_RINGS, 300));
        pid_t examiner = spawn_examiner();
        run_turns(f, 10);
        fixture_destroy(f, &call, session);
        int64_t end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
        while (!strstr(f->reported->str, "state gone\n") && g_get_monotonic_time() < end)
                run_turns(f, 1);
        g_assert_nonnull(strstr(f->reported->str, "state gone\n"));
        fixture_kill(examiner);
        leave(f);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        if (geteuid() != 0) {
                g_print("1..0 # SKIP only root listens where the daemon connects to\n");
                return 0;
        }
#define ADD(path, test) \
        g_test_add("/order/" path, Fixture, NULL, fixture_set_up, test, fixture_tear_down)
        ADD("released-before-ready", test_released_before_ready);
        ADD("flushed-before-attached", test_flushed_before_attached);
        ADD("views", test_views);
        ADD("attached-again", test_attached_again);
        ADD("examining-for-ever", test_examining_for_ever);
        return g_test_run();
}
