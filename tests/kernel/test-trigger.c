/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What trigger.c and the triggers of sessions rely on, asked of the kernel that runs. */

#include "native.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/buffer.h"
#include "kernel/filter.h"
#include "kernel/trigger-line.h"
#include "kernel/trigger.h"

#define ENTER "raw_syscalls", "sys_enter"
#define EXIT  "raw_syscalls", "sys_exit"
/* Two system calls that every architecture has and that nothing else here makes. */
#define GETPPID_ID "id == " G_STRINGIFY(SYS_getppid)
#define GETPGID_ID "id == " G_STRINGIFY(SYS_getpgid)
#define GETPPID    GETPPID_ID " && !(common_flags & 88)"
#define GETPGID    GETPGID_ID " && !(common_flags & 88)"

static void lay(const Instance *instance,
                const char *system,
                const char *event,
                const Trigger *trigger) {
        Reason reason = {};

        int r = trigger_install(instance, system, event, trigger, &reason);
        if (r != 0)
                g_error("%s: %d %s", trigger->command, r, reason.text);
}

static TriggerState find(const Instance *instance,
                const char *system,
                const char *event,
                const Trigger *trigger) {
        _cleanup_free_ char *text = NULL;

        g_assert_cmpint(trigger_read(instance, system, event, &text), ==, 0);
        return trigger_find(text, trigger);
}

static bool is_on(const Instance *instance, const char *system, const char *event) {
        bool on = false;

        g_assert_cmpint(trigger_read_enabled(instance, system, event, &on), ==, 0);
        return on;
}

static void list_myself(const Instance *instance) {
        g_assert_cmpint(instance_add_pid(instance, getpid()), ==, 0);
}

static void calls(long nr, unsigned n) {
        for (unsigned i = 0; i < n; i++)
                (void)syscall(nr);
}

/* It reads back as it was laid, with what is left of its count, and "!" takes it away. */
static void test_reads_back(Instance *instance) {
        const Trigger plain = { .command = "traceoff", .condition = GETPGID },
                      counted = { .command = "stacktrace", .count = 3, .condition = GETPPID },
                      bare = { .command = "enable_event:raw_syscalls:sys_exit", .count = 2 };

        list_myself(instance);
        lay(instance, ENTER, &plain);
        lay(instance, ENTER, &counted);
        lay(instance, ENTER, &bare);
        g_assert_true(find(instance, ENTER, &plain).stands);
        g_assert_cmpuint(find(instance, ENTER, &counted).left, ==, 3);
        calls(SYS_getppid, 2);
        g_assert_cmpuint(find(instance, ENTER, &counted).left, ==, 1);
        g_assert_true(find(instance, ENTER, &bare).stands);
        const Trigger other = { .command = "stacktrace", .count = 3, .condition = GETPGID },
                      more = { .command = "stacktrace", .condition = GETPPID };
        g_assert_false(find(instance, ENTER, &other).stands);
        g_assert_false(find(instance, ENTER, &more).stands);
        g_assert_cmpint(trigger_lift(instance, ENTER, &plain), ==, 0);
        g_assert_cmpint(trigger_lift(instance, ENTER, &counted), ==, 0);
        g_assert_cmpint(trigger_lift(instance, ENTER, &bare), ==, 0);
        g_assert_cmpint(trigger_lift(instance, ENTER, &bare), ==, 0);
        g_assert_false(find(instance, ENTER, &plain).stands);
        g_assert_false(find(instance, ENTER, &counted).stands);
        g_assert_false(find(instance, ENTER, &bare).stands);
}

/* What the kernel has one place for, and what it refuses, changes nothing of what stands. */
static void test_places(Instance *instance) {
        const Trigger off = { .command = "traceoff", .condition = GETPPID },
                      on = { .command = "traceon", .condition = GETPGID },
                      enable = { .command = "enable_event:raw_syscalls:sys_exit" },
                      disable = { .command = "disable_event:raw_syscalls:sys_exit" },
                      other = { .command = "disable_event:sched:sched_switch" },
                      bad = { .command = "stacktrace", .condition = "nosuch == 1" };
        Reason reason = {};

        lay(instance, ENTER, &off);
        g_assert_cmpint(trigger_install(instance, ENTER, &on, &reason), ==, KT_E_KERNEL_REFUSED);
        lay(instance, ENTER, &enable);
        g_assert_cmpint(trigger_install(instance, ENTER, &disable, &reason),
                        ==,
                        KT_E_KERNEL_REFUSED);
        lay(instance, ENTER, &other);
        g_assert_cmpint(trigger_install(instance, ENTER, &bad, &reason), ==, KT_E_KERNEL_REFUSED);
        g_assert_true(find(instance, ENTER, &off).stands);
        g_assert_true(find(instance, ENTER, &enable).stands);
        g_assert_true(find(instance, ENTER, &other).stands);
        g_assert_false(find(instance, ENTER, &bad).stands);
}

/* A trigger is at work while its event is off, and events that go off leave it at work. */
static void test_works_while_off(Instance *instance) {
        const Trigger enable = { .command = "enable_event:raw_syscalls:sys_exit",
                .condition = GETPPID };

        list_myself(instance);
        lay(instance, ENTER, &enable);
        g_assert_false(is_on(instance, EXIT));
        calls(SYS_getppid, 1);
        g_assert_true(is_on(instance, EXIT));
        g_assert_cmpint(instance_disable_all(instance), ==, 0);
        g_assert_false(is_on(instance, EXIT));
        calls(SYS_getppid, 1);
        g_assert_true(is_on(instance, EXIT));
        /* Taken away first, it turns nothing on again. */
        g_assert_cmpint(trigger_lift(instance, ENTER, &enable), ==, 0);
        g_assert_cmpint(instance_disable_all(instance), ==, 0);
        calls(SYS_getppid, 1);
        g_assert_false(is_on(instance, EXIT));
}

/* Tasks that the pid list does not admit do not count. */
static void test_pid_list(Instance *instance) {
        const Trigger off = { .command = "traceoff", .condition = GETPPID };
        bool on = false;

        g_assert_cmpint(instance_add_pid(instance, 4194304), ==, 0);
        lay(instance, ENTER, &off);
        calls(SYS_getppid, 10);
        g_assert_cmpint(instance_get_tracing(instance, &on), ==, 0);
        g_assert_true(on);
        list_myself(instance);
        calls(SYS_getppid, 1);
        g_assert_cmpint(instance_get_tracing(instance, &on), ==, 0);
        g_assert_false(on);
}

/* Neither the event's filter nor tracing_on counts for them: a traceon undoes a traceoff. */
static void test_ignores(Instance *instance) {
        const Trigger off = { .command = "traceoff", .condition = GETPPID },
                      on = { .command = "traceon", .condition = GETPGID };
        bool tracing = true;

        list_myself(instance);
        g_assert_cmpint(instance_set_filter(instance, ENTER, "id == 1000", NULL), ==, 0);
        lay(instance, ENTER, &off);
        lay(instance, EXIT, &on);
        calls(SYS_getppid, 1);
        g_assert_cmpint(instance_get_tracing(instance, &tracing), ==, 0);
        g_assert_false(tracing);
        calls(SYS_getpgid, 1);
        g_assert_cmpint(instance_get_tracing(instance, &tracing), ==, 0);
        g_assert_true(tracing);
}

/* Each of these records is made by the calls alone: the filter is of them. */
static void filtered(const Instance *instance) {
        list_myself(instance);
        g_assert_cmpint(instance_set_filter(instance, ENTER, GETPPID_ID " || " GETPGID_ID, NULL),
                        ==,
                        0);
}

/* A record that turns its own event off is not kept, one that turns it on is. */
static void test_of_itself(Instance *instance) {
        const Trigger off = { .command = "disable_event:raw_syscalls:sys_enter",
                .condition = GETPGID },
                      on = { .command = "enable_event:raw_syscalls:sys_enter",
                              .condition = GETPGID };

        filtered(instance);
        g_assert_cmpint(instance_enable_event(instance, ENTER, true), ==, 0);
        lay(instance, ENTER, &off);
        calls(SYS_getppid, 3);
        calls(SYS_getpgid, 1);
        calls(SYS_getppid, 5);
        g_assert_cmpuint(native_count(instance, getpid()), ==, 3);
        g_assert_cmpint(trigger_lift(instance, ENTER, &off), ==, 0);
        lay(instance, ENTER, &on);
        calls(SYS_getppid, 7);
        calls(SYS_getpgid, 1);
        calls(SYS_getppid, 2);
        g_assert_cmpuint(native_count(instance, getpid()), ==, 3 + 1 + 2);
}

/* The record that ends a trace by traceoff is in it. */
static void test_traceoff_keeps_its_record(Instance *instance) {
        const Trigger off = { .command = "traceoff", .condition = GETPGID };

        filtered(instance);
        lay(instance, ENTER, &off);
        g_assert_cmpint(instance_enable_event(instance, ENTER, true), ==, 0);
        calls(SYS_getppid, 3);
        calls(SYS_getpgid, 1);
        calls(SYS_getppid, 5);
        g_assert_cmpuint(native_count(instance, getpid()), ==, 4);
}

static bool has_hist(const Instance *instance) {
        if (trigger_is_known(instance, ENTER, "hist:keys=id"))
                return true;
        g_test_skip("the kernel has no histograms");
        return false;
}

static bool hist_has(const Instance *instance, const char *row) {
        _cleanup_free_ char *text = NULL;

        g_assert_cmpint(tracefs_read(instance->fd,
                                        "events/raw_syscalls/sys_enter/hist",
                                        &text,
                                        NULL),
                        ==,
                        0);
        return strstr(text, row);
}

/* A histogram reads back with all its attributes, is paused and goes on; another with another
 * condition is another. */
static void test_hist(Instance *instance) {
        const Trigger hist = { .command = "hist:keys=id:size=256",
                .listed = "keys=id:vals=hitcount:sort=hitcount:size=256",
                .condition = GETPPID },
                      other = { .command = "hist:keys=id:size=256",
                              .listed = "keys=id:vals=hitcount:sort=hitcount:size=256",
                              .condition = GETPGID },
                      both = {
                              .command = "hist:keys=common_pid.execname,id.log2:vals=hitcount,id:"
                                         "sort=id.descending",
                              .listed = "keys=common_pid.execname,id.log2:vals=hitcount,id:sort=id.descending:size=2048"
                      };

        if (!has_hist(instance))
                return;
        list_myself(instance);
        lay(instance, ENTER, &hist);
        lay(instance, ENTER, &other);
        lay(instance, ENTER, &both);
        g_assert_true(find(instance, ENTER, &hist).stands);
        g_assert_true(find(instance, ENTER, &both).stands);
        calls(SYS_getppid, 4);
        g_assert_true(hist_has(instance, G_STRINGIFY(SYS_getppid) " } hitcount:          4"));
        g_assert_cmpint(trigger_pause(instance, ENTER, &hist, true), ==, 0);
        g_assert_true(find(instance, ENTER, &hist).is_paused);
        g_assert_false(find(instance, ENTER, &other).is_paused);
        calls(SYS_getppid, 4);
        g_assert_cmpint(trigger_pause(instance, ENTER, &hist, false), ==, 0);
        calls(SYS_getppid, 1);
        g_assert_true(hist_has(instance, G_STRINGIFY(SYS_getppid) " } hitcount:          5"));
        g_assert_cmpint(trigger_lift(instance, ENTER, &hist), ==, 0);
        g_assert_false(find(instance, ENTER, &hist).stands);
        g_assert_true(find(instance, ENTER, &other).stands);
}

/* A histogram counts while tracing_on is 0, and disable_hist of another event pauses all of its. */
static void test_hist_and_latch(Instance *instance) {
        const Trigger hist = { .command = "hist:keys=id",
                .listed = "keys=id:vals=hitcount:sort=hitcount:size=2048",
                .condition = GETPPID },
                      twin = { .command = "disable_hist:raw_syscalls:sys_enter",
                              .condition = GETPGID_ID };

        if (!has_hist(instance))
                return;
        list_myself(instance);
        lay(instance, EXIT, &twin); /* before there is any */
        lay(instance, ENTER, &hist);
        g_assert_cmpint(instance_set_tracing(instance, false), ==, 0);
        calls(SYS_getppid, 3);
        g_assert_true(hist_has(instance, G_STRINGIFY(SYS_getppid) " } hitcount:          3"));
        calls(SYS_getpgid, 1);
        g_assert_true(find(instance, ENTER, &hist).is_paused);
        calls(SYS_getppid, 3);
        g_assert_true(hist_has(instance, G_STRINGIFY(SYS_getppid) " } hitcount:          3"));
        g_assert_true(find(instance, EXIT, &twin).stands);
}

/* A snapshot is taken once, at the record, which is in it. */
static void test_snapshot(Instance *instance) {
        const Trigger snapshot = { .command = "snapshot", .count = 1, .condition = GETPGID };

        if (!trigger_is_known(instance, ENTER, "snapshot")) {
                g_test_skip("the kernel has no snapshot buffers");
                return;
        }
        filtered(instance);
        g_assert_cmpint(instance_allocate_snapshot(instance), ==, 0);
        lay(instance, ENTER, &snapshot);
        g_assert_cmpint(instance_enable_event(instance, ENTER, true), ==, 0);
        calls(SYS_getppid, 3);
        calls(SYS_getpgid, 1);
        calls(SYS_getppid, 2);
        calls(SYS_getpgid, 1);
        g_assert_cmpuint(find(instance, ENTER, &snapshot).left, ==, 0);
        g_assert_true(find(instance, ENTER, &snapshot).stands);
        g_assert_cmpuint(native_count(instance, getpid()), ==, 3);
}

/* An event that only has a trigger is listed in set_event. Its enable file says "0*". */
static void test_soft_enabled(Instance *instance) {
        const Trigger trigger = { .command = "stacktrace", .condition = GETPGID };
        _cleanup_free_ char *before = NULL, *soft = NULL, *off = NULL;

        g_assert_cmpint(tracefs_read(instance->fd, "set_event", &before, NULL), ==, 0);
        g_assert_null(strstr(before, "raw_syscalls:sys_enter"));
        lay(instance, ENTER, &trigger);
        g_assert_cmpint(tracefs_read(instance->fd, "set_event", &soft, NULL), ==, 0);
        g_assert_nonnull(strstr(soft, "raw_syscalls:sys_enter"));
        g_assert_false(is_on(instance, ENTER));
        g_assert_cmpint(instance_enable_event(instance, ENTER, true), ==, 0);
        g_assert_true(is_on(instance, ENTER));
        g_assert_cmpint(instance_enable_event(instance, ENTER, false), ==, 0);
        g_assert_false(is_on(instance, ENTER));
        g_assert_true(find(instance, ENTER, &trigger).stands);
}

static void add_tests(void) {
        native_add_test("/trigger/soft-enabled", test_soft_enabled);
        native_add_test("/trigger/reads-back", test_reads_back);
        native_add_test("/trigger/places", test_places);
        native_add_test("/trigger/works-while-off", test_works_while_off);
        native_add_test("/trigger/pid-list", test_pid_list);
        native_add_test("/trigger/ignores", test_ignores);
        native_add_test("/trigger/of-itself", test_of_itself);
        native_add_test("/trigger/traceoff-keeps-its-record", test_traceoff_keeps_its_record);
        native_add_test("/trigger/hist", test_hist);
        native_add_test("/trigger/hist-and-latch", test_hist_and_latch);
        native_add_test("/trigger/snapshot", test_snapshot);
}

int main(int argc, char **argv) {
        return native_main(argc, argv, add_tests);
}
