/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Cgroups on a tree of plain files: whose unit is found, which processes are in one. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "scope/cgroup.h"

#define MANAGER     "user.slice/user-1000.slice/user@1000.service"
#define MANAGER1001 "user.slice/user-1001.slice/user@1001.service"

typedef struct Tree {
        char *dir;
        int root;
} Tree;

static void add(Tree *tree, const char *path, const char *procs) {
        g_autofree char *dir = g_build_filename(tree->dir, path, NULL);
        g_autofree char *file = g_build_filename(dir, "cgroup.procs", NULL);

        g_assert_no_errno(g_mkdir_with_parents(dir, 0755));
        g_assert_true(g_file_set_contents(file, procs, -1, NULL));
}

/* As systemd delegates a part of the tree. */
static void give(Tree *tree, const char *path, uid_t uid) {
        g_autofree char *command =
                        g_strdup_printf("chown -R %u:%u '%s/%s'", uid, uid, tree->dir, path);

        g_assert_cmpint(system(command), ==, 0);
}

static void add_of(Tree *tree, const char *path, const char *procs, uid_t uid) {
        add(tree, path, procs);
        give(tree, uid == 1000 ? MANAGER : MANAGER1001, uid);
}

static int find(Tree *tree, const char *name, uid_t uid, char **ret, Reason *reason) {
        const UnitQuery query = { name, uid, uid == 0 };

        return cgroup_find_unit(tree->root, &query, ret, reason);
}

static void set_up(Tree *tree, gconstpointer userdata) {
        (void)userdata;
        tree->dir = g_dir_make_tmp("ktrace-test-XXXXXX", NULL);
        add(tree, "system.slice/a.service", "10\n11\n");
        add(tree, "system.slice/a.service/inner", "12\n");
        add(tree, "system.slice/both.service", "13\n");
        add(tree, "user.slice/user-1000.slice/user@1000.service/app.slice/mine.service", "20\n");
        add(tree, "user.slice/user-1000.slice/user@1000.service/app.slice/both.service", "21\n");
        add(tree, "user.slice/user-1000.slice/session-3.scope", "22\n");
        add(tree, "user.slice/user-1001.slice/user@1001.service/app.slice/theirs.service", "30\n");
        give(tree, MANAGER, 1000);
        give(tree, MANAGER1001, 1001);
        tree->root = open(tree->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        g_assert_cmpint(tree->root, >=, 0);
}

static void tear_down(Tree *tree, gconstpointer userdata) {
        g_autofree char *command = g_strdup_printf("rm -r '%s'", tree->dir);

        (void)userdata;
        close(tree->root);
        g_assert_cmpint(system(command), ==, 0);
        g_free(tree->dir);
}

static void check_unit(Tree *tree, const char *name, uid_t uid, const char *path) {
        _cleanup_free_ char *found = NULL;
        Reason reason = {};

        g_assert_cmpint(find(tree, name, uid, &found, &reason), ==, path ? 0 : -ENOENT);
        g_assert_cmpstr(found, ==, path);
}

static void test_unit(Tree *tree, gconstpointer userdata) {
        _cleanup_free_ char *found = NULL;
        Reason reason = {};

        (void)userdata;
        check_unit(tree, "a.service", 1000, "/system.slice/a.service");
        check_unit(tree,
                        "mine.service",
                        1000,
                        "/user.slice/user-1000.slice/user@1000.service/app.slice/mine.service");
        check_unit(tree, "session-3.scope", 1000, "/user.slice/user-1000.slice/session-3.scope");
        check_unit(tree, "user-1000.slice", 1000, "/user.slice/user-1000.slice");
        check_unit(tree, "absent.service", 1000, NULL);
        check_unit(tree, "inner", 1001, "/system.slice/a.service/inner");
        /* Another user's own unit does not exist. */
        check_unit(tree, "theirs.service", 1000, NULL);
        check_unit(tree, "theirs.service", 0, NULL);
        /* What the system's manager has named does, for root. */
        check_unit(tree, "session-3.scope", 0, "/user.slice/user-1000.slice/session-3.scope");
        check_unit(tree, "user@1000.service", 0, "/" MANAGER);
        check_unit(tree, "session-3.scope", 1001, NULL);
        /* Nor does it make a name of the system's doubtful. */
        check_unit(tree, "both.service", 1001, "/system.slice/both.service");
        g_assert_cmpint(find(tree, "both.service", 1000, &found, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text,
                        ==,
                        "scope: there are two units of this name: write "
                        "cgroup:/system.slice/both.service or "
                        "cgroup:/user.slice/user-1000.slice/user@1000.service/app.slice/"
                        "both.service");
}

/* Whatever users call theirs, and however much they have. */
static void test_delegated(Tree *tree, gconstpointer userdata) {
        g_autoptr(GString) deep = g_string_new(MANAGER "/app.slice");
        _cleanup_free_ char *found = NULL, *second = NULL;
        Reason reason = {};

        (void)userdata;
        check_unit(tree, "both.service", 0, "/system.slice/both.service");
        g_assert_cmpint(cgroup_find_delegated_unit(tree->root, "theirs.service", &found, &reason),
                        ==,
                        0);
        g_assert_cmpstr(found, ==, "/" MANAGER1001 "/app.slice/theirs.service");

        /* Too deep, too many, and closed. */
        for (unsigned i = 0; i < 40; i++)
                g_string_append(deep, "/d");
        add_of(tree, deep->str, "", 1000);
        for (unsigned i = 0; i < 8200; i++) {
                g_autofree char *path = g_strdup_printf("%s/%s/%u", tree->dir, MANAGER, i);
                g_assert_cmpint(mkdir(path, 0755), ==, 0);
        }
        add_of(tree, MANAGER1001 "/a.service", "31\n", 1001);
        add_of(tree, MANAGER1001 "/stopped.service", "32\n", 1001);
        check_unit(tree, "a.service", 0, "/system.slice/a.service");
        check_unit(tree, "both.service", 0, "/system.slice/both.service");
        /* What stands still in the system is not looked for among users' cgroups. */
        check_unit(tree, "stopped.service", 0, NULL);
        check_unit(tree, "inner", 1001, "/system.slice/a.service/inner");
}

/* A user's part that cannot be read whole is skipped, and the other processes are found. */
static void test_processes_of_delegated(Tree *tree, gconstpointer userdata) {
        g_autoptr(GString) deep = g_string_new(MANAGER "/app.slice");
        CgroupProcesses list = {};
        _cleanup_close_ int fd = -1;

        (void)userdata;
        for (unsigned i = 0; i < 40; i++)
                g_string_append(deep, "/d");
        add_of(tree, deep->str, "99\n", 1000);
        g_assert_cmpint(cgroup_open(tree->root, "/user.slice", &fd), ==, 0);
        g_assert_cmpint(cgroup_list_processes(fd, &list), ==, 0);
        g_assert_cmpuint(list.n, ==, 4);
        g_assert_cmpuint(list.n_skipped, ==, 1);
        cgroup_processes_clear(&list);
}

static int compare(const void *a, const void *b) {
        return *(const pid_t *)a - *(const pid_t *)b;
}

static char *list(Tree *tree, const char *path) {
        _cleanup_(cgroup_processes_clear) CgroupProcesses found = {};
        _cleanup_close_ int fd = -1;
        GString *text = g_string_new(NULL);

        g_assert_cmpint(cgroup_open(tree->root, path, &fd), ==, 0);
        g_assert_cmpint(cgroup_list_processes(fd, &found), ==, 0);
        g_assert_cmpuint(found.n_skipped, ==, 0);
        if (found.n > 0)
                qsort(found.pids, found.n, sizeof(pid_t), compare);
        for (size_t i = 0; i < found.n; i++)
                g_string_append_printf(text, "%d ", found.pids[i]);
        return g_string_free(text, FALSE);
}

static void test_processes(Tree *tree, gconstpointer userdata) {
        g_autofree char *service = list(tree, "/system.slice/a.service"),
                        *slice = list(tree, "/user.slice"), *empty = NULL;

        (void)userdata;
        g_assert_cmpstr(service, ==, "10 11 12 ");
        g_assert_cmpstr(slice, ==, "20 21 22 30 ");
        /* Of another pid namespace, and none. */
        add(tree, "foreign", "0\n40\n0\n");
        empty = list(tree, "/foreign");
        g_assert_cmpstr(empty, ==, "40 ");
        add(tree, "nobody", "");
        g_free(empty);
        empty = list(tree, "/nobody");
        g_assert_cmpstr(empty, ==, "");
}

/* A path is followed by name only, also where somebody could have made a link. */
static void test_links(Tree *tree, gconstpointer userdata) {
        g_autofree char *link = g_build_filename(tree->dir, "link", NULL),
                        *inner = g_build_filename(tree->dir, "system.slice/l.service", NULL);
        int fd;

        (void)userdata;
        g_assert_no_errno(symlink("system.slice", link));
        g_assert_no_errno(symlink("a.service", inner));
        g_assert_cmpint(cgroup_open(tree->root, "/link", &fd), ==, -ENOENT);
        g_assert_cmpint(cgroup_open(tree->root, "/link/a.service", &fd), ==, -ENOENT);
        g_assert_cmpint(cgroup_open(tree->root, "/system.slice/a.service/cgroup.procs", &fd),
                        ==,
                        -ENOENT);
        g_assert_cmpint(cgroup_open(tree->root, "/absent", &fd), ==, -ENOENT);
        check_unit(tree, "l.service", 1000, NULL);
}

static void test_depth(Tree *tree, gconstpointer userdata) {
        g_autoptr(GString) path = g_string_new("deep");
        CgroupProcesses found = {};
        _cleanup_close_ int fd = -1;

        (void)userdata;
        for (unsigned i = 0; i < 40; i++)
                g_string_append(path, "/d");
        add(tree, path->str, "1\n");
        g_assert_cmpint(cgroup_open(tree->root, "/deep", &fd), ==, 0);
        g_assert_cmpint(cgroup_list_processes(fd, &found), ==, -E2BIG);
}

#define ADD(path, function) g_test_add("/cgroup/" path, Tree, NULL, set_up, function, tear_down)

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        if (geteuid() != 0) /* parts of the tree are given to users */
                return g_test_run();
        ADD("units-of-the-caller-and-the-system", test_unit);
        ADD("units-in-spite-of-delegated-parts", test_delegated);
        ADD("processes-in-spite-of-delegated-parts", test_processes_of_delegated);
        ADD("processes-of-it-and-below", test_processes);
        ADD("no-link-is-followed", test_links);
        ADD("depth-is-bounded", test_depth);
        return g_test_run();
}
