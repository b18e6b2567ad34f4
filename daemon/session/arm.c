/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Arming: puts processes into an instance's pid list so that nothing of anybody else can follow.
 * Called by plan steps on the worker thread, while every event of the instance is off.
 *
 * The order is the point. All threads are listed first, and only then judged (arm-check.c), so that
 * no judgement can be older than the listing. A thread created before the listing might be missed
 * by readdir(3); so with N = `Threads:`, exactly N distinct listed (tid, start time) pairs must be
 * alive both before and after N was read: then every thread is listed, and any later one inherits
 * the listing by the instance's event-fork. A sibling that is not listed could exec a set-user-ID
 * program under a listed leader's pid (reproduced on 6.1), and the guard would miss it.
 *
 * The pid filter keeps a listed number until some time after the task was reaped. Nothing here may
 * be believed about a number without its start time or a pidfd held across. */

#include "arm.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>

#include "defence.h"

/* A process that makes threads faster than they can be listed is refused after this many rounds. */
#define ARM_ROUNDS 64
/* Passes over /proc for scope own: each finds what was started during the one before. */
#define ARM_PASSES 8

void arm_clear(Arm *arm) {
        task_set_clear(&arm->listed);
        task_set_clear(&arm->verified);
        task_set_clear(&arm->settled);
}

/* Writes those that are not on the list yet, in as few writes as can be: each waits for RCU. */
static int arm_list(Arm *arm, const Task *tasks, size_t n_tasks) {
        _cleanup_free_ pid_t *tids = calloc(n_tasks + 1, sizeof(pid_t));
        size_t n = 0;

        if (!tids)
                return -ENOMEM;
        if (arm->needs_sentinel && defence_is_on("sentinel"))
                tids[n++] = ARM_SENTINEL;
        for (size_t i = 0; i < n_tasks; i++)
                if (!task_set_has(&arm->listed, &tasks[i]))
                        tids[n++] = tasks[i].tid;
        if (n == 0)
                return 0;
        int r = instance_add_pids(arm->instance, tids, n);
        if (r < 0)
                return r;
        arm->needs_sentinel = false;
        return task_set_add(&arm->listed, tasks, n_tasks);
}

/* How many of the tasks are alive now; the dead are dropped. */
static int keep_alive(pid_t pid, Task *tasks, size_t *n_tasks) {
        size_t n = 0;

        for (size_t i = 0; i < *n_tasks; i++) {
                Task now = { .tid = tasks[i].tid };
                int r = process_read_start(pid, now.tid, &now.start_time);

                if (r < 0 && r != -ESRCH)
                        return r;
                if (r == 0 && now.start_time == tasks[i].start_time)
                        tasks[n++] = tasks[i];
        }
        *n_tasks = n;
        return 0;
}

/* Of listed tasks: is no thread of the process missing among them? */
static int is_whole(pid_t pid, Task *tasks, size_t *n_tasks, bool *ret) {
        TaskStatus status;

        int r = keep_alive(pid, tasks, n_tasks);
        size_t n_before = *n_tasks;
        r = r ?: process_read_status(pid, pid, &status);
        r = r ?: keep_alive(pid, tasks, n_tasks);
        if (r == 0)
                *ret = !defence_is_on("threads") ||
                       (*n_tasks == n_before && *n_tasks == status.n_threads);
        return r;
}

/* ret_n: of every thread, all of them listed. */
static int arm_list_threads(Arm *arm, pid_t pid, size_t *ret_n, Reason *reason) {
        for (unsigned i = 0; i < ARM_ROUNDS; i++) {
                _cleanup_free_ Task *tasks = NULL;
                bool whole = false;
                size_t n = 0;

                int r = process_list_threads(pid, &tasks, &n);
                r = r ?: arm_list(arm, tasks, n);
                r = r ?: is_whole(pid, tasks, &n, &whole);
                if (r < 0)
                        return r;
                if (whole) {
                        *ret_n = n;
                        return 0;
                }
        }
        return reason_set(reason,
                        KT_E_KERNEL_REFUSED,
                        "process %d starts threads faster than they can be listed: try again when it is calmer",
                        pid);
}

/* Before anything of it is listed; the first process that is fit decides for which group. */
static int arm_check_first(Arm *arm, pid_t pid, Reason *reason) {
        _cleanup_free_ Task *tasks = NULL;
        TaskStatus status;
        size_t n = 0;

        int r = process_read_status(pid, pid, &status);
        if (r == 0 && (pid_t)status.tgid != pid)
                return reason_set(reason,
                                KT_E_NO_SUCH_PROCESS,
                                "%d is a thread of process %u: name the process",
                                pid,
                                status.tgid);
        if (r == 0)
                r = process_list_threads(pid, &tasks, &n);
        r = r ?: arm_check_process(arm, pid, tasks, n, reason);
        if (r == 0 && arm->is_judged && !arm->rule.has_gid) {
                arm->rule.has_gid = true;
                arm->rule.gid = status.gids[0];
        }
        return r;
}

static int arm_whole(Arm *arm, pid_t pid, Reason *reason) {
        size_t n = 0;

        int r = arm_list_threads(arm, pid, &n, reason);
        if (r != 0)
                return r;
        if (arm->single_thread && n != 1)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "scope command: process %d has %zu threads: hold back a process of one",
                                pid,
                                n);
        arm->report.n_processes++;
        arm->report.n_threads += n;
        return 0;
}

/* The pidfd was opened before anything was read: as long as its process lives, the number was
 * nobody else's. */
static bool pidfd_is_alive(int pidfd) {
        struct pollfd p = { .fd = pidfd, .events = POLLIN };

        return poll(&p, 1, 0) == 0;
}

static int arm_process(Arm *arm, pid_t pid, Reason *reason) {
        _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        int error = pidfd < 0 ? -errno : 0;

        if (error != 0 && error != -ESRCH &&
                        error != -EINVAL) /* EINVAL: a thread, told by arm_check_first */
                return error;
        int r = error == -ESRCH ? error : arm_check_first(arm, pid, reason);
        if (r == 0 && pidfd >= 0)
                r = arm_whole(arm, pid, reason);
        if (r == -ESRCH || (r == 0 && (pidfd < 0 || !pidfd_is_alive(pidfd))))
                return reason_set(reason, KT_E_NO_SUCH_PROCESS, "process %d does not exist", pid);
        return r;
}

int arm_list_processes(Arm *arm, const pid_t *pids, size_t n_pids, Reason *reason) {
        for (size_t i = 0; i < n_pids; i++) {
                int r = arm_process(arm, pids[i], reason);
                if (r != 0)
                        return r;
        }
        return 0;
}

/* Processes of one pass over /proc. */
typedef struct Found {
        TaskSet seen;  /* leaders, also the unfit */
        Task *threads; /* of the fit ones that are new in this pass */
        size_t n_threads;
        pid_t *fit;
        size_t n_fit;
} Found;

static void found_clear(Found *found) {
        task_set_clear(&found->seen);
        free(found->threads);
        free(found->fit);
}

static int append(void **array, size_t *n, const void *items, size_t n_items, size_t size) {
        char *bigger = reallocarray(*array, *n + n_items, size);

        if (!bigger)
                return -ENOMEM;
        memcpy(bigger + *n * size, items, n_items * size);
        *array = bigger;
        *n += n_items;
        return 0;
}

/* Judges one process before anything of it is listed. */
static int found_add(Found *found, Arm *arm, pid_t pid) {
        _cleanup_free_ Task *tasks = NULL;
        Task leader = { .tid = pid };
        Reason why = {};
        size_t n = 0;

        int r = process_read_start(pid, pid, &leader.start_time);
        if (r < 0)
                return r == -ESRCH ? 0 : r;
        if (task_set_has(&found->seen, &leader))
                return 0;
        r = task_set_add(&found->seen, &leader, 1);
        r = r ?: arm_check_first(arm, pid, &why);
        if (r > 0) {
                if (arm->report.n_left_out++ == 0)
                        snprintf(arm->report.left_out,
                                        sizeof(arm->report.left_out),
                                        "%.*s",
                                        (int)sizeof(arm->report.left_out) - 1,
                                        why.text);
                return 0;
        }
        r = r ?: process_list_threads(pid, &tasks, &n);
        if (r < 0)
                return r == -ESRCH ? 0 : r;
        r = append((void **)&found->threads, &found->n_threads, tasks, n, sizeof(Task));
        return r ?: append((void **)&found->fit, &found->n_fit, &pid, 1, sizeof(pid_t));
}

/* One pass: all that is new and fit is listed in one write, then each process is armed as any
 * other. One that turns unfit in between fails the whole, since a number cannot be taken off the
 * kernel's list. */
static int arm_pass(Arm *arm, Found *found, Reason *reason) {
        _cleanup_free_ pid_t *pids = NULL;
        size_t n = 0;

        found->n_fit = found->n_threads = 0;
        int r = process_list_of(arm->rule.owner->uid, &pids, &n);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = found_add(found, arm, pids[i]);
        if (r == 0 && found->n_threads > 0)
                r = arm_list(arm, found->threads, found->n_threads);
        for (size_t i = 0; r == 0 && i < found->n_fit; i++) {
                r = arm_process(arm, found->fit[i], reason);
                if (r == KT_E_NO_SUCH_PROCESS) /* ended in between */
                        r = 0;
        }
        return r;
}

int arm_list_own(Arm *arm, Reason *reason) {
        _cleanup_(found_clear) Found found = {};

        /* Not that of whatever process /proc shows first. */
        if (arm->is_judged && arm->rule.owner->n_gids > 0) {
                arm->rule.has_gid = true;
                arm->rule.gid = arm->rule.owner->gids[0];
        }

        for (unsigned i = 0; i < ARM_PASSES; i++) {
                size_t n_seen = found.seen.n;
                int r = arm_pass(arm, &found, reason);

                if (r != 0)
                        return r;
                if (found.seen.n == n_seen)
                        break;
        }
        if (arm->report.n_processes == 0)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "scope own: none of your %zu processes may be traced: %s",
                                arm->report.n_left_out,
                                arm->report.left_out);
        return 0;
}
