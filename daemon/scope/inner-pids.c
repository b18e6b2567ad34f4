/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads which pid the tasks of a session have in their container. Called by plan steps on the
 * worker thread, for sessions that show such pids (trace-inner-pids.c).
 *
 * The pid in the container is the second number of NSpid in /proc/TID/status: the one in the
 * outermost pid namespace below ours. A task in our own namespace has none. A task in a namespace
 * inside of the container has further numbers, which only this container's container sees.
 *
 * A number may be reused while it is read. So each entry has the time before it was read, and a
 * time after that at which the task had not begun to exit. The record of its exit is later than
 * both. If a reader of the trace finds the exit of this number between the two, the entry means
 * nothing.
 *
 * The record of an exit may be missing, because a thread that calls exec gives up its number
 * without one. Then a birth shows that another task has the number. But a task that joins the
 * session has no birth in the trace. So each one gets an entry with a time before its first record.
 */

#include "scope/inner-pids.h"

#include <errno.h>
#include <string.h>

#include "scope/process.h"
#include "work/plan.h"

static int inner_pids_take_time(clockid_t clock, uint64_t *ret) {
        struct timespec now;

        if (clock_gettime(clock, &now) < 0)
                return -errno;
        *ret = control_nsec(&now);
        return 0;
}

static int tid_compare(const void *a, const void *b) {
        const pid_t *x = a, *y = b;

        return *x < *y ? -1 : *x > *y;
}

/* Forgets ended tasks. Otherwise a session of several weeks would remember all. */
static int inner_pids_begin(InnerPids *inner, const Arm *arm) {
        int r = instance_read_pids(arm->instance, &inner->tids, &inner->n_tids);

        if (r < 0)
                return r;
        qsort(inner->tids, inner->n_tids, sizeof(pid_t), tid_compare);
        task_set_keep(&inner->seen, inner->tids, inner->n_tids);
        inner->found = calloc(inner->n_tids + 1, sizeof(Task));
        return inner->found ? 0 : -ENOMEM;
}

static int inner_pids_add(InnerPids *inner, const ControlInnerPid *pid) {
        ControlInnerPid *bigger = reallocarray(inner->pids, inner->n + 1, sizeof(*bigger));

        if (!bigger)
                return -ENOMEM;
        inner->pids = bigger;
        inner->pids[inner->n++] = *pid;
        return 0;
}

/* The pids of tasks that were not verified must not be read: they may be of others. */
static bool inner_pids_may_read(const InnerPids *inner, const Arm *arm, const Task *task) {
        return !task_set_has(&inner->seen, task) &&
               (!arm->is_judged || task_set_has(&arm->verified, task));
}

/* Returns -ESRCH if the task has ended or ends, and -EBADMSG if the kernel has no pid namespaces.
 */
static int inner_pids_read_task(InnerPids *inner, const Arm *arm, pid_t tid, clockid_t clock) {
        Task task = { .tid = tid };
        NamespacePids seen;
        TaskStat after;
        ControlInnerPid pid = { .tid = (uint32_t)tid };

        int r = inner_pids_take_time(clock, &pid.from_nsec);
        r = r ?: process_read_start(tid, tid, &task.start_time);
        if (r != 0 || !inner_pids_may_read(inner, arm, &task))
                return r;
        r = process_read_namespace_pids(tid, &seen);
        r = r ?: inner_pids_take_time(clock, &pid.until_nsec);
        r = r ?: process_read_stat(tid, tid, &after);
        if (r == 0 && (after.is_exiting || after.start_time != task.start_time))
                return -ESRCH;
        if (r != 0)
                return r;
        inner->found[inner->n_found++] = task;
        if (seen.n < 2)
                return 0;
        pid.inner = (uint32_t)seen.pids[1];
        pid.depth = (uint32_t)seen.n - 1;
        return inner_pids_add(inner, &pid);
}

int inner_pids_read(InnerPids *inner, const Arm *arm, clockid_t clock) {
        int r = inner->tids ? 0 : inner_pids_begin(inner, arm);

        for (size_t n = 0; r == 0 && inner->next < inner->n_tids; inner->next++) {
                if (inner->n >= CONTROL_INNER_PIDS_MAX) /* later tasks are shown without it */
                        break;
                if (n++ == ARM_TASKS_PER_TURN)
                        return PLAN_AGAIN;
                if (inner->tids[inner->next] != ARM_SENTINEL)
                        r = inner_pids_read_task(inner, arm, inner->tids[inner->next], clock);
                if (r == -ESRCH || r == -EBADMSG)
                        r = 0;
        }
        r = r ?: task_set_add(&inner->seen, inner->found, inner->n_found);
        inner_pids_forget_turns(inner);
        return r;
}

/* Records of a judged trace are those of verified tasks, and of other traces those of listed ones.
 */
static const TaskSet *inner_pids_get_members(const Arm *arm) {
        return arm->is_judged ? &arm->verified : &arm->listed;
}

static int inner_pids_copy(TaskSet *to, const TaskSet *from) {
        task_set_clear(to);
        return task_set_add(to, from->tasks, from->n);
}

int inner_pids_add_joined(InnerPids *inner, const Arm *arm, uint64_t since_nsec) {
        const TaskSet *members = inner_pids_get_members(arm);
        int r = 0;

        for (size_t i = 0; r == 0 && i < members->n; i++)
                if (!task_set_has(&inner->joined, &members->tasks[i]))
                        r = inner_pids_add(inner,
                                        &(ControlInnerPid){ .tid = (uint32_t)members->tasks[i].tid,
                                                        .from_nsec = since_nsec,
                                                        .until_nsec = since_nsec });
        return r ?: inner_pids_copy(&inner->joined, members);
}

int inner_pids_take_over(InnerPids *inner, const Arm *arm, const TaskSet *seen) {
        int r = inner_pids_copy(&inner->joined, inner_pids_get_members(arm));

        return r ?: inner_pids_copy(&inner->seen, seen);
}

void inner_pids_forget_turns(InnerPids *inner) {
        free(inner->tids);
        free(inner->found);
        inner->tids = NULL;
        inner->found = NULL;
        inner->n_tids = inner->next = inner->n_found = 0;
}

void inner_pids_clear(InnerPids *inner) {
        inner_pids_forget_turns(inner);
        free(inner->pids);
        task_set_clear(&inner->seen);
        task_set_clear(&inner->joined);
        *inner = (InnerPids){};
}
