/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The consumer's own fence: it holds a client's fd and the kernel's raw bytes, so it can do nothing
 * but read, clean and write. Entered before anybody has told it anything; system calls are left
 * until it knows what it is for, and given up before the first byte of a client's. Under systemd
 * the unit has done most of it already.
 *
 * The filter kills the process on any call that the loop has no need for. A build with
 * AddressSanitizer goes without the filter, since the sanitizer's own calls are many and change;
 * everything else is the same. */

#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"

/* A raw reader and a counter for each of 8192 CPUs, and our own. */
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

/* On saturated CPUs a consumer that waits its turn loses what a small ring cannot hold meanwhile:
 * 12 % at 1 MB a CPU and 6 million events a second, against 0.5 % with this. The unit has the same.
 */
#define NICE (-10)

static int limit_resources(void) {
        static const struct rlimit none;
        struct rlimit files, size;

        if (getrlimit(RLIMIT_NOFILE, &files) < 0 || getrlimit(RLIMIT_FSIZE, &size) < 0)
                return -errno;
        files.rlim_cur = files.rlim_max = MIN_OF(files.rlim_max, (rlim_t)FILES_MAX);
        size.rlim_cur = size.rlim_max; /* the daemon's own is none of the sink's */
        if (setrlimit(RLIMIT_NOFILE, &files) < 0 || setrlimit(RLIMIT_FSIZE, &size) < 0)
                return -errno;
        if (setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_NPROC, &none) < 0)
                return -errno;
        return 0;
}

/* A changed uid has left none in force; a unit that was edited may have. */
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
/* The leak checker attaches to the process from a new thread: the sandbox forbids both. */
int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void) {
        return 1;
}

int sandbox_close(void) {
        return 0;
}
#else
/* All that a consumer has need of once it has what it works on. */
static const int calls[] = {
        SCMP_SYS(read),
        SCMP_SYS(pread64),
        SCMP_SYS(write),
        SCMP_SYS(writev),
        SCMP_SYS(pwritev2),
        SCMP_SYS(recvmsg),
        SCMP_SYS(sendmsg),
        SCMP_SYS(epoll_wait),
        SCMP_SYS(epoll_pwait),
        SCMP_SYS(epoll_ctl),
        SCMP_SYS(timerfd_settime),
        SCMP_SYS(close),
        SCMP_SYS(fstat),
        SCMP_SYS(fstatfs),
        SCMP_SYS(getsockopt),
        SCMP_SYS(poll),
        SCMP_SYS(ppoll),
        SCMP_SYS(lseek),
        SCMP_SYS(ftruncate),
        SCMP_SYS(fdatasync),
        SCMP_SYS(munmap),
        SCMP_SYS(mremap),
        SCMP_SYS(brk),
        SCMP_SYS(madvise),
        SCMP_SYS(futex),
        SCMP_SYS(getrandom),
        SCMP_SYS(sysinfo), /* qsort() asks how much memory there is */
        SCMP_SYS(clock_gettime),
        SCMP_SYS(gettimeofday),
        SCMP_SYS(rt_sigreturn),
        SCMP_SYS(restart_syscall),
        SCMP_SYS(exit),
        SCMP_SYS(exit_group),
};

int sandbox_close(void) {
        const struct {
                int call;
                struct scmp_arg_cmp condition;
        } narrow[] = {
                /* Reading an fd's flags only; setting O_NONBLOCK on a shared description is not
                   ours. */
                { SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_EQ, F_GETFL) },
                /* fstat() of some C libraries */
                { SCMP_SYS(newfstatat), SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH) },
                { SCMP_SYS(mmap), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0) },
        };

        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
        int r = filter ? 0 : -ENOMEM;

        if (r == 0) /* the watchdog as well */
                r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(calls); i++)
                r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(narrow); i++)
                r = seccomp_rule_add_array(
                                filter, SCMP_ACT_ALLOW, narrow[i].call, 1, &narrow[i].condition);
        if (r == 0)
                r = seccomp_load(filter);
        if (filter)
                seccomp_release(filter);
        return r;
}
#endif

int sandbox_enter(const char *user, char *text, size_t size) {
        (void)signal(SIGPIPE, SIG_IGN);
        (void)signal(SIGXFSZ, SIG_IGN);
        (void)setpriority(PRIO_PROCESS,
                        0,
                        NICE); /* without the right to it: it loses sooner, and tells */
        int r = become_user(user, text, size);
        if (r < 0)
                return r;
        r = limit_resources();
        r = r ?: drop_privileges();
        if (r < 0)
                snprintf(text, size, "cannot give up rights: %s", strerror(-r));
        return r;
}
