/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Each way in which a kernel can refuse tracing has its own line with its own remedy. */

#include "kernel/tracefs.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "fake-tree.h"

#define NOBODY 65534

static void assert_refused(const char *path, const char *part) {
        Tracefs *tracefs = NULL;
        Reason reason = {};

        g_assert_cmpint(tracefs_open(path, &tracefs, &reason), ==, KT_E_NO_TRACING);
        g_assert_null(tracefs);
        g_assert_nonnull(strstr(reason.text, path));
        if (!strstr(reason.text, part))
                g_error("'%s' is not in: %s", part, reason.text);
        g_assert_null(strchr(reason.text, '\n'));
}

static void test_missing(void) {
        assert_refused("/nonexistent-tracefs", "does not exist");
}

static void test_no_directory(void) {
        assert_refused("/proc/self/status", "is not a directory");
}

static void test_other_file_system(void) {
        assert_refused("/proc", "mount -t tracefs tracefs /proc");
}

static void test_not_mounted(void) {
        if (!g_file_test("/sys/kernel", G_FILE_TEST_IS_DIR)) {
                g_test_skip("no sysfs");
                return;
        }
        assert_refused("/sys/kernel", "is not mounted: mount -t tracefs");
}

static void test_empty(void) {
        g_autofree char *tree = fake_tree_new();
        g_autofree char *instances = g_build_filename(tree, "instances", NULL);

        g_assert_cmpint(g_rmdir(instances), ==, 0);
        assert_refused(tree, "is empty: kernel lockdown");
        fake_tree_write(tree, "trace", "");
        assert_refused(tree, "no instances directory");
        fake_tree_remove(tree);
}

/* Runs in a child that may change what it is. */
static void run_in_child(void (*run)(const char *tree), const char *tree) {
        int status = -1;
        pid_t pid = fork();
        g_assert_cmpint(pid, >=, 0);
        if (pid == 0) {
                run(tree);
                _exit(0);
        }
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        g_assert_cmpint(status, ==, 0);
}

static void open_as_nobody(const char *tree) {
        g_assert_cmpint(setresuid(NOBODY, NOBODY, NOBODY), ==, 0);
        assert_refused(tree, "must run as root");
}

static void test_not_permitted(void) {
        if (geteuid() != 0) {
                g_test_skip("needs root");
                return;
        }
        g_autofree char *tree = fake_tree_new();
        g_autofree char *instances = g_build_filename(tree, "instances", NULL);

        g_assert_cmpint(g_chmod(tree, 0700), ==, 0);
        run_in_child(open_as_nobody, tree);
        g_assert_cmpint(g_chmod(tree, 0755), ==, 0);
        g_assert_cmpint(g_chmod(instances, 0755), ==, 0);
        run_in_child(open_as_nobody, tree);
        fake_tree_remove(tree);
}

static void open_read_only(const char *tree) {
        g_autofree char *instances = g_build_filename(tree, "instances", NULL);
        Tracefs *tracefs = NULL;

        g_assert_cmpint(unshare(CLONE_NEWNS), ==, 0);
        g_assert_cmpint(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), ==, 0);
        g_assert_cmpint(mount(tree, tree, NULL, MS_BIND, NULL), ==, 0);
        g_assert_cmpint(mount(NULL, tree, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), ==, 0);
        assert_refused(tree, "mounted read-only: mount -o remount,rw");

        /* What the unit's sandbox does: all of it read-only but the instances. */
        g_assert_cmpint(mount(instances, instances, NULL, MS_BIND, NULL), ==, 0);
        g_assert_cmpint(mount(NULL, instances, NULL, MS_REMOUNT | MS_BIND, NULL), ==, 0);
        g_assert_cmpint(tracefs_open(tree, &tracefs, NULL), ==, 0);
        tracefs_free(tracefs);
}

static void test_read_only(void) {
        if (geteuid() != 0) {
                g_test_skip("needs root");
                return;
        }
        g_autofree char *tree = fake_tree_new();
        run_in_child(open_read_only, tree);
        fake_tree_remove(tree);
}

static void test_files(void) {
        g_autofree char *tree = fake_tree_new();
        _cleanup_(tracefs_free_cleanup) Tracefs *tracefs = NULL;
        _cleanup_free_ char *text = NULL;
        uint64_t number = 0;

        fake_tree_write(tree, "number", "7 (expanded: 1408)\n");
        fake_tree_write(tree, "negative", "-1\n");
        fake_tree_write(tree, "word", "X\n");
        fake_tree_write(tree, "huge", "99999999999999999999\n");
        fake_tree_write(tree, "text", "abc");
        g_assert_cmpint(tracefs_open(tree, &tracefs, NULL), ==, 0);
        g_assert_cmpint(tracefs_read_u64(tracefs->fd, "number", &number), ==, 0);
        g_assert_cmpuint(number, ==, 7);
        g_assert_cmpint(tracefs_read_u64(tracefs->fd, "negative", &number), ==, -EBADMSG);
        g_assert_cmpint(tracefs_read_u64(tracefs->fd, "word", &number), ==, -EBADMSG);
        g_assert_cmpint(tracefs_read_u64(tracefs->fd, "huge", &number), ==, -ERANGE);
        g_assert_cmpuint(number, ==, 7);

        /* Without O_TRUNC the rest of a longer text stays. */
        g_assert_cmpint(tracefs_write(tracefs->fd, "text", "x"), ==, 0);
        g_assert_cmpint(tracefs_read(tracefs->fd, "text", &text, NULL), ==, 0);
        g_assert_cmpstr(text, ==, "xbc");
        free(TAKE_PTR(text));
        g_assert_cmpint(tracefs_write_truncate(tracefs->fd, "text", "y"), ==, 0);
        g_assert_cmpint(tracefs_read(tracefs->fd, "text", &text, NULL), ==, 0);
        g_assert_cmpstr(text, ==, "y");
        g_assert_cmpint(tracefs_write(tracefs->fd, "nosuch", "x"), ==, -ENOENT);
        fake_tree_remove(tree);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/tracefs/open/missing", test_missing);
        g_test_add_func("/tracefs/open/no-directory", test_no_directory);
        g_test_add_func("/tracefs/open/other-file-system", test_other_file_system);
        g_test_add_func("/tracefs/open/not-mounted", test_not_mounted);
        g_test_add_func("/tracefs/open/empty", test_empty);
        g_test_add_func("/tracefs/open/not-permitted", test_not_permitted);
        g_test_add_func("/tracefs/open/read-only", test_read_only);
        g_test_add_func("/tracefs/files", test_files);
        return g_test_run();
}
