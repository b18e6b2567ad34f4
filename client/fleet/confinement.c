/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a hostile broker finds if it takes over ktrace-fleet. Only root can read the credentials, so
 * the program runs as root, and it must keep them: a connection that breaks is made again. main.c
 * calls this before the first connection.
 *
 * - It has no capabilities, and gets none by a program.
 * - It can open no file except those below, and those only to read (Landlock, since Linux 5.13;
 *   without it root can open its own files).
 * - It can run no program, and cannot trace or signal other processes, connect to a socket of this
 *   machine such as that of the bus, mount, load code into the kernel or enter a namespace.
 *
 * A forbidden call fails with EPERM. The filter is a list of what is forbidden and not of what is
 * allowed: libnats, OpenSSL and the resolver make calls that change with their versions. A build
 * with AddressSanitizer has no confinement: its leak checker starts a process. */

#include "fleet/confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <string.h>
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
#define READING    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* All rights of the first version: later kernels know more, this list is enough for files. */
#define ALL_RIGHTS ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

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

static const struct {
        int call;
        unsigned n_conditions;
        struct scmp_arg_cmp condition;
} forbidden[] = {
        { SCMP_SYS(execve) },
        { SCMP_SYS(execveat) },
        { SCMP_SYS(ptrace) },
        { SCMP_SYS(process_vm_readv) },
        { SCMP_SYS(process_vm_writev) },
        { SCMP_SYS(pidfd_getfd) },
        { SCMP_SYS(kill) },
        { SCMP_SYS(tkill) },
        { SCMP_SYS(pidfd_send_signal) },
        { SCMP_SYS(rt_sigqueueinfo) },
        { SCMP_SYS(rt_tgsigqueueinfo) },
        /* The bus and systemd trust the user id of who connects. Landlock does not cover sockets.
         */
        { SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, AF_UNIX) },
        { SCMP_SYS(socket),
                        1,
                        SCMP_A0(SCMP_CMP_GT, AF_NETLINK) }, /* virtual machines, and others */
        { SCMP_SYS(mount) },
        { SCMP_SYS(umount2) },
        { SCMP_SYS(move_mount) },
        { SCMP_SYS(pivot_root) },
        { SCMP_SYS(chroot) },
        { SCMP_SYS(setns) },
        { SCMP_SYS(unshare) },
        { SCMP_SYS(open_by_handle_at) },
        { SCMP_SYS(bpf) },
        { SCMP_SYS(perf_event_open) },
        { SCMP_SYS(init_module) },
        { SCMP_SYS(finit_module) },
        { SCMP_SYS(kexec_load) },
        { SCMP_SYS(keyctl) },
        { SCMP_SYS(io_uring_setup) },
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
