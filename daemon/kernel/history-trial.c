/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tries out the probes of the history of the black box. A probe does not run while kprobes or
 * ftrace are off. It also misses a caller into which the compiler has put the function, as a kernel
 * with link-time optimization may have done for prctl(2) and set_dumpable(). No counter shows
 * either. history/history.c calls it on the worker thread. */

#include "kernel/history-trial.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interfaces/cleanup.h"

/* Of each change. Other processes do not cause so many hits in the same moment. */
#define N_CHANGES 16
/* The child has a second. */
#define WAIT_NSEC (1000 * 1000)
#define N_WAITS   1000

/* It has the locks of other threads, so it makes system calls only. */
static _Noreturn void history_trial_act(void) {
        for (unsigned i = 0; i < N_CHANGES; i++) {
                syscall(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
                syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
                syscall(SYS_prctl, PR_SET_KEEPCAPS, i % 2, 0, 0, 0);
        }
        for (;;)
                syscall(SYS_exit_group, 0);
}

/* The worker must not wait for a child that another program has stopped. */
static int history_trial_wait(pid_t pid) {
        const struct timespec moment = { .tv_nsec = WAIT_NSEC };
        int status;

        for (unsigned i = 0; i < N_WAITS; i++) {
                pid_t ended = waitpid(pid, &status, __WALL | WNOHANG);

                if (ended == pid) /* else killed, as by the kernel's OOM killer */
                        return status == 0 ? 0 : -ECHILD;
                if (ended < 0 && errno != EINTR)
                        return -errno;
                (void)nanosleep(&moment, NULL);
        }
        (void)kill(pid, SIGKILL);
        while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR) {
        }
        return -ETIMEDOUT;
}

/* The child shares the table of fds and has no exit signal, as in kernel/buffer.c. */
static int history_trial_start(void) {
        pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES, NULL, NULL, NULL, NULL);

        if (pid < 0)
                return -errno;
        if (pid == 0)
                history_trial_act();
        return history_trial_wait(pid);
}

void history_trial_count(char *text, HistoryHits *ret) {
        static const char *const names[] = { CONTROL_HISTORY_PROBES };
        char *rest;

        *ret = (HistoryHits){};
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
                char name[64];
                uint64_t n;

                if (sscanf(line, "%63s %" SCNu64, name, &n) != 2)
                        continue;
                for (size_t i = 0; i < ELEMENTSOF(names); i++)
                        if (strcmp(name, names[i]) == 0)
                                ret->n[i] += n;
        }
}

static int history_trial_read(const Tracefs *tracefs, HistoryHits *ret) {
        _cleanup_free_ char *text = NULL;

        int r = tracefs_read(tracefs->fd, "kprobe_profile", &text, NULL);
        if (r == 0)
                history_trial_count(text, ret);
        return r;
}

int history_trial_judge(const HistoryHits *before, const HistoryHits *after) {
        if (after->n[HISTORY_PROBE_BIRTH] == before->n[HISTORY_PROBE_BIRTH])
                return -ENODEV;
        return after->n[HISTORY_PROBE_CAPS] - before->n[HISTORY_PROBE_CAPS] < N_CHANGES ||
                                               after->n[HISTORY_PROBE_UNDUMPABLE] -
                                                                               before->n[HISTORY_PROBE_UNDUMPABLE] <
                                                               2 * N_CHANGES
                               ? -EOPNOTSUPP
                               : 0;
}

int history_trial_run(const Tracefs *tracefs) {
        HistoryHits before, after;

        int r = history_trial_read(tracefs, &before);
        r = r ?: history_trial_start();
        r = r ?: history_trial_read(tracefs, &after);
        return r ?: history_trial_judge(&before, &after);
}
