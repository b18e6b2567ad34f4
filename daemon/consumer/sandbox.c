/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The worker's own sandbox. A worker holds a client's descriptor and the kernel's raw bytes, so it
 * may only read, clean and write. It enters the sandbox before it reads any message. It closes the
 * sandbox when it knows its role, before it reads the first byte from a client. Under systemd the
 * unit already has most of these limits.
 *
 * The filter assumes that an attacker runs code in the worker. The worker holds descriptors of
 * tracefs files. A process that gets one of them can read all records without a time limit. So
 * sendmsg(2), the only call that passes descriptors, is limited to the control socket. This holds
 * because the control socket keeps its number: the filter forbids to close CONTROL_FD, and no call
 * that chooses the number of a new descriptor (dup2, dup3, fcntl F_DUPFD) is allowed. Bytes go to
 * sinks by write(2) and by sendto(2) without an address.
 *
 * A forbidden call ends the process, and forbidden-call.c reports its name. A build with
 * AddressSanitizer runs without the filter, because the sanitizer makes many calls of its own.
 * Everything else is the same. */

#include "consumer/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/falloc.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "consumer/forbidden-call.h"
#include "interfaces/cleanup.h"
#include "interfaces/control.h"

#ifndef MAP_DROPPABLE
#define MAP_DROPPABLE 0x08 /* linux/mman.h, since 6.11 */
#endif

/* A raw reader and a counter for each of 8192 CPUs, and the worker's own files. */
#define FILES_MAX (2 * 8192 + 64)

static int become_user(const char *user, char *text, size_t size) {
        if (user) {
                errno = 0;
                const struct passwd *entry = getpwnam(user);
                if (!entry || entry->pw_uid == 0) {
                        snprintf(text,
                                        size,
                                        "user \"%.32s\" %s",
                                        user,
                                        entry ? "is root" : "does not exist");
                        return -EPERM;
                }
                if (setgroups(0, NULL) < 0 ||
                                setresgid(entry->pw_gid, entry->pw_gid, entry->pw_gid) < 0 ||
                                setresuid(entry->pw_uid, entry->pw_uid, entry->pw_uid) < 0) {
                        snprintf(text, size, "cannot become user \"%.32s\"", user);
                        return -errno;
                }
        }
        if (getuid() == 0 || geteuid() == 0) {
                snprintf(text, size, "refuses to run as root");
                return -EPERM;
        }
        return 0;
}

/* On saturated CPUs a consumer that waits for its turn loses what a small ring cannot hold in that
 * time: 12 % at 1 MB per CPU and 6 million events per second, against 0.5 % with this value. The
 * unit has the same value. */
#define NICE (-10)

static int limit_resources(void) {
        static const struct rlimit none;
        struct rlimit files, size;

        if (getrlimit(RLIMIT_NOFILE, &files) < 0 || getrlimit(RLIMIT_FSIZE, &size) < 0)
                return -errno;
        files.rlim_cur = files.rlim_max = MIN_OF(files.rlim_max, (rlim_t)FILES_MAX);
        size.rlim_cur = size.rlim_max; /* the daemon's own soft limit must not apply to the sink */
        if (setrlimit(RLIMIT_NOFILE, &files) < 0 || setrlimit(RLIMIT_FSIZE, &size) < 0)
                return -errno;
        if (setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_NPROC, &none) < 0)
                return -errno;
        return 0;
}

/* After a change of the uid no capability is in force, but an edited unit may leave some. */
static int drop_privileges(void) {
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};

        if (syscall(SYS_capset, &header, none) < 0)
                return -errno;
        if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -errno;
        return 0;
}

#ifdef __SANITIZE_ADDRESS__
/* The leak checker attaches to the process from a new thread. The sandbox forbids both. */
int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void) {
        return 1;
}

int sandbox_close(SandboxRole role _unused_) {
        return 0;
}

int sandbox_end_receiving(void) {
        return 0;
}
#else
/* The flags with which libseccomp loads a filter. Others, such as NEW_LISTENER, would make a
 * descriptor. */
#define LOAD_FLAGS \
        (SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH | SECCOMP_FILTER_FLAG_LOG)

#define STREAM  (1U << SANDBOX_STREAM | 1U << SANDBOX_CLIENT_STREAM)
#define CLIENT  (1U << SANDBOX_CLIENT_STREAM)
#define SPOOL   (1U << SANDBOX_SPOOL_READER)
#define MUX     (1U << SANDBOX_MUX)
#define HISTORY (1U << SANDBOX_HISTORY)
#define OTHERS  (~(STREAM | SPOOL | MUX | HISTORY))
#define ALL     (~0U)

/* A system call that these roles may make, if all conditions hold. An argument has 64 bits, but the
 * kernel uses only the lower 32 of a descriptor. So a condition that allows a call must compare all
 * 64 bits. */
typedef struct Allowed {
        int call;
        unsigned roles;
        unsigned n_conditions;
        struct scmp_arg_cmp conditions[2];
} Allowed;

static const Allowed allowed[] = {
        { SCMP_SYS(read), ALL },
        { SCMP_SYS(pread64), ALL },
        { SCMP_SYS(fstat), ALL },
        { SCMP_SYS(lseek), ALL },
        { SCMP_SYS(poll), ALL },
        { SCMP_SYS(ppoll), ALL },
        { SCMP_SYS(epoll_wait), ALL },
        { SCMP_SYS(epoll_pwait), ALL },
        { SCMP_SYS(munmap), ALL },
        { SCMP_SYS(mremap), ALL },
        { SCMP_SYS(brk), ALL },
        { SCMP_SYS(madvise), ALL },
        { SCMP_SYS(futex), ALL },
        { SCMP_SYS(getrandom), ALL },
        { SCMP_SYS(rt_sigprocmask), ALL }, /* getrandom() of glibc 2.41 in each thread; abort() */
        { SCMP_SYS(sysinfo), ALL },        /* qsort() asks how much memory the machine has */
        { SCMP_SYS(clock_gettime), ALL },
        { SCMP_SYS(gettimeofday), ALL },
        { SCMP_SYS(rt_sigreturn), ALL },
        { SCMP_SYS(restart_syscall), ALL },
        { SCMP_SYS(getpid), ALL }, /* abort() */
        { SCMP_SYS(gettid), ALL }, /* abort() */
        { SCMP_SYS(exit), ALL },
        { SCMP_SYS(exit_group), ALL },
        { SCMP_SYS(close), ALL }, /* except of CONTROL_FD: see keep_control */
        { SCMP_SYS(sendmsg), ALL, 1, { SCMP_A0(SCMP_CMP_EQ, CONTROL_FD) } },
        { SCMP_SYS(recvmsg), ALL & ~CLIENT, 1, { SCMP_A0(SCMP_CMP_EQ, CONTROL_FD) } },
        /* Memory without code, which is not shared with another process or a file. */
        { SCMP_SYS(mmap),
                        ALL,
                        2,
                        { SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
                                        SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_TYPE, MAP_PRIVATE) } },
        /* The state of getrandom() in glibc 2.41 with Linux 6.11 and later */
        { SCMP_SYS(mmap),
                        ALL,
                        2,
                        { SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
                                        SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_TYPE, MAP_DROPPABLE) } },
        /* The pools and counters that the daemon has made for the viewers' stream workers. */
        { SCMP_SYS(mmap),
                        MUX,
                        2,
                        { SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
                                        SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_TYPE, MAP_SHARED) } },
        /* For an error message of this program or of the C library. */
        { SCMP_SYS(write), OTHERS, 1, { SCMP_A0(SCMP_CMP_EQ, STDERR_FILENO) } },
        { SCMP_SYS(writev),
                        OTHERS | SPOOL | MUX | HISTORY,
                        1,
                        { SCMP_A0(SCMP_CMP_EQ, STDERR_FILENO) } },
        { SCMP_SYS(write), STREAM | SPOOL | MUX | HISTORY },
        { SCMP_SYS(writev), STREAM },
        { SCMP_SYS(pwritev2), CLIENT },
        { SCMP_SYS(ftruncate), STREAM },
        { SCMP_SYS(fdatasync), STREAM },
        { SCMP_SYS(fstatfs), CLIENT },
        { SCMP_SYS(fallocate), CLIENT, 1, { SCMP_A1(SCMP_CMP_EQ, FALLOC_FL_KEEP_SIZE) } },
        { SCMP_SYS(fallocate),
                        MUX,
                        1,
                        { SCMP_A1(SCMP_CMP_EQ, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE) } },
        { SCMP_SYS(epoll_ctl), STREAM | MUX },
        { SCMP_SYS(timerfd_settime), STREAM | MUX },
        /* It only reads flags: a client that shares the description controls its O_NONBLOCK. */
        { SCMP_SYS(fcntl), CLIENT, 1, { SCMP_A1(SCMP_CMP_EQ, F_GETFL) } },
        /* SO_PEERPIDFD, for one, would make a descriptor. */
        { SCMP_SYS(getsockopt),
                        CLIENT,
                        2,
                        { SCMP_A1(SCMP_CMP_EQ, SOL_SOCKET), SCMP_A2(SCMP_CMP_EQ, SO_TYPE) } },
        { SCMP_SYS(sendto), CLIENT, 1, { SCMP_A4(SCMP_CMP_EQ, 0) } }, /* to the peer only */
        { SCMP_SYS(recvmsg), CLIENT },
        { SCMP_SYS(seccomp),
                        CLIENT,
                        2,
                        { SCMP_A0(SCMP_CMP_EQ, SECCOMP_SET_MODE_FILTER),
                                        SCMP_A1(SCMP_CMP_MASKED_EQ,
                                                        ~(scmp_datum_t)LOAD_FLAGS,
                                                        0) } },
};

/* A call that a second filter forbids, which allows everything else. The kernel asks all filters
 * and takes the strictest answer. */
typedef struct Forbidden {
        int call;
        unsigned n_conditions;
        struct scmp_arg_cmp condition;
} Forbidden;

/* The lower 32 bits alone choose the descriptor. */
static const Forbidden keep_control[] = {
        { SCMP_SYS(close), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, CONTROL_FD) },
};

static const Forbidden end_receiving[] = {
        { SCMP_SYS(recvmsg), 1, SCMP_A0(SCMP_CMP_NE, CONTROL_FD) },
        { SCMP_SYS(seccomp) },
};

static int filter_new(uint32_t action, scmp_filter_ctx *ret) {
        scmp_filter_ctx filter = seccomp_init(action);

        if (!filter)
                return -ENOMEM;
        int r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1); /* the other threads as well */
        r = r ?: seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);  /* sandbox_enter() has set it */
        r = r ?: seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
        r = r ?: seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1); /* see forbidden-call.c */
        if (r < 0)
                seccomp_release(filter);
        else
                *ret = filter;
        return r;
}

static int load_forbidden(const Forbidden *forbidden, size_t n) {
        scmp_filter_ctx filter;

        int r = filter_new(SCMP_ACT_ALLOW, &filter);
        if (r < 0)
                return r;
        for (size_t i = 0; r == 0 && i < n; i++)
                r = seccomp_rule_add_array(filter,
                                SCMP_ACT_TRAP,
                                forbidden[i].call,
                                forbidden[i].n_conditions,
                                &forbidden[i].condition);
        r = r ?: seccomp_load(filter);
        seccomp_release(filter);
        return r;
}

static int load_allowed(SandboxRole role) {
        scmp_filter_ctx filter;

        int r = filter_new(SCMP_ACT_TRAP, &filter);
        if (r < 0)
                return r;
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(allowed); i++)
                if (allowed[i].roles & (1U << role))
                        r = seccomp_rule_add_array(filter,
                                        SCMP_ACT_ALLOW,
                                        allowed[i].call,
                                        allowed[i].n_conditions,
                                        allowed[i].conditions);
        const struct scmp_arg_cmp abort_self[] = {
                SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()),
                SCMP_A2(SCMP_CMP_EQ, SIGABRT),
        };
        r = r ?: seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 2, abort_self);
        r = r ?: seccomp_load(filter);
        seccomp_release(filter);
        return r;
}

int sandbox_close(SandboxRole role) {
        static const char *const names[] = {
                [SANDBOX_STREAM] = "stream worker",
                [SANDBOX_CLIENT_STREAM] = "stream worker",
                [SANDBOX_INSPECTOR] = "program inspector",
                [SANDBOX_HIST_READER] = "histogram reader",
                [SANDBOX_SPOOL_READER] = "recording reader",
                [SANDBOX_MUX] = "reader of a shared instance",
                [SANDBOX_HISTORY] = "history of tasks",
        };
        char byte;

        /* The first call in a thread may map memory for the vDSO's state. The calls that it needs
         * stay allowed, because the state may be created again. */
        if (getrandom(&byte, sizeof(byte), 0) < 0)
                return -errno;
        int r = forbidden_call_watch(names[role]);
        r = r ?: load_forbidden(keep_control, ELEMENTSOF(keep_control));
        return r ?: load_allowed(role);
}

int sandbox_end_receiving(void) {
        return load_forbidden(end_receiving, ELEMENTSOF(end_receiving));
}
#endif

int sandbox_enter(const char *user, char *text, size_t size) {
        (void)signal(SIGPIPE, SIG_IGN);
        (void)signal(SIGXFSZ, SIG_IGN);
        /* Without the privilege this fails. The consumer then loses events sooner, and reports
         * them. */
        (void)setpriority(PRIO_PROCESS, 0, NICE);
        int r = become_user(user, text, size);
        if (r < 0)
                return r;
        r = limit_resources();
        r = r ?: drop_privileges();
        if (r < 0)
                snprintf(text, size, "cannot give up rights: %s", strerror(-r));
        return r;
}
