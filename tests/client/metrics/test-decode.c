/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The values of labels are the texts that a reader expects, and bounded. */

#include <string.h>
#include <unistd.h>

#include "metrics/decode.h"
#include "sample-set.h"

static const char *decode(const SetLabel *label, int64_t number) {
        static char text[DECODE_TEXT_MAX];
        DecodeKey key = { .number = (uint64_t)number, .is_negative = number < 0 };

        decode_label(label, &key, text);
        return text;
}

static void test_numbers(void) {
        const SetLabel number = { .decoder = DECODER_NUMBER }, cpu = { .decoder = DECODER_CPU };

        g_assert_cmpstr(decode(&number, 5), ==, "5");
        g_assert_cmpstr(decode(&number, -5), ==, "-5");
        g_assert_cmpstr(decode(&cpu, 3), ==, "3");
        DecodeKey large = { .number = UINT64_MAX };
        char text[DECODE_TEXT_MAX];
        g_assert_true(decode_label(&number, &large, text));
        g_assert_cmpstr(text, ==, "18446744073709551615");
}

static void test_syscall(void) {
        const SetLabel label = { .decoder = DECODER_SYSCALL };

        g_assert_cmpstr(decode(&label, 100000), ==, "100000");
        g_assert_cmpstr(decode(&label, -1), ==, "-1");
#if defined(__x86_64__)
        g_assert_cmpstr(decode(&label, 0), ==, "read");
        g_assert_cmpstr(decode(&label, 257), ==, "openat");
#endif
}

static void test_errno(void) {
        const SetLabel label = { .decoder = DECODER_ERRNO };

        g_assert_cmpstr(decode(&label, -2), ==, "ENOENT");
        g_assert_cmpstr(decode(&label, (uint32_t)-2), ==, "ENOENT");
        g_assert_cmpstr(decode(&label, 0), ==, "none");
        g_assert_cmpstr(decode(&label, 7), ==, "none");
        g_assert_cmpstr(decode(&label, -512), ==, "ERESTARTSYS");
        g_assert_cmpstr(decode(&label, -4000), ==, "-4000");
        g_assert_cmpstr(decode(&label, INT64_MIN), ==, "-9223372036854775808");
}

static void test_device(void) {
        const SetLabel label = { .decoder = DECODER_DEVICE };

        g_assert_cmpstr(decode(&label, INT64_C(4095) << 20 | 77), ==, "4095:77");
}

static void test_tables(void) {
        SetName names[] = { { 0, (char *)"none" }, { 1, (char *)"a" }, { 4, (char *)"c" } };
        const SetLabel table = { .decoder = DECODER_TABLE, .names = names, .n_names = 3 },
                       bits = { .decoder = DECODER_BITS, .names = names, .n_names = 3 };

        g_assert_cmpstr(decode(&table, 4), ==, "c");
        g_assert_cmpstr(decode(&table, 5), ==, "5");
        g_assert_cmpstr(decode(&bits, 0), ==, "none");
        g_assert_cmpstr(decode(&bits, 4), ==, "c");
        g_assert_cmpstr(decode(&bits, 5), ==, "a|c");
        g_assert_cmpstr(decode(&bits, 7), ==, "a|c|0x2");
        g_assert_cmpstr(decode(&bits, 2), ==, "0x2");
}

/* Long names in a table do not leave the buffer. */
static void test_long(void) {
        g_autofree char *name = g_strnfill(METRIC_VALUE_MAX, 'x');
        SetName names[] = { { 1, name }, { 2, name }, { 4, name } };
        const SetLabel bits = { .decoder = DECODER_BITS, .names = names, .n_names = 3 };

        g_assert_cmpuint(strlen(decode(&bits, 15)), ==, METRIC_VALUE_MAX);
}

static void test_comm(void) {
        const SetLabel label = { .decoder = DECODER_COMM };
        DecodeKey key = { .number = 5, .comm = "sh" };
        char text[DECODE_TEXT_MAX];

        g_assert_true(decode_label(&label, &key, text));
        g_assert_cmpstr(text, ==, "sh");
}

static void test_unit(void) {
        static const struct {
                const char *path, *unit;
        } cases[] = {
                { "/", "-.slice" },
                { "/init.scope", "init.scope" },
                { "/system.slice/ssh.service", "ssh.service" },
                { "/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service" },
                { "/user.slice/user-1000.slice/user@1000.service/app.slice/sshd.service",
                                "user@1000.service" },
                { "/user.slice/user-1000.slice/session-3.scope/sshd.service", "session-3.scope" },
                { "/system.slice/docker.service/system.slice/sshd.service", "docker.service" },
                { "/lxc.payload/system.slice/sshd.service", "-.slice" },
                { "/system.slice/../sshd.service", "system.slice" },
                { "/user.slice/user-1000.slice/user@1000.service/app.slice", "user@1000.service" },
                { "/system.slice/docker.service/abc", "docker.service" },
                { "/user.slice", "user.slice" },
                { "/.service/x", "-.slice" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                char text[DECODE_TEXT_MAX];

                decode_unit(cases[i].path, text);
                g_assert_cmpstr(text, ==, cases[i].unit);
        }
}

/* A user cannot make the end of a path look like a whole one. */
static void test_path(void) {
        g_autofree char *deep = g_strnfill(DECODE_TEXT_MAX, 'd');
        g_autofree char *path = g_strconcat("/", deep, "/system.slice/sshd.service", NULL);
        char text[DECODE_TEXT_MAX];

        decode_path("/system.slice/sshd.service", text);
        g_assert_cmpstr(text, ==, "/system.slice/sshd.service");
        decode_path(path, text);
        g_assert_true(g_str_has_prefix(text, "...d"));
        g_assert_true(g_str_has_suffix(text, "d/system.slice/sshd.service"));
        g_assert_cmpuint(strlen(text), ==, DECODE_TEXT_MAX - 1);
}

/* A process that has ended is unknown, and one that runs has a cgroup where the kernel has them. */
static void test_cgroup(void) {
        const SetLabel label = { .field = (char *)"common_pid", .decoder = DECODER_CGROUP },
                       unit = { .field = (char *)"common_pid", .decoder = DECODER_UNIT },
                       id = { .field = (char *)"cgroup", .decoder = DECODER_CGROUP };
        DecodeKey own = { .number = (uint64_t)getpid() }, none = { .number = UINT32_MAX };
        char text[DECODE_TEXT_MAX];

        g_assert_false(decode_label(&label, &none, text));
        g_assert_cmpstr(text, ==, "unknown");
        g_assert_false(decode_label(&id, &(DecodeKey){ .number = UINT64_MAX }, text));
        g_assert_cmpstr(text, ==, "unknown");
        if (decode_label(&label, &own, text))
                g_assert_cmpint(text[0], ==, '/');
        g_assert_true(decode_label(&unit, &(DecodeKey){ .number = 0 }, text));
        g_assert_cmpstr(text, ==, "-.slice");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/decode/numbers", test_numbers);
        g_test_add_func("/decode/syscall", test_syscall);
        g_test_add_func("/decode/errno", test_errno);
        g_test_add_func("/decode/device", test_device);
        g_test_add_func("/decode/tables", test_tables);
        g_test_add_func("/decode/long", test_long);
        g_test_add_func("/decode/comm", test_comm);
        g_test_add_func("/decode/path", test_path);
        g_test_add_func("/decode/unit", test_unit);
        g_test_add_func("/decode/cgroup", test_cgroup);
        return g_test_run();
}
