/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* See fake-tree.h. */

#include "fake-tree.h"

#include <ftw.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdio.h>

char *fake_tree_new(void) {
        char *tree = g_dir_make_tmp("ktrace-tree-XXXXXX", NULL);
        g_assert_nonnull(tree);
        fake_tree_write(tree, ".ktrace-fake-tracefs", "");
        g_autofree char *instances = g_build_filename(tree, "instances", NULL);
        g_assert_cmpint(g_mkdir(instances, 0755), ==, 0);
        return tree;
}

void fake_tree_write(const char *tree, const char *path, const char *text) {
        g_autofree char *file = g_build_filename(tree, path, NULL);
        g_autofree char *directory = g_path_get_dirname(file);
        g_assert_cmpint(g_mkdir_with_parents(directory, 0755), ==, 0);
        g_assert_true(g_file_set_contents(file, text, -1, NULL));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
        return remove(path);
}

void fake_tree_remove(const char *tree) {
        g_assert_cmpint(nftw(tree, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT), ==, 0);
}
