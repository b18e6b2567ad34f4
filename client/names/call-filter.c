/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Chooses system calls as `strace -e` does. Called by the verb `calls` for its options, and for
 * each call. Owns the list of names; the groups are tables here, with strace's meaning. To add a
 * group: a list of names, and a row in `groups`. */

#include "names/call-filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "names/syscall.h"

struct CallFilter {
        bool is_negated;
        char **names;
        size_t n_names;
        const char *const *groups[8];
        size_t n_groups;
};

static const char *const names_file[] = { "access",
        "acct",
        "chdir",
        "chmod",
        "chown",
        "chroot",
        "creat",
        "execve",
        "execveat",
        "faccessat",
        "faccessat2",
        "fanotify_mark",
        "fchmodat",
        "fchmodat2",
        "fchownat",
        "fspick",
        "futimesat",
        "getcwd",
        "getxattr",
        "inotify_add_watch",
        "lchown",
        "lgetxattr",
        "link",
        "linkat",
        "listxattr",
        "llistxattr",
        "lremovexattr",
        "lsetxattr",
        "lstat",
        "mkdir",
        "mkdirat",
        "mknod",
        "mknodat",
        "mount",
        "mount_setattr",
        "move_mount",
        "name_to_handle_at",
        "newfstatat",
        "open",
        "open_tree",
        "openat",
        "openat2",
        "pivot_root",
        "quotactl",
        "readlink",
        "readlinkat",
        "removexattr",
        "rename",
        "renameat",
        "renameat2",
        "rmdir",
        "setxattr",
        "stat",
        "statfs",
        "statx",
        "swapoff",
        "swapon",
        "symlink",
        "symlinkat",
        "truncate",
        "umount2",
        "unlink",
        "unlinkat",
        "uselib",
        "utime",
        "utimensat",
        "utimes",
        NULL };
static const char *const names_network[] = { "accept",
        "accept4",
        "bind",
        "connect",
        "getpeername",
        "getsockname",
        "getsockopt",
        "listen",
        "recvfrom",
        "recvmmsg",
        "recvmsg",
        "sendmmsg",
        "sendmsg",
        "sendto",
        "setsockopt",
        "shutdown",
        "socket",
        "socketpair",
        NULL };
static const char *const names_process[] = { "clone",
        "clone3",
        "execve",
        "execveat",
        "exit",
        "exit_group",
        "fork",
        "kill",
        "pidfd_send_signal",
        "rt_sigqueueinfo",
        "rt_tgsigqueueinfo",
        "tgkill",
        "tkill",
        "vfork",
        "wait4",
        "waitid",
        NULL };
static const char *const names_memory[] = { "brk",
        "get_mempolicy",
        "madvise",
        "mbind",
        "migrate_pages",
        "mincore",
        "mlock",
        "mlock2",
        "mlockall",
        "mmap",
        "move_pages",
        "mprotect",
        "mremap",
        "msync",
        "munlock",
        "munlockall",
        "munmap",
        "pkey_mprotect",
        "process_madvise",
        "remap_file_pages",
        "set_mempolicy",
        NULL };
static const char *const names_signal[] = { "kill",
        "pause",
        "pidfd_send_signal",
        "rt_sigaction",
        "rt_sigpending",
        "rt_sigprocmask",
        "rt_sigqueueinfo",
        "rt_sigreturn",
        "rt_sigsuspend",
        "rt_sigtimedwait",
        "rt_tgsigqueueinfo",
        "sigaltstack",
        "signalfd",
        "signalfd4",
        "tgkill",
        "tkill",
        NULL };
static const char *const names_ipc[] = { "msgctl",
        "msgget",
        "msgrcv",
        "msgsnd",
        "semctl",
        "semget",
        "semop",
        "semtimedop",
        "shmat",
        "shmctl",
        "shmdt",
        "shmget",
        NULL };

static const struct {
        const char *name;
        const char *const *calls;
} groups[] = {
        { "file", names_file },
        { "ipc", names_ipc },
        { "memory", names_memory },
        { "net", names_network },
        { "network", names_network },
        { "process", names_process },
        { "signal", names_signal },
};

static int call_filter_add_group(CallFilter *filter, const char *name, Reason *reason) {
        for (size_t i = 0; i < ELEMENTSOF(groups); i++)
                if (strcmp(groups[i].name, name) == 0 &&
                                filter->n_groups < ELEMENTSOF(filter->groups)) {
                        filter->groups[filter->n_groups++] = groups[i].calls;
                        return 0;
                }
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "-e %%%.64s: expected %%file, %%ipc, %%memory, %%network, %%process or %%signal",
                        name);
}

static int call_filter_add(CallFilter *filter, const char *word, Reason *reason) {
        char **names;

        if (word[0] == '%')
                return call_filter_add_group(filter, word + 1, reason);
        if (!syscall_is_name(word))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "-e: expected names of system calls such as openat,read, got \"%.64s\"",
                                word);
        names = reallocarray(filter->names, filter->n_names + 1, sizeof(*names));
        if (!names)
                return -ENOMEM;
        filter->names = names;
        filter->names[filter->n_names] = strdup(word);
        return filter->names[filter->n_names++] ? 0 : -ENOMEM;
}

int call_filter_new(const char *text, CallFilter **ret, Reason *reason) {
        _cleanup_(call_filter_free_cleanup) CallFilter *filter = calloc(1, sizeof(*filter));
        _cleanup_free_ char *copy = NULL;
        char *words, *word;
        int r = 0;

        if (strncmp(text, "trace=", 6) == 0)
                text += 6;
        copy = words = strdup(text + (text[0] == '!'));
        if (!filter || !copy)
                return -ENOMEM;
        filter->is_negated = text[0] == '!';
        while (r == 0 && (word = strsep(&words, ",")))
                r = call_filter_add(filter, word, reason);
        if (r == 0)
                *ret = TAKE_PTR(filter);
        return r;
}

CallFilter *call_filter_free(CallFilter *filter) {
        if (!filter)
                return NULL;
        for (size_t i = 0; i < filter->n_names; i++)
                free(filter->names[i]);
        free(filter->names);
        free(filter);
        return NULL;
}

static bool call_filter_lists(const CallFilter *filter, const char *name) {
        for (size_t i = 0; i < filter->n_names; i++)
                if (strcmp(filter->names[i], name) == 0)
                        return true;
        for (size_t i = 0; i < filter->n_groups; i++)
                for (const char *const *call = filter->groups[i]; *call; call++)
                        if (strcmp(*call, name) == 0)
                                return true;
        return false;
}

bool call_filter_admits(const CallFilter *filter, const char *name) {
        return (name && call_filter_lists(filter, name)) != filter->is_negated;
}

char *const *call_filter_get_names(const CallFilter *filter, size_t *ret_n) {
        *ret_n = filter->n_names;
        return filter->is_negated || filter->n_groups > 0 ? NULL : filter->names;
}

const char *call_filter_event_name(const char *call) {
        static const char *const names[][2] = {
                { "fstat", "newfstat" },
                { "lstat", "newlstat" },
                { "sendfile", "sendfile64" },
                { "stat", "newstat" },
                { "umount2", "umount" },
                { "uname", "newuname" },
        };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (strcmp(names[i][0], call) == 0)
                        return names[i][1];
        return call;
}
