/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The fake kernel does what fake-kernel.h says: the tests of other floors stand on it. */

#include "fake-kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <pthread.h>

#include "kernel/buffer.h"
#include "kernel/filter.h"
#include "kernel/statistics-total.h"

static Tracefs *open_fake(void) {
        Tracefs *tracefs = NULL;
        fake_kernel_reset();
        g_assert_cmpint(tracefs_open("/fake", &tracefs, NULL), ==, 0);
        return tracefs;
}

static void assert_state(const char *expected) {
        g_autofree char *state = fake_kernel_describe();
        g_assert_cmpstr(state, ==, expected);
}

static void test_state(void) {
        _cleanup_(tracefs_free_cleanup) Tracefs *tracefs = open_fake();
        _cleanup_(instance_free_cleanup) Instance *instance = NULL;
        Reason reason = {};

        assert_state("");
        g_assert_cmpint(instance_create(tracefs, "1", &instance), ==, 0);
        g_assert_cmpint(instance_create(tracefs, "1", &instance), ==, -EEXIST);
        g_assert_cmpint(instance_add_pid(instance, 4194304), ==, 0);
        g_assert_cmpint(instance_add_pid(instance, 17), ==, 0);
        g_assert_cmpint(instance_set_option(instance, "overwrite", false), ==, 0);
        g_assert_cmpint(instance_set_filter(instance, "sched", "sched_switch", "pid == 1", NULL),
                        ==,
                        0);
        g_assert_cmpint(instance_enable_event(instance, "sched", "sched_switch", true), ==, 0);
        g_assert_cmpint(instance_set_filter(instance, "sched", "sched_switch", "pid == 2", &reason),
                        ==,
                        -EBUSY);
        g_assert_cmpint(instance_set_filter(instance, "ftrace", "print", "ip == 2", &reason),
                        ==,
                        -EOPNOTSUPP);
        assert_state("instance ktrace-1\n"
                     "  buffer-kb 1408, subbuf-kb 4, clock local, tracing on, options -overwrite\n"
                     "  pids 17 4194304\n"
                     "  event sched:sched_switch on filter pid == 1\n");
        g_assert_cmpint(instance_disable_all(instance), ==, 0);
        g_assert_cmpint(instance_set_filter(
                                        instance, "sched", "sched_switch", "nosuch == 2", &reason),
                        ==,
                        KT_E_KERNEL_REFUSED);
        assert_state("instance ktrace-1\n"
                     "  buffer-kb 1408, subbuf-kb 4, clock local, tracing on, options -overwrite\n"
                     "  pids 17 4194304\n");
        g_assert_cmpint(tracefs_write_truncate(instance->fd, "set_event_pid", "3"), ==, 0);
        g_assert_cmpint(instance_remove(tracefs, "ktrace-1"), ==, 0);
        assert_state("");
        g_assert_cmpint(fake_kernel_find("create ktrace-1", 0), ==, 0);
        g_assert_cmpint(fake_kernel_find("create ktrace-1 = -17", 0), ==, 1);
        g_assert_cmpint(fake_kernel_find("truncate ktrace-1 set_event_pid 3", 0), >, 1);
}

static void test_fault(void) {
        _cleanup_(tracefs_free_cleanup) Tracefs *tracefs = open_fake();
        _cleanup_(instance_free_cleanup) Instance *instance = NULL;

        fake_kernel_fail(2, -ENOMEM);
        g_assert_cmpint(instance_create(tracefs, "1", &instance), ==, 0);
        g_assert_false(fake_kernel_has_failed());
        g_assert_cmpint(instance_set_buffer_kb(instance, 64), ==, -ENOMEM);
        g_assert_true(fake_kernel_has_failed());
        g_assert_cmpint(instance_set_buffer_kb(instance, 64), ==, 0);

        fake_kernel_fail_verb(FAKE_REMOVE, 2, -EBUSY);
        g_assert_cmpint(instance_remove(tracefs, "ktrace-1"), ==, -EBUSY);
        g_assert_cmpint(instance_remove(tracefs, "ktrace-1"), ==, -EBUSY);
        g_assert_cmpint(instance_remove(tracefs, "ktrace-1"), ==, 0);
}

static void test_rings(void) {
        _cleanup_(tracefs_free_cleanup) Tracefs *tracefs = open_fake();
        _cleanup_(instance_free_cleanup) Instance *instance = NULL;
        CpuStatistics s = { .entries = 7, .dropped = 3, .read = UINT64_MAX }, got;
        char byte;

        g_assert_cmpint(instance_create(tracefs, "1", &instance), ==, 0);
        int stats = instance_open_file(instance, "per_cpu/cpu1/stats", O_RDONLY);
        g_assert_cmpint(stats, >=, 0);
        fake_kernel_set_statistics("ktrace-1", 1, &s);
        g_assert_cmpint(instance_read_statistics_fd(stats, &got), ==, 0);
        g_assert_cmpmem(&s, sizeof(s), &got, sizeof(got));
        g_assert_cmpint(instance_read_statistics(instance, 1, &got), ==, 0);
        g_assert_cmpmem(&s, sizeof(s), &got, sizeof(got));
        g_assert_cmpint(instance_read_statistics(instance, 2, &got), ==, -ENOENT);
        fake_kernel_set_statistics("ktrace-1", 1, &(CpuStatistics){ 7, 6, 5, 4, 3, 2, 9000, 0 });
        fake_kernel_set_statistics("ktrace-1", 0, &(CpuStatistics){ .read = 1 });
        g_assert_cmpint(statistics_total_read(instance, 3, &got), ==, 0); /* CPU 2 does not exist */
        g_assert_cmpmem(&got,
                        sizeof(got),
                        (&(CpuStatistics){ 7, 6, 5, 4, 3, 3, 9000, 0 }),
                        sizeof(got));
        fake_kernel_set_statistics("ktrace-1", 0, &(CpuStatistics){ .oldest_nsec = 8000 });
        g_assert_cmpint(statistics_total_read(instance, 2, &got), ==, 0);
        g_assert_cmpuint(got.oldest_nsec, ==, 8000);
        close(stats);

        int first = instance_open_file(instance, "per_cpu/cpu0/trace_pipe_raw", O_RDONLY);
        int second = instance_open_file(instance, "per_cpu/cpu0/trace_pipe_raw", O_RDONLY);
        g_assert_true(fake_kernel_feed("ktrace-1", 0, "x", 1));
        g_assert_cmpint(read(second, &byte, 1), ==, 1);
        close(second);
        g_assert_cmpint(instance_remove(tracefs, "ktrace-1"), ==, -EBUSY);
        close(first);
        g_assert_false(fake_kernel_feed("ktrace-1", 0, "x", 1));
        g_assert_cmpint(instance_remove(tracefs, "ktrace-1"), ==, 0);
}

static void *create_one(void *p) {
        Instance *instance = NULL;
        g_assert_cmpint(instance_create(p, "1", &instance), ==, 0);
        instance_free(instance);
        return NULL;
}

static void test_hold(void) {
        _cleanup_(tracefs_free_cleanup) Tracefs *tracefs = open_fake();
        EventList *events = NULL;
        pthread_t thread;

        fake_kernel_hold(FAKE_CREATE);
        g_assert_false(fake_kernel_wait_held(1));
        g_assert_cmpint(pthread_create(&thread, NULL, create_one, tracefs), ==, 0);
        g_assert_true(fake_kernel_wait_held(5000));
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 0);
        /* Others go on. */
        g_assert_cmpint(event_list_load(tracefs, NULL, &events), ==, 0);
        g_assert_true(event_list_has(events, "sched:sched_switch"));
        event_list_free(events);
        fake_kernel_release();
        pthread_join(thread, NULL);
        g_assert_true(fake_kernel_has_instance("ktrace-1"));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/fake-kernel/state", test_state);
        g_test_add_func("/fake-kernel/fault", test_fault);
        g_test_add_func("/fake-kernel/rings", test_rings);
        g_test_add_func("/fake-kernel/hold", test_hold);
        return g_test_run();
}
