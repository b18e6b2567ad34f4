/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Limits what a hostile broker can do if it takes over ktrace-fleet. Only root can read the
 * credentials, so the program runs as root, and it must keep them: a connection that breaks is made
 * again. main.c calls this before the first connection. From then on:
 *
 * - It has no capabilities, and gets none by a program.
 * - It can open no file except those below, and those only to read (Landlock, since Linux 5.13;
 *   without it root can open its own files). It can change no file by its name.
 * - It can start no process and run no program. It cannot trace, signal, limit or slow down other
 *   processes, and cannot type into root's terminal.
 * - It reaches programs of this machine by IP only: by no Unix socket such as that of the bus, no
 *   System V or POSIX IPC and no key.
 * - It can enter no namespace, mount nothing, and load no code into the kernel.
 *
 * A forbidden call fails with EPERM. The filter is a list of what is forbidden and not of what is
 * allowed: libnats, OpenSSL and the resolver make calls that change with their versions. Calls that
 * are newer than the list do not exist here (ENOSYS), and libraries go on without them.
 *
 * The kernel uses only the lower 32 bits of most arguments. So a condition that forbids a call
 * compares only these, or forbids all values with a higher bit as well.
 *
 * A build with AddressSanitizer has no confinement: its leak checker starts a process. */

#include "fleet/confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/kd.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interfaces/cleanup.h"

#ifdef __SANITIZE_ADDRESS__
int confinement_enter(const FleetSettings *settings _unused_, Reason *reason _unused_) {
        return 0;
}
#else
#define READING                (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* All rights of the first version: later kernels know more, this list is enough for files. */
#define ALL_RIGHTS             ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

/* Of the C library's resolver and of OpenSSL. Those that are links lead to what they name. */
static const char *const readable[] = {
        "/etc/resolv.conf",
        "/etc/hosts",
        "/etc/host.conf",
        "/etc/nsswitch.conf",
        "/etc/gai.conf",
        "/etc/services",
        "/etc/ssl",
        "/etc/localtime",
        "/etc/ld.so.cache",
        "/usr/lib",
        "/usr/share",
        "/dev/random",
        "/dev/urandom",
        "/dev/null",
        "/run/systemd/resolve",
};

/* The lower 32 bits of an argument are this value. */
#define IS(argument, value)    SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, UINT32_MAX, value)
/* A flag of an argument is set, or is not. */
#define HAS(argument, flag)    SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, flag, flag)
#define HAS_NO(argument, flag) SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, flag, 0)

/* From fchmodat2() on. libseccomp 2.5.4 does not know the names, but from 424 on a call has the
 * same number on all machines. The end is far beyond today's kernels. */
#define NEW_CALL_FIRST         452
#define NEW_CALL_END           512

static const struct {
        int call;
        unsigned n_conditions;
        struct scmp_arg_cmp condition;
} forbidden[] = {
        /* Programs and processes. A thread can enter no namespace of users or processes, and those
         * of other kinds need a capability. */
        { SCMP_SYS(execve) },
        { SCMP_SYS(execveat) },
        { SCMP_SYS(fork) },
        { SCMP_SYS(vfork) },
        { SCMP_SYS(clone), 1, HAS_NO(0, CLONE_THREAD) },
        { SCMP_SYS(unshare) },
        { SCMP_SYS(setns) },
        /* Other processes. */
        { SCMP_SYS(ptrace) },
        { SCMP_SYS(process_vm_readv) },
        { SCMP_SYS(process_vm_writev) },
        { SCMP_SYS(process_madvise) },
        { SCMP_SYS(process_mrelease) },
        { SCMP_SYS(kcmp) },
        { SCMP_SYS(pidfd_open) },
        { SCMP_SYS(pidfd_getfd) },
        { SCMP_SYS(pidfd_send_signal) },
        { SCMP_SYS(kill) },
        { SCMP_SYS(tkill) },
        { SCMP_SYS(rt_sigqueueinfo) },
        { SCMP_SYS(rt_tgsigqueueinfo) },
        { SCMP_SYS(prlimit64), 1, SCMP_A0(SCMP_CMP_NE, 0) },
        { SCMP_SYS(setpriority) },
        { SCMP_SYS(ioprio_set) },
        { SCMP_SYS(sched_setaffinity) },
        { SCMP_SYS(sched_setattr) },
        { SCMP_SYS(sched_setparam) },
        { SCMP_SYS(sched_setscheduler) },
        { SCMP_SYS(migrate_pages) },
        { SCMP_SYS(move_pages) },
        /* The kernel sends the owner of a descriptor any signal when data comes. */
        { SCMP_SYS(fcntl), 1, IS(1, F_SETOWN) },
        { SCMP_SYS(fcntl), 1, IS(1, F_SETOWN_EX) },
        { SCMP_SYS(ioctl), 1, IS(1, FIOSETOWN) },
        { SCMP_SYS(ioctl), 1, IS(1, SIOCSPGRP) },
        /* Standard error may be root's terminal. What is typed there goes to root's shell. */
        { SCMP_SYS(ioctl), 1, IS(1, TIOCSTI) },
        { SCMP_SYS(ioctl), 1, IS(1, TIOCLINUX) },
        { SCMP_SYS(ioctl), 1, IS(1, TIOCSETD) },
        { SCMP_SYS(ioctl), 1, SCMP_A1(SCMP_CMP_MASKED_EQ, 0xff00, KDGETLED & 0xff00) }, /* keys */
        /* The bus and systemd trust the user id of who connects. Landlock does not cover sockets.
         * A socket of a pair may send to any other one. confinement_forbid_sockets() has more. */
        { SCMP_SYS(socketpair) },
        { SCMP_SYS(shmget) },
        { SCMP_SYS(shmat) },
        { SCMP_SYS(shmctl) },
        { SCMP_SYS(msgget) },
        { SCMP_SYS(msgsnd) },
        { SCMP_SYS(msgrcv) },
        { SCMP_SYS(msgctl) },
        { SCMP_SYS(semget) },
        { SCMP_SYS(semop) },
        { SCMP_SYS(semtimedop) },
        { SCMP_SYS(semctl) },
        { SCMP_SYS(mq_open) },
        { SCMP_SYS(mq_unlink) },
        { SCMP_SYS(keyctl) },
        { SCMP_SYS(add_key) },
        { SCMP_SYS(request_key) }, /* the kernel may start a program for it */
        /* Files. Landlock covers none of these calls, truncation only since Linux 6.2. */
        { SCMP_SYS(open_by_handle_at) },
        { SCMP_SYS(creat) },
        { SCMP_SYS(open), 1, HAS(1, O_TRUNC) },
        { SCMP_SYS(openat), 1, HAS(2, O_TRUNC) },
        { SCMP_SYS(truncate) },
        { SCMP_SYS(chmod) },
        { SCMP_SYS(fchmod) },
        { SCMP_SYS(fchmodat) },
        { SCMP_SYS(chown) },
        { SCMP_SYS(fchown) },
        { SCMP_SYS(lchown) },
        { SCMP_SYS(fchownat) },
        { SCMP_SYS(setxattr) },
        { SCMP_SYS(fsetxattr) },
        { SCMP_SYS(lsetxattr) },
        { SCMP_SYS(removexattr) },
        { SCMP_SYS(fremovexattr) },
        { SCMP_SYS(lremovexattr) },
        { SCMP_SYS(utime) },
        { SCMP_SYS(utimes) },
        { SCMP_SYS(futimesat) },
        { SCMP_SYS(utimensat) },
        /* Mounts. */
        { SCMP_SYS(mount) },
        { SCMP_SYS(umount2) },
        { SCMP_SYS(fsopen) },
        { SCMP_SYS(fsconfig) },
        { SCMP_SYS(fsmount) },
        { SCMP_SYS(fspick) },
        { SCMP_SYS(open_tree) },
        { SCMP_SYS(move_mount) },
        { SCMP_SYS(mount_setattr) },
        { SCMP_SYS(pivot_root) },
        { SCMP_SYS(chroot) },
        /* The kernel. io_uring makes calls that no filter sees. */
        { SCMP_SYS(bpf) },
        { SCMP_SYS(perf_event_open) },
        { SCMP_SYS(userfaultfd) },
        { SCMP_SYS(io_uring_setup) },
        { SCMP_SYS(io_uring_enter) },
        { SCMP_SYS(io_uring_register) },
        { SCMP_SYS(init_module) },
        { SCMP_SYS(finit_module) },
        { SCMP_SYS(delete_module) },
        { SCMP_SYS(kexec_load) },
        { SCMP_SYS(kexec_file_load) },
};

static int confinement_add_path(int ruleset, const char *path) {
        struct landlock_path_beneath_attr rule = { .allowed_access = READING };
        struct stat stat;

        _cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT ? 0 : -errno;
        if (fstat(fd, &stat) < 0)
                return -errno;
        if (!S_ISDIR(stat.st_mode))
                rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE;
        rule.parent_fd = fd;
        return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0
                               ? -errno
                               : 0;
}

static int confinement_close_files(const FleetSettings *settings) {
        const struct landlock_ruleset_attr attributes = { .handled_access_fs = ALL_RIGHTS };
        int r = 0;

        _cleanup_close_ int ruleset = (int)syscall(
                        SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0);
        if (ruleset < 0) /* a kernel without Landlock */
                return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -errno;
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(readable); i++)
                r = confinement_add_path(ruleset, readable[i]);
        if (r == 0 && settings->credentials_dir)
                r = confinement_add_path(ruleset, settings->credentials_dir);
        if (r == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
                r = -errno;
        return r;
}

static int confinement_drop_capabilities(void) {
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
                return -errno;
        return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

/* Sockets of other families than these: IP, and netlink for the resolver. */
static int confinement_forbid_sockets(scmp_filter_ctx filter) {
        int r = seccomp_rule_add(filter,
                        SCMP_ACT_ERRNO(EPERM),
                        SCMP_SYS(socket),
                        1,
                        SCMP_A0(SCMP_CMP_GT, AF_NETLINK));

        for (int family = 0; r == 0 && family < AF_NETLINK; family++)
                if (family != AF_INET && family != AF_INET6)
                        r = seccomp_rule_add(filter,
                                        SCMP_ACT_ERRNO(EPERM),
                                        SCMP_SYS(socket),
                                        1,
                                        SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)family));
        return r;
}

/* The first two calls pass a structure by pointer, which the filter cannot read. Without them, the
 * C library uses clone() and openat(). */
static int confinement_hide_calls(scmp_filter_ctx filter) {
        int r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

        r = r ?: seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat2), 0);
        for (int call = NEW_CALL_FIRST; r == 0 && call < NEW_CALL_END; call++)
                r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0);
        return r;
}

static int confinement_forbid_calls(void) {
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
        int r = filter ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < ELEMENTSOF(forbidden); i++)
                r = seccomp_rule_add_array(filter,
                                SCMP_ACT_ERRNO(EPERM),
                                forbidden[i].call,
                                forbidden[i].n_conditions,
                                &forbidden[i].condition);
        /* abort() sends a signal to its own process. */
        const struct scmp_arg_cmp others = SCMP_A0(SCMP_CMP_NE, (scmp_datum_t)getpid());
        r = r
                            ?: seccomp_rule_add_array(filter,
                                               SCMP_ACT_ERRNO(EPERM),
                                               SCMP_SYS(tgkill),
                                               1,
                                               &others);
        r = r ?: confinement_forbid_sockets(filter);
        r = r ?: confinement_hide_calls(filter);
        r = r ?: seccomp_load(filter);
        seccomp_release(filter);
        return r;
}

int confinement_enter(const FleetSettings *settings, Reason *reason) {
        int r = confinement_drop_capabilities();

        r = r ?: confinement_close_files(settings);
        r = r ?: confinement_forbid_calls();
        return r == 0 ? 0
                      : reason_set(reason, KT_E_FAILED, "cannot give up rights: %s", strerror(-r));
}
#endif
