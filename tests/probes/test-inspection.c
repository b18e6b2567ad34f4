/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tickets and questions: with the real ktrace-consumer, and with one that the test plays. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "probes/inspection-place.h"
#include "probes/inspection.h"

#define WAIT_USEC (15 * G_USEC_PER_SEC)

typedef struct Answer {
        unsigned n; /* of answers */
        int result;
        char text[512];
        Inspected *inspected;
} Answer;

typedef struct Ticket {
        bool is_done;
        int result;
        char text[512];
        uint32_t number;
        int fd;
} Ticket;

typedef struct Fixture {
        char *dir, *socket_path;
        sd_event *event;
        ConsumerLauncher launcher;
        Inspections *set;
        unsigned n_changes;
        Ticket tickets[8];
        Answer answers[8];
        int listener;  /* where the test plays the consumer */
        pid_t sleeper; /* a consumer that does nothing */
} Fixture;

static void on_changed(void *userdata) {
        Fixture *f = userdata;

        f->n_changes++;
}

static void set_up(Fixture *f, gconstpointer data _unused_) {
        *f = (Fixture){ .dir = g_dir_make_tmp("ktrace-inspection-XXXXXX", NULL), .listener = -1 };
        f->socket_path = g_build_filename(f->dir, "socket", NULL);
        g_assert_cmpint(sd_event_new(&f->event), >=, 0);
        f->launcher = (ConsumerLauncher){
                f->event, g_getenv("KTRACE_CONSUMER"), "nobody", f->socket_path
        };
        g_assert_cmpint(inspections_new(&f->launcher, &f->set), ==, 0);
        inspections_on_changed(f->set, on_changed, f);
        for (size_t i = 0; i < G_N_ELEMENTS(f->tickets); i++)
                f->tickets[i].fd = -1;
}

static void tear_down(Fixture *f, gconstpointer data _unused_) {
        inspections_free(f->set);
        if (f->sleeper > 0) {
                g_assert_no_errno(kill(f->sleeper, SIGKILL));
                g_assert_cmpint(waitpid(f->sleeper, NULL, 0), ==, f->sleeper);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(f->tickets); i++) {
                close_cleanup(&f->tickets[i].fd);
                inspected_free(f->answers[i].inspected);
        }
        close_cleanup(&f->listener);
        sd_event_unref(f->event);
        (void)unlink(f->socket_path);
        (void)rmdir(f->dir);
        g_free(f->socket_path);
        g_free(f->dir);
}

static bool can_fork(void) {
        if (geteuid() != 0)
                g_test_skip("needs root");
        return geteuid() == 0;
}

static void run_until(Fixture *f, const bool *flag, const unsigned *number, unsigned at_least) {
        gint64 end = g_get_monotonic_time() + WAIT_USEC;

        while (flag ? !*flag : *number < at_least) {
                g_assert_cmpint(g_get_monotonic_time(), <, end);
                g_assert_cmpint(sd_event_run(f->event, 100 * 1000), >=, 0);
        }
}

static void run_until_idle(Fixture *f) {
        gint64 end = g_get_monotonic_time() + WAIT_USEC;

        while (!inspections_are_idle(f->set)) {
                g_assert_cmpint(g_get_monotonic_time(), <, end);
                g_assert_cmpint(sd_event_run(f->event, 100 * 1000), >=, 0);
        }
        g_assert_cmpuint(f->n_changes, >, 0);
}

static void on_ticket(Request *request, int result, const Reason *reason) {
        Ticket *ticket = request->userdata;

        g_assert_false(ticket->is_done);
        ticket->is_done = true;
        ticket->result = result;
        g_strlcpy(ticket->text, reason->text, sizeof(ticket->text));
        ticket->number = request->ticket;
        ticket->fd = TAKE_FD(request->fd);
        request_free(request);
}

static void ask_for_ticket(Fixture *f, size_t i, uid_t uid, const char *peer) {
        const Subject subject = { .uid = uid };
        Request *request = request_new(&subject, peer);
        Reason reason = {};

        g_assert_nonnull(request);
        request->done = on_ticket;
        request->userdata = &f->tickets[i];
        g_assert_cmpint(inspections_open(f->set, request, &reason), ==, 0);
        g_assert_false(f->tickets[i].is_done);
}

static void get_ticket(Fixture *f, size_t i, uid_t uid, const char *peer) {
        ask_for_ticket(f, i, uid, peer);
        run_until(f, &f->tickets[i].is_done, NULL, 0);
        g_assert_cmpint(f->tickets[i].result, ==, 0);
        g_assert_cmpuint(f->tickets[i].number, !=, 0);
}

static void give(Fixture *f, size_t i, const char *path) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

        g_assert_no_errno(fd);
        g_assert_cmpint(fd_send(f->tickets[i].fd, "", 1, &fd, 1), ==, 0);
        close_cleanup(&f->tickets[i].fd);
}

static void on_answer(int result, const Reason *reason, Inspected *inspected, void *userdata) {
        Answer *answer = userdata;

        g_assert_cmpuint(answer->n, ==, 0);
        g_assert_cmpint(result == 0, ==, inspected != NULL);
        answer->n++;
        answer->result = result;
        g_strlcpy(answer->text, reason->text, sizeof(answer->text));
        answer->inspected = inspected;
}

static int try_ask(Fixture *f, size_t i, const char *peer, uint64_t offset, const char *marker) {
        const InspectionQuestion question = { .offset = offset, .marker = marker };
        Reason reason = {};

        int r = inspections_ask(f->set,
                        peer,
                        f->tickets[i].number,
                        &question,
                        on_answer,
                        &f->answers[i],
                        &reason);
        g_assert_cmpint(r != 0, ==, reason.text[0] != '\0');
        g_assert_cmpuint(f->answers[i].n, ==, 0);
        return r;
}

static void ask(Fixture *f, size_t i, const char *peer, uint64_t offset, const char *marker) {
        g_assert_cmpint(try_ask(f, i, peer, offset, marker), ==, 0);
}

static void ask_path(Fixture *f, size_t i, const char *path) {
        const InspectionQuestion question = { .marker = "probed:step" };
        Reason reason = {};

        g_assert_cmpint(inspections_ask_path(f->set,
                                        path,
                                        &question,
                                        on_answer,
                                        &f->answers[i],
                                        &reason),
                        ==,
                        0);
        g_assert_cmpuint(f->answers[i].n, ==, 0);
}

static const Answer *await(Fixture *f, size_t i) {
        run_until(f, NULL, &f->answers[i].n, 1);
        return &f->answers[i];
}

static void assert_failed(const Answer *answer, int code, const char *text) {
        g_assert_cmpint(answer->result, ==, code);
        if (!strstr(answer->text, text))
                g_error("'%s' does not have '%s'", answer->text, text);
}

static void assert_found(const Answer *answer, const char *path) {
        struct stat status, pinned;

        g_assert_cmpstr(answer->text, ==, "");
        g_assert_cmpint(answer->result, ==, 0);
        g_assert_no_errno(stat(path, &status));
        g_assert_no_errno(fstat(answer->inspected->fd, &pinned));
        g_assert_cmpuint(status.st_ino, ==, pinned.st_ino);
        g_assert_cmpuint(answer->inspected->facts.ino, ==, status.st_ino);
        g_assert_cmpuint(answer->inspected->n_places, >=, 1);
        g_assert_cmpuint(answer->inspected->places[0].n_args, ==, 3);
}

static void test_ticket(Fixture *f, gconstpointer data _unused_) {
        const char *probed = g_getenv("PROBED");

        if (!can_fork())
                return;
        get_ticket(f, 0, 1000, ":1.1");
        give(f, 0, probed);
        ask(f, 0, ":1.1", 0, "probed:step");
        assert_found(await(f, 0), probed);
        /* It is used up. */
        f->answers[0].n = 0;
        g_assert_cmpint(try_ask(f, 0, ":1.1", 0, "probed:step"), ==, KT_E_INVALID_SPEC);
        run_until_idle(f);
}

/* The question may be there before the file is. */
static void test_early(Fixture *f, gconstpointer data _unused_) {
        if (!can_fork())
                return;
        get_ticket(f, 0, 1000, ":1.1");
        ask(f, 0, ":1.1", 0, "probed:step");
        give(f, 0, g_getenv("PROBED"));
        assert_found(await(f, 0), g_getenv("PROBED"));
}

/* What is wrong with a file is told to whoever asks later. */
static void test_refused(Fixture *f, gconstpointer data _unused_) {
        if (!can_fork())
                return;
        get_ticket(f, 0, 1000, ":1.1");
        give(f, 0, "/proc/self/status");
        for (unsigned i = 0; i < 20; i++)
                (void)sd_event_run(f->event, 50 * 1000);
        ask(f, 0, ":1.1", 0, NULL);
        assert_failed(await(f, 0), KT_E_FAILED, "file: it is on a file system");

        get_ticket(f, 1, 1000, ":1.1");
        give(f, 1, g_getenv("PROBED"));
        ask(f, 1, ":1.1", 1, NULL);
        assert_failed(await(f, 1), KT_E_FAILED, "file: no code of the file lies at offset 0x1");

        get_ticket(f, 2, 1000, ":1.1");
        close_cleanup(&f->tickets[2].fd);
        ask(f, 2, ":1.1", 1, NULL);
        assert_failed(await(f, 2), KT_E_FAILED, "file: it was not sent");
        run_until_idle(f);
}

static void test_strangers_ticket(Fixture *f, gconstpointer data _unused_) {
        Ticket saved;

        if (!can_fork())
                return;
        get_ticket(f, 0, 1000, ":1.1");
        give(f, 0, g_getenv("PROBED"));
        g_assert_cmpint(try_ask(f, 0, ":1.2", 0, "probed:step"), ==, KT_E_INVALID_SPEC);
        saved = f->tickets[0];
        f->tickets[0].number = 0;
        g_assert_cmpint(try_ask(f, 0, ":1.1", 0, "probed:step"), ==, KT_E_INVALID_SPEC);
        f->tickets[0] = saved;
        ask(f, 0, ":1.1", 0, "probed:step"); /* and it was not used up */
        assert_found(await(f, 0), g_getenv("PROBED"));
}

static void test_limit(Fixture *f, gconstpointer data _unused_) {
        if (!can_fork())
                return;
        get_ticket(f, 0, 1000, ":1.1");
        get_ticket(f, 1, 1000, ":1.1");
        ask_for_ticket(f, 2, 1000, ":1.2");
        get_ticket(f, 3, 1001, ":1.3"); /* of another: has room */
        g_assert_false(f->tickets[2].is_done);
        give(f, 0, g_getenv("PROBED"));
        ask(f, 0, ":1.1", 0, "probed:step");
        assert_found(await(f, 0), g_getenv("PROBED"));
        run_until(f, &f->tickets[2].is_done, NULL, 0);
        g_assert_cmpint(f->tickets[2].result, ==, 0);
}

static void test_peer_gone(Fixture *f, gconstpointer data _unused_) {
        if (!can_fork())
                return;
        get_ticket(f, 0, 1000, ":1.1");
        get_ticket(f, 1, 1000, ":1.1");
        ask_for_ticket(f, 2, 1000, ":1.1");
        ask(f, 0, ":1.1", 0, "probed:step");
        inspections_peer_gone(f->set, ":1.1");
        assert_failed(&f->answers[0], KT_E_CANCELLED, "the caller has left");
        g_assert_cmpint(f->tickets[2].result, ==, KT_E_CANCELLED);
        g_assert_cmpint(try_ask(f, 1, ":1.1", 0, "probed:step"), ==, KT_E_INVALID_SPEC);
        run_until_idle(f);
}

/* Nobody comes with the ticket, nor with a file. */
static void test_unused(Fixture *f, gconstpointer data _unused_) {
        gint64 begin = g_get_monotonic_time();

        if (!can_fork())
                return;
        get_ticket(f, 0, 1000, ":1.1");
        get_ticket(f, 1, 1000, ":1.1");
        give(f, 1, g_getenv("PROBED"));
        run_until_idle(f);
        g_assert_cmpint(g_get_monotonic_time() - begin, >, 9 * G_USEC_PER_SEC);
        g_assert_cmpint(try_ask(f, 0, ":1.1", 0, "probed:step"), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(try_ask(f, 1, ":1.1", 0, "probed:step"), ==, KT_E_INVALID_SPEC);
}

static void test_free(Fixture *f, gconstpointer data _unused_) {
        if (!can_fork())
                return;
        get_ticket(f, 0, 1000, ":1.1");
        ask(f, 0, ":1.1", 0, "probed:step");
        ask_path(f, 1, "/etc/passwd");
        ask_for_ticket(f, 2, 1001, ":1.2");
        f->set = inspections_free(f->set);
        for (size_t i = 0; i < 2; i++)
                assert_failed(&f->answers[i], KT_E_CANCELLED, "ktraced ends");
        g_assert_cmpint(f->tickets[2].result, ==, KT_E_CANCELLED);
}

static void test_path(Fixture *f, gconstpointer data _unused_) {
        static const struct {
                const char *path, *text;
        } wrong[] = {
                { "/no/such/file", "/no/such/file: cannot open it: No such file or directory" },
                { "/tmp", "/tmp: cannot open it: Is a directory" },
                { "/dev/null", "/dev/null: cannot open it: Invalid argument" },
                { "/etc/passwd", "/etc/passwd: it is not a program or library" },
                { "/proc/self/status", "not a local one" },
        };

        const char *probed = g_getenv("PROBED");

        if (!can_fork())
                return;
        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) /* at once: they queue */
                ask_path(f, i, wrong[i].path);
        ask_path(f, 7, probed);
        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
                assert_failed(await(f, i), KT_E_FAILED, wrong[i].text);
        assert_found(await(f, 7), probed);
        run_until_idle(f);
}

/* A file server that keeps silent once its file was opened: what is closed of it hangs as well, so
 * the client is a child. */

typedef struct Server {
        char *dir, *file;
        pid_t pid, client;
} Server;

static bool server_start(Server *server) {
        g_autofree char *program = g_strdup(g_getenv("SILENT_FUSE"));
        int ends[2];
        char line[32] = "";

        *server = (Server){ .dir = g_dir_make_tmp("ktrace-fuse-XXXXXX", NULL) };
        server->file = g_build_filename(server->dir, "file", NULL);
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return false;
        g_assert_no_errno(pipe2(ends, O_CLOEXEC));
        server->pid = fork();
        g_assert_cmpint(server->pid, >=, 0);
        if (server->pid == 0) {
                dup2(ends[1], 1);
                execl(program, program, server->dir, NULL);
                _exit(127);
        }
        close(ends[1]);
        ssize_t n = read(ends[0], line, sizeof(line) - 1);
        close(ends[0]);
        return n > 0 && strcmp(line, "mounted\n") == 0;
}

/* Whoever waits for it goes on. */
static void server_stop(Server *server) {
        if (server->pid > 0) {
                g_assert_no_errno(kill(server->pid, SIGKILL));
                g_assert_cmpint(waitpid(server->pid, NULL, 0), ==, server->pid);
        }
        if (server->client > 0)
                g_assert_cmpint(waitpid(server->client, NULL, 0), ==, server->client);
        (void)umount2(server->dir, MNT_DETACH);
        (void)rmdir(server->dir);
        g_free(server->file);
        g_free(server->dir);
}

static void test_silent_server(Fixture *f, gconstpointer data) {
        bool by_path = data;
        Server server;

        if (!can_fork())
                return;
        if (!server_start(&server)) {
                server_stop(&server);
                g_test_skip("FUSE cannot be mounted here");
                return;
        }
        gint64 begin = g_get_monotonic_time();
        if (by_path)
                ask_path(f, 0, server.file);
        else {
                get_ticket(f, 0, 1000, ":1.1");
                server.client = fork();
                if (server.client == 0) {
                        int fd = open(server.file, O_RDONLY | O_CLOEXEC);
                        _exit(fd_send(f->tickets[0].fd, "", 1, &fd, 1) < 0);
                }
                close_cleanup(&f->tickets[0].fd);
                ask(f, 0, ":1.1", 0, "probed:step");
        }
        assert_failed(await(f, 0), KT_E_FAILED, "its file system does not answer");
        g_assert_cmpint(g_get_monotonic_time() - begin, <, 5 * G_USEC_PER_SEC);
        /* Others are served meanwhile, and what hangs counts until it is gone. */
        get_ticket(f, 1, 1000, ":1.2");
        give(f, 1, g_getenv("PROBED"));
        ask(f, 1, ":1.2", 0, "probed:step");
        assert_found(await(f, 1), g_getenv("PROBED"));
        g_assert_false(inspections_are_idle(f->set));
        server_stop(&server);
        run_until_idle(f);
}

/* The test as a consumer that has gone bad */

static void listen_at(Fixture *f) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        f->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        g_assert_no_errno(f->listener);
        strcpy(address.sun_path, f->socket_path);
        g_assert_no_errno(bind(f->listener, (struct sockaddr *)&address, sizeof(address)));
        g_assert_no_errno(listen(f->listener, 8));
}

static void say(int fd, const ControlMessage *message, int given) {
        ControlMessage versioned = *message;

        versioned.version = CONTROL_VERSION;
        g_assert_cmpint(fd_send(fd, &versioned, sizeof(versioned), &given, given >= 0 ? 1 : 0),
                        ==,
                        0);
}

/* The daemon looks at whoever has sent the last message. This process computes whenever it is
 * looked at, which is what a worker on a loaded machine seems to do; another one sleeps. */
static void say_asleep(Fixture *f, int fd, ControlType type) {
        int ends[2];
        char byte;

        g_assert_no_errno(pipe2(ends, O_CLOEXEC));
        f->sleeper = fork();
        g_assert_cmpint(f->sleeper, >=, 0);
        if (f->sleeper == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* with a test that was aborted */
                say(fd, &(ControlMessage){ .type = type }, -1);
                close_range(3, ~0U, 0);
                for (;;)
                        pause();
        }
        close(ends[1]);
        g_assert_cmpint(read(ends[0], &byte, 1), ==, 0); /* it was said */
        close(ends[0]);
}

/* Up to the file's arrival. */
static int play_as(Fixture *f, size_t i, uid_t uid, bool is_asleep) {
        int fd, client = -1;
        size_t n_fds = 0;
        ControlMessage message;

        listen_at(f);
        ask_for_ticket(f, i, uid, ":1.1");
        fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
        g_assert_no_errno(fd);
        g_assert_cmpint(fd_receive(fd, &message, sizeof(message), &client, 1, &n_fds),
                        ==,
                        sizeof(message));
        g_assert_cmpuint(message.type, ==, CONTROL_INSPECT);
        close(client);
        say(fd, &(ControlMessage){ .type = CONTROL_READY }, -1);
        run_until(f, &f->tickets[i].is_done, NULL, 0);
        if (is_asleep)
                say_asleep(f, fd, CONTROL_EXAMINING);
        else
                say(fd, &(ControlMessage){ .type = CONTROL_EXAMINING }, -1);
        return fd;
}

static int play(Fixture *f, size_t i, uid_t uid) {
        return play_as(f, i, uid, false);
}

static void say_facts(int fd, uint64_t fs_type, int flags) {
        _cleanup_close_ int given = open("/etc/passwd", flags | O_CLOEXEC);

        g_assert_no_errno(given);
        say(fd,
                        &(ControlMessage){ .type = CONTROL_FACTS,
                                        .facts = { .size = 4096, .fs_type = fs_type } },
                        given);
}

static void test_silent(Fixture *f, gconstpointer data _unused_) {
        if (!can_fork())
                return;
        _cleanup_close_ int fd = play_as(f, 0, 1000, true);
        ask(f, 0, ":1.1", 0x10, NULL);
        gint64 begin = g_get_monotonic_time();
        assert_failed(await(f, 0), KT_E_FAILED, "file: its file system does not answer");
        g_assert_cmpint(g_get_monotonic_time() - begin, <, 4 * G_USEC_PER_SEC);
        /* It is not gone, and counts. */
        g_assert_false(inspections_are_idle(f->set));
        close_cleanup(&fd);
        run_until_idle(f);
}

static void test_slow(Fixture *f, gconstpointer data _unused_) {
        if (!can_fork())
                return;
        _cleanup_close_ int fd = play_as(f, 0, 1000, true);
        say_facts(fd, EXT4_SUPER_MAGIC, O_PATH);
        ask(f, 0, ":1.1", 0x10, NULL);
        assert_failed(await(f, 0), KT_E_FAILED, "file: its inspection takes too long");
}

/* A worker that is always runnable and hardly runs is waited for, twice as long as one that
 * sleeps. */
static void test_waits_for_cpu(Fixture *f, gconstpointer data _unused_) {
        if (!can_fork())
                return;
        _cleanup_close_ int fd = play(f, 0, 1000);
        ask(f, 0, ":1.1", 0x10, NULL);
        for (gint64 end = g_get_monotonic_time() + 4 * G_USEC_PER_SEC;
                        g_get_monotonic_time() < end;)
                g_assert_cmpint(sd_event_run(f->event, 50 * 1000), >=, 0);
        g_assert_cmpuint(f->answers[0].n, ==, 0);
        say_facts(fd, EXT4_SUPER_MAGIC, O_PATH);
        say(fd, &(ControlMessage){ .type = CONTROL_ANSWER }, -1);
        assert_failed(await(f, 0), KT_E_FAILED, "file: nothing was found in it");
}

static void test_not_pinned(Fixture *f, gconstpointer data _unused_) {
        if (!can_fork())
                return;
        _cleanup_close_ int fd = play(f, 0, 1000);
        say_facts(fd, EXT4_SUPER_MAGIC, O_RDONLY);
        ask(f, 0, ":1.1", 0x10, NULL);
        assert_failed(await(f, 0), KT_E_FAILED, "file: it cannot be held");
}

static void test_lies(Fixture *f, gconstpointer data _unused_) {
        if (!can_fork())
                return;
        _cleanup_close_ int fd = play(f, 0, 1000);
        say_facts(fd, EXT4_SUPER_MAGIC, O_PATH);
        ask(f, 0, ":1.1", 0x10, NULL);
        say(fd, &(ControlMessage){ .type = CONTROL_PLACE, .place = { .offset = 0x11 } }, -1);
        say(fd, &(ControlMessage){ .type = CONTROL_ANSWER }, -1);
        assert_failed(await(f, 0), KT_E_FAILED, "file: the result of its inspection is invalid");
}

static void test_out_of_turn(Fixture *f, gconstpointer data _unused_) {
        if (!can_fork())
                return;
        _cleanup_close_ int fd = play(f, 0, 1000);
        say(fd, &(ControlMessage){ .type = CONTROL_PLACE }, -1);
        ask(f, 0, ":1.1", 0x10, NULL);
        assert_failed(await(f, 0), KT_E_FAILED, "wrong message");
}

static void test_nothing_found(Fixture *f, gconstpointer data _unused_) {
        if (!can_fork())
                return;
        _cleanup_close_ int fd = play(f, 0, 1000);
        say_facts(fd, EXT4_SUPER_MAGIC, O_PATH);
        ask(f, 0, ":1.1", 0x10, NULL);
        say(fd, &(ControlMessage){ .type = CONTROL_ANSWER }, -1);
        assert_failed(await(f, 0), KT_E_FAILED, "file: nothing was found in it");
}

static void test_too_many(Fixture *f, gconstpointer data _unused_) {
        if (!can_fork())
                return;
        _cleanup_close_ int fd = play(f, 0, 1000);
        say_facts(fd, EXT4_SUPER_MAGIC, O_PATH);
        ask(f, 0, ":1.1", 0, "a:b");
        for (unsigned i = 0; i <= USER_PLACES_MAX; i++)
                say(fd, &(ControlMessage){ .type = CONTROL_PLACE, .place = { .offset = i } }, -1);
        say(fd, &(ControlMessage){ .type = CONTROL_ANSWER }, -1);
        assert_failed(await(f, 0), KT_E_FAILED, "file: the result of its inspection is invalid");
}

static void test_dies(Fixture *f, gconstpointer data _unused_) {
        if (!can_fork())
                return;
        _cleanup_close_ int fd = play(f, 0, 1000);
        say_facts(fd, EXT4_SUPER_MAGIC, O_PATH);
        ask(f, 0, ":1.1", 0x10, NULL);
        close_cleanup(&fd);
        assert_failed(await(f, 0), KT_E_FAILED, "the file may be damaged");
        run_until_idle(f);
}

/* What the daemon believes */

static void test_places(Fixture *f _unused_, gconstpointer data _unused_) {
        const ControlMessage marker = { .question = { .marker = "a:b" } };
        const ControlMessage offset = { .question = { .offset = 8 } };
        const ControlFacts facts = { .size = 100 };
        const UserArg good[] = {
                {},
                { .kind = USER_ARG_CONSTANT, .size = -8, .value = INT64_MIN },
                { .kind = USER_ARG_REGISTER, .size = 1, .reg = 5 },
                { .kind = USER_ARG_MEMORY, .size = 4, .reg = 15, .value = INT32_MIN },
        };
        const UserArg bad[] = {
                { .size = 4 },
                { .kind = USER_ARG_OTHER, .value = 1 },
                { .kind = USER_ARG_CONSTANT },
                { .kind = USER_ARG_CONSTANT, .size = 3 },
                { .kind = USER_ARG_CONSTANT, .size = -128 },
                { .kind = USER_ARG_REGISTER, .size = 8, .reg = 200 },
                { .kind = USER_ARG_MEMORY, .size = 8, .value = INT64_C(1) << 31 },
                { .kind = _USER_ARG_KIND_N, .size = 8 },
                { .kind = 255, .size = 8 },
        };
        UserPlace place = { .offset = 8, .function = 8, .semaphore = 98, .n_args = 1 };

        g_assert_true(inspection_place_is_sound(&marker, &facts, &place));
        g_assert_false(inspection_place_is_sound(&offset, &facts, &place)); /* a counter unasked */
        for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
                place.args[0] = good[i];
                g_assert_true(inspection_place_is_sound(&marker, &facts, &place));
        }
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                place.args[0] = bad[i];
                g_assert_false(inspection_place_is_sound(&marker, &facts, &place));
        }
        place = (UserPlace){ .offset = 8, .function = 4 };
        g_assert_true(inspection_place_is_sound(&offset, &facts, &place));
        place.n_args = USER_ARGS_MAX + 1;
        g_assert_false(inspection_place_is_sound(&marker, &facts, &place));
        place.n_args = 1;
        g_assert_false(inspection_place_is_sound(&offset, &facts, &place));
        place = (UserPlace){ .offset = 8, .function = 9 };
        g_assert_false(inspection_place_is_sound(&marker, &facts, &place));
        place = (UserPlace){ .offset = 100 };
        g_assert_false(inspection_place_is_sound(&marker, &facts, &place));
        place = (UserPlace){ .semaphore = 100 };
        g_assert_false(inspection_place_is_sound(&marker, &facts, &place));
        place = (UserPlace){ .semaphore = 7 };
        g_assert_false(inspection_place_is_sound(&marker, &facts, &place));
        place = (UserPlace){ .offset = 9 };
        g_assert_false(inspection_place_is_sound(&offset, &facts, &place));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
#define ADD(name, function) \
        g_test_add("/probes/inspection/" name, Fixture, NULL, set_up, function, tear_down)
        ADD("ticket", test_ticket);
        ADD("early", test_early);
        ADD("refused", test_refused);
        ADD("strangers-ticket", test_strangers_ticket);
        ADD("limit", test_limit);
        ADD("peer-gone", test_peer_gone);
        ADD("unused", test_unused);
        ADD("free", test_free);
        ADD("path", test_path);
        ADD("silent-server", test_silent_server);
        g_test_add("/probes/inspection/silent-server-by-path",
                        Fixture,
                        "",
                        set_up,
                        test_silent_server,
                        tear_down);
        ADD("silent", test_silent);
        ADD("slow", test_slow);
        ADD("waits-for-cpu", test_waits_for_cpu);
        ADD("not-pinned", test_not_pinned);
        ADD("lies", test_lies);
        ADD("out-of-turn", test_out_of_turn);
        ADD("nothing-found", test_nothing_found);
        ADD("too-many", test_too_many);
        ADD("dies", test_dies);
        ADD("places", test_places);
        return g_test_run();
}
