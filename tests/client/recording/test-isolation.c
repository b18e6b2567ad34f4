/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* test-isolation FOLDER: reads recordings with a plugin of libtraceevent that acts as a hostile
 * file would that has taken over its reader. FOLDER has the plugin. */

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recording/isolation.h"
#include "recording/watch.h"
#include "stream-fixture.h"

static const char *plugins;

typedef struct Work {
        ExportSource source;
        FILE *out;
} Work;

static int work_export(void *argument) {
        Work *work = argument;
        ExportSummary summary;
        Reason reason = { 0 };

        int r = export_source(&work->source, EXPORT_TEXT, work->out, &summary, &reason);
        if (r > 0)
                fprintf(stderr, "%s\n", reason.text);
        return r == 0 ? (int)summary.n_events : KT_EXIT_FAILED;
}

/* Prints one test:hello with this number. */
static int print_hello(int number, bool is_sealed, char **ret_text) {
        g_autoptr(GByteArray) stream = stream_new();
        int in = memfd_create("in", MFD_CLOEXEC), copy = memfd_create("out", MFD_CLOEXEC);
        Work work = { .source = { .fd = in,
                                      .name = "t.kts",
                                      .n_jobs = 4,
                                      .seal = is_sealed ? isolation_seal : NULL },
                .out = fdopen(copy, "w") };
        Page page;
        int status;

        stream_add_metadata(stream, 1);
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page, FIXTURE_TS + 1000, 41, number, "text");
        stream_add_page(stream, 0, 0, &page);
        stream_add_end(stream);
        g_assert_cmpint(write(in, stream->data, stream->len), ==, (ssize_t)stream->len);
        status = isolation_run("t.kts", work_export, &work);
        *ret_text = g_malloc0(65536);
        g_assert_cmpint(pread(copy, *ret_text, 65535, 0), >=, 0);
        fclose(work.out);
        close(in);
        return status;
}

/* Each attempt fails. Without the seal some succeed, or the test would prove nothing. */
static void test_attacks(void) {
        g_autofree char *text = NULL, *plain = NULL;

#ifdef __SANITIZE_ADDRESS__
        g_test_skip("a build with AddressSanitizer has no filter");
        return;
#endif
        g_setenv("TRACEEVENT_PLUGIN_DIR", plugins, true);
        g_assert_cmpint(print_hello(1, true, &text), ==, 1);
        g_assert_nonnull(strstr(text, "0:refused 1:refused 2:refused"));
        g_assert_nonnull(strstr(text, "33:refused"));
        if (strstr(text, "ALLOWED"))
                g_error("%s", text);
        g_unsetenv("TRACEEVENT_PLUGIN_DIR");
        g_assert_cmpint(print_hello(1, true, &plain), ==, 1);
        g_assert_nonnull(strstr(plain, "number=1 name=somebody text=text"));
}

/* The reader may crash. The caller reports this, and fails. */
static void test_crash(void) {
        if (g_test_subprocess()) {
                g_autofree char *text = NULL;

                g_setenv("TRACEEVENT_PLUGIN_DIR", plugins, true);
                exit(print_hello(1000, true, &text));
        }
        g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
        g_assert_false(g_test_trap_has_passed());
#ifndef __SANITIZE_ADDRESS__
        g_test_trap_assert_stderr("*t.kts: the process that read it was ended by signal*"
                                  "got a damaged or hostile file*");
#endif
}

static int work_end(void *argument) {
        return *(int *)argument;
}

static int work_kill(void *argument) {
        (void)signal(*(int *)argument, SIG_DFL);
        raise(*(int *)argument);
        return 0;
}

/* The caller gets the exit status, and ends with a signal of the user as the child did. */
static void test_status(void) {
        static const int signals[] = { SIGINT, SIGPIPE, SIGTERM };

        for (int status = 0; status < 5; status++)
                g_assert_cmpint(isolation_run("t.kts", work_end, &status), ==, status);
        for (size_t i = 0; i < G_N_ELEMENTS(signals); i++) {
                int number = signals[i], status;
                pid_t child = fork();

                if (child == 0)
                        _exit(isolation_run("t.kts", work_kill, &number));
                g_assert_cmpint(waitpid(child, &status, 0), ==, child);
                g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == number);
        }
}

static int work_wait(void *argument) {
        int *fd = argument;

        g_assert_cmpint(write(*fd, "x", 1), ==, 1);
        pause();
        return 0;
}

/* If the caller is killed, the reader ends: its end of the pipe closes. */
static void test_orphan(void) {
        int ends[2];
        char byte;

        g_assert_cmpint(pipe(ends), ==, 0);
        pid_t child = fork();
        if (child == 0)
                _exit(isolation_run("t.kts", work_wait, &ends[1]));
        close(ends[1]);
        g_assert_cmpint(read(ends[0], &byte, 1), ==, 1);
        g_assert_cmpint(kill(child, SIGKILL), ==, 0);
        g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
        g_assert_cmpint(read(ends[0], &byte, 1), ==, 0);
        close(ends[0]);
}

/* A signal of the user ends a reader that takes long, and a reader that ends is awaited. */
static void test_signal(void) {
        int ends[2], status = 3;
        char byte;
        pid_t child;
        sigset_t mask;

        g_assert_cmpint(watch_block_signals(&mask), ==, 0);
        g_assert_cmpint(pipe(ends), ==, 0);
        g_assert_cmpint(isolation_start("t.kts", work_wait, &ends[1], &child), ==, 0);
        close(ends[1]);
        g_assert_cmpint(read(ends[0], &byte, 1), ==, 1);
        raise(SIGTERM);
        g_assert_cmpint(isolation_wait_or_signal("t.kts", child), ==, -EINTR);
        g_assert_cmpint(read(ends[0], &byte, 1), ==, 0);
        g_assert_cmpint(waitpid(child, NULL, 0), ==, -1);
        close(ends[0]);
        g_assert_cmpint(isolation_start("t.kts", work_end, &status, &child), ==, 0);
        g_assert_cmpint(isolation_wait_or_signal("t.kts", child), ==, 3);
        g_assert_cmpint(sigprocmask(SIG_SETMASK, &mask, NULL), ==, 0);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        plugins = g_getenv("HOSTILE_PLUGINS");
        g_assert_nonnull(plugins);
        g_test_add_func("/isolation/attacks", test_attacks);
        g_test_add_func("/isolation/crash", test_crash);
        g_test_add_func("/isolation/status", test_status);
        g_test_add_func("/isolation/orphan", test_orphan);
        g_test_add_func("/isolation/signal", test_signal);
        return g_test_run();
}
