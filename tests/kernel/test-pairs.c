/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What pair.c and what makes its words rely on, asked of the kernel that runs. */

#include "native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/buffer.h"
#include "kernel/pair.h"
#include "kernel/statistics.h"

#define ENTER "raw_syscalls", "sys_enter"
#define EXIT  "raw_syscalls", "sys_exit"
#define EVENT "ktrace_test"
#define PATH  "events/" PAIR_SYSTEM "/" EVENT "/enable"

static const char first[] = "hist:keys=common_pid:p0_t=common_timestamp:p0_1=id:size=128:clock=mono"
                            " if !(common_flags & 88)";
static const char second[] = "hist:keys=common_pid:p0_d=common_timestamp-$p0_t:size=128:clock=mono"
                             ":onmatch(raw_syscalls.sys_enter).trace(" EVENT ",$p0_d,$p0_1)"
                             " if !(common_flags & 88)";

static bool define(const Tracefs *tracefs) {
        if (!pair_is_supported(tracefs)) {
                g_test_skip("this kernel pairs no events");
                return false;
        }
        Reason reason = {};
        int r = pair_define(tracefs, EVENT, "u64 took; s64 id", &reason);
        if (r != 0)
                g_error("%s", reason.text);
        return true;
}

static void lay(const Instance *instance) {
        Reason reason = {};

        int r = pair_install(instance, ENTER, first, &reason);
        r = r ?: pair_install(instance, EXIT, second, &reason);
        if (r != 0)
                g_error("%s", reason.text);
}

static void lift(const Instance *instance) {
        g_assert_cmpint(pair_lift(instance, EXIT, second), ==, 0);
        g_assert_cmpint(pair_lift(instance, ENTER, first), ==, 0);
        g_assert_cmpint(pair_remove(instance->tracefs, EVENT), ==, 0);
}

static uint64_t count(const Instance *instance) {
        unsigned n_cpus = 0;
        uint64_t n = 0;

        g_assert_cmpint(instance_n_cpus(instance, &n_cpus), ==, 0);
        for (unsigned cpu = 0; cpu < n_cpus; cpu++) {
                CpuStatistics s;

                g_assert_cmpint(instance_read_statistics(instance, cpu, &s), ==, 0);
                n += s.entries;
        }
        return n;
}

static char *read_trigger(const Instance *instance, const char *path) {
        char *text = NULL;

        g_assert_cmpint(tracefs_read(instance->fd, path, &text, NULL), ==, 0);
        return text;
}

/* It reads back with more attributes, and what refers to another goes first: the second trigger
 * before the first, both before the event and the instance. */
static void test_order(Instance *instance) {
        const Tracefs *tracefs = instance->tracefs;
        _cleanup_free_ char *list = NULL;
        Reason reason = {};

        if (!define(tracefs))
                return;
        lay(instance);
        g_assert_cmpint(tracefs_read(tracefs->fd, "dynamic_events", &list, NULL), ==, 0);
        g_assert_nonnull(strstr(list, "s:" PAIR_SYSTEM "/" EVENT "\t"));
        g_autofree char *from = read_trigger(instance, "events/raw_syscalls/sys_enter/trigger");
        g_autofree char *to = read_trigger(instance, "events/raw_syscalls/sys_exit/trigger");
        g_assert_true(pair_line_is(from, strcspn(from, "\n"), first));
        g_assert_true(pair_line_is(to, strcspn(to, "\n"), second));
        g_assert_false(pair_line_is(from, strcspn(from, "\n"), second));

        g_assert_cmpint(pair_define(tracefs, EVENT, "u64 a", &reason), ==, KT_E_KERNEL_REFUSED);
        g_assert_cmpint(instance_remove(tracefs, instance->name), ==, -EBUSY);
        g_assert_cmpint(pair_remove(tracefs, EVENT), ==, -EBUSY);
        g_assert_cmpint(pair_lift(instance, ENTER, first), ==, -EBUSY);
        lift(instance);
        g_assert_cmpint(pair_remove(tracefs, EVENT), ==, 0);
}

/* "!" and what it reads back as takes it away. */
static void test_left(Instance *instance) {
        if (!define(instance->tracefs))
                return;
        lay(instance);
        g_assert_cmpint(pair_lift_all(instance), ==, 0);
        g_autofree char *to = read_trigger(instance, "events/raw_syscalls/sys_exit/trigger");
        g_assert_cmpint(*to, ==, '#');
        g_assert_cmpint(pair_remove_all(instance->tracefs, EVENT, NULL, NULL), ==, 0);
        g_assert_cmpint(pair_define(instance->tracefs, EVENT, "u64 a", NULL), ==, 0);
        g_assert_cmpint(pair_remove(instance->tracefs, EVENT), ==, 0);
}

/* Every instance that has the event on gets what one makes; the pid list holds for triggers. */
static void test_every_instance(Instance *instance) {
        _cleanup_(instance_free_cleanup) Instance *other = NULL;
        uint64_t dropped = 1;
        Worker worker;

        if (!define(instance->tracefs))
                return;
        worker_start(&worker);
        g_assert_cmpint(instance_create(instance->tracefs, native_id(), &other), ==, 0);
        g_assert_cmpint(instance_add_pid(instance, worker.pid), ==, 0);
        lay(instance);
        g_assert_cmpint(tracefs_write(instance->fd, PATH, "1"), ==, 0);
        g_assert_cmpint(tracefs_write(other->fd, PATH, "1"), ==, 0);
        worker_call(&worker);
        worker_stop(&worker);
        g_assert_cmpint(tracefs_write(instance->fd, PATH, "0"), ==, 0);
        g_assert_cmpint(tracefs_write(other->fd, PATH, "0"), ==, 0);
        g_assert_cmpuint(count(instance), >=, WORKER_CALLS);
        /* Ours would be thousands. */
        g_assert_cmpuint(count(instance), <, 20 * WORKER_CALLS);
        g_assert_cmpuint(count(other), ==, count(instance));
        g_assert_cmpint(pair_read_dropped(instance, ENTER, first, &dropped), ==, 0);
        g_assert_cmpuint(dropped, ==, 0);
        lift(instance);
        g_assert_cmpint(instance_remove(instance->tracefs, other->name), ==, 0);
}

/* Setting the clock empties the rings; what tracing_on stops is the record. */
static void test_rings(Instance *instance) {
        Worker worker;

        if (!define(instance->tracefs))
                return;
        worker_start(&worker);
        g_assert_cmpint(instance_add_pid(instance, worker.pid), ==, 0);
        g_assert_cmpint(instance_enable_event(instance, ENTER, true), ==, 0);
        worker_call(&worker);
        g_assert_cmpint(instance_enable_event(instance, ENTER, false), ==, 0);
        g_assert_cmpuint(count(instance), >, 0);
        lay(instance);
        g_assert_cmpuint(count(instance), ==, 0);
        g_assert_cmpint(tracefs_write(instance->fd, PATH, "1"), ==, 0);
        g_assert_cmpint(instance_set_tracing(instance, false), ==, 0);
        worker_call(&worker);
        worker_stop(&worker);
        g_assert_cmpuint(count(instance), ==, 0);
        g_autofree char *hist = read_trigger(instance, "events/raw_syscalls/sys_exit/hist");
        g_assert_null(strstr(hist, "\n    Hits: 0\n"));
        g_assert_cmpint(tracefs_write(instance->fd, PATH, "0"), ==, 0);
        lift(instance);
}

/* Whether keys are alike nobody checks: what compile-pair.c is for. */
static void test_unlike_keys(Instance *instance) {
        static const char unlike[] =
                        "hist:keys=common_pid,id:p0_d=common_timestamp-$p0_t:size=128:clock=mono"
                        ":onmatch(raw_syscalls.sys_enter).trace(" EVENT ",$p0_d,$p0_1)";
        Reason reason = {};

        if (!define(instance->tracefs))
                return;
        g_assert_cmpint(pair_install(instance, ENTER, first, &reason), ==, 0);
        int r = pair_install(instance, EXIT, unlike, &reason);
        g_test_message("%d %s", r, reason.text);
        if (r == 0)
                g_assert_cmpint(pair_lift(instance, EXIT, unlike), ==, 0);
        g_assert_cmpint(pair_install(instance, EXIT, "hist:keys=nothing", &reason),
                        ==,
                        KT_E_KERNEL_REFUSED);
        lift(instance);
}

static void add_tests(void) {
        native_add_test("/pairs/order", test_order);
        native_add_test("/pairs/left", test_left);
        native_add_test("/pairs/every-instance", test_every_instance);
        native_add_test("/pairs/rings", test_rings);
        native_add_test("/pairs/unlike-keys", test_unlike_keys);
}

int main(int argc, char **argv) {
        return native_main(argc, argv, add_tests);
}
