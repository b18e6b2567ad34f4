/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy-fixture.h"

#include <glib/gstdio.h>

void fixture_init(Fixture *fixture) {
        fixture->base = g_dir_make_tmp("ktrace-policy-XXXXXX", NULL);
        g_assert_nonnull(fixture->base);
        fixture->lib = g_build_filename(fixture->base, "lib", NULL);
        fixture->etc = g_build_filename(fixture->base, "etc", NULL);
        for (int i = 0; i < 2; i++) {
                g_autofree char *dir =
                                g_build_filename(i ? fixture->etc : fixture->lib, "policy.d", NULL);
                g_assert_no_errno(g_mkdir_with_parents(dir, 0755));
        }
}

static void remove_tree(const char *path) {
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *name;

        while (dir && (name = g_dir_read_name(dir))) {
                g_autofree char *child = g_build_filename(path, name, NULL);
                if (g_file_test(child, G_FILE_TEST_IS_DIR) &&
                                !g_file_test(child, G_FILE_TEST_IS_SYMLINK))
                        remove_tree(child);
                else
                        g_unlink(child);
        }
        g_rmdir(path);
}

void fixture_clear(Fixture *fixture) {
        remove_tree(fixture->base);
        g_free(fixture->base);
        g_free(fixture->lib);
        g_free(fixture->etc);
}

void fixture_write(const char *dir, const char *name, const char *text) {
        g_autofree char *path = g_build_filename(dir, "policy.d", name, NULL);

        g_assert_true(g_file_set_contents_full(
                        path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0644, NULL));
}

Policy *fixture_load(const Fixture *fixture) {
        Policy *policy = NULL;
        Reason reason = { "" };

        int r = policy_load(fixture->lib, fixture->etc, &policy, &reason);
        g_assert_cmpstr(reason.text, ==, "");
        g_assert_cmpint(r, ==, 0);
        return policy;
}

void fixture_refused(const char *json, int code, const char *text) {
        Fixture fixture;
        Policy *policy = NULL;
        Reason reason = { "" };

        fixture_init(&fixture);
        fixture_write(fixture.lib, "10-x.json", json);
        int r = policy_load(fixture.lib, fixture.etc, &policy, &reason);
        g_assert_cmpint(r, ==, code);
        g_assert_null(policy);
        if (!strstr(reason.text, text))
                g_error("\"%s\" is not in \"%s\"", text, reason.text);
        fixture_clear(&fixture);
}
