/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads untrusted recordings in a process that can do no harm. Called by report, convert and -H.
 * Root may read a file that any user has made, and libtraceevent parses the event formats in it.
 * trace/format-guard.c refuses formats that are known to harm libtraceevent's parser, but no list
 * of such formats is complete. So the file is parsed and printed in a child with a seccomp filter.
 * Even if a file takes over the child, the child can only change what it prints: it cannot open,
 * execute or connect to anything, and it cannot signal or trace other processes.
 *
 * A forbidden call fails with EPERM and does not end the child, because the C library makes some
 * that may fail: gmtime_r() opens the time zone, and stdio asks whether a file is a terminal. A
 * build with AddressSanitizer has no filter, because the sanitizer makes many calls of its own. */

#include "recording/isolation.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interfaces/cleanup.h"
#include "terminal/message.h"

#ifdef __SANITIZE_ADDRESS__
int isolation_seal(Reason *reason _unused_) {
        return 0;
}
#else
#define NEW_NAMESPACES                                                                 \
        (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
                        CLONE_NEWPID | CLONE_NEWNET)

/* Arguments have 64 bits, but the kernel uses only the lower 32 of some. So a condition that allows
 * a call compares all 64 bits. */
static const struct {
        int call;
        unsigned n_conditions;
        struct scmp_arg_cmp conditions[2];
} allowed[] = {
        { SCMP_SYS(read) },
        { SCMP_SYS(pread64) },
        { SCMP_SYS(write) },
        { SCMP_SYS(writev) },
        { SCMP_SYS(pwrite64) },
        { SCMP_SYS(lseek) },
        { SCMP_SYS(poll) }, /* for a stream, whose end comes late */
        { SCMP_SYS(ppoll) },
        { SCMP_SYS(ftruncate) },
        { SCMP_SYS(close) },
        { SCMP_SYS(fstat) },
        { SCMP_SYS(newfstatat), 1, { SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH) } },
        { SCMP_SYS(fcntl), 1, { SCMP_A1(SCMP_CMP_EQ, F_GETFL) } },
        { SCMP_SYS(ioctl), 1, { SCMP_A1(SCMP_CMP_EQ, TIOCGWINSZ) } },
        { SCMP_SYS(munmap) },
        { SCMP_SYS(mremap) },
        { SCMP_SYS(brk) },
        { SCMP_SYS(madvise) },
        { SCMP_SYS(futex) },
        { SCMP_SYS(getrandom) },
        { SCMP_SYS(sysinfo) }, /* qsort() asks how much memory the machine has */
        { SCMP_SYS(clock_gettime) },
        { SCMP_SYS(gettimeofday) },
        { SCMP_SYS(sched_yield) },
        { SCMP_SYS(rt_sigprocmask) },
        { SCMP_SYS(rt_sigreturn) },
        { SCMP_SYS(restart_syscall) },
        { SCMP_SYS(getpid) },
        { SCMP_SYS(gettid) },
        { SCMP_SYS(exit) },
        { SCMP_SYS(exit_group) },
        /* Memory without code, and not shared with another process or a file. */
        { SCMP_SYS(mmap),
                        2,
                        { SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
                                        SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_TYPE, MAP_PRIVATE) } },
        { SCMP_SYS(mprotect), 1, { SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0) } },
        /* Threads, but no processes, and none in another namespace, which root may make. glibc uses
         * clone() when clone3() does not exist. */
        { SCMP_SYS(clone),
                        1,
                        { SCMP_A0(SCMP_CMP_MASKED_EQ,
                                        CLONE_THREAD | CLONE_VM | NEW_NAMESPACES,
                                        CLONE_THREAD | CLONE_VM) } },
        { SCMP_SYS(set_robust_list) },
        { SCMP_SYS(rseq) },
};

static int load_filter(void) {
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));

        if (!filter)
                return -ENOMEM;
        int r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(allowed); i++)
                r = seccomp_rule_add_array(filter,
                                SCMP_ACT_ALLOW,
                                allowed[i].call,
                                allowed[i].n_conditions,
                                allowed[i].conditions);
        r = r ?: seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
        r = r ?: seccomp_load(filter); /* also sets no_new_privs */
        seccomp_release(filter);
        return r;
}

int isolation_seal(Reason *reason) {
        int r = load_filter();

        return r == 0 ? 0
                      : reason_set(reason,
                                        KT_E_FAILED,
                                        "it is not read, because seccomp is missing, which protects "
                                        "from hostile files: %s",
                                        strerror(-r));
}
#endif

static void run_child(pid_t parent, int (*work)(void *argument), void *argument) {
        int status;

        /* If the parent is killed, the child ends too. */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                _exit(KT_EXIT_FAILED);
        status = work(argument);
        if ((fflush(stdout) != 0 || ferror(stdout)) && status == 0) {
                message_print("cannot write to standard output: %s", strerror(errno));
                status = KT_EXIT_FAILED;
        }
        _exit(status); /* what the parent owns is not cleaned up here */
}

/* Signals that the user, the reader of the output or a limit sends. */
static bool is_common_signal(int number) {
        static const int signals[] = {
                SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGALRM, SIGXCPU, SIGXFSZ
        };

        for (size_t i = 0; i < ELEMENTSOF(signals); i++)
                if (signals[i] == number)
                        return true;
        return false;
}

int isolation_start(const char *name,
                int (*work)(void *argument),
                void *argument,
                pid_t *ret_child) {
        pid_t parent = getpid(), child;

        fflush(NULL); /* or both processes would write it */
        child = fork();
        if (child == 0)
                run_child(parent, work, argument);
        if (child < 0) {
                message_print("%s: cannot start a process to read it: %s", name, strerror(errno));
                return KT_EXIT_FAILED;
        }
        *ret_child = child;
        return KT_EXIT_OK;
}

int isolation_wait(const char *name, pid_t child) {
        int status;

        while (waitpid(child, &status, 0) < 0)
                if (errno != EINTR) {
                        message_print("%s: cannot wait for its reader: %s", name, strerror(errno));
                        return KT_EXIT_FAILED;
                }
        if (WIFEXITED(status))
                return WEXITSTATUS(status);
        if (is_common_signal(WTERMSIG(status))) {
                (void)signal(WTERMSIG(status), SIG_DFL);
                (void)raise(WTERMSIG(status));
        }
        message_print("%s: the process that read it was ended by signal %d (%s): expected a "
                      "recording, got a damaged or hostile file",
                        name,
                        WTERMSIG(status),
                        strsignal(WTERMSIG(status)));
        return KT_EXIT_FAILED;
}

static bool isolation_has_ended(pid_t child) {
        siginfo_t si = {};

        return waitid(P_PID, (id_t)child, &si, WEXITED | WNOHANG | WNOWAIT) < 0 ||
               si.si_pid == child;
}

int isolation_wait_or_signal(const char *name, pid_t child) {
        static const int signals[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP };
        sigset_t set, before;
        int number = 0;

        (void)sigemptyset(&set);
        for (size_t i = 0; i < ELEMENTSOF(signals); i++)
                (void)sigaddset(&set, signals[i]);
        /* A SIGCHLD that is not blocked would be lost between the look and the wait. */
        (void)sigprocmask(SIG_BLOCK, &set, &before);
        while (!isolation_has_ended(child) && (number <= 0 || number == SIGCHLD))
                number = sigwaitinfo(&set, NULL);
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        if (isolation_has_ended(child))
                return isolation_wait(name, child);
        isolation_stop(child);
        return -EINTR;
}

void isolation_stop(pid_t child) {
        (void)kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
                ;
}

int isolation_run(const char *name, int (*work)(void *argument), void *argument) {
        pid_t child;

        int status = isolation_start(name, work, argument, &child);
        return status == KT_EXIT_OK ? isolation_wait(name, child) : status;
}
