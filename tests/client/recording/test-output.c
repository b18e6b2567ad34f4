/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The output file: an older one stays until there is something to write, and no empty one is left.
 * That it cannot be written is reported before anything starts. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "recording/output.h"

static char *directory;

static char *path_of(const char *name) {
        return g_build_filename(directory, name, NULL);
}

static void assert_refused(const char *path, const char *format, int code, const char *said) {
        Output *output = NULL;
        Reason reason = {};

        g_assert_cmpint(output_open(path, format, &output, &reason), ==, code);
        g_assert_null(output);
        if (!strstr(reason.text, said))
                g_error("\"%s\" does not say \"%s\"", reason.text, said);
}

static void test_refused(void) {
        g_autofree char *no_suffix = path_of("file"), *is_directory = path_of("d.kts");

        g_assert_cmpint(g_mkdir(is_directory, 0700), ==, 0);
        assert_refused(no_suffix, NULL, KT_E_INVALID_SPEC, "suffix");
        assert_refused(no_suffix, "zip", KT_E_INVALID_SPEC, "zip");
        assert_refused("/nonexistent/t.dat", NULL, KT_E_FAILED, "/nonexistent/t.dat");
        assert_refused(is_directory, NULL, KT_E_FAILED, "directory");
        assert_refused("/dev/null", "dat", KT_E_INVALID_SPEC, "regular file");
        g_assert_cmpint(access(no_suffix, F_OK), <, 0);
        g_assert_cmpint(g_rmdir(is_directory), ==, 0);
}

static void test_untouched_until_published(void) {
        g_autofree char *path = path_of("t.kts"), *text = NULL, *after = NULL;
        Output *output = NULL;
        Reason reason = {};

        g_assert_true(g_file_set_contents(path, "precious", -1, NULL));
        g_assert_cmpint(output_open(path, NULL, &output, &reason), ==, 0);
        output_discard(output); /* not ours to remove */
        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        g_assert_cmpstr(text, ==, "precious");
        g_assert_cmpint(output_begin(output, &reason), ==, 0);
        output_discard(output); /* it is still the older one */
        g_assert_cmpint(access(path, F_OK), ==, 0);
        g_assert_cmpint(output_publish(output, &reason), ==, 0);
        g_assert_cmpint(output_get_size(output), ==, 0);
        g_assert_true(g_file_get_contents(path, &after, NULL, NULL));
        g_assert_cmpstr(after, ==, "");
        output_free(output);
        g_unlink(path);
}

static void test_discarded(void) {
        g_autofree char *path = path_of("new.kts");
        Output *output = NULL;
        Reason reason = {};

        g_assert_cmpint(output_open(path, NULL, &output, &reason), ==, 0);
        g_assert_cmpint(access(path, F_OK), <, 0);
        g_assert_cmpint(output_begin(output, &reason), ==, 0);
        g_assert_cmpint(access(path, F_OK), <, 0);
        g_assert_cmpint(output_publish(output, &reason), ==, 0);
        g_assert_cmpint(access(path, F_OK), ==, 0);
        output_discard(output);
        g_assert_cmpint(access(path, F_OK), <, 0);
        output_free(output);
}

static void test_sinks(void) {
        g_autofree char *kts = path_of("s.kts"), *dat = path_of("s.dat");
        Output *output = NULL;
        Reason reason = {};

        g_assert_cmpint(output_open(kts, NULL, &output, &reason), ==, 0);
        g_assert_cmpint(output_get_sink_fd(output), ==, output_get_fd(output));
        output_discard(output);
        output_free(output);

        g_assert_cmpint(output_open(dat, NULL, &output, &reason), ==, 0);
        g_assert_cmpint(output_get_sink_fd(output), >=, 0);
        g_assert_cmpint(output_get_sink_fd(output), !=, output_get_fd(output));
        output_discard(output);
        output_free(output);

        g_assert_cmpint(output_open("/dev/null", "kts", &output, &reason), ==, 0);
        g_assert_cmpint(output_get_sink_fd(output), <, 0);
        output_free(output);
}

/* A .kts file that was not published before is published when it is whole. */
static void test_finished(void) {
        g_autofree char *path = path_of("f.kts"), *text = NULL;
        Output *output = NULL;
        ExportSummary summary;
        bool summarized = false;
        Reason reason = {};

        g_assert_true(g_file_set_contents(path, "precious", -1, NULL));
        g_assert_cmpint(output_open(path, NULL, &output, &reason), ==, 0);
        g_assert_cmpint(output_begin(output, &reason), ==, 0);
        g_assert_cmpint(write(output_get_sink_fd(output), "stream", 6), ==, 6);
        g_assert_cmpint(output_finish(output, &summary, &summarized, &reason), ==, 0);
        g_assert_false(summarized);
        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        g_assert_cmpstr(text, ==, "stream");
        output_free(output);
        g_unlink(path);
}

/* What cannot be converted is kept as it came, and the message says where. */
static void test_kept(void) {
        g_autofree char *path = path_of("k.dat"), *kept = path_of("k.dat.kts"), *text = NULL;
        Output *output = NULL;
        ExportSummary summary;
        bool summarized = false;
        Reason reason = {};

        g_assert_cmpint(output_open(path, NULL, &output, &reason), ==, 0);
        g_assert_cmpint(output_begin(output, &reason), ==, 0);
        g_assert_cmpint(write(output_get_sink_fd(output), "no stream", 9), ==, 9);
        g_assert_cmpint(output_finish(output, &summary, &summarized, &reason), ==, KT_E_FAILED);
        g_assert_false(summarized);
        g_assert_nonnull(strstr(reason.text, kept));
        g_assert_true(g_file_get_contents(kept, &text, NULL, NULL));
        g_assert_cmpstr(text, ==, "no stream");
        output_free(output);
        g_assert_cmpint(access(path, F_OK), <, 0);
        g_unlink(kept);
}

int main(int argc, char **argv) {
        int r;

        g_test_init(&argc, &argv, NULL);
        directory = g_dir_make_tmp("ktrace-output-XXXXXX", NULL);
        g_test_add_func("/client/output/refused", test_refused);
        g_test_add_func("/client/output/untouched-until-published", test_untouched_until_published);
        g_test_add_func("/client/output/discarded", test_discarded);
        g_test_add_func("/client/output/sinks", test_sinks);
        g_test_add_func("/client/output/finished", test_finished);
        g_test_add_func("/client/output/kept", test_kept);
        r = g_test_run();
        /* Fails when a test left a file behind, temporary ones too. */
        g_assert_cmpint(g_rmdir(directory), ==, 0);
        g_free(directory);
        return r;
}
