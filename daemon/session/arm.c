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

#include "process.h"

/* A process that makes threads faster than they can be listed is refused after this many rounds. */
#define ARM_ROUNDS 64
/* Passes over /proc for scope own: each finds what was started during the one before. */
#define ARM_PASSES 8

typedef struct Listed {
        Task *tasks;
        size_t n;
} Listed;

static void listed_clear(Listed *listed) {
        free(listed->tasks);
}

static bool listed_has(const Listed *listed, const Task *task) {
        for (size_t i = 0; i < listed->n; i++)
                if (listed->tasks[i].tid == task->tid &&
                                listed->tasks[i].start_time == task->start_time)
                        return true;
        return false;
}

static int listed_add(Listed *listed, const Task *task) {
        Task *bigger = reallocarray(listed->tasks, listed->n + 1, sizeof(Task));

        if (!bigger)
                return -ENOMEM;
        listed->tasks = bigger;
        listed->tasks[listed->n++] = *task;
        return 0;
}

/* Lists what is missing. */
static int listed_update(Listed *listed, const Instance *instance, pid_t pid) {
        _cleanup_free_ Task *tasks = NULL;
        size_t n = 0;

        int r = process_list_threads(pid, &tasks, &n);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++) {
                if (listed_has(listed, &tasks[i]))
                        continue;
                r = instance_add_pid(instance, tasks[i].tid);
                if (r == 0)
                        r = listed_add(listed, &tasks[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Drops the dead, so that what remains was alive at the time of the call. */
static int listed_keep_alive(Listed *listed, pid_t pid) {
        size_t n = 0;

        for (size_t i = 0; i < listed->n; i++) {
                uint64_t start;
                int r = process_read_start(pid, listed->tasks[i].tid, &start, NULL);

                if (r < 0 && r != -ESRCH)
                        return r;
                if (r == 0 && start == listed->tasks[i].start_time)
                        listed->tasks[n++] = listed->tasks[i];
        }
        listed->n = n;
        return 0;
}

/* True once it is sure that no thread of the process is missing from the list. */
static int listed_is_whole(Listed *listed, pid_t pid, bool *ret) {
        TaskStatus status;

        int r = listed_keep_alive(listed, pid);
        if (r < 0)
                return r;
        size_t n_before = listed->n;
        r = process_read_status(pid, pid, &status);
        if (r < 0)
                return r;
        r = listed_keep_alive(listed, pid);
        if (r < 0)
                return r;
        *ret = listed->n == n_before && listed->n == status.n_threads;
        return 0;
}

static int arm_list_threads(const Instance *instance, pid_t pid, Listed *listed, Reason *reason) {
        for (unsigned i = 0; i < ARM_ROUNDS; i++) {
                bool is_whole;
                int r = listed_update(listed, instance, pid);

                if (r == 0)
                        r = listed_is_whole(listed, pid, &is_whole);
                if (r < 0)
                        return r;
                if (is_whole)
                        return 0;
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
        if (stat_owner != owner->uid)
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

static int arm_list(const Instance *instance,
                const Subject *owner,
                pid_t pid,
                bool single_thread,
                ArmReport *report,
                Reason *reason) {
        _cleanup_(listed_clear) Listed listed = {};

        int r = arm_list_threads(instance, pid, &listed, reason);
        if (r != 0)
                return r;
        if (single_thread && listed.n != 1)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "scope command: process %d has %zu threads: hold back a process of one",
                                pid,
                                listed.n);
        r = arm_check(pid, listed.tasks, listed.n, owner, reason);
        if (r != 0)
                return r;
        report->n_processes++;
        report->n_threads += listed.n;
        return 0;
}

/* The pidfd was opened before anything was read: as long as its process lives, the number was
 * nobody else's. */
static bool pidfd_is_alive(int pidfd) {
        struct pollfd p = { .fd = pidfd, .events = POLLIN };

        return poll(&p, 1, 0) == 0;
}

static int arm_process(const Instance *instance,
                const Subject *owner,
                pid_t pid,
                bool single_thread,
                ArmReport *report,
                Reason *reason) {
        _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        int error = pidfd < 0 ? -errno : 0;

        if (error != 0 && error != -ESRCH &&
                        error != -EINVAL) /* EINVAL: a thread, told by arm_check_first */
                return error;
        int r = error == -ESRCH ? error : arm_check_first(pid, owner, reason);
        if (r == 0 && pidfd >= 0)
                r = arm_list(instance, owner, pid, single_thread, report, reason);
        if (r == -ESRCH || (r == 0 && (pidfd < 0 || !pidfd_is_alive(pidfd))))
                return reason_set(reason, KT_E_NO_SUCH_PROCESS, "process %d does not exist", pid);
        return r;
}

int arm_processes(const Instance *instance,
                const Subject *owner,
                const pid_t *pids,
                size_t n_pids,
                bool single_thread,
                ArmReport *report,
                Reason *reason) {
        for (size_t i = 0; i < n_pids; i++) {
                int r = arm_process(instance, owner, pids[i], single_thread, report, reason);
                if (r != 0)
                        return r;
        }
        return 0;
}

/* One process found by arm_own. Unfit ones are left out before they are listed; one that turns
 * unfit while it is listed fails the whole, since a number cannot be taken off the kernel's list.
 */
static int arm_found(const Instance *instance,
                const Subject *owner,
                pid_t pid,
                Listed *seen,
                ArmReport *report,
                Reason *reason) {
        Task task = { .tid = pid };
        Reason why = {};

        int r = process_read_start(pid, pid, &task.start_time, NULL);
        if (r < 0)
                return r == -ESRCH ? 0 : r;
        if (listed_has(seen, &task))
                return 0;
        r = listed_add(seen, &task);
        if (r < 0)
                return r;

        r = arm_check_first(pid, owner, &why);
        if (r > 0 && report->n_left_out++ == 0)
                snprintf(report->left_out,
                                sizeof(report->left_out),
                                "%.*s",
                                (int)sizeof(report->left_out) - 1,
                                why.text);
        if (r == 0)
                r = arm_process(instance, owner, pid, false, report, reason);
        else if (r > 0 || r == -ESRCH)
                return 0;
        return r == KT_E_NO_SUCH_PROCESS ? 0 : r; /* ended in between */
}

int arm_own(const Instance *instance, const Subject *owner, ArmReport *report, Reason *reason) {
        _cleanup_(listed_clear) Listed seen = {};

        for (unsigned i = 0; i < ARM_PASSES; i++) {
                _cleanup_free_ pid_t *pids = NULL;
                size_t n = 0, n_seen = seen.n;

                int r = process_list_of(owner->uid, &pids, &n);
                for (size_t k = 0; r == 0 && k < n; k++)
                        r = arm_found(instance, owner, pids[k], &seen, report, reason);
                if (r != 0)
                        return r;
                if (seen.n == n_seen)
                        break;
        }
        if (report->n_processes == 0)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "scope own: none of your %zu processes may be traced: %s",
                                report->n_left_out,
                                report->left_out);
        return 0;
}
