/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names of system calls, of their arguments and of their results. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "interfaces/cleanup.h"
#include "names/argument.h"
#include "names/call-filter.h"
#include "names/flags.h"
#include "names/syscall.h"

static void test_calls(void) {
        SyscallTable native = SYSCALL_TABLE_NATIVE, arm64 = syscall_table_from_machine("aarch64");

        if (native != SYSCALL_TABLE_NONE) {
                g_assert_cmpstr(syscall_get_name(native, SYS_openat), ==, "openat");
                g_assert_cmpstr(syscall_get_name(native, SYS_exit_group), ==, "exit_group");
        }
        g_assert_cmpstr(syscall_get_name(arm64, 56), ==, "openat");
        g_assert_cmpstr(syscall_get_name(arm64, 25), ==, "fcntl");
        g_assert_null(syscall_get_name(arm64, 244));
        g_assert_null(syscall_get_name(arm64, 100000));
        g_assert_null(syscall_get_name(native, -1));
        g_assert_null(syscall_get_name(native, INT64_MAX));
        g_assert_null(syscall_get_name(SYSCALL_TABLE_NONE, 1));
        g_assert_cmpint(syscall_table_from_machine("riscv64"), ==, SYSCALL_TABLE_NONE);
        g_assert_cmpint(syscall_table_from_machine(NULL), ==, SYSCALL_TABLE_NONE);
#ifdef __x86_64__
        g_assert_cmpstr(syscall_get_name(syscall_table_from_machine("x86_64"), 20), ==, "writev");
        g_assert_cmpstr(syscall_get_name(syscall_table_from_machine("i686"), 20), ==, "getpid");
#endif
}

static void test_arguments(void) {
        static const struct {
                const char *call, *name, *type;
                uint64_t value;
                const char *text;
        } rows[] = {
                { "openat", "dfd", "int", 0xffffff9c, "AT_FDCWD" },
                { "openat", "dfd", "int", (uint64_t)-100, "AT_FDCWD" },
                { "openat", "dfd", "int", 3, "3" },
                { "openat", "flags", "int", O_RDONLY | O_CLOEXEC, "O_RDONLY|O_CLOEXEC" },
                { "openat", "flags", "int", O_RDWR | O_CREAT | O_SYNC, "O_RDWR|O_CREAT|O_SYNC" },
                { "openat", "flags", "int", 0, "O_RDONLY" },
                { "openat", "flags", "int", 0x40000001, "O_WRONLY|0x40000000" },
                { "openat", "mode", "umode_t", 0644, "0644" },
                { "openat", "mode", "umode_t", 0, "0" },
                { "openat", "filename", "const char *", 0x7ffd00001000, "0x7ffd00001000" },
                { "execve", "argv", "const char *const *", 0, "NULL" },
                { "mmap", "prot", "unsigned long", PROT_NONE, "PROT_NONE" },
                { "mmap", "prot", "unsigned long", PROT_READ | PROT_EXEC, "PROT_READ|PROT_EXEC" },
                { "mmap",
                                "flags",
                                "unsigned long",
                                MAP_PRIVATE | MAP_ANONYMOUS,
                                "MAP_PRIVATE|MAP_ANONYMOUS" },
                { "mmap", "fd", "unsigned long", 0xffffffff, "-1" },
                { "mmap", "len", "unsigned long", 4096, "4096" },
                { "mprotect", "start", "unsigned long", 4096, "0x1000" },
                { "kill", "sig", "int", 9, "SIGKILL" },
                { "kill", "sig", "int", 0, "0" },
                { "kill", "sig", "int", 64, "64" },
                { "kill", "pid", "pid_t", 0xffffffff, "-1" },
                { "access", "mode", "int", 0, "F_OK" },
                { "access", "mode", "int", 5, "R_OK|X_OK" },
                { "socket", "type", "int", 0x80802, "SOCK_DGRAM|SOCK_CLOEXEC|SOCK_NONBLOCK" },
                { "faccessat2", "flags", "int", 0x300, "AT_SYMLINK_NOFOLLOW|AT_EACCESS" },
                { "newfstatat", "flag", "int", 0x300, "AT_SYMLINK_NOFOLLOW|0x200" },
                { "accept4", "flags", "int", 0, "0" },
                { "clone",
                                "clone_flags",
                                "unsigned long",
                                0x1200011,
                                "CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD" },
                { "clone", "clone_flags", "unsigned long", 0x10c, "CLONE_VM|0xc" },
                { "unshare",
                                "unshare_flags",
                                "unsigned long",
                                0x20000080,
                                "CLONE_NEWTIME|CLONE_NEWPID" },
                { "setns", "flags", "int", 0x40000000, "CLONE_NEWNET" },
                { "epoll_create1", "flags", "int", 0x80000, "EPOLL_CLOEXEC" },
                { "eventfd2", "flags", "int", 0x80801, "EFD_SEMAPHORE|EFD_CLOEXEC|EFD_NONBLOCK" },
                { "inotify_init1", "flags", "int", 0x80001, "IN_CLOEXEC|0x1" },
                { "signalfd4", "flags", "int", 0x800, "SFD_NONBLOCK" },
                { "timerfd_create", "flags", "int", 0x80800, "TFD_CLOEXEC|TFD_NONBLOCK" },
                { "timerfd_settime",
                                "flags",
                                "int",
                                3,
                                "TFD_TIMER_ABSTIME|TFD_TIMER_CANCEL_ON_SET" },
                { "pidfd_open", "flags", "unsigned int", 0x800, "PIDFD_NONBLOCK" },
                { "pipe2", "flags", "int", O_CLOEXEC, "O_CLOEXEC" },
                { "pipe2", "flags", "int", 0, "0" },
                { "dup3", "flags", "int", O_CLOEXEC, "O_CLOEXEC" },
                { "fadvise64", "advice", "int", 3, "POSIX_FADV_WILLNEED" },
                { "madvise", "behavior", "int", 24, "MADV_DONTNEED_LOCKED" },
                { "madvise", "behavior", "int", 77, "77" },
                { "mq_open", "oflag", "int", O_RDWR | O_CREAT, "O_RDWR|O_CREAT" },
                { "ptrace", "request", "long", 0x4206, "PTRACE_SEIZE" },
                { "preadv2", "flags", "rwf_t", 8, "RWF_NOWAIT" },
                { "umount", "flags", "int", 2, "MNT_DETACH" },
                { "futex", "op", "int", 128, "FUTEX_WAIT|FUTEX_PRIVATE_FLAG" },
                { "lseek", "whence", "unsigned int", 99, "99" },
                { "read", "count", "size_t", UINT64_C(1) << 40, "1099511627776" },
                { "lseek", "offset", "off_t", (uint64_t)-5, "-5" },
                { "foo", "flags", "unsigned int", 3, "0x3" },
                { "foo", "what", "u32", UINT64_C(0xdead00000007), "7" },
        };

        char text[ARGUMENT_TEXT_MAX];

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                argument_print(rows[i].call,
                                rows[i].name,
                                rows[i].type,
                                rows[i].value,
                                true,
                                text,
                                sizeof(text));
                g_assert_cmpstr(text, ==, rows[i].text);
        }
}

/* O_DIRECTORY of x86 is O_DIRECT of arm64. */
static void test_foreign(void) {
        char text[ARGUMENT_TEXT_MAX];

        argument_print("openat", "flags", "int", 0200000, false, text, sizeof(text));
        g_assert_cmpstr(text, ==, "0x10000");
}

static void test_results(void) {
        static const struct {
                const char *call;
                int64_t result;
                const char *text;
        } rows[] = {
                { "openat", 3, "3" },
                { "openat", -ENOENT, "-2 ENOENT" },
                { NULL, -EAGAIN, "-11 EAGAIN" },
                { "read", -512, "-512 ERESTARTSYS" },
                { "mmap", 0x7f0000001000, "0x7f0000001000" },
                { "mmap", -ENOMEM, "-12 ENOMEM" },
                { "foo", -4000, "-4000" },
                { "foo", INT64_MIN, "-9223372036854775808" },
        };

        char text[ARGUMENT_TEXT_MAX];

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                argument_print_result(rows[i].call, rows[i].result, text, sizeof(text));
                g_assert_cmpstr(text, ==, rows[i].text);
        }
}

/* Every value of every set, in a text that is long enough and in one that is not. */
static void test_noise(void) {
        GRand *rand = g_rand_new_with_seed(1);

        for (int i = 0; i < 20000; i++) {
                FlagSet set = (FlagSet)g_rand_int_range(rand, 0, _FLAG_SET_N);
                uint64_t value = (uint64_t)g_rand_int(rand) << g_rand_int_range(rand, 0, 33);
                size_t size = (size_t)g_rand_int_range(rand, 1, 40);
                _cleanup_free_ char *text = malloc(size);
                char whole[ARGUMENT_TEXT_MAX];

                flags_print(set, value, whole, sizeof(whole));
                g_assert_cmpuint(strlen(whole), >, 0);
                g_assert_cmpuint(strlen(whole), <, sizeof(whole) - 1);
                flags_print(set, value, text, size);
                g_assert_cmpuint(strlen(text), <, size);
                g_assert_cmpint(strncmp(text, whole, strlen(text)), ==, 0);
        }
        g_rand_free(rand);
}

static CallFilter *filter_of(const char *text) {
        CallFilter *filter = NULL;
        Reason reason = {};

        g_assert_cmpint(call_filter_new(text, &filter, &reason), ==, 0);
        return filter;
}

static void test_filters(void) {
        static const char *const wrong[] = {
                "", "opnat", "open,", "%all", "!", "trace=", "open,!read"
        };
        CallFilter *filter = filter_of("trace=read,stat");
        Reason reason = {};
        size_t n;

        g_assert_true(call_filter_admits(filter, "read"));
        g_assert_false(call_filter_admits(filter, "write"));
        g_assert_false(call_filter_admits(filter, NULL));
        g_assert_cmpstr(call_filter_get_names(filter, &n)[1], ==, "stat");
        g_assert_cmpuint(n, ==, 2);
        g_assert_cmpstr(call_filter_event_name("stat"), ==, "newstat");
        g_assert_cmpstr(call_filter_event_name("read"), ==, "read");
        call_filter_free(filter);

        filter = filter_of("!read,%network");
        g_assert_null(call_filter_get_names(filter, &n));
        g_assert_false(call_filter_admits(filter, "read"));
        g_assert_false(call_filter_admits(filter, "connect"));
        g_assert_true(call_filter_admits(filter, "write"));
        g_assert_true(call_filter_admits(filter, NULL));
        call_filter_free(filter);

        for (size_t i = 0; i < ELEMENTSOF(wrong); i++)
                g_assert_cmpint(call_filter_new(wrong[i], &filter, &reason), ==, KT_E_INVALID_SPEC);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/names/calls", test_calls);
        g_test_add_func("/names/arguments", test_arguments);
        g_test_add_func("/names/filters", test_filters);
        g_test_add_func("/names/foreign", test_foreign);
        g_test_add_func("/names/results", test_results);
        g_test_add_func("/names/noise", test_noise);
        return g_test_run();
}
