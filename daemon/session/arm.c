/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Arming: puts processes into an instance's pid list so that nothing of anybody else can follow.
 * Called by plan steps on the worker thread, while every event of the instance is off.
 *
 * The order is the point. All threads are listed first, and only then judged, so that no judgement
 * can be older than the listing. A thread created before the listing might be missed by readdir(3);
 * so with N = `Threads:`, exactly N distinct listed (tid, start time) pairs must be alive both
 * before and after N was read: then every thread is listed, and any later one inherits the listing
 * by the instance's event-fork. A sibling that is not listed could exec a set-user-ID program under
 * a listed leader's pid (reproduced on 6.1); no_new_privs on every thread rules the same out a
 * second time.
 *
 * The pid filter keeps a listed number until some time after the task was reaped. Nothing here may
 * be believed about a number without its start time or a pidfd held across. */

#include "arm.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>

#include "defence.h"
#include "process.h"

/* A process that makes threads faster than they can be listed is refused after this many rounds. */
#define ARM_ROUNDS 64
/* Passes over /proc for scope own: each finds what was started during the one before. */
#define ARM_PASSES 8

void arm_clear(Arm *arm) {
        free(arm->listed);
        arm->listed = NULL;
        arm->n_listed = 0;
}

static bool is_same(const Task *a, const Task *b) {
        return a->tid == b->tid && a->start_time == b->start_time;
}

static int task_compare(const void *a, const void *b) {
        const Task *x = a, *y = b;

        if (x->tid != y->tid)
                return x->tid < y->tid ? -1 : 1;
        return x->start_time < y->start_time ? -1 : x->start_time > y->start_time;
}

static bool arm_has(const Arm *arm, const Task *task) {
        return arm->n_listed > 0 &&
               bsearch(task, arm->listed, arm->n_listed, sizeof(Task), task_compare);
}

/* Writes those that are not on the list yet, in as few writes as can be: each waits for RCU. */
static int arm_list(Arm *arm, const Task *tasks, size_t n_tasks) {
        _cleanup_free_ pid_t *tids = calloc(n_tasks + 1, sizeof(pid_t));
        Task *bigger = reallocarray(arm->listed, arm->n_listed + n_tasks + 1, sizeof(Task));
        size_t n = 0, n_listed = arm->n_listed;

        if (bigger)
                arm->listed = bigger;
        if (!tids || !bigger)
                return -ENOMEM;
        if (arm->needs_sentinel && defence_is_on("sentinel"))
                tids[n++] = ARM_SENTINEL;
        for (size_t i = 0; i < n_tasks; i++) {
                if (arm_has(arm, &tasks[i]))
                        continue;
                tids[n++] = tasks[i].tid;
                bigger[n_listed++] = tasks[i];
        }
        if (n == 0)
                return 0;
        int r = instance_add_pids(arm->instance, tids, n);
        if (r < 0)
                return r;
        arm->needs_sentinel = false;
        arm->n_listed = n_listed;
        qsort(arm->listed, arm->n_listed, sizeof(Task), task_compare);
        return 0;
}

/* How many of the tasks are alive now; the dead are dropped. */
static int keep_alive(pid_t pid, Task *tasks, size_t *n_tasks) {
        size_t n = 0;

        for (size_t i = 0; i < *n_tasks; i++) {
                Task now = { .tid = tasks[i].tid };
                int r = process_read_start(pid, now.tid, &now.start_time, NULL);

                if (r < 0 && r != -ESRCH)
                        return r;
                if (r == 0 && is_same(&now, &tasks[i]))
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

/* ret: every thread, all of them listed. */
static int arm_list_threads(Arm *arm, pid_t pid, Task **ret, size_t *ret_n, Reason *reason) {
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
                        *ret = TAKE_PTR(tasks);
                        *ret_n = n;
                        return 0;
                }
        }
        return reason_set(reason,
                        KT_E_KERNEL_REFUSED,
                        "process %d starts threads faster than they can be listed: try again when it is calmer",
                        pid);
}

/* Judges the tasks of a process. Before listing it keeps a stranger's process from being listed at
 * all; after listing it is what counts. */
static int arm_check(pid_t pid, const Task *tasks, size_t n, const Subject *owner, Reason *reason) {
        uid_t stat_owner;

        if (owner->uid == 0)
                return 0;
        for (size_t i = 0; i < n; i++) {
                TaskStatus status;
                int r = process_read_status(pid, tasks[i].tid, &status);

                if (r == -ESRCH) /* ended since: it speaks no more */
                        continue;
                if (r == 0)
                        r = process_check_status(pid, tasks[i].tid, &status, owner, reason);
                if (r != 0)
                        return r;
        }
        int r = process_read_owner(pid, &stat_owner);
        if (r < 0)
                return r;
        if (stat_owner != owner->uid && defence_is_on("dumpable"))
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "process %d is not dumpable: it keeps secrets from its own user (prctl PR_SET_DUMPABLE)",
                                pid);
        return 0;
}

static int arm_check_first(pid_t pid, const Subject *owner, Reason *reason) {
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
        return r ?: arm_check(pid, tasks, n, owner, reason);
}

static int arm_whole(Arm *arm, pid_t pid, bool single_thread, Reason *reason) {
        _cleanup_free_ Task *tasks = NULL;
        size_t n = 0;

        int r = arm_list_threads(arm, pid, &tasks, &n, reason);
        if (r != 0)
                return r;
        if (single_thread && n != 1)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "scope command: process %d has %zu threads: hold back a process of one",
                                pid,
                                n);
        r = arm_check(pid, tasks, n, arm->owner, reason);
        if (r != 0)
                return r;
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

static int arm_process(Arm *arm, pid_t pid, bool single_thread, Reason *reason) {
        _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        int error = pidfd < 0 ? -errno : 0;

        if (error != 0 && error != -ESRCH &&
                        error != -EINVAL) /* EINVAL: a thread, told by arm_check_first */
                return error;
        int r = error == -ESRCH ? error : arm_check_first(pid, arm->owner, reason);
        if (r == 0 && pidfd >= 0)
                r = arm_whole(arm, pid, single_thread, reason);
        if (r == -ESRCH || (r == 0 && (pidfd < 0 || !pidfd_is_alive(pidfd))))
                return reason_set(reason, KT_E_NO_SUCH_PROCESS, "process %d does not exist", pid);
        return r;
}

int arm_processes(Arm *arm, const pid_t *pids, size_t n_pids, bool single_thread, Reason *reason) {
        for (size_t i = 0; i < n_pids; i++) {
                int r = arm_process(arm, pids[i], single_thread, reason);
                if (r != 0)
                        return r;
        }
        return 0;
}

/* Processes of one pass over /proc. */
typedef struct Found {
        Task *seen; /* leaders, also the unfit */
        size_t n_seen;
        Task *threads; /* of the fit ones that are new in this pass */
        size_t n_threads;
        pid_t *fit;
        size_t n_fit;
} Found;

static void found_clear(Found *found) {
        free(found->seen);
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

static bool found_has(const Found *found, const Task *task) {
        for (size_t i = 0; i < found->n_seen; i++)
                if (is_same(&found->seen[i], task))
                        return true;
        return false;
}

/* Judges one process before anything of it is listed. */
static int found_add(Found *found, Arm *arm, pid_t pid) {
        _cleanup_free_ Task *tasks = NULL;
        Task leader = { .tid = pid };
        Reason why = {};
        size_t n = 0;

        int r = process_read_start(pid, pid, &leader.start_time, NULL);
        if (r < 0)
                return r == -ESRCH ? 0 : r;
        if (found_has(found, &leader))
                return 0;
        r = append((void **)&found->seen, &found->n_seen, &leader, 1, sizeof(Task));
        r = r ?: arm_check_first(pid, arm->owner, &why);
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
        int r = process_list_of(arm->owner->uid, &pids, &n);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = found_add(found, arm, pids[i]);
        if (r == 0 && found->n_threads > 0)
                r = arm_list(arm, found->threads, found->n_threads);
        for (size_t i = 0; r == 0 && i < found->n_fit; i++) {
                r = arm_process(arm, found->fit[i], false, reason);
                if (r == KT_E_NO_SUCH_PROCESS) /* ended in between */
                        r = 0;
        }
        return r;
}

int arm_own(Arm *arm, Reason *reason) {
        _cleanup_(found_clear) Found found = {};

        for (unsigned i = 0; i < ARM_PASSES; i++) {
                size_t n_seen = found.n_seen;
                int r = arm_pass(arm, &found, reason);

                if (r != 0)
                        return r;
                if (found.n_seen == n_seen)
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
