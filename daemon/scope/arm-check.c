/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Judges the listed tasks: a part of arm.h. Called by plan steps on the worker thread once the
 * guard is armed. From then on, a change to unsuitable credentials stops the trace in the kernel,
 * so a task that is found fit now stays fit.
 *
 * It judges the kernel's own list, not the list that we wrote: between the listing and the guard a
 * listed process may have executed another program and had children, which event-fork adds to the
 * list. Reading the whole list takes time, and tasks fork and end in that time. So the list is read
 * again and again, until a reading contains only
 * - tasks that were found fit before it: their earlier children are also on the list, and later
 *   children are born fit;
 * - tasks that were exiting, and numbers that were free, before it: their children are on the list;
 * - tasks that are found fit right after it and whose parent was found fit before it: these were
 *   born fit.
 *
 * Without the last rule, a process that forks all the time could not be traced. If a task appeared
 * and ended between two readings, the next reading decides.
 *
 * For a container, fit means to be in its cgroup. Only a process that may write to a cgroup outside
 * of the container can take a task out of it, so a fit task stays fit without a guard, and so do
 * its children.
 *
 * It does not check who listed a number: every task on the list must be fit. Only while the session
 * runs and newcomers are checked, an unfit task is left out. It is no member, so its records are
 * cut. */

#include "scope/arm-check.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "interfaces/defence.h"
#include "scope/arm.h"
#include "work/plan.h"

/* The check fails after this many readings of the list. Other users' steps run between them. */
#define CHECK_ROUNDS 256
/* While events are enabled, tasks that were not found stay undecided: their children have fork
 * records. */
#define CHECK_ROUNDS_RUNNING 8

/* One reading of the list. */
struct Round {
        Arm *arm;
        pid_t *tids;
        size_t n;
        Task *fit, *settled; /* found in this round; n at most */
        size_t n_fit, n_settled;
        bool is_last;       /* no task requires another reading */
        bool is_confirming; /* all new tasks were judged */
        size_t next;
};

Round *round_free(Round *round) {
        if (!round)
                return NULL;
        free(round->tids);
        free(round->fit);
        free(round->settled);
        free(round);
        return NULL;
}

/* Returns -ESRCH if the task has ended. */
static int check_task(const Arm *arm, pid_t pid, pid_t tid, pid_t *ret_tgid, Reason *reason) {
        const Subject *owner = arm->rule.owner;
        TaskStatus status;

        int r = process_read_status(pid, tid, &status);
        if (r < 0)
                return r;
        *ret_tgid = (pid_t)status.tgid;
        return owner->container ? process_check_container(*ret_tgid, tid, owner, reason)
                                : process_check_status(*ret_tgid, tid, &status, &arm->rule, reason);
}

/* Asks the kernel whether the user of the process may inspect it. The owner of a container's
 * socket speaks for all users of the container. */
static int check_dumpable(const Arm *arm, pid_t pid, Reason *reason) {
        uid_t owner;

        if (arm->rule.owner->container)
                return 0;
        int r = process_read_owner(pid, &owner);
        if (r < 0 || owner == arm->rule.owner->uid || !defence_is_on("dumpable"))
                return r;
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "process %d is not dumpable: it keeps secrets from its own user (prctl PR_SET_DUMPABLE)",
                        pid);
}

int arm_check_process(const Arm *arm, pid_t pid, const Task *tasks, size_t n, Reason *reason) {
        if (!arm->is_judged)
                return 0;
        for (size_t i = 0; i < n; i++) {
                pid_t tgid;
                int r = check_task(arm, pid, tasks[i].tid, &tgid, reason);

                if (r != 0 && r != -ESRCH) /* a task that has ended needs no check */
                        return r;
        }
        int r = check_dumpable(arm, pid, reason);
        if (r <= 0)
                return r;
        /* A process that began to exit after the first read looks as if it were not dumpable. */
        TaskStat stat;
        if (process_read_stat(pid, pid, &stat) < 0 || stat.is_exiting)
                return -ESRCH;
        return r;
}

/* The task has ended and was not judged. Its children are on the next reading. */
static void round_settle(Round *round, Task task) {
        if (task_set_has(&round->arm->settled, &task))
                return;
        round->settled[round->n_settled++] = task;
        round->is_last = false;
}

static int round_refuse(Round *round, Task task, int result, const Reason *reason) {
        if (result < 0 || !round->arm->is_running)
                return result;
        round_settle(round, task);
        return arm_leave_out(round->arm, task, reason);
}

/* Compares the start time, because another task may have the number of a parent that has ended. */
static bool is_made_by_fit(const Arm *arm, pid_t maker_pid) {
        Task maker = { .tid = maker_pid };

        return process_read_start(maker_pid, maker_pid, &maker.start_time) == 0 &&
               task_set_has(&arm->verified, &maker);
}

static int round_judge(Round *round, pid_t tid, Reason *reason) {
        TaskStat before, after;
        pid_t tgid = 0;

        int r = process_read_stat(tid, tid, &before);
        if (r == 0 && before.is_exiting) {
                /* It has no memory left, so it cannot be asked whether it is dumpable. */
                round_settle(round, (Task){ tid, before.start_time });
                return 0;
        }
        r = r ?: check_task(round->arm, tid, tid, &tgid, reason);
        r = r ?: check_dumpable(round->arm, tid, reason);
        if (r != 0 && r != -ESRCH) {
                /* A process that began to exit after the first read looks as if it were not
                 * dumpable. */
                if (process_read_stat(tid, tid, &after) == 0 && !after.is_exiting)
                        return round_refuse(round, (Task){ tid, before.start_time }, r, reason);
                r = -ESRCH;
        }
        if (r == 0 && task_set_has_tid(&round->arm->partial, tgid)) {
                round_settle(round, (Task){ tid, before.start_time });
                return 0;
        }
        r = r ?: process_read_stat(tid, tid, &after);
        if (r == -ESRCH || (r == 0 && after.start_time != before.start_time)) {
                round_settle(round, (Task){ .tid = tid });
                return 0;
        }
        if (r < 0)
                return r;
        /* A thread is created by a thread of the same process. */
        if (!is_made_by_fit(round->arm, tgid == tid ? before.parent : tgid))
                round->is_last = false;
        Task *fit = &round->fit[round->n_fit++];
        *fit = (Task){ tid, before.start_time };
        memcpy(fit->comm, after.comm, sizeof(fit->comm));
        return 0;
}

/* Checks whether a number that was found fit still belongs to the same task. */
static int round_confirm(Round *round, pid_t tid, Reason *reason) {
        Task task = { .tid = tid };

        int r = process_read_start(tid, tid, &task.start_time);
        if (r == -ESRCH || (r == 0 && task_set_has(&round->arm->verified, &task)))
                return 0;
        return r ?: round_judge(round, tid, reason);
}

static int round_open(Arm *arm) {
        Round *round = calloc(1, sizeof(*round));

        if (!round)
                return -ENOMEM;
        arm->round = round;
        round->arm = arm;
        round->is_last = true;
        int r = instance_read_pids(arm->instance, &round->tids, &round->n);
        if (r < 0)
                return r;
        round->fit = calloc(round->n + 1, sizeof(Task));
        round->settled = calloc(round->n + 1, sizeof(Task));
        return round->fit && round->settled ? 0 : -ENOMEM;
}

/* Handles one number of the reading. A new number is judged immediately, before its task ends. */
static int round_advance(Round *round, Reason *reason) {
        pid_t tid = round->tids[round->next++];
        bool is_verified = task_set_has_tid(&round->arm->verified, tid);

        if (tid == ARM_SENTINEL || is_verified != round->is_confirming)
                return 0;
        round->arm->turn.n_tasks++;
        return is_verified ? round_confirm(round, tid, reason) : round_judge(round, tid, reason);
}

static int round_run(Round *round, Reason *reason) {
        for (;;) {
                int r = 0;

                while (r == 0 && round->next < round->n && !arm_turn_is_over(round->arm))
                        r = round_advance(round, reason);
                if (r != 0)
                        return r;
                if (round->next < round->n)
                        return PLAN_AGAIN;
                if (round->is_confirming)
                        return 0;
                round->is_confirming = true;
                round->next = 0;
        }
}

/* Starts another reading. */
static int arm_check_again(Arm *arm, Reason *reason) {
        unsigned n_rounds = arm->is_running ? CHECK_ROUNDS_RUNNING : CHECK_ROUNDS;

        if (++arm->n_rounds < n_rounds)
                return PLAN_AGAIN;
        if (arm->is_running)
                return 0;
        return reason_set(reason,
                        KT_E_KERNEL_REFUSED,
                        "processes start and end faster than they can be checked: try again when it is calmer");
}

int arm_check(Arm *arm, Reason *reason) {
        if (!arm->is_judged)
                return 0;
        arm_begin_turn(arm);
        int r = arm->round ? 0 : round_open(arm);
        Round *round = arm->round;
        r = r ?: round_run(round, reason);
        if (r == PLAN_AGAIN)
                return r;
        r = r ?: task_set_add(&arm->verified, round->fit, round->n_fit);
        r = r ?: task_set_add(&arm->settled, round->settled, round->n_settled);
        if (r == 0 && !round->is_last)
                r = arm_check_again(arm, reason);
        arm->round = round_free(round);
        if (r == PLAN_AGAIN)
                return r;
        task_set_clear(&arm->settled);
        arm->n_rounds = 0;
        return r;
}

static int arm_check_take_time(clockid_t clock, uint64_t *ret) {
        struct timespec now;

        if (clock_gettime(clock, &now) < 0)
                return -errno;
        *ret = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
        return 0;
}

/* Returns 1 if it is still the same task and has not begun to exit, otherwise 0 or -errno. Stores
 * its name. */
static int prove_task(Task *task) {
        TaskStat stat;

        int r = process_read_stat(task->tid, task->tid, &stat);
        if (r < 0)
                return r == -ESRCH ? 0 : r;
        if (stat.start_time != task->start_time || stat.is_exiting)
                return 0;
        memcpy(task->comm, stat.comm, sizeof(task->comm));
        return 1;
}

/* Does one turn of the proof. The set stays complete: first the proven tasks, then the rest. */
static int prove_some(Arm *arm) {
        TaskSet *verified = &arm->verified;
        size_t next = arm->n_proven;
        int r = 0;

        for (; next < verified->n && !arm_turn_is_over(arm); next++) {
                Task task = verified->tasks[next];

                r = prove_task(&task);
                if (r < 0)
                        break;
                if (r > 0)
                        verified->tasks[arm->n_proven++] = task;
                arm->turn.n_tasks++;
        }
        size_t n_left = verified->n - next;
        if (n_left > 0)
                memmove(verified->tasks + arm->n_proven,
                                verified->tasks + next,
                                n_left * sizeof(Task));
        verified->n = arm->n_proven + n_left;
        return r < 0 ? r : n_left > 0 ? PLAN_AGAIN : 0;
}

/* The time is read before the check. If it were read after it, a task that ends in between would be
 * a member whose end is not noticed. Its number may belong to another user's task when the kernel's
 * list forgets it. */
int arm_prove(Arm *arm, clockid_t clock) {
        arm_begin_turn(arm);
        if (!arm->is_proving) {
                int r = arm_check_take_time(clock, &arm->since_nsec);
                if (r < 0)
                        return r;
                arm->n_proven = 0;
        }
        int r = defence_is_on("proof") ? prove_some(arm) : 0;
        arm->is_proving = r == PLAN_AGAIN;
        return r;
}
