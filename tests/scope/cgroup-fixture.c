/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cgroup-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

static const char *find_root(void) {
        static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
        struct statfs fs;

        for (size_t i = 0; i < G_N_ELEMENTS(roots); i++)
                if (statfs(roots[i], &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
                        return roots[i];
        return NULL;
}

char *cgroup_fixture_new(const char *name) {
        g_autofree char *path = g_strdup_printf("/ktrace-test-%s-%d", name, getpid());
        g_autofree char *directory = g_strconcat(find_root() ?: "", path, NULL);

        return find_root() && mkdir(directory, 0755) == 0 ? g_steal_pointer(&path) : NULL;
}

void cgroup_fixture_move(const char *path, pid_t pid) {
        g_autofree char *file = g_strconcat(find_root(), path ?: "", "/cgroup.procs", NULL);
        g_autofree char *text = g_strdup_printf("%d\n", pid);
        int fd = open(file, O_WRONLY);

        g_assert_no_errno(fd);
        g_assert_cmpint(write(fd, text, strlen(text)), ==, strlen(text));
        close(fd);
}

void cgroup_fixture_free(char *path) {
        g_autofree char *directory = g_strconcat(find_root(), path, NULL);

        /* A process leaves it a moment after it was reaped. */
        for (int i = 0; g_rmdir(directory) < 0 && errno == EBUSY && i < 500; i++)
                g_usleep(10000);
        g_assert_false(g_file_test(directory, G_FILE_TEST_EXISTS));
        g_free(path);
}
