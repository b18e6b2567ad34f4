/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Arming: puts processes into an instance's pid list so that no task of another user can follow.
 * Called by plan steps on the worker thread, while every event of the instance is disabled.
 *
 * The order matters. All threads are listed first, and only then judged (arm-check.c), so each
 * judgement is newer than the listing. readdir(3) may miss a thread that was created before the
 * listing. So with N = `Threads:`, exactly N distinct listed (tid, start time) pairs must be alive
 * both before and after N was read. Then every thread is listed, and any later one inherits the
 * listing by the instance's event-fork. A sibling that is not listed could exec a set-user-ID
 * program under a listed leader's pid (reproduced on 6.1), and the guard would miss it.
 *
 * The sentinel is written together with the first pids: each further write to set_event_pid waits
 * for RCU (44 ms on 6.18). Until that write every event is disabled, so the empty list traces no
 * task.
 *
 * A program can start threads all the time, and each round that lists them waits for RCU. So a turn
 * of the plan is one write to the list, and other users' steps run between the turns.
 *
 * The pid filter keeps a listed number for some time after the task was reaped. A number proves
 * nothing without its start time or a pidfd that is held during the check. */

#include "scope/arm.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>

#include "interfaces/defence.h"
#include "scope/arm-check.h"
#include "scope/arm-group.h"
#include "work/plan.h"

/* A process that creates threads faster than they can be listed is refused after this many
 * rounds. */
#define ARM_ROUNDS 64
/* Rounds for all processes of a session together, because other users wait for each round. */
#define ARM_ROUNDS_ALL 1024
/* Tasks that were listed for a session, including those that have ended. */
#define ARM_TASKS_MAX 131072

void arm_clear(Arm *arm) {
        task_set_clear(&arm->listed);
        task_set_clear(&arm->verified);
        task_set_clear(&arm->settled);
        task_set_clear(&arm->left_out);
        task_set_clear(&arm->partial);
        arm->gather = gather_free(arm->gather);
        arm->round = round_free(arm->round);
}

void arm_forget_turns(Arm *arm) {
        arm->gather = gather_free(arm->gather);
        arm->round = round_free(arm->round);
        task_set_clear(&arm->settled);
        arm->n_rounds = arm->n_process_rounds = arm->n_list_rounds = 0;
        arm->next = 0;
        arm->is_proving = false;
}

void arm_begin_turn(Arm *arm) {
        arm->turn = (ArmTurn){};
}

bool arm_turn_is_over(const Arm *arm) {
        return arm->turn.has_written || arm->turn.n_tasks >= ARM_TASKS_PER_TURN;
}

/* Writes the tasks that are not listed yet, in as few writes as possible, because each waits for
 * RCU. */
int arm_list(Arm *arm, const Task *tasks, size_t n_tasks) {
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
        arm->turn.has_written = true;
        return task_set_add(&arm->listed, tasks, n_tasks);
}

/* Keeps only the tasks that are alive now. */
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

/* Checks whether the listed tasks include every thread of the process. A task that is alive now was
 * also alive when the number of threads was read, because it was listed before. */
static int arm_is_whole(pid_t pid, Task *tasks, size_t *n_tasks, bool *ret) {
        TaskStatus status;

        int r = process_read_status(pid, pid, &status);
        r = r ?: keep_alive(pid, tasks, n_tasks);
        if (r == 0)
                *ret = !defence_is_on("threads") || *n_tasks == status.n_threads;
        return r;
}

static int refuse_churn(pid_t pid, Reason *reason) {
        return reason_set(reason,
                        KT_E_KERNEL_REFUSED,
                        "process %d starts threads faster than they can be listed: try again when it is calmer",
                        pid);
}

/* Does one round: lists the current threads. PLAN_AGAIN: there may be more. ret_n: the number of
 * threads, if all of them are listed. */
static int arm_list_threads(Arm *arm, pid_t pid, size_t *ret_n, Reason *reason) {
        _cleanup_free_ Task *tasks = NULL;
        bool whole = false;
        size_t n = 0;

        int r = process_list_threads(pid, &tasks, &n);
        arm->turn.n_tasks += n;
        if (r == 0 && arm->listed.n + n > ARM_TASKS_MAX)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "more than %d threads to trace: name fewer processes, or try "
                                "again when they start fewer threads",
                                ARM_TASKS_MAX);
        r = r ?: arm_list(arm, tasks, n);
        r = r ?: arm_is_whole(pid, tasks, &n, &whole);
        if (r < 0)
                return r;
        if (whole) {
                *ret_n = n;
                return 0;
        }
        if (++arm->n_process_rounds >= ARM_ROUNDS || ++arm->n_list_rounds >= ARM_ROUNDS_ALL)
                return refuse_churn(pid, reason);
        return PLAN_AGAIN;
}

int arm_leave_out(Arm *arm, Task leader, const Reason *why) {
        ArmReport *report = &arm->report;

        if (task_set_has(&arm->left_out, &leader))
                return 0;
        if (report->n_left_out++ == 0)
                snprintf(report->left_out,
                                sizeof(report->left_out),
                                "%.*s",
                                (int)sizeof(report->left_out) - 1,
                                why->text);
        return task_set_add(&arm->left_out, &leader, 1);
}

/* Checks a process before any of its threads is listed. The first fit process determines the
 * group. */
int arm_check_first(Arm *arm, pid_t pid, Reason *reason) {
        _cleanup_free_ Task *tasks = NULL;
        TaskStatus status;
        TaskStat stat;
        size_t n = 0;

        int r = process_read_status(pid, pid, &status);
        if (r == 0)
                r = process_read_stat(pid, pid, &stat);
        if (r == 0 && stat.is_exiting) /* an exiting process has no memory that could be checked */
                return -ESRCH;
        if (r == 0 && (pid_t)status.tgid != pid)
                return reason_set(reason,
                                KT_E_NO_SUCH_PROCESS,
                                "process %d is a thread of process %u: name the process",
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
                                "scope command: process %d has %zu threads: expected a process "
                                "with one thread",
                                pid,
                                n);
        arm->report.n_processes++;
        arm->report.n_threads += n;
        return 0;
}

/* The pidfd was opened before the first read: while its process is alive, no other process can have
 * had the number. */
static bool pidfd_is_alive(int pidfd) {
        struct pollfd p = { .fd = pidfd, .events = POLLIN };

        return poll(&p, 1, 0) == 0;
}

/* Checks whether it is still the process of the last round. The first round checks whether the
 * process is fit; arm_check judges later threads. */
static int arm_begin_round(Arm *arm, pid_t pid, Reason *reason) {
        Task leader = { .tid = pid };

        int r = process_read_start(pid, pid, &leader.start_time);
        if (r < 0)
                return r;
        if (arm->n_process_rounds > 0)
                return leader.start_time == arm->leader.start_time ? 0 : -ESRCH;
        arm->leader = leader;
        return arm_check_first(arm, pid, reason);
}

int arm_list_process(Arm *arm, pid_t pid, Reason *reason) {
        _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        int error = pidfd < 0 ? -errno : 0;

        if (error != 0 && error != -ESRCH &&
                        error != -EINVAL) /* EINVAL: a thread; arm_check_first reports it */
                return error;
        int r = error == -ESRCH ? error : arm_begin_round(arm, pid, reason);
        if (r == 0 && pidfd >= 0)
                r = arm_whole(arm, pid, reason);
        if (r == -ESRCH || (r == 0 && (pidfd < 0 || !pidfd_is_alive(pidfd))))
                r = reason_set(reason, KT_E_NO_SUCH_PROCESS, "process %d does not exist", pid);
        if (r != PLAN_AGAIN)
                arm->n_process_rounds = 0;
        return r;
}

int arm_list_processes(Arm *arm, const pid_t *pids, size_t n_pids, Reason *reason) {
        arm_begin_turn(arm);
        for (; arm->next < n_pids; arm->next++) {
                if (arm_turn_is_over(arm))
                        return PLAN_AGAIN;
                int r = arm_list_process(arm, pids[arm->next], reason);
                if (r != 0)
                        return r;
        }
        arm->next = 0;
        return 0;
}
