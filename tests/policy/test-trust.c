/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file that others could have written decides nothing. */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/stat.h>

#include "interfaces/trust.h"
#include "policy-fixture.h"

#define RULES                                                                                 \
        "{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],\"scopes\":[\"own\"],\"events\":" \
        "[\"a:*\"]}]}"

static void expect_refused(const Fixture *fixture, const char *text) {
        Policy *policy = NULL;
        Reason reason = { "" };

        g_assert_cmpint(policy_load(fixture->lib, fixture->etc, &policy, &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_null(policy);
        if (!strstr(reason.text, text))
                g_error("\"%s\" is not in \"%s\"", text, reason.text);
}

static char *rules_path(const Fixture *fixture) {
        return g_build_filename(fixture->lib, "policy.d", "10-x.json", NULL);
}

static void test_mode(void) {
        Fixture fixture;

        fixture_init(&fixture);
        fixture_write(fixture.lib, "10-x.json", RULES);
        g_autofree char *path = rules_path(&fixture);
        g_assert_no_errno(chmod(path, 0664));
        expect_refused(&fixture, "others than its owner may write it (mode 0664)");
        g_assert_no_errno(chmod(path, 0642));
        expect_refused(&fixture, "mode 0642");
        g_assert_no_errno(chmod(path, 0600));
        policy_free(fixture_load(&fixture));
        fixture_clear(&fixture);
}

static void test_directory_mode(void) {
        Fixture fixture;

        fixture_init(&fixture);
        g_autofree char *dir = g_build_filename(fixture.lib, "policy.d", NULL);
        g_assert_no_errno(chmod(dir, 0777));
        expect_refused(&fixture, "policy.d: others");
        g_assert_no_errno(chmod(dir, 0755));
        g_assert_no_errno(chmod(fixture.lib, 0775));
        expect_refused(&fixture, "lib: others");
        fixture_clear(&fixture);
}

static void test_owner(void) {
        Fixture fixture;

        if (geteuid() != 0) {
                g_test_skip("only root can give a file away");
                return;
        }
        fixture_init(&fixture);
        fixture_write(fixture.lib, "10-x.json", RULES);
        g_autofree char *path = rules_path(&fixture);
        g_assert_no_errno(chown(path, 1000, 0));
        expect_refused(&fixture, "belongs to uid 1000");
        fixture_clear(&fixture);
}

static void test_not_a_file(void) {
        Fixture fixture;

        fixture_init(&fixture);
        g_autofree char *path = rules_path(&fixture);
        g_assert_no_errno(symlink("/dev/null", path));
        expect_refused(&fixture, "is a symbolic link");
        g_assert_no_errno(g_unlink(path));
        /* Opening one without a writer would wait for ever. */
        g_assert_no_errno(mkfifo(path, 0600));
        expect_refused(&fixture, "is not a regular file");
        fixture_clear(&fixture);
}

static void test_absent(void) {
        int fd = -1;

        g_assert_cmpint(trust_open_directory(AT_FDCWD, "/nonexistent", &fd, NULL), ==, -ENOENT);
        g_assert_cmpint(trust_open_file(AT_FDCWD, "/nonexistent", "x", &fd, NULL), ==, -ENOENT);
        g_assert_cmpint(fd, ==, -1);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/trust/mode", test_mode);
        g_test_add_func("/trust/directory-mode", test_directory_mode);
        g_test_add_func("/trust/owner", test_owner);
        g_test_add_func("/trust/not-a-file", test_not_a_file);
        g_test_add_func("/trust/absent", test_absent);
        return g_test_run();
}
