/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The conduct of a recording against a daemon that does what the test says: order of the calls,
 * exit status, what is reported, and what is left of the output file. Runs the real ktracectl
 * (KTRACECTL). */

#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "fake-daemon.h"

#define EVENT "-e", "a:b"

typedef struct Run {
        FakeDaemon *daemon;
        char *directory, *file;
        int status;
        char *errors;
} Run;

static void on_ended(GObject *process, GAsyncResult *result, void *userdata) {
        Run *run = userdata;
        g_autoptr(GError) error = NULL;

        g_subprocess_communicate_utf8_finish(
                        G_SUBPROCESS(process), result, NULL, &run->errors, &error);
        g_assert_no_error(error);
        run->status = g_subprocess_get_exit_status(G_SUBPROCESS(process));
}

static gboolean on_interrupt(void *process) {
        g_subprocess_send_signal(process, SIGINT);
        return G_SOURCE_REMOVE;
}

static const char *older; /* what FILE holds before the run; NULL: there is none */

/* Runs `ktracectl record -o FILE WORDS…` to its end; with `interrupt`, SIGINT comes after a while.
 */
static void run(Run *run, const FakePlan *plan, bool interrupt, const char *const *words) {
        g_autoptr(GPtrArray) argv = g_ptr_array_new();
        g_autoptr(GSubprocess) process = NULL;
        g_autoptr(GError) error = NULL;

        *run = (Run){ .status = -1 };
        run->daemon = fake_daemon_new(plan);
        run->directory = g_dir_make_tmp("ktrace-record-XXXXXX", &error);
        g_assert_no_error(error);
        run->file = g_build_filename(run->directory, "t.kts", NULL);
        if (older)
                g_assert_true(g_file_set_contents(run->file, older, -1, NULL));
        g_ptr_array_add(argv, (char *)g_getenv("KTRACECTL"));
        g_ptr_array_add(argv, (char *)"record");
        g_ptr_array_add(argv, (char *)"-o");
        g_ptr_array_add(argv, run->file);
        for (; *words; words++)
                g_ptr_array_add(argv, (char *)*words);
        g_ptr_array_add(argv, NULL);
        process = g_subprocess_newv((const char *const *)argv->pdata,
                        G_SUBPROCESS_FLAGS_STDERR_PIPE | G_SUBPROCESS_FLAGS_STDOUT_SILENCE,
                        &error);
        g_assert_no_error(error);
        g_subprocess_communicate_utf8_async(process, NULL, NULL, on_ended, run);
        if (interrupt)
                g_timeout_add(500, on_interrupt, process);
        while (run->status < 0)
                g_main_context_iteration(NULL, true);
        g_test_message("status %d, calls %s, said: %s",
                        run->status,
                        fake_daemon_get_calls(run->daemon),
                        run->errors);
}

static void run_done(Run *run) {
        fake_daemon_free(run->daemon);
        g_unlink(run->file);
        g_assert_cmpint(g_rmdir(run->directory), ==, 0);
        g_free(run->directory);
        g_free(run->file);
        g_free(run->errors);
}

static void assert_said(const Run *run, const char *text) {
        if (!strstr(run->errors, text))
                g_error("\"%s\" is not in what was said: %s", text, run->errors);
}

static void assert_calls(const Run *run, const char *calls) {
        g_assert_cmpstr(fake_daemon_get_calls(run->daemon), ==, calls);
}

#define WHOLE "CreateSession Describe OpenSink Start Stop GetStatistics Destroy"

static void test_whole(void) {
        Run r;
        g_autofree char *text = NULL;

        run(&r, &(FakePlan){}, false, (const char *[]){ EVENT, "--", "sh", "-c", "exit 7", NULL });
        g_assert_cmpint(r.status, ==, 7);
        assert_calls(&r, WHOLE);
        g_assert_nonnull(strstr(fake_daemon_get_spec(r.daemon), "'scope': <'command:"));
        assert_said(&r, "12,345 events, 23 bytes, none lost");
        g_assert_true(g_file_get_contents(r.file, &text, NULL, NULL));
        g_assert_cmpstr(text, ==, "what the consumer wrote");
        run_done(&r);
}

static void test_quiet(void) {
        Run r;

        run(&r, &(FakePlan){}, false, (const char *[]){ "-q", EVENT, "--", "true", NULL });
        g_assert_cmpint(r.status, ==, 0);
        g_assert_cmpstr(r.errors, ==, "");
        run_done(&r);
}

static void test_signalled(void) {
        Run r;

        run(&r,
                        &(FakePlan){},
                        false,
                        (const char *[]){ EVENT, "--", "sh", "-c", "kill -TERM $$", NULL });
        g_assert_cmpint(r.status, ==, 128 + SIGTERM);
        run_done(&r);
}

static void test_narrowed(void) {
        Run r;

        run(&r,
                        &(FakePlan){ .narrow = true },
                        false,
                        (const char *[]){ EVENT, "--", "true", NULL });
        g_assert_cmpint(r.status, ==, 0);
        assert_said(&r, "sched:*: 5 of 26 events granted");
        run_done(&r);
}

static void assert_nothing_left(const Run *run) {
        g_autofree char *text = NULL;

        if (g_file_get_contents(run->file, &text, NULL, NULL))
                g_assert_cmpstr(text, ==, older);
        else
                g_assert_null(older);
}

static void test_cannot_run(void) {
        Run r;

        run(&r, &(FakePlan){}, false, (const char *[]){ EVENT, "--", "/nonexistent", NULL });
        g_assert_cmpint(r.status, ==, 127);
        assert_said(&r, "'/nonexistent'");
        assert_calls(&r, WHOLE);
        assert_nothing_left(&r);
        run_done(&r);

        run(&r, &(FakePlan){}, false, (const char *[]){ EVENT, "--", "/", NULL });
        g_assert_cmpint(r.status, ==, 126);
        assert_nothing_left(&r);
        run_done(&r);
}

static void assert_refusal(const char *method, const char *error, int status, const char *calls) {
        g_autofree char *name = g_strconcat("org.ktrace1.Error.", error, NULL), *ran = NULL;
        FakePlan plan = { .refuse = method, .refuse_error = name };
        Run r;

        run(&r, &plan, false, (const char *[]){ EVENT, "--", "/nonexistent", NULL });
        g_assert_cmpint(r.status, ==, status);
        assert_said(&r, "no, says the test");
        assert_calls(&r, calls);
        assert_nothing_left(&r);
        run_done(&r);
}

/* The command never runs (that would be 127), and a session that was made is taken away. */
static void test_refused(void) {
        assert_refusal("CreateSession", "AccessDenied", 3, "CreateSession");
        assert_refusal("CreateSession", "InvalidSpec", 2, "CreateSession");
        assert_refusal("CreateSession", "LimitReached", 1, "CreateSession");
        assert_refusal("Start", "AccessDenied", 3, "CreateSession Describe OpenSink Start Destroy");
        assert_refusal("OpenSink", "NoConsumer", 1, "CreateSession Describe OpenSink Destroy");
}

/* A file that an earlier recording has made is neither removed nor changed. */
static void test_older_stays(void) {
        older = "precious";
        test_cannot_run();
        test_refused();
        older = NULL;
}

/* Only a call that is refused for it is sent again as one that may ask. */
static void test_password(void) {
        Run r;

        run(&r,
                        &(FakePlan){ .needs_password = true },
                        false,
                        (const char *[]){ EVENT, "--", "true", NULL });
        g_assert_cmpint(r.status, ==, 0);
        assert_calls(&r, "CreateSession " WHOLE);
        g_assert_nonnull(strstr(fake_daemon_get_spec(r.daemon), "'scope': <'command:"));
        run_done(&r);

        run(&r,
                        &(FakePlan){ .needs_password = true },
                        false,
                        (const char *[]){ "--no-ask-password", EVENT, "--", "true", NULL });
        g_assert_cmpint(r.status, ==, 3);
        assert_calls(&r, "CreateSession");
        assert_said(&r, "a password, says the test");
        assert_nothing_left(&r);
        run_done(&r);
}

static void test_lost(void) {
        Run r;

        run(&r,
                        &(FakePlan){ .lost = 1234 },
                        false,
                        (const char *[]){ EVENT, "-q", "--", "true", NULL });
        g_assert_cmpint(r.status, ==, 0);
        assert_said(&r, "1,234 lost");
        run_done(&r);

        run(&r, &(FakePlan){ .lost = 1 }, true, (const char *[]){ EVENT, "-a", NULL });
        g_assert_cmpint(r.status, ==, 4);
        run_done(&r);
}

/* What the worker did not tell is lost as well. */
static void test_worker_cut(void) {
        Run r;

        run(&r, &(FakePlan){ .lost = 2, .cut = 40 }, true, (const char *[]){ EVENT, "-a", NULL });
        g_assert_cmpint(r.status, ==, 4);
        assert_said(&r, "42 lost");
        run_done(&r);
}

static void test_interrupt(void) {
        Run r;

        run(&r, &(FakePlan){}, true, (const char *[]){ EVENT, "-a", NULL });
        g_assert_cmpint(r.status, ==, 0);
        assert_calls(&r, WHOLE);
        run_done(&r);

        /* The command gets it: it was sent to ktracectl alone. */
        run(&r, &(FakePlan){}, true, (const char *[]){ EVENT, "--", "sleep", "100", NULL });
        g_assert_cmpint(r.status, ==, 128 + SIGINT);
        assert_calls(&r, WHOLE);
        run_done(&r);
}

static void test_disk_full(void) {
        Run r;

        run(&r,
                        &(FakePlan){ .sink_error = ENOSPC },
                        false,
                        (const char *[]){ EVENT, "--", "true", NULL });
        g_assert_cmpint(r.status, ==, 125);
        assert_said(&r, "No space left on device");
        g_assert_cmpint(access(r.file, F_OK), ==, 0);
        run_done(&r);

        run(&r, &(FakePlan){ .sink_error = ENOSPC }, true, (const char *[]){ EVENT, "-a", NULL });
        g_assert_cmpint(r.status, ==, 1);
        run_done(&r);
}

static void test_cut(void) {
        Run r;

        run(&r,
                        &(FakePlan){ .ended_code = "policy" },
                        false,
                        (const char *[]){ EVENT, "--", "sleep", "0.3", NULL });
        g_assert_cmpint(r.status, ==, 125);
        assert_said(&r, "for the test (policy)");
        run_done(&r);

        run(&r, &(FakePlan){ .vanish = true }, false, (const char *[]){ EVENT, "-a", NULL });
        g_assert_cmpint(r.status, ==, 1);
        assert_said(&r, "ktraced is gone");
        run_done(&r);
}

/* The next daemon has the session, and is asked what the last one has not answered. */
static void test_replaced(void) {
        static const struct {
                const char *at, *calls;
        } cases[] = {
                { "Stop", "Stop GetSession Stop GetStatistics Destroy" },
                { "GetStatistics", "Stop GetStatistics GetSession GetStatistics Destroy" },
                { "Destroy", "Stop GetStatistics Destroy GetSession Destroy" },
        };

        Run r;

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *calls = g_strconcat(
                                "CreateSession Describe OpenSink Start ", cases[i].calls, NULL);

                run(&r,
                                &(FakePlan){ .replaced_at = cases[i].at },
                                false,
                                (const char *[]){ "-q", EVENT, "--", "true", NULL });
                g_assert_cmpstr(r.errors, ==, "");
                g_assert_cmpint(r.status, ==, 0);
                assert_calls(&r, calls);
                run_done(&r);
        }
}

/* As after an upgrade, when the next daemon cannot speak with the worker. */
static void test_stream_ends(void) {
        Run r;

        run(&r,
                        &(FakePlan){ .stream_ends = true },
                        false,
                        (const char *[]){ "-q", EVENT, "--", "sleep", "0.3", NULL });
        g_assert_cmpint(r.status, ==, 125);
        assert_calls(&r, WHOLE);
        assert_said(&r, "the stream ended before the session");
        run_done(&r);

        run(&r,
                        &(FakePlan){ .stream_ends = true },
                        false,
                        (const char *[]){ "-q", EVENT, "-a", NULL });
        g_assert_cmpint(r.status, ==, 1);
        assert_said(&r, "the stream ended before the session");
        run_done(&r);
}

/* A file system that the consumer does not write to costs a copy. */
static void test_sink_refused(void) {
        g_autofree char *text = NULL;
        gsize size = 0;
        Run r;

        run(&r,
                        &(FakePlan){ .refuse_sink = true },
                        false,
                        (const char *[]){ EVENT, "--", "true", NULL });
        assert_calls(&r,
                        "CreateSession Describe OpenSink OpenStream Start Stop "
                        "GetStatistics Destroy");
        g_assert_true(g_file_get_contents(r.file, &text, &size, NULL));
        g_assert_cmpint(size, ==, 16);
        g_assert_cmpmem(text, 8, "KTSTREAM", 8);
        run_done(&r);
}

int main(int argc, char **argv) {
        g_autofree char *dbus = g_find_program_in_path("dbus-daemon");

        g_test_init(&argc, &argv, NULL);
        if (!dbus || !g_getenv("KTRACECTL")) {
                g_print("1..0 # SKIP dbus-daemon is not installed, or KTRACECTL is not set\n");
                return 0;
        }
        g_test_add_func("/client/record/whole", test_whole);
        g_test_add_func("/client/record/quiet", test_quiet);
        g_test_add_func("/client/record/signalled", test_signalled);
        g_test_add_func("/client/record/narrowed", test_narrowed);
        g_test_add_func("/client/record/cannot-run", test_cannot_run);
        g_test_add_func("/client/record/refused", test_refused);
        g_test_add_func("/client/record/older-stays", test_older_stays);
        g_test_add_func("/client/record/password", test_password);
        g_test_add_func("/client/record/lost", test_lost);
        g_test_add_func("/client/record/worker-cut", test_worker_cut);
        g_test_add_func("/client/record/interrupt", test_interrupt);
        g_test_add_func("/client/record/disk-full", test_disk_full);
        g_test_add_func("/client/record/cut", test_cut);
        g_test_add_func("/client/record/replaced", test_replaced);
        g_test_add_func("/client/record/stream-ends", test_stream_ends);
        g_test_add_func("/client/record/sink-refused", test_sink_refused);
        return g_test_run();
}
