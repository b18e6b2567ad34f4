/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How arguments and results of system calls are printed: which arguments have named values, and
 * what the others are by their type. Called for events of syscalls:*. To add an argument with
 * names: a row in `named`, and its names in flags.c. */

#include "names/argument.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "names/flags.h"

/* The first row that matches counts. call NULL: of every call. */
static const struct {
        const char *call, *argument;
        FlagSet set;
} named[] = {
        { NULL, "dfd", FLAG_SET_DIRECTORY },
        { NULL, "olddfd", FLAG_SET_DIRECTORY },
        { NULL, "newdfd", FLAG_SET_DIRECTORY },
        { NULL, "which_clock", FLAG_SET_CLOCK },
        { NULL, "clockid", FLAG_SET_CLOCK },
        { NULL, "sig", FLAG_SET_SIGNAL },
        { NULL, "prot", FLAG_SET_PROT },
        { NULL, "whence", FLAG_SET_SEEK },
        { NULL, "at_flags", FLAG_SET_AT },
        { NULL, "resource", FLAG_SET_RESOURCE },
        { NULL, "level", FLAG_SET_SOCKET_LEVEL },
        { "access", "mode", FLAG_SET_ACCESS },
        { "faccessat", "mode", FLAG_SET_ACCESS },
        { "faccessat2", "mode", FLAG_SET_ACCESS },
        { "faccessat2", "flags", FLAG_SET_AT_ACCESS },
        { "accept4", "flags", FLAG_SET_SOCKET_TYPE },
        { "clock_nanosleep", "flags", FLAG_SET_TIMER },
        { "clone", "clone_flags", FLAG_SET_CLONE },
        { "dup3", "flags", FLAG_SET_PIPE },
        { "epoll_create1", "flags", FLAG_SET_EPOLL_CREATE },
        { "epoll_ctl", "op", FLAG_SET_EPOLL },
        { "eventfd2", "flags", FLAG_SET_EVENTFD },
        { "execveat", "flags", FLAG_SET_AT },
        { "fadvise64", "advice", FLAG_SET_FADVISE },
        { "fallocate", "mode", FLAG_SET_FALLOCATE },
        { "fchownat", "flag", FLAG_SET_AT },
        { "fcntl", "cmd", FLAG_SET_FCNTL },
        { "flock", "cmd", FLAG_SET_FLOCK },
        { "futex", "op", FLAG_SET_FUTEX },
        { "getpriority", "which", FLAG_SET_PRIORITY },
        { "getrandom", "flags", FLAG_SET_GETRANDOM },
        { "getrusage", "who", FLAG_SET_RUSAGE },
        { "inotify_init1", "flags", FLAG_SET_INOTIFY },
        { "linkat", "flags", FLAG_SET_AT },
        { "madvise", "behavior", FLAG_SET_MADVISE },
        { "memfd_create", "flags", FLAG_SET_MEMFD },
        { "mlockall", "flags", FLAG_SET_MLOCKALL },
        { "mmap", "flags", FLAG_SET_MAP },
        { "mremap", "flags", FLAG_SET_MREMAP },
        { "mq_open", "oflag", FLAG_SET_OPEN },
        { "msync", "flags", FLAG_SET_MSYNC },
        { "newfstatat", "flag", FLAG_SET_AT },
        { "open", "flags", FLAG_SET_OPEN },
        { "open_by_handle_at", "flags", FLAG_SET_OPEN },
        { "openat", "flags", FLAG_SET_OPEN },
        { "pidfd_open", "flags", FLAG_SET_PIDFD },
        { "pipe2", "flags", FLAG_SET_PIPE },
        { "prctl", "option", FLAG_SET_PRCTL },
        { "preadv2", "flags", FLAG_SET_RWF },
        { "ptrace", "request", FLAG_SET_PTRACE },
        { "pwritev2", "flags", FLAG_SET_RWF },
        { "recvfrom", "flags", FLAG_SET_MSG },
        { "recvmmsg", "flags", FLAG_SET_MSG },
        { "recvmsg", "flags", FLAG_SET_MSG },
        { "renameat2", "flags", FLAG_SET_RENAME },
        { "rt_sigprocmask", "how", FLAG_SET_SIGPROCMASK },
        { "sched_setscheduler", "policy", FLAG_SET_SCHEDULER },
        { "sendmmsg", "flags", FLAG_SET_MSG },
        { "sendmsg", "flags", FLAG_SET_MSG },
        { "sendto", "flags", FLAG_SET_MSG },
        { "setns", "flags", FLAG_SET_UNSHARE },
        { "setpriority", "which", FLAG_SET_PRIORITY },
        { "shutdown", "how", FLAG_SET_SHUTDOWN },
        { "signalfd4", "flags", FLAG_SET_SIGNALFD },
        { "socket", "family", FLAG_SET_FAMILY },
        { "socket", "type", FLAG_SET_SOCKET_TYPE },
        { "socketpair", "family", FLAG_SET_FAMILY },
        { "socketpair", "type", FLAG_SET_SOCKET_TYPE },
        { "splice", "flags", FLAG_SET_SPLICE },
        { "statx", "flags", FLAG_SET_AT },
        { "timer_settime", "flags", FLAG_SET_TIMER },
        { "timerfd_create", "flags", FLAG_SET_TIMERFD },
        { "timerfd_settime", "flags", FLAG_SET_TIMERFD_TIME },
        { "umount", "flags", FLAG_SET_UMOUNT },
        { "unlinkat", "flag", FLAG_SET_UNLINK },
        { "unshare", "unshare_flags", FLAG_SET_UNSHARE },
        { "utimensat", "flags", FLAG_SET_AT },
        { "wait4", "options", FLAG_SET_WAIT },
        { "waitid", "options", FLAG_SET_WAIT },
        { "waitid", "which", FLAG_SET_WAITID },
};

static bool has_set(const char *call, const char *argument, FlagSet *ret) {
        for (size_t i = 0; i < ELEMENTSOF(named); i++)
                if (strcmp(argument, named[i].argument) == 0 &&
                                (!named[i].call || strcmp(call, named[i].call) == 0)) {
                        *ret = named[i].set;
                        return true;
                }
        return false;
}

static bool is_one_of(const char *word, const char *const words[], size_t n) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(word, words[i]) == 0)
                        return true;
        return false;
}

/* The kernel takes only the low half of the others. The high half may hold anything. */
static bool is_wide(const char *type) {
        static const char *const wide[] = {
                "long", "size_t", "loff_t", "off_t", "u64", "aio_context_t"
        };

        for (size_t i = 0; i < ELEMENTSOF(wide); i++)
                if (strstr(type, wide[i]))
                        return true;
        return strchr(type, '*') != NULL;
}

static bool is_address(const char *name, const char *type) {
        static const char *const addresses[] = { "addr",
                "arg",
                "arg2",
                "arg3",
                "arg4",
                "arg5",
                "brk",
                "new_addr",
                "newsp",
                "start",
                "tls",
                "data" };

        return strchr(type, '*') ||
               (strstr(type, "long") && is_one_of(name, addresses, ELEMENTSOF(addresses)));
}

static bool is_signed(const char *type) {
        static const char *const types[] = { "int",
                "pid_t",
                "clockid_t",
                "timer_t",
                "mqd_t",
                "key_t",
                "qid_t",
                "long",
                "loff_t",
                "off_t",
                "ssize_t",
                "s32" };
        const char *word = strncmp(type, "const ", 6) == 0 ? type + 6 : type;

        return is_one_of(word, types, ELEMENTSOF(types));
}

void argument_print(const char *call,
                const char *name,
                const char *type,
                uint64_t value,
                bool is_native,
                char *text,
                size_t size) {
        /* Some calls have a descriptor in an unsigned long. The kernel takes 32 bits of it. */
        bool is_fd = strcmp(name, "fd") == 0, wide = !is_fd && is_wide(type);
        FlagSet set;

        if (is_native && has_set(call, name, &set)) {
                if (!wide)
                        value = flags_is_choice(set) ? (uint64_t)(int32_t)value : (uint32_t)value;
                flags_print(set, value, text, size);
        } else if (is_address(name, type))
                snprintf(text, size, value == 0 ? "NULL" : "0x%" PRIx64, value);
        else if (strstr(type, "umode_t") || strcmp(name, "mode") == 0)
                snprintf(text, size, "%#" PRIo32, (uint32_t)value);
        else if (strstr(name, "flag") || strcmp(name, "cmd") == 0)
                snprintf(text,
                                size,
                                value == 0 ? "0" : "0x%" PRIx64,
                                wide ? value : (uint32_t)value);
        else if (is_fd || is_signed(type))
                snprintf(text, size, "%" PRId64, wide ? (int64_t)value : (int32_t)value);
        else
                snprintf(text, size, "%" PRIu64, wide ? value : (uint32_t)value);
}

const char *argument_get_error(int64_t code) {
        /* The kernel handles these before a program sees them, see linux/errno.h. */
        static const struct {
                int64_t code;
                const char *name;
        } internal[] = { { 512, "ERESTARTSYS" },
                { 513, "ERESTARTNOINTR" },
                { 514, "ERESTARTNOHAND" },
                { 515, "ENOIOCTLCMD" },
                { 516, "ERESTART_RESTARTBLOCK" },
                { 529, "EIOCBQUEUED" } };

        for (size_t i = 0; i < ELEMENTSOF(internal); i++)
                if (code == internal[i].code)
                        return internal[i].name;
        return code > 0 && code < 512 ? strerrorname_np((int)code) : NULL;
}

void argument_print_result(const char *call, int64_t result, char *text, size_t size) {
        static const char *const mappers[] = { "brk", "mmap", "mremap", "shmat" };
        const char *error = result < 0 && result >= -4095 ? argument_get_error(-result) : NULL;

        if (error)
                snprintf(text, size, "%" PRId64 " %s", result, error);
        else if (call && is_one_of(call, mappers, ELEMENTSOF(mappers)))
                snprintf(text, size, "0x%" PRIx64, (uint64_t)result);
        else
                snprintf(text, size, "%" PRId64, result);
}
