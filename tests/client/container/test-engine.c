/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Engines that answer, fail, lie and hang. */

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "container/engine.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char *directory;

static char *ask(const char *script, Reason *note) {
        g_autofree char *path = g_build_filename(directory, "podman", NULL);
        g_autofree char *text = g_strconcat("#!/bin/sh\n", script, "\n", NULL);
        char *id = NULL;

        g_assert_true(g_file_set_contents(path, text, -1, NULL));
        g_assert_no_errno(g_chmod(path, 0755));
        g_assert_cmpint(engine_find_id(path, "web", &id, note), ==, 0);
        return id;
}

static void test_answer(void) {
        Reason note = {};
        _cleanup_free_ char *id = ask("[ \"$*\" = 'container inspect --format {{.Id}} -- web' ] && "
                                      "echo " ID,
                        &note);

        g_assert_cmpstr(id, ==, ID);
}

static void test_failures(void) {
        static const struct {
                const char *script, *words;
        } scripts[] = {
                { "exit 125", "no such container" },
                { "echo " ID "; exit 1", "no such container" },
                { "exit 127", "not installed" },
                { "echo", "not an id" },
                { "echo ../../etc", "not an id" },
                { "echo -n " ID, "not an id" },
                { "echo " ID "; echo " ID, "not an id" },
                { "yes " ID, "not an id" },
                { "kill -KILL $$", "not an id" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(scripts); i++) {
                Reason note = {};

                g_assert_null(ask(scripts[i].script, &note));
                if (!strstr(note.text, scripts[i].words))
                        g_error("%s: %s", scripts[i].script, note.text);
        }
}

static void test_absent(void) {
        Reason note = {};
        char *id = NULL;

        g_assert_cmpint(engine_find_id("/nonexistent/podman", "web", &id, &note), ==, 0);
        g_assert_null(id);
        g_assert_cmpstr(note.text, ==, "not installed");
}

/* It is killed after 5 s. */
static void test_hangs(void) {
        gint64 begin = g_get_monotonic_time();
        Reason note = {};

        g_assert_null(ask("exec sleep 100", &note));
        g_assert_nonnull(strstr(note.text, "timed out"));
        g_assert_cmpint(g_get_monotonic_time() - begin, <, 20 * G_USEC_PER_SEC);
}

int main(int argc, char **argv) {
        g_autofree char *path = NULL;

        g_test_init(&argc, &argv, NULL);
        directory = g_dir_make_tmp("ktrace-engine-XXXXXX", NULL);
        g_test_add_func("/engine/answer", test_answer);
        g_test_add_func("/engine/failures", test_failures);
        g_test_add_func("/engine/absent", test_absent);
        g_test_add_func("/engine/hangs", test_hangs);
        int status = g_test_run();
        path = g_build_filename(directory, "podman", NULL);
        (void)g_unlink(path);
        (void)g_rmdir(directory);
        g_free(directory);
        return status;
}
