/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What counts as a use of an instance by another program. A directory stands for the instance:
 * test-guard.c proves that tracefs raises the same events. */

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "kernel/watch.h"

typedef struct Fixture {
        char *path;
        Instance instance;
        Watch *watch;
} Fixture;

static void touch(const Fixture *f, const char *name, int flags) {
        int fd = openat(f->instance.fd, name, flags | O_CLOEXEC, 0600);

        g_assert_no_errno(fd);
        if ((flags & O_ACCMODE) != O_RDONLY && (flags & O_TRUNC) == 0)
                g_assert_cmpint(write(fd, "x", 1), ==, 1);
        close(fd);
}

static void set_up(Fixture *f, gconstpointer data _unused_) {
        static const char *const files[] = { "trace",
                "trace_clock",
                "snapshot",
                "trace_pipe",
                "per_cpu/cpu0/trace",
                "per_cpu/cpu0/stats",
                "per_cpu/cpu0/trace_pipe_raw" };

        f->path = g_dir_make_tmp("watch-XXXXXX", NULL);
        g_autofree char *cpu = g_strconcat(f->path, "/per_cpu/cpu0", NULL);
        g_assert_no_errno(g_mkdir_with_parents(cpu, 0700));
        f->instance.fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
                touch(f, files[i], O_WRONLY | O_CREAT);
}

static void tear_down(Fixture *f, gconstpointer data _unused_) {
        g_autofree char *command = g_strdup_printf("rm -r '%s'", f->path);

        watch_free(f->watch);
        close(f->instance.fd);
        g_assert_cmpint(system(command), ==, 0);
        g_free(f->path);
}

static void begin(Fixture *f) {
        g_assert_cmpint(watch_add(f->watch, "."), ==, 0);
        g_assert_cmpint(watch_add(f->watch, "per_cpu/cpu0"), ==, 0);
}

static bool is_reported(Fixture *f, const char *name, int flags) {
        char found[WATCH_NAME_MAX];

        touch(f, name, flags);
        return watch_take(f->watch, found);
}

/* A session shares its instance with tools that read it. */
static void test_session(Fixture *f, gconstpointer data _unused_) {
        g_assert_cmpint(watch_new(&f->instance, &f->watch), ==, 0);
        begin(f);
        g_assert_true(is_reported(f, "trace_clock", O_WRONLY));
        g_assert_false(is_reported(f, "snapshot", O_WRONLY));
        g_assert_false(is_reported(f, "trace_pipe", O_RDONLY));
}

/* The history of the black box shares it with no other program. */
static void test_alone(Fixture *f, gconstpointer data _unused_) {
        g_assert_cmpint(watch_new_alone(&f->instance, &f->watch), ==, 0);
        begin(f);
        g_assert_true(is_reported(f, "trace_clock", O_WRONLY));
        g_assert_true(is_reported(f, "snapshot", O_WRONLY));
        g_assert_true(is_reported(f, "per_cpu/cpu0/trace", O_WRONLY | O_TRUNC));
        g_assert_true(is_reported(f, "trace_pipe", O_RDONLY));
        g_assert_true(is_reported(f, "per_cpu/cpu0/trace_pipe_raw", O_RDONLY));
        g_assert_false(is_reported(f, "per_cpu/cpu0/stats", O_RDONLY));
        g_assert_false(is_reported(f, "trace", O_RDONLY));
        g_assert_false(is_reported(f, "per_cpu", O_RDONLY | O_DIRECTORY));
        g_assert_false(is_reported(f, ".", O_RDONLY | O_DIRECTORY));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/watch/session", Fixture, NULL, set_up, test_session, tear_down);
        g_test_add("/watch/alone", Fixture, NULL, set_up, test_alone, tear_down);
        return g_test_run();
}
