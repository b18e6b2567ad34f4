/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* instance.h on the tracefs of the kernel that runs. */

#include "native.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

#include "kernel/buffer.h"
#include "kernel/filter.h"
#include "kernel/statistics.h"

static bool is_listed(const char *name) {
        bool found = false;
        char **names = NULL;

        g_assert_cmpint(instance_list(native_tracefs, &names), ==, 0);
        for (char **i = names; *i; i++) {
                g_assert_true(g_str_has_prefix(*i, KT_INSTANCE_PREFIX));
                found = found || g_str_equal(*i, name);
        }
        instance_list_free(names);
        return found;
}

static void test_life(Instance *instance) {
        const char *id = instance->name + strlen(KT_INSTANCE_PREFIX);
        Instance *other = NULL;

        g_assert_true(is_listed(instance->name));
        g_assert_cmpint(instance_create(native_tracefs, id, &other), ==, -EEXIST);
        g_assert_null(other);
        g_assert_true(is_listed(instance->name));
        g_assert_cmpint(instance_open(native_tracefs, instance->name, &other), ==, 0);
        g_assert_cmpstr(other->name, ==, instance->name);
        other = instance_free(other);

        g_assert_cmpint(instance_remove(native_tracefs, instance->name), ==, 0);
        g_assert_false(is_listed(instance->name));
        g_assert_cmpint(instance_remove(native_tracefs, instance->name), ==, 0);
        g_assert_cmpint(instance_open(native_tracefs, instance->name, &other), ==, -ENOENT);
        g_assert_null(other);
}

static void test_names(Instance *instance _unused_) {
        static const char *const bad[] = { "a/b", "../x", "a\nb", "a b", "" };
        Instance *other = NULL;

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                if (*bad[i])
                        g_assert_cmpint(instance_create(native_tracefs, bad[i], &other),
                                        ==,
                                        -EINVAL);
                g_assert_cmpint(instance_open(native_tracefs, bad[i], &other), ==, -EINVAL);
                g_assert_cmpint(instance_remove(native_tracefs, bad[i]), ==, -EINVAL);
                g_assert_null(other);
        }
        g_assert_cmpint(instance_open(native_tracefs, "..", &other), ==, -EINVAL);
}

static void *set_buffer(void *instance) {
        g_assert_cmpint(instance_set_buffer_kb(instance, 64), ==, 0);
        return NULL;
}

static void test_buffer(Instance *instance) {
        uint64_t kb = 0;
        pthread_t thread;

        g_assert_cmpint(pthread_create(&thread, NULL, set_buffer, instance), ==, 0);
        pthread_join(thread, NULL);
        g_assert_cmpint(tracefs_read_u64(instance->fd, "buffer_size_kb", &kb), ==, 0);
        g_assert_cmpuint(kb, >=, 64);
        g_assert_cmpuint(kb, <, 128);
        g_assert_cmpint(instance_set_buffer_kb(instance, 0), ==, -EINVAL);
        g_assert_cmpint(instance_set_buffer_kb(instance, 999999999), ==, -ENOMEM);
        g_assert_cmpint(tracefs_read_u64(instance->fd, "buffer_size_kb", &kb), ==, 0);
        g_assert_cmpuint(kb, <, 128);
}

/* A copy of a trace_pipe_raw that the child closed would show in how the empty ring reads. */
static void test_buffer_child_has_no_fds(Instance *instance) {
        _cleanup_close_ int fd = instance_open_file(
                        instance, "per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_NONBLOCK);
        char buffer[4096];

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(instance_set_buffer_kb(instance, 64), ==, 0);
        g_assert_cmpint(read(fd, buffer, sizeof(buffer)), ==, -1);
        g_assert_cmpint(errno, ==, EAGAIN);
}

static void test_subbuf(Instance *instance) {
        size_t size = 0;

        g_assert_cmpint(instance_get_subbuf_size(instance, &size), ==, 0);
        g_assert_cmpuint(size, ==, (size_t)sysconf(_SC_PAGESIZE));
        int r = instance_set_subbuf_kb(instance, 64);
        if (r == -EOPNOTSUPP) {
                g_test_skip("the kernel has no buffer_subbuf_size_kb");
                return;
        }
        g_assert_cmpint(r, ==, 0);
        g_assert_cmpint(instance_get_subbuf_size(instance, &size), ==, 0);
        g_assert_cmpuint(size, ==, 65536);
}

static void test_clock(Instance *instance) {
        Reason reason = {};

        g_assert_cmpint(instance_set_clock(instance, "mono", &reason), ==, 0);
        g_assert_cmpint(instance_set_clock(instance, "bogus", &reason), ==, KT_E_KERNEL_REFUSED);
        g_assert_nonnull(strstr(reason.text, "clock: bogus is unknown"));
        g_assert_nonnull(strstr(reason.text, "[mono]"));
}

static void test_option(Instance *instance) {
        uint64_t on = 1;

        g_assert_cmpint(instance_set_option(instance, "overwrite", false), ==, 0);
        g_assert_cmpint(tracefs_read_u64(instance->fd, "options/overwrite", &on), ==, 0);
        g_assert_cmpuint(on, ==, 0);
        g_assert_cmpint(instance_set_option(instance, "nosuch", true), <, 0);
        g_assert_cmpint(instance_set_option(instance, "../tracing_on", false), ==, -EINVAL);
}

static void test_pids(Instance *instance) {
        pid_t *pids = NULL;
        size_t n = 1;
        bool found = true;

        g_assert_cmpint(instance_read_pids(instance, &pids, &n), ==, 0);
        g_assert_cmpuint(n, ==, 0);
        free(pids);
        g_assert_cmpint(instance_has_pid(instance, 1, &found), ==, 0);
        g_assert_false(found);
        g_assert_cmpint(instance_add_pid(instance, 0), ==, -EINVAL);
        g_assert_cmpint(instance_add_pid(instance, -1), ==, -EINVAL);
        g_assert_cmpint(instance_add_pid(instance, 7000), ==, 0);

        pid_t many[600];
        for (size_t i = 0; i < ELEMENTSOF(many); i++)
                many[i] = 4194304 - (pid_t)i;
        g_assert_cmpint(instance_add_pids(instance, many, ELEMENTSOF(many)), ==, 0);
        g_assert_cmpint(instance_read_pids(instance, &pids, &n), ==, 0);
        g_assert_cmpuint(n, ==, 601);
        g_assert_cmpint(pids[0], ==, 7000);
        g_assert_cmpint(pids[600], ==, 4194304);
        free(pids);
        g_assert_cmpint(instance_has_pid(instance, 7000, &found), ==, 0);
        g_assert_true(found);
        many[0] = -1;
        g_assert_cmpint(instance_add_pids(instance, many, ELEMENTSOF(many)), ==, -EINVAL);
}

static void assert_filter(const Instance *instance, const char *expected) {
        _cleanup_free_ char *text = NULL;
        g_assert_cmpint(tracefs_read(instance->fd, "events/sched/sched_switch/filter", &text, NULL),
                        ==,
                        0);
        g_assert_cmpstr(text, ==, expected);
}

static int set_filter(const Instance *instance, const char *filter, Reason *reason) {
        return instance_set_filter(instance, "sched", "sched_switch", filter, reason);
}

static void test_filter(Instance *instance) {
        Reason reason = {};

        g_assert_cmpint(set_filter(instance, " prev_pid == 1 ", &reason), ==, 0);
        assert_filter(instance, "prev_pid == 1\n");
        g_assert_cmpint(set_filter(instance, "next_comm ~ \"a*\" || CPU == 0", &reason), ==, 0);

        g_assert_cmpint(instance_enable_event(instance, "sched", "sched_switch", true), ==, 0);
        g_assert_cmpint(set_filter(instance, "prev_pid == 2", &reason), ==, -EBUSY);
        assert_filter(instance, "next_comm ~ \"a*\" || CPU == 0\n");
        g_assert_cmpint(instance_enable_event(instance, "sched", "sched_switch", false), ==, 0);
}

static void test_filter_refused(Instance *instance) {
        static const struct {
                const char *filter;
                const char *message;
        } cases[] = {
                { "nosuch == 1", "Field not found at column 8" },
                { "(prev_pid == 1", "Too many '('" },
                { "prev_pid == abc", "Invalid value" },
                { "0", "another filter" }, /* would take the filter away */
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Reason reason = {};
                g_assert_cmpint(set_filter(instance, "prev_pid == 1", NULL), ==, 0);
                g_assert_cmpint(set_filter(instance, cases[i].filter, &reason),
                                ==,
                                KT_E_KERNEL_REFUSED);
                g_assert_nonnull(strstr(reason.text, "sched:sched_switch"));
                if (!strstr(reason.text, cases[i].message))
                        g_error("'%s' is not in: %s", cases[i].message, reason.text);
                assert_filter(instance, "none\n");
        }
}

/* The log also holds what others did before. */
static void test_filter_quotes_only_ours(Instance *instance) {
        static const char path[] = "events/sched/sched_waking/filter";
        g_autofree char *longer = g_strnfill(600, ' ');
        Reason reason = {};

        g_assert_cmpint(tracefs_write(instance->fd, path, "foreign_field == 1"), ==, -EINVAL);
        g_assert_cmpint(set_filter(instance, "prev_pid == abc", &reason), ==, KT_E_KERNEL_REFUSED);
        g_assert_null(strstr(reason.text, "Field not found"));

        memcpy(longer, "prev_pid == 1 &&", strlen("prev_pid == 1 &&"));
        memcpy(longer + 588, "nosuch == 12", strlen("nosuch == 12"));
        g_assert_cmpint(set_filter(instance, longer, &reason), ==, KT_E_KERNEL_REFUSED);
        g_assert_nonnull(strstr(reason.text, "sched:sched_switch"));
}

static void test_filter_not_written(Instance *instance) {
        g_autofree char *longest = g_strnfill(4095, '1');
        Reason reason = {};

        memcpy(longest, "prev_pid == ", strlen("prev_pid == "));
        g_assert_cmpint(set_filter(instance, "prev_pid == 1", NULL), ==, 0);
        g_assert_cmpint(set_filter(instance, longest, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(set_filter(instance, "a\nb", &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(set_filter(instance, "", &reason), ==, KT_E_INVALID_SPEC);
        assert_filter(instance, "prev_pid == 1\n");

        int r = instance_set_filter(instance, "ftrace", "print", "ip == 1", &reason);
        g_assert_cmpint(r, ==, -EOPNOTSUPP);
        r = instance_set_filter(instance, "sched", "nosuch", "ip == 1", &reason);
        g_assert_cmpint(r, ==, -ENOENT);
        r = instance_set_filter(instance, "sched/..", "sched_switch", "prev_pid == 1", &reason);
        g_assert_cmpint(r, ==, -EINVAL);
}

static void test_enable(Instance *instance) {
        _cleanup_free_ char *all = NULL;
        uint64_t on = 0;

        g_assert_cmpint(instance_add_pid(instance, 4194304), ==, 0);
        g_assert_cmpint(instance_enable_event(instance, "sched", "sched_switch", true), ==, 0);
        g_assert_cmpint(instance_enable_event(instance, "sched", "nosuch", true), ==, -ENOENT);
        g_assert_cmpint(instance_enable_event(instance, "..", "sched", true), ==, -EINVAL);
        g_assert_cmpint(instance_enable_system(instance, "signal", true), ==, 0);
        g_assert_cmpint(tracefs_read_u64(instance->fd, "events/signal/enable", &on), ==, 0);
        g_assert_cmpuint(on, ==, 1);
        g_assert_cmpint(instance_disable_all(instance), ==, 0);
        g_assert_cmpint(tracefs_read(instance->fd, "events/enable", &all, NULL), ==, 0);
        g_assert_cmpstr(all, ==, "0\n");
}

static void test_statistics(Instance *instance) {
        unsigned n_cpus = 0;
        CpuStatistics s = { .entries = 1 };

        g_assert_cmpint(instance_n_cpus(instance, &n_cpus), ==, 0);
        g_assert_cmpuint(n_cpus, >=, (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
        for (unsigned cpu = 0; cpu < n_cpus; cpu++)
                g_assert_cmpint(instance_read_statistics(instance, cpu, &s), ==, 0);
        g_assert_cmpuint(s.entries, ==, 0);
        g_assert_cmpint(instance_read_statistics(instance, n_cpus, &s), ==, -ENOENT);
}

static void test_open_file(Instance *instance) {
        g_assert_cmpint(instance_open_file(instance, "../../trace", O_RDONLY), ==, -EINVAL);
        g_assert_cmpint(instance_open_file(instance, "/etc/passwd", O_RDONLY), ==, -EINVAL);
        g_assert_cmpint(instance_open_file(instance, "nosuch", O_RDONLY), ==, -ENOENT);
        int fd = instance_open_file(instance, "per_cpu/cpu0/stats", O_RDONLY);
        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(fcntl(fd, F_GETFD), ==, FD_CLOEXEC);
        close(fd);
}

static void test_gone(Instance *instance) {
        bool on;

        g_assert_cmpint(instance_remove(native_tracefs, instance->name), ==, 0);
        g_assert_cmpint(instance_add_pid(instance, 1), <, 0);
        g_assert_cmpint(instance_get_tracing(instance, &on), <, 0);
        g_assert_cmpint(instance_disable_all(instance), <, 0);
        g_assert_cmpint(instance_set_buffer_kb(instance, 64), <, 0);
}

static void add_tests(void) {
        native_add_test("/instance/life", test_life);
        native_add_test("/instance/names", test_names);
        native_add_test("/instance/buffer", test_buffer);
        native_add_test("/instance/buffer-child", test_buffer_child_has_no_fds);
        native_add_test("/instance/subbuf", test_subbuf);
        native_add_test("/instance/clock", test_clock);
        native_add_test("/instance/option", test_option);
        native_add_test("/instance/pids", test_pids);
        native_add_test("/instance/filter", test_filter);
        native_add_test("/instance/filter-refused", test_filter_refused);
        native_add_test("/instance/filter-quotes", test_filter_quotes_only_ours);
        native_add_test("/instance/filter-not-written", test_filter_not_written);
        native_add_test("/instance/enable", test_enable);
        native_add_test("/instance/statistics", test_statistics);
        native_add_test("/instance/open-file", test_open_file);
        native_add_test("/instance/gone", test_gone);
}

int main(int argc, char **argv) {
        return native_main(argc, argv, add_tests);
}
