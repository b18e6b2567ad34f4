/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a crash has left: handed over whole, once ever, and never removed. */

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "manager/collect.h"

typedef struct Fixture {
        char *root, *pstore, *archive, *state, *runtime;
} Fixture;

static void set_up(Fixture *f, gconstpointer userdata G_GNUC_UNUSED) {
        f->root = g_dir_make_tmp("ktrace-collect-XXXXXX", NULL);
        f->pstore = g_build_filename(f->root, "pstore", NULL);
        f->archive = g_build_filename(f->root, "archive", NULL);
        f->state = g_build_filename(f->root, "state", NULL);
        f->runtime = g_build_filename(f->root, "run", NULL);
        g_assert_cmpint(g_mkdir(f->pstore, 0700), ==, 0);
        g_assert_cmpint(g_mkdir(f->archive, 0700), ==, 0);
        g_assert_cmpint(g_mkdir(f->state, 0700), ==, 0);
        g_assert_cmpint(g_mkdir(f->runtime, 0700), ==, 0);
}

static void tear_down(Fixture *f, gconstpointer userdata G_GNUC_UNUSED) {
        const char *argv[] = { "rm", "-rf", f->root, NULL };

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
        g_free(f->root);
        g_free(f->pstore);
        g_free(f->archive);
        g_free(f->state);
        g_free(f->runtime);
}

static void put(const char *directory, const char *name, const char *text) {
        g_autofree char *path = g_build_filename(directory, name, NULL);
        g_autofree char *parent = g_path_get_dirname(path);

        g_assert_cmpint(g_mkdir_with_parents(parent, 0700), ==, 0);
        g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static size_t collect(const Fixture *f) {
        const char *const sources[] = { f->pstore, f->archive, "/nonexistent", NULL };
        const CollectOptions options = {
                .sources = sources, .state_dir = f->state, .runtime_dir = f->runtime
        };
        size_t n = 0;

        g_assert_cmpint(collect_run(&options, &n), ==, 0);
        return n;
}

/* A directory that others can write to may hold what they have prepared. */
static void test_open_directories(Fixture *f, gconstpointer userdata G_GNUC_UNUSED) {
        const char *const sources[] = { f->pstore, NULL };
        const CollectOptions options = {
                .sources = sources, .state_dir = f->state, .runtime_dir = f->runtime
        };
        g_autofree char *crash = g_build_filename(f->runtime, "crash", NULL);
        const char *const directories[] = { f->runtime, f->state, crash };
        size_t n = 0;

        put(f->pstore, "dmesg", "text");
        g_assert_cmpint(g_mkdir(crash, 0700), ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(directories); i++) {
                g_assert_cmpint(chmod(directories[i], 0777), ==, 0);
                g_assert_cmpint(collect_run(&options, &n), ==, -EPERM);
                g_assert_cmpint(chmod(directories[i], 0700), ==, 0);
        }
        g_assert_cmpuint(collect(f), ==, 1);
}

static int compare(gconstpointer a, gconstpointer b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "NAME=TEXT " of each file of all batches, which are counted too. */
static char *handed_over(const Fixture *f, unsigned *ret_batches) {
        g_autofree char *crash = g_build_filename(f->runtime, "crash", NULL);
        g_autoptr(GDir) batches = g_dir_open(crash, 0, NULL);
        g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(g_free);
        const char *batch, *name;

        *ret_batches = 0;
        while (batches && (batch = g_dir_read_name(batches))) {
                g_autofree char *path = g_build_filename(crash, batch, NULL);
                g_autoptr(GDir) files = g_dir_open(path, 0, NULL);

                g_assert_false(batch[0] == '.');
                ++*ret_batches;
                while ((name = g_dir_read_name(files))) {
                        g_autofree char *file = g_build_filename(path, name, NULL);
                        g_autofree char *text = NULL;

                        g_assert_true(g_file_get_contents(file, &text, NULL, NULL));
                        g_ptr_array_add(all, g_strdup_printf("%s=%s", name, text));
                }
        }
        g_ptr_array_sort(all, compare);
        g_ptr_array_add(all, NULL);
        return g_strjoinv(" ", (char **)all->pdata);
}

static void assert_handed_over(const Fixture *f, unsigned n_batches, const char *expected) {
        unsigned batches;
        g_autofree char *found = handed_over(f, &batches);

        g_assert_cmpstr(found, ==, expected);
        g_assert_cmpuint(batches, ==, n_batches);
}

static void test_once(Fixture *f, gconstpointer userdata G_GNUC_UNUSED) {
        g_assert_cmpuint(collect(f), ==, 0);
        assert_handed_over(f, 0, "");
        put(f->pstore, "dmesg-ramoops-0", "one");
        put(f->pstore, "dmesg-ramoops-1", "two");
        g_assert_cmpuint(collect(f), ==, 2);
        assert_handed_over(f, 1, "1-dmesg-ramoops-0=one 2-dmesg-ramoops-1=two");
        g_assert_cmpuint(collect(f), ==, 0);
        put(f->pstore, "dmesg-ramoops-0", "three");
        g_assert_cmpuint(collect(f), ==, 1);
        assert_handed_over(f,
                        2,
                        "1-dmesg-ramoops-0=one 1-dmesg-ramoops-0=three 2-dmesg-ramoops-1=two");
}

/* systemd-pstore moves them; the archive is left as it is. */
static void test_moved(Fixture *f, gconstpointer userdata G_GNUC_UNUSED) {
        g_autofree char *gone = g_build_filename(f->pstore, "dmesg-efi-1", NULL);
        g_autofree char *kept = g_build_filename(f->archive, "17/001/dmesg.txt", NULL);

        put(f->pstore, "dmesg-efi-1", "one");
        g_assert_cmpuint(collect(f), ==, 1);
        g_assert_cmpint(g_unlink(gone), ==, 0);
        put(f->archive, "17/001/dmesg.txt", "one");
        put(f->archive, "17/002/dmesg.txt", "two");
        g_assert_cmpuint(collect(f), ==, 1);
        assert_handed_over(f, 2, "1-17-002-dmesg.txt=two 1-dmesg-efi-1=one");
        g_assert_cmpint(g_access(kept, F_OK), ==, 0);
}

/* What is no file, empty, hidden or behind a link is nothing. */
static void test_odd(Fixture *f, gconstpointer userdata G_GNUC_UNUSED) {
        g_autofree char *link = g_build_filename(f->pstore, "link", NULL);
        g_autofree char *fifo = g_build_filename(f->pstore, "fifo", NULL);

        put(f->pstore, "empty", "");
        put(f->pstore, ".hidden", "x");
        put(f->pstore, "a/b/c/d/deep", "x");
        put(f->pstore, "odd name;$(x)", "y");
        g_assert_cmpint(symlink("/etc/passwd", link), ==, 0);
        g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
        g_assert_cmpuint(collect(f), ==, 1);
        assert_handed_over(f, 1, "1-odd-name---x-=y");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/collect/once", Fixture, NULL, set_up, test_once, tear_down);
        g_test_add("/collect/moved", Fixture, NULL, set_up, test_moved, tear_down);
        g_test_add("/collect/odd", Fixture, NULL, set_up, test_odd, tear_down);
        g_test_add("/collect/open-directories",
                        Fixture,
                        NULL,
                        set_up,
                        test_open_directories,
                        tear_down);
        return g_test_run();
}
