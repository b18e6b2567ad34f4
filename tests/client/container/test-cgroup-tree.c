/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Cgroups of containers in a tree of ordinary directories. */

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "container/cgroup-tree.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char *tree;

static void make(const char *path) {
        g_autofree char *whole = g_build_filename(tree, path, NULL);

        g_assert_no_errno(g_mkdir_with_parents(whole, 0755));
}

static int find(char **ret, Reason *reason) {
        _cleanup_close_ int root = open(tree, O_RDONLY | O_DIRECTORY);

        g_assert_no_errno(root);
        *ret = NULL;
        return cgroup_tree_find(root, geteuid(), ID, ret, reason);
}

static void begin(void) {
        tree = g_dir_make_tmp("ktrace-tree-XXXXXX", NULL);
        g_assert_nonnull(tree);
}

static void end(void) {
        const char *argv[] = { "rm", "-rf", tree, NULL };

        g_assert_true(g_spawn_sync(NULL,
                        (char **)argv,
                        NULL,
                        G_SPAWN_SEARCH_PATH,
                        NULL,
                        NULL,
                        NULL,
                        NULL,
                        NULL,
                        NULL));
        g_clear_pointer(&tree, g_free);
}

static void test_forms(void) {
        static const char *const forms[] = {
                "/system.slice/docker-" ID ".scope",
                "/machine.slice/libpod-" ID ".scope",
                "/system.slice/web.service/libpod-payload-" ID,
                "/libpod_parent/libpod-" ID,
                "/docker/" ID,
        };

        for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
                _cleanup_free_ char *found = NULL;

                begin();
                make(forms[i]);
                make("/machine.slice/libpod-conmon-" ID ".scope");
                make("/machine.slice/" ID);
                make("/machine.slice/docker-" ID "0.scope");
                make("/machine.slice/docker-01.scope");
                g_assert_cmpint(find(&found, NULL), ==, 0);
                g_assert_cmpstr(found, ==, forms[i]);
                end();
        }
}

/* The first directory is taken whole: a container may make such names below its own. */
static void test_nested(void) {
        _cleanup_free_ char *found = NULL;

        begin();
        make("/machine.slice/libpod-" ID ".scope/container/docker-" ID ".scope");
        g_assert_cmpint(find(&found, NULL), ==, 0);
        g_assert_cmpstr(found, ==, "/machine.slice/libpod-" ID ".scope");
        end();
}

static void test_two(void) {
        _cleanup_free_ char *found = NULL;
        Reason reason = {};

        begin();
        make("/a/docker-" ID ".scope");
        make("/b/docker-" ID ".scope");
        g_assert_cmpint(find(&found, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "two cgroups"));
        end();
}

/* Another user has made a directory of this name, and many others. */
static void test_foreign(void) {
        _cleanup_free_ char *found = NULL, *foreign = NULL, *mine = NULL;
        g_autofree char *delegated = NULL;
        uid_t owner = 0;

        if (geteuid() != 0) {
                g_test_skip("it needs root, to give a directory away");
                return;
        }
        begin();
        make("/user.slice/user-1000.slice/docker-" ID ".scope");
        delegated = g_build_filename(tree, "user.slice/user-1000.slice", NULL);
        g_assert_no_errno(chown(delegated, 1000, 1000));
        g_assert_cmpint(find(&found, NULL), ==, 0);
        g_assert_null(found);
        _cleanup_close_ int root = open(tree, O_RDONLY | O_DIRECTORY);
        foreign = cgroup_tree_find_foreign(root, ID, &owner);
        g_assert_cmpstr(foreign, ==, "/user.slice/user-1000.slice/docker-" ID ".scope");
        g_assert_cmpuint(owner, ==, 1000);
        /* But root's container stays root's when its directory is given to its own root. */
        make("/machine.slice/libpod-" ID ".scope");
        g_free(g_steal_pointer(&delegated));
        delegated = g_build_filename(tree, "machine.slice/libpod-" ID ".scope", NULL);
        g_assert_no_errno(chown(delegated, 1000, 1000));
        g_assert_cmpint(find(&mine, NULL), ==, 0);
        g_assert_cmpstr(mine, ==, "/machine.slice/libpod-" ID ".scope");
        end();
}

static void test_id(void) {
        g_assert_true(cgroup_tree_is_id(ID));
        g_assert_false(cgroup_tree_is_id(ID "0"));
        g_assert_false(cgroup_tree_is_id("0123"));
        g_assert_false(cgroup_tree_is_id(""));
        g_assert_false(cgroup_tree_is_id(
                        "G123456789abcdef0123456789abcdef0123456789abcdef0123456789"
                        "abcdef"));
}

/* The process must be in the unit that is named. */
static void test_unit(void) {
        _cleanup_free_ char *none = NULL, *gone = NULL;

        g_assert_cmpint(cgroup_tree_find_unit(getpid(), "no-such.scope", &none), ==, 0);
        g_assert_null(none);
        g_assert_cmpint(cgroup_tree_find_unit(4194304, "init.scope", &gone), ==, 0);
        g_assert_null(gone);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cgroup-tree/forms", test_forms);
        g_test_add_func("/cgroup-tree/nested", test_nested);
        g_test_add_func("/cgroup-tree/two", test_two);
        g_test_add_func("/cgroup-tree/foreign", test_foreign);
        g_test_add_func("/cgroup-tree/id", test_id);
        g_test_add_func("/cgroup-tree/unit", test_unit);
        return g_test_run();
}
