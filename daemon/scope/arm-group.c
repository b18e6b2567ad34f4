/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Arms processes that are not named by their numbers: all processes of a user, or of a cgroup. A
 * part of arm.h, on the worker thread. It finds the processes, checks whether each is fit, and
 * lists the threads of all fit processes in one write (each write waits for RCU). Then arm.c lists
 * the remaining threads of each process. This repeats until a pass finds nothing new. arm_check
 * judges processes that come later, like all listed ones.
 *
 * A scope that covers a user's own processes takes the fit ones and reports the others, because a
 * user always has processes that may not be traced. A cgroup is taken as a whole or refused,
 * because the user who names a cgroup wants all of it. While the session runs, neither scope can be
 * refused, so unfit newcomers are left out.
 *
 * A user who may not see the processes of a cgroup cannot learn whether it exists: absent cgroups
 * and cgroups of other users get the same answer. */

#include "scope/arm-group.h"

#include <errno.h>
#include <string.h>

#include "interfaces/defence.h"
#include "scope/arm.h"
#include "scope/cgroup.h"
#include "work/plan.h"

/* Passes: each finds the processes that started during the one before. */
#define GATHER_PASSES 8
#define LEFT_OUT_MAX  4096

typedef enum GatherPhase {
        GATHER_FIND,
        GATHER_JUDGE,
        GATHER_LIST,
        GATHER_WHOLE,
} GatherPhase;

/* The processes of one pass, and its progress. */
struct Gather {
        Arm *arm;
        const ArmGroup *group; /* owned by the caller */
        GatherPhase phase;
        unsigned n_passes;
        size_t n_seen;        /* before this pass */
        size_t n_before;      /* processes, before the search for newcomers */
        CgroupProcesses list; /* found in this pass */
        size_t next;
        bool leaves_out; /* leave unfit ones out; otherwise they refuse all */
        pid_t *known;    /* sorted: already on the kernel's list, so not checked */
        size_t n_known;
        TaskSet seen;  /* leaders, also of unfit processes */
        Task *threads; /* of the new fit processes of this pass */
        size_t n_threads;
        pid_t *fit;
        size_t n_fit;
        size_t n_foreign; /* processes of other users */
};

Gather *gather_free(Gather *gather) {
        if (!gather)
                return NULL;
        task_set_clear(&gather->seen);
        cgroup_processes_clear(&gather->list);
        free(gather->known);
        free(gather->threads);
        free(gather->fit);
        free(gather);
        return NULL;
}

static int gather_begin(Arm *arm, bool leaves_out) {
        Gather *gather = calloc(1, sizeof(*gather));

        if (!gather)
                return -ENOMEM;
        gather->arm = arm;
        gather->leaves_out = leaves_out;
        arm->gather = gather;
        return 0;
}

static int arm_group_append(void **array,
                size_t *n,
                const void *items,
                size_t n_items,
                size_t size) {
        char *bigger = reallocarray(*array, *n + n_items, size);

        if (!bigger)
                return -ENOMEM;
        memcpy(bigger + *n * size, items, n_items * size);
        *array = bigger;
        *n += n_items;
        return 0;
}

static int pid_compare(const void *a, const void *b) {
        const pid_t *x = a, *y = b;

        return *x < *y ? -1 : *x > *y;
}

/* Judges one process before any of its threads is listed. */
static int gather_judge(Gather *gather, Task leader, Reason *reason) {
        _cleanup_free_ Task *tasks = NULL;
        Arm *arm = gather->arm;
        TaskStatus status;
        size_t n = 0;

        int r = process_read_status(leader.tid, leader.tid, &status);
        if (r < 0)
                return r;
        if (arm->is_judged && !gather->leaves_out && defence_is_on("credentials") &&
                        !process_is_of(&status, arm->rule.owner->uid)) {
                gather->n_foreign++;
                return 0;
        }
        Reason why = {};
        r = arm_check_first(arm, leader.tid, &why);
        if (r > 0 && gather->leaves_out)
                return arm_leave_out(arm, leader, &why);
        if (r > 0)
                return reason_set(reason, r, "scope %.200s: %s", gather->group->name, why.text);
        r = r ?: process_list_threads(leader.tid, &tasks, &n);
        arm->turn.n_tasks += n;
        r = r
                            ?: arm_group_append((void **)&gather->threads,
                                               &gather->n_threads,
                                               tasks,
                                               n,
                                               sizeof(Task));
        return r
                               ?: arm_group_append((void **)&gather->fit,
                                                  &gather->n_fit,
                                                  &leader.tid,
                                                  1,
                                                  sizeof(pid_t));
}

static int gather_add(Gather *gather, pid_t pid, Reason *reason) {
        Task leader = { .tid = pid };

        if (gather->n_known > 0 &&
                        bsearch(&pid, gather->known, gather->n_known, sizeof(pid_t), pid_compare))
                return 0;
        int r = process_read_start(pid, pid, &leader.start_time);
        if (r == 0 && task_set_has(&gather->seen, &leader))
                return 0;
        r = r ?: task_set_add(&gather->seen, &leader, 1);
        r = r ?: gather_judge(gather, leader, reason);
        return r == -ESRCH ? 0 : r;
}

/* A cgroup of the caller is taken as a whole or refused. If the caller may trace any process, a
 * user in the cgroup must not be able to make the request fail. */
static int gather_note_skipped(Gather *gather, unsigned n) {
        if (gather->arm->is_judged && !gather->leaves_out)
                return -E2BIG;
        gather->arm->report.n_unread_cgroups = n;
        return 0;
}

static int gather_find(Gather *gather) {
        CgroupProcesses *list = &gather->list;
        int r;

        cgroup_processes_clear(list);
        gather->n_fit = gather->n_threads = 0;
        gather->n_seen = gather->seen.n;
        if (gather->group->cgroup_fd >= 0)
                r = cgroup_list_processes(gather->group->cgroup_fd, list);
        else
                r = process_list_of(gather->arm->rule.owner->uid, &list->pids, &list->n);
        if (r == 0 && list->n_skipped > 0)
                r = gather_note_skipped(gather, list->n_skipped);
        return r;
}

static int arm_group_refuse_foreign(const Gather *gather, Reason *reason) {
        if (gather->n_foreign == gather->seen.n)
                return cgroup_refuse(gather->group->name, reason);
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "scope %.200s: %zu of its %zu processes are not yours",
                        gather->group->name,
                        gather->n_foreign,
                        gather->seen.n);
}

/* Fails closed: no record may pass until all threads are known to be listed. */
static int gather_doubt(Gather *gather) {
        for (size_t i = 0; i < gather->n_fit; i++) {
                Task leader = { .tid = gather->fit[i] };
                int r = task_set_add(&gather->arm->partial, &leader, 1);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* If not all threads of a newcomer can be listed, its listed threads cannot be removed from the
 * list either. */
static int gather_give_up(Gather *gather, pid_t pid, const Reason *why) {
        Task leader = { .tid = pid };

        int r = process_read_start(pid, pid, &leader.start_time);
        if (r == 0)
                r = arm_leave_out(gather->arm, leader, why);
        return r == -ESRCH ? 0 : r;
}

static int gather_make_whole(Gather *gather, pid_t pid, Reason *reason) {
        Reason why = {};

        int r = arm_list_process(gather->arm, pid, &why);
        if (r == PLAN_AGAIN)
                return r;
        if (r == 0)
                task_set_drop(&gather->arm->partial, pid);
        if (r == KT_E_NO_SUCH_PROCESS) /* the process has ended */
                return 0;
        if (r > 0 && gather->arm->is_running)
                return gather_give_up(gather, pid, &why);
        return r > 0 ? reason_set(reason, r, "%s", why.text) : r;
}

static int gather_judge_all(Gather *gather, Reason *reason) {
        for (; gather->next < gather->list.n; gather->next++) {
                if (arm_turn_is_over(gather->arm))
                        return PLAN_AGAIN;
                gather->arm->turn.n_tasks++;
                int r = gather_add(gather, gather->list.pids[gather->next], reason);
                if (r != 0)
                        return r;
        }
        return gather->n_foreign > 0 ? arm_group_refuse_foreign(gather, reason) : 0;
}

/* Lists all new fit processes in one write. */
static int gather_list(Gather *gather) {
        int r = gather_doubt(gather);

        if (r == 0 && gather->n_threads > 0)
                r = arm_list(gather->arm, gather->threads, gather->n_threads);
        return r;
}

/* Arms each process in the usual way. */
static int gather_make_all_whole(Gather *gather, Reason *reason) {
        for (; gather->next < gather->n_fit; gather->next++) {
                if (arm_turn_is_over(gather->arm))
                        return PLAN_AGAIN;
                int r = gather_make_whole(gather, gather->fit[gather->next], reason);
                if (r != 0)
                        return r;
        }
        return 0;
}

static int gather_advance(Gather *gather, Reason *reason) {
        switch (gather->phase) {
        case GATHER_FIND:
                return gather_find(gather);
        case GATHER_JUDGE:
                return gather_judge_all(gather, reason);
        case GATHER_LIST:
                return gather_list(gather);
        case GATHER_WHOLE:
                return gather_make_all_whole(gather, reason);
        }
        return -EINVAL;
}

/* Runs until a pass finds nothing new, or this turn ends. */
static int gather_run(Gather *gather, const ArmGroup *group, Reason *reason) {
        gather->group = group;
        arm_begin_turn(gather->arm);
        while (gather->n_passes < GATHER_PASSES) {
                int r = gather_advance(gather, reason);

                if (r != 0)
                        return r;
                gather->next = 0;
                if (gather->phase != GATHER_WHOLE) {
                        gather->phase++;
                        continue;
                }
                if (gather->seen.n == gather->n_seen)
                        return 0;
                gather->phase = GATHER_FIND;
                gather->n_passes++;
        }
        return 0;
}

/* Selects the group that all of the owner's processes must share. Without this, the first process
 * in /proc would decide. */
static int gather_begin_group(Arm *arm, bool is_own) {
        if (is_own && arm->is_judged && arm->rule.owner->n_gids > 0) {
                arm->rule.has_gid = true;
                arm->rule.gid = arm->rule.owner->gids[0];
        }
        return gather_begin(arm, is_own);
}

int arm_list_group(Arm *arm, const ArmGroup *group, Reason *reason) {
        bool is_own = group->is_own;
        int r = arm->gather ? 0 : gather_begin_group(arm, is_own);

        r = r ?: gather_run(arm->gather, group, reason);
        if (r == PLAN_AGAIN)
                return r;
        arm->gather = gather_free(arm->gather);
        if (r == -E2BIG)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "scope %.200s: too many processes or cgroups",
                                group->name);
        if (r != 0 || arm->report.n_processes > 0)
                return r;
        if (!is_own)
                return cgroup_refuse(group->name, reason);
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "scope own: not one of your %zu processes may be traced: %s",
                        arm->report.n_left_out,
                        arm->report.left_out);
}

/* Forgets ended processes. Otherwise a session of several weeks would remember every process that
 * ever came. */
static void arm_group_forget(Arm *arm, const Gather *gather) {
        task_set_keep(&arm->listed, gather->known, gather->n_known);
        task_set_keep(&arm->verified, gather->known, gather->n_known);
        task_set_keep(&arm->partial, gather->known, gather->n_known);
        if (arm->left_out.n > LEFT_OUT_MAX) /* processes that still exist are counted again */
                task_set_clear(&arm->left_out);
}

static int gather_begin_newcomers(Arm *arm) {
        int r = gather_begin(arm, true);

        if (r < 0)
                return r;
        arm->n_list_rounds = 0;
        Gather *gather = arm->gather;
        gather->n_before = arm->report.n_processes;
        r = instance_read_pids(arm->instance, &gather->known, &gather->n_known);
        if (r < 0)
                return r;
        qsort(gather->known, gather->n_known, sizeof(pid_t), pid_compare);
        arm_group_forget(arm, gather);
        return 0;
}

int arm_list_newcomers(Arm *arm, const ArmGroup *group) {
        arm->has_news = false;
        int r = arm->gather ? 0 : gather_begin_newcomers(arm);
        r = r ?: gather_run(arm->gather, group, NULL);
        if (r == PLAN_AGAIN)
                return r;
        if (arm->gather) {
                size_t n_before = arm->gather->n_before;

                arm->has_news = arm->report.n_processes > n_before;
                arm->report.n_joined += arm->report.n_processes - n_before;
                arm->report.n_processes = n_before;
        }
        arm->gather = gather_free(arm->gather);
        return r;
}
