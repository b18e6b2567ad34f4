/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What daemon/policy/filter-*.c rely on, asked of the kernel that runs, and that it takes and means
 * what filter_compile() makes: generated filters of many events, each written and read back, and
 * some whose effect is counted. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/event.h"
#include "kernel/filter.h"
#include "native.h"
#include "policy/filter.h"

#define N_FILTERS 60 /* of each event */

static const char *const events[][2] = {
        { "sched", "sched_switch" },
        { "sched", "sched_process_exec" },
        { "sched", "sched_wakeup" },
        { "raw_syscalls", "sys_enter" },
        { "raw_syscalls", "sys_exit" },
        { "syscalls", "sys_enter_openat" },
        { "syscalls", "sys_enter_mmap" },
        { "signal", "signal_deliver" },
        { "kmem", "kmalloc" },
        { "timer", "timer_start" },
        { "block", "block_rq_issue" },
        { "ipi", "ipi_send_cpumask" },
};

static Format *load_format(const char *system, const char *name) {
        g_autofree char *path = g_strdup_printf("events/%s/%s/format", system, name);
        _cleanup_free_ char *text = NULL;
        Format *format = NULL;
        Reason reason = {};
        size_t size;

        if (tracefs_read(native_tracefs->fd, path, &text, &size) != 0)
                return NULL;
        if (format_parse(text, size, &format, &reason) != 0)
                g_error("%s: %s", path, reason.text);
        return format;
}

/* CPUS{…} came with Linux 6.6. */
static bool kernel_has_cpus(const Instance *instance) {
        static const char path[] = "events/raw_syscalls/sys_enter/filter";
        bool has = tracefs_write(instance->fd, path, "CPU & CPUS{0}") == 0;

        (void)tracefs_write(instance->fd, path, "0");
        return has;
}

static void add_comparison(GString *text, const Format *format) {
        static const char *const operators[] = { "==", "!=", "<", "<=", ">", ">=", "&", "~" };
        static const char *const values[] = {
                "0",
                "1",
                "-1",
                "7",
                "255",
                "0x7f",
                "0177",
                "65535",
                "4294967295",
                "0xffffffffffffffff",
                "-9223372036854775808",
                "10ms",
                "64k",
                "true",
                "'sh'",
                "\"a b\"",
                "'*x*'",
                "'1*'",
                "'!z?'",
                "'(&&'",
                "''",
                "'it\"s'",
                "CPUS{0}",
                "CPUS{0-1}",
        };
        guint n_fields = (guint)format->n_fields;
        gint field = g_test_rand_int_range(0, (gint32)n_fields + 3);

        for (int n = g_test_rand_int_range(0, 3); n > 0; n--)
                g_string_append_c(text, '!');
        g_string_append(text,
                        (guint)field < n_fields        ? format->fields[field].name
                        : (guint)field == n_fields     ? "CPU"
                        : (guint)field == n_fields + 1 ? "comm"
                                                       : "pid");
        g_string_append_printf(text,
                        " %s %s",
                        operators[g_test_rand_int_range(0, G_N_ELEMENTS(operators))],
                        values[g_test_rand_int_range(0, G_N_ELEMENTS(values))]);
}

/* One comparison that compiles: most of what is thrown together has the wrong type. */
static void add_good_comparison(GString *text, const FilterContext *context) {
        for (;;) {
                g_autoptr(GString) comparison = g_string_new(NULL);
                _cleanup_free_ char *compiled = NULL;

                add_comparison(comparison, context->format);
                if (filter_compile(context, comparison->str, &compiled, NULL) != 0)
                        continue;
                g_string_append(text, comparison->str);
                return;
        }
}

static void add_expression(GString *text, const FilterContext *context, int depth) {
        int n = g_test_rand_int_range(1, 4);

        for (int i = 0; i < n; i++) {
                if (i > 0)
                        g_string_append(text, g_test_rand_int_range(0, 2) ? " && " : "||");
                if (depth == 0 || g_test_rand_int_range(0, 3) > 0) {
                        add_good_comparison(text, context);
                        continue;
                }
                g_string_append(text, g_test_rand_int_range(0, 2) ? "!(" : "(");
                add_expression(text, context, depth - 1);
                g_string_append_c(text, ')');
        }
}

static void assert_taken(const Instance *instance,
                const char *const event[2],
                const char *written,
                const char *compiled) {
        Reason reason = {};
        /* instance_set_filter() reads back and compares. */
        int r = instance_set_filter(instance, event[0], event[1], compiled, &reason);

        if (r != 0)
                g_error("%s:%s: '%s' -> '%s': %d %s",
                                event[0],
                                event[1],
                                written,
                                compiled,
                                r,
                                reason.text);
}

/* The kernel takes what filter_compile() makes, and so joined as the fence joins it. */
static void test_generated(Instance *instance) {
        unsigned n_cpus = kernel_has_cpus(instance) ? 2 : 0;
        size_t n = 0;

        for (size_t i = 0; i < G_N_ELEMENTS(events); i++) {
                _cleanup_(format_free_cleanup) Format *format =
                                load_format(events[i][0], events[i][1]);
                g_autofree char *name = g_strdup_printf("%s:%s", events[i][0], events[i][1]);
                FilterContext context = { .event = name, .format = format, .n_cpus = n_cpus };

                if (!format)
                        continue;
                for (int k = 0; k < N_FILTERS; k++, n++) {
                        g_autoptr(GString) text = g_string_new(NULL);
                        _cleanup_free_ char *compiled = NULL;
                        g_autofree char *joined = NULL;
                        Reason reason = {};

                        add_expression(text, &context, 3);
                        if (filter_compile(&context, text->str, &compiled, &reason) != 0)
                                g_error("%s: %s", text->str, reason.text);
                        assert_taken(instance, events[i], text->str, compiled);
                        joined = g_strdup_printf("(%s) && !(common_flags & 0x58)", compiled);
                        assert_taken(instance, events[i], text->str, joined);
                }
        }
        g_assert_cmpuint(n, >=, 5 * N_FILTERS);
}

/* The limits of filter.h lie within the kernel's. */
static void test_limits(Instance *instance) {
        _cleanup_(format_free_cleanup) Format *format = load_format("raw_syscalls", "sys_enter");
        FilterContext context = { .event = "raw_syscalls:sys_enter", .format = format };
        g_autoptr(GString) many = g_string_new("id == 0"), deep = g_string_new("");
        _cleanup_free_ char *compiled = NULL;

        for (int i = 1; i < FILTER_PREDICATES_MAX; i++)
                g_string_append_printf(many, "||id == %d", i);
        g_assert_cmpint(filter_compile(&context, many->str, &compiled, NULL), ==, 0);
        assert_taken(instance, events[3], many->str, compiled);

        for (int i = 0; i < FILTER_DEPTH_MAX; i++)
                g_string_append_printf(deep,
                                "%s == %d %s (",
                                i % 2 ? "id" : "CPU",
                                i,
                                i % 2 ? "&&" : "||");
        g_string_append(deep, "id == 1");
        for (int i = 0; i < FILTER_DEPTH_MAX; i++)
                g_string_append_c(deep, ')');
        free_cleanup(&compiled);
        compiled = NULL;
        g_assert_cmpint(filter_compile(&context, deep->str, &compiled, NULL), ==, 0);
        assert_taken(instance, events[3], deep->str, compiled);
}

/* Writes one filter while the event is off, empties the buffer, and puts the event on. */
static void arm(Instance *instance, const char *const event[2], const char *filter) {
        g_assert_cmpint(instance_enable_event(instance, event[0], event[1], false), ==, 0);
        _cleanup_close_ int fd = openat(instance->fd, "trace", O_WRONLY | O_TRUNC | O_CLOEXEC);
        g_assert_cmpint(fd, >=, 0);
        assert_taken(instance, event, filter, filter);
        g_assert_cmpint(instance_enable_event(instance, event[0], event[1], true), ==, 0);
}

static char *compile(const char *const event[2], const char *filter) {
        _cleanup_(format_free_cleanup) Format *format = load_format(event[0], event[1]);
        g_autofree char *name = g_strdup_printf("%s:%s", event[0], event[1]);
        FilterContext context = {
                .event = name, .format = format, .keeps_addresses = true, .has_functions = true
        };
        Reason reason = {};
        char *compiled;

        if (filter_compile(&context, filter, &compiled, &reason) != 0)
                g_error("%s: %s", filter, reason.text);
        return compiled;
}

static size_t count_lines(const Instance *instance, const char *said) {
        _cleanup_free_ char *text = NULL;
        size_t n = 0;

        g_assert_cmpint(tracefs_read(instance->fd, "trace", &text, NULL), ==, 0);
        for (const char *p = text; (p = strstr(p, said)); p++)
                n++;
        return n;
}

/* And means the same by it: getppid() is let through where the filter holds for it, and else not
 * once. */
static void test_meaning(Instance *instance) {
        static const char *const event[] = { "raw_syscalls", "sys_enter" };

        static const struct {
                const char *filter;
                bool holds;
        } cases[] = {
                { "id == %d", true },
                { "id != %d", false },
                { "!id == %d", false },
                { "!!(id == %d)", true },
                { "id == %d && pid == 1", false },
                /* && binds tighter, ! only to what is behind it. */
                { "id == %d || pid == 1 && pid == 1", true },
                { "(id == %d || pid == 1) && pid == 1", false },
                { "!pid == 1 && id == %d", true },
                { "!(pid == 1 || id == %d)", false },
                { "!(pid == 1 && id == %d) && id == %d", true },
                { "id == %d && !(pid == 1 || !(pid != 1))", true },
                { "id == %d && comm == '7-filter'", true },
                { "id == %d && comm ~ '*ilte*'", true },
                { "id == %d && comm ~ '!*ilte*'", false },
                { "id == %d && comm ~ '*ilter'", true },
                { "id == %d && comm ~ '*ilte'", false },
                { "id == %d && comm ~ '!*ilter'", false },
                { "id == %d && comm ~ '7*'", true },
                { "id == %d && comm ~ '!7*'", false },
                { "id == %d && comm ~ '!!7*'", true },
                { "id == %d && comm ~ '7-filter'", true },
                { "id == %d && comm ~ '7-f?l*'", true },
                { "id == %d && CPU < 64k", true },
                { "id == %d && CPU == 99999", false },
                { "id == %d && id & -1", true },
                { "id == %d && id > -1", true },
                { "id == %d && id < -1", false },
                { "id == %d && common_flags < 255", true },
        };

        g_autofree char *number = g_strdup_printf("%d", SYS_getppid);
        g_autofree char *said = g_strdup_printf(" NR %d (", SYS_getppid);
        Worker worker;

        g_assert_cmpint(prctl(PR_SET_NAME, "7-filter"), ==, 0);
        worker_start(&worker);
        g_assert_cmpint(instance_add_pid(instance, worker.pid), ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(GStrv) parts = g_strsplit(cases[i].filter, "%d", -1);
                g_autofree char *filter = g_strjoinv(number, parts);
                _cleanup_free_ char *compiled = compile(event, filter);

                arm(instance, event, compiled);
                worker_call(&worker);
                size_t n = count_lines(instance, said);
                if (n != (cases[i].holds ? WORKER_CALLS : 0))
                        g_error("%s: %zu of %d calls", filter, n, WORKER_CALLS);
        }
        /* A glob that starts with a digit is compared as it stands. */
        arm(instance, event, "comm ~ \"7*\"");
        worker_call(&worker);
        g_assert_cmpuint(count_lines(instance, said), ==, 0);
        worker_stop(&worker);
}

/* A string of the kernel's and where it lies: printk_formats lists some. */
static bool find_kernel_string(unsigned long *ret_address, char ret_string[static 64]) {
        _cleanup_free_ char *text = NULL;

        return tracefs_read(native_tracefs->fd, "printk_formats", &text, NULL) == 0 &&
               sscanf(text, "0x%lx : \"%63[a-zA-Z_-]\"", ret_address, ret_string) == 2 &&
               *ret_address != 0;
}

/* What a `char *` points to is read while the event is recorded: from the kernel's memory, from the
 * process's own with .ustring. */
static void test_pointers(Instance *instance) {
        static const char *const event[] = { "syscalls", "sys_enter_openat" };
        _cleanup_(format_free_cleanup) Format *format = load_format(event[0], event[1]);
        _cleanup_free_ char *own = NULL, *kernel = NULL;
        g_autofree char *filter = NULL;
        unsigned long address;
        char string[64];

        if (!format || !find_kernel_string(&address, string)) {
                g_test_skip(format ? "printk_formats lists no string"
                                   : "no events of system calls");
                return;
        }
        own = compile(event, "filename == '/no/such/file'");
        filter = g_strdup_printf("filename == \"%s\"", string);
        kernel = compile(event, filter);
        g_assert_cmpint(instance_add_pid(instance, getpid()), ==, 0);

        arm(instance, event, own);
        g_assert_cmpint(open("/no/such/file", O_RDONLY), <, 0);
        g_assert_cmpint(open("/no/such/files", O_RDONLY), <, 0);
        g_assert_cmpuint(count_lines(instance, "sys_openat("), ==, 1);

        /* Why a pointer is never left to the kernel's own reading. */
        arm(instance, event, filter);
        g_assert_cmpint(syscall(SYS_openat, AT_FDCWD, address, O_RDONLY), <, 0);
        g_assert_cmpuint(count_lines(instance, "sys_openat("), ==, 1);
        arm(instance, event, kernel);
        g_assert_cmpint(syscall(SYS_openat, AT_FDCWD, address, O_RDONLY), <, 0);
        g_assert_cmpuint(count_lines(instance, "sys_openat("), ==, 0);
}

/* A field of another size is taken and matches nothing, a number is cut to the field's width: the
 * kernel says neither. */
static void test_silent_kernel(Instance *instance) {
        static const char *const event[] = { "raw_syscalls", "sys_enter" };
        g_autofree char *said = g_strdup_printf(" NR %d (", SYS_getppid);
        Worker worker;

        worker_start(&worker);
        g_assert_cmpint(instance_add_pid(instance, worker.pid), ==, 0);
        arm(instance, event, "args == 1 || args != 1");
        worker_call(&worker);
        g_assert_cmpuint(count_lines(instance, said), ==, 0);
        arm(instance, event, "common_type == 0 || common_preempt_count < 256");
        worker_call(&worker);
        g_assert_cmpuint(count_lines(instance, said), ==, 0);
        arm(instance, event, "CPU & 65535");
        worker_call(&worker);
        g_assert_cmpuint(count_lines(instance, said), ==, 0);
        worker_stop(&worker);
}

/* The name of a function ends at a blank. */
static void test_function(Instance *instance) {
        static const char *const event[] = { "kmem", "kmalloc" };
        static const char path[] = "events/kmem/kmalloc/filter";
        _cleanup_free_ char *compiled = NULL;

        if (tracefs_write(instance->fd, path, "call_site.function == schedule") != 0) {
                g_test_skip("filters by function came with Linux 6.3");
                return;
        }
        g_assert_cmpint(tracefs_write(instance->fd, path, "(call_site.function == schedule)"),
                        ==,
                        -EINVAL);
        g_assert_cmpint(tracefs_write(instance->fd, path, "0"), ==, 0);
        compiled = compile(event, "!(call_site.function == schedule || bytes_req > 4k)");
        assert_taken(instance, event, "", compiled);
        /* An address: what is none of a function is refused, so it was understood as one. */
        g_assert_cmpint(tracefs_write(instance->fd, path, "call_site.function == 0x1"),
                        ==,
                        -EINVAL);
}

static void add_tests(void) {
        native_add_test("/filter/generated", test_generated);
        native_add_test("/filter/limits", test_limits);
        native_add_test("/filter/meaning", test_meaning);
        native_add_test("/filter/pointers", test_pointers);
        native_add_test("/filter/silent-kernel", test_silent_kernel);
        native_add_test("/filter/function", test_function);
}

int main(int argc, char **argv) {
        return native_main(argc, argv, add_tests);
}
