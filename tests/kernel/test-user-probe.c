/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the code believes of probes in programs, asked of the kernel that runs. Nothing but a
 * function of this program's is ever on. */

#include "native.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "kernel/buffer.h"
#include "kernel/probe-group.h"
#include "kernel/probe.h"

/* The registers of the first two arguments. */
#ifdef __x86_64__
#define FIRST  "di"
#define SECOND "si"
#else
#define FIRST  "x0"
#define SECOND "x1"
#endif

#define GROUP "ktrace_contract"

/* The line that the kernel gives back for a place of this file: a number of all its digits. */
#define USER_LINE(type, name, fd, offset, args) \
        g_strdup_printf(type ":" GROUP "/" name " /proc/self/fd/%d:0x%016x" args, fd, offset)

/* Somewhere in the middle of this program's own code: nothing is ever turned on. */
#define USER_OFFSET 0x2000u

static int open_self(const Instance *instance) {
        if (!probe_is_supported(instance->tracefs, PROBE_USER)) {
                g_test_skip("this kernel has no uprobes");
                return -1;
        }
        return open("/proc/self/exe", O_PATH | O_CLOEXEC);
}

static char *read_probe(const Instance *instance, const char *name) {
        char *stands = NULL;

        g_assert_cmpint(probe_read(instance->tracefs, PROBE_USER, GROUP, name, &stands), ==, 0);
        return stands;
}

/* A path of /proc/self/fd with an O_PATH descriptor names a file; what is written with all digits
 * reads back as it was; a second place of one event is a line behind the first; counts are reported
 * by the file as it was written. */
static bool begins_so(const char *event, size_t size _unused_, void *userdata) {
        return strncmp(event, userdata, strlen(userdata)) == 0;
}

static void test_reads_back(Instance *instance) {
        _cleanup_close_ int fd = open_self(instance);
        uint64_t hits = 1, misses = 1;
        Reason reason = {};

        if (fd < 0)
                return;
        g_autofree char *one = USER_LINE(
                        "p", "u", fd, USER_OFFSET, "(0x2010) a=%%" FIRST ":s64 b=\\-5:s32");
        g_autofree char *two = USER_LINE(
                        "p", "u", fd, USER_OFFSET + 16, "(0x2010) a=-8(%%sp):s64 b=\\5:s32");
        g_autofree char *both = g_strdup_printf("%s\n%s", one, two);
        g_autofree char *file = g_strdup_printf("/proc/self/fd/%d", fd);
        if (probe_define(instance->tracefs, PROBE_USER, both, &(size_t){ 0 }, &reason) != 0)
                g_error("%s: %s", both, reason.text);
        g_autofree char *stands = read_probe(instance, "u");
        g_assert_cmpstr(stands, ==, both);
        g_assert_cmpint(probe_read_counts(instance->tracefs, file, "u", &hits, &misses), ==, 0);
        g_assert_cmpuint(hits, ==, 0);
        g_assert_cmpuint(misses, ==, 0);
        g_assert_cmpint(probe_read_counts(instance->tracefs, file, "v", &hits, &misses),
                        ==,
                        -ENOENT);
        g_assert_cmpint(probe_remove(instance->tracefs, PROBE_USER, GROUP, "u"), ==, 0);
        g_autofree char *gone = read_probe(instance, "u");
        g_assert_null(gone);
        g_assert_cmpint(probe_remove(instance->tracefs, PROBE_USER, GROUP, "u"), ==, 0);
}

/* What it refuses at one place it has at none. */
static void test_refused(Instance *instance) {
        _cleanup_close_ int fd = open_self(instance);

        static const struct {
                const char *args, *reported;
        } refused[] = {
                { " a=%" FIRST ":s32", "Argument type or name is different" },
                { " a=%rdi:s64", "Invalid register name" },
                { " a=$arg1:s64", "" }, /* other words on each kernel */
                { " a=%" FIRST ":u7", "Unknown type" },
        };

        if (fd < 0)
                return;
        g_autofree char *one = USER_LINE("p", "u", fd, USER_OFFSET, " a=%%" FIRST ":s64");
        for (size_t i = 0; i < ELEMENTSOF(refused); i++) {
                Reason reason = {};
                g_autofree char *both =
                                g_strdup_printf("%s\np:" GROUP "/u /proc/self/fd/%d:0x%016x%s",
                                                one,
                                                fd,
                                                USER_OFFSET + 16,
                                                refused[i].args);

                g_assert_cmpint(probe_define(instance->tracefs,
                                                PROBE_USER,
                                                both,
                                                &(size_t){ 0 },
                                                &reason),
                                ==,
                                KT_E_KERNEL_REFUSED);
                if (!strstr(reason.text, refused[i].reported))
                        g_error("%s: %s", both, reason.text);
                g_autofree char *stands = read_probe(instance, "u");
                g_assert_null(stands);
        }
}

/* In this program's file, and in its data. */
static __attribute__((noipa)) long probed(long n) {
        return n + 1;
}

static volatile uint16_t listeners __attribute__((section(".probes"), used)) = 0;

/* Where in the file lies what is mapped there? */
static uint64_t get_file_offset(const volatile void *address) {
        g_autofree char *maps = NULL;
        unsigned long start, end, offset;

        g_assert_true(g_file_get_contents("/proc/self/maps", &maps, NULL, NULL));
        for (const char *line = maps; line && *line;) {
                if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
                                (uintptr_t)address >= start && (uintptr_t)address < end)
                        return (uintptr_t)address - start + offset;
                line = strchr(line, '\n');
                line = line ? line + 1 : NULL;
        }
        g_assert_not_reached();
}

static void call_probed(unsigned n) {
        for (unsigned i = 0; i < n; i++)
                g_assert_cmpint(probed(i), ==, i + 1);
}

/* The list of pids holds for probes in programs; what they record is made by the task itself,
 * whatever its flags say; a counter is above 0 in every process that has it mapped, while the event
 * is on and no longer. */
static void test_records(Instance *instance) {
        _cleanup_close_ int fd = open_self(instance);
        Reason reason = {};

        if (fd < 0)
                return;
        g_autofree char *line = g_strdup_printf("p:" GROUP "/f /proc/self/fd/%d:0x%016" PRIx64
                                                "(%#" PRIx64 ")",
                        fd,
                        get_file_offset((const void *)probed),
                        get_file_offset(&listeners));
        if (probe_define(instance->tracefs, PROBE_USER, line, &(size_t){ 0 }, &reason) != 0)
                g_error("%s: %s", line, reason.text);
        g_assert_cmpint(instance_set_buffer_kb(instance, 64), ==, 0);
        g_assert_cmpint(instance_add_pid(instance, 4194304), ==, 0); /* nobody */
        g_assert_cmpuint(listeners, ==, 0);
        g_assert_cmpint(instance_enable_event(instance, GROUP, "f", true), ==, 0);
        g_assert_cmpuint(listeners, ==, 1);
        call_probed(3);
        g_assert_cmpuint(native_sum_offered(instance), ==, 0);
        g_assert_cmpint(instance_add_pid(instance, getpid()), ==, 0);
        call_probed(5);
        g_assert_cmpuint(native_sum_offered(instance), ==, 5);
        g_assert_cmpint(instance_disable_all(instance), ==, 0);
        g_assert_cmpuint(listeners, ==, 0);
        call_probed(7);
        g_assert_cmpuint(native_sum_offered(instance), ==, 5);
        g_assert_cmpint(probe_remove(instance->tracefs, PROBE_USER, GROUP, "f"), ==, 0);
}

/* Groups go with all places of their events, and with both kinds. */
static void test_groups(Instance *instance) {
        _cleanup_close_ int fd = open_self(instance);

        if (fd < 0)
                return;
        g_autofree char *one = USER_LINE("p", "u", fd, USER_OFFSET, " a=%%" FIRST ":s64");
        g_autofree char *two = USER_LINE("r", "v", fd, USER_OFFSET, " a=$retval:s64");
        g_autofree char *three = USER_LINE("p", "u", fd, USER_OFFSET + 16, " a=%%" SECOND ":s64");
        const char *const lines[] = { one, two, three };
        for (size_t i = 0; i < ELEMENTSOF(lines); i++)
                g_assert_cmpint(probe_add(instance->tracefs, PROBE_USER, lines[i]), ==, 0);
        g_assert_cmpint(probe_remove_groups(instance->tracefs,
                                        GROUP,
                                        &(ProbeKeeper){ begins_so, (char *)GROUP "/v" }),
                        ==,
                        0);
        g_autofree char *gone = read_probe(instance, "u"), *kept = read_probe(instance, "v");
        g_assert_null(gone);
        g_assert_cmpstr(kept, ==, two);
        g_assert_cmpint(probe_remove_groups(instance->tracefs,
                                        GROUP,
                                        &(ProbeKeeper){ begins_so, (char *)GROUP "/w" }),
                        ==,
                        0);
        g_autofree char *last = read_probe(instance, "v");
        g_assert_null(last);
}

static void add_tests(void) {
        native_add_test("/user-probe/reads-back", test_reads_back);
        native_add_test("/user-probe/refused", test_refused);
        native_add_test("/user-probe/groups", test_groups);
        native_add_test("/user-probe/records", test_records);
}

int main(int argc, char **argv) {
        return native_main(argc, argv, add_tests);
}
