/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists of probes, as kernels print them that run on no test machine. */
#include <glib.h>

#include "kernel/probe-group.h"

/* Linux 7.2 may print how it fetches each argument, in lines that begin with '#'. */
static void test_comments(void) {
        static const char list[] = "p:group/first vfs_read a=$arg1\n"
                                   "#p:group/second vfs_read in a comment\n"
                                   "#  a:u64 REG 112 END\n"
                                   "p:group/second vfs_write\n"
                                   "# end: group/first \n";
        g_autofree char *first = NULL, *second = NULL;

        g_assert_cmpint(probe_list_find(list, "group", "first", &first), ==, 0);
        g_assert_cmpstr(first, ==, "p:group/first vfs_read a=$arg1");
        g_assert_cmpint(probe_list_find(list, "group", "second", &second), ==, 0);
        g_assert_cmpstr(second, ==, "p:group/second vfs_write");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/probe-list/comments", test_comments);
        return g_test_run();
}
