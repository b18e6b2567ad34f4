/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The runtime directory: made, or refused when another user may write to it. */

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "interfaces/cleanup.h"
#include "manager/runtime-dir.h"

static void test_taken(void) {
        g_autofree char *top = g_dir_make_tmp("ktrace-runtime-XXXXXX", NULL);
        g_autofree char *path = g_build_filename(top, "run", NULL),
                        *state = g_build_filename(path, RUNTIME_STATE_DIR, NULL),
                        *file = g_build_filename(path, "lock", NULL);
        _cleanup_close_ int lock = -1;
        Reason reason = {};
        struct stat st;

        g_assert_cmpint(runtime_dir_take(path, &lock, &reason), ==, 0);
        g_assert_cmpint(stat(state, &st), ==, 0);
        g_assert_cmpint(st.st_mode & 07777, ==, 0700);
        g_assert_cmpint(g_rmdir(state), ==, 0);
        g_assert_cmpint(g_unlink(file), ==, 0);
        g_assert_cmpint(g_rmdir(path), ==, 0);
        g_assert_cmpint(g_rmdir(top), ==, 0);
}

static void test_open_to_others(void) {
        g_autofree char *path = g_dir_make_tmp("ktrace-runtime-XXXXXX", NULL);
        int lock = -1;
        Reason reason = {};

        g_assert_cmpint(chmod(path, 0777), ==, 0);
        g_assert_cmpint(runtime_dir_take(path, &lock, &reason), ==, KT_E_FAILED);
        g_assert_nonnull(strstr(reason.text, path));
        g_assert_nonnull(strstr(reason.text, "no other user"));
        g_assert_cmpint(lock, ==, -1);
        g_assert_cmpint(g_rmdir(path), ==, 0); /* nothing was made in it */
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/runtime-dir/taken", test_taken);
        g_test_add_func("/runtime-dir/open-to-others", test_open_to_others);
        return g_test_run();
}
