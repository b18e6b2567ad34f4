/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Arming of what is not named by numbers: all processes of a user, or of a cgroup. A part of arm.h,
 * on the worker thread. Finds the processes, asks of each whether it is fit, lists the threads of
 * all that are in one write (each write waits for RCU), then has arm.c make each whole; again until
 * a pass finds nothing new. What may come later is judged by arm_check like anything listed.
 *
 * A scope of the user's own takes what is fit and tells what is not: a user always has processes
 * that may not be traced. A cgroup is taken as a whole or not at all: who names one wants what is
 * in it. While the session runs neither can be refused any more, so newcomers that are unfit stay
 * out.
 *
 * Whoever may not know what a cgroup holds is not told whether it exists: absent and foreign ones
 * get one answer. */

#include <errno.h>
#include <string.h>

#include "arm.h"
#include "cgroup.h"
#include "defence.h"

/* Passes: each finds what was started during the one before. */
#define GATHER_PASSES 8
#define LEFT_OUT_MAX  4096

/* Processes of one pass. */
typedef struct Gather {
        Arm *arm;
        const ArmGroup *group;
        bool leaves_out; /* the unfit, else they refuse the whole */
        pid_t *known;    /* sorted: what needs no look, since it is on the kernel's list */
        size_t n_known;
        TaskSet seen;  /* leaders, also the unfit */
        Task *threads; /* of the fit ones that are new in this pass */
        size_t n_threads;
        pid_t *fit;
        size_t n_fit;
        size_t n_foreign; /* not the owner's */
} Gather;

static void gather_clear(Gather *gather) {
        task_set_clear(&gather->seen);
        free(gather->known);
        free(gather->threads);
        free(gather->fit);
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

static int pid_compare(const void *a, const void *b) {
        const pid_t *x = a, *y = b;

        return *x < *y ? -1 : *x > *y;
}

/* Judges one process before anything of it is listed. */
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
        r = r ?: append((void **)&gather->threads, &gather->n_threads, tasks, n, sizeof(Task));
        return r ?: append((void **)&gather->fit, &gather->n_fit, &leader.tid, 1, sizeof(pid_t));
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

/* A cgroup of one's own is taken as a whole or not at all. Where any process may be traced, a user
 * in it must not be able to have the whole refused. */
static int gather_note_skipped(Gather *gather, unsigned n) {
        if (gather->arm->is_judged && !gather->leaves_out)
                return -E2BIG;
        gather->arm->report.n_unread_cgroups = n;
        return 0;
}

static int gather_find(Gather *gather, Reason *reason) {
        _cleanup_(cgroup_processes_clear) CgroupProcesses list = {};
        int r;

        gather->n_fit = gather->n_threads = 0;
        if (gather->group->cgroup_fd >= 0)
                r = cgroup_list_processes(gather->group->cgroup_fd, &list);
        else
                r = process_list_of(gather->arm->rule.owner->uid, &list.pids, &list.n);
        if (r == 0 && list.n_skipped > 0)
                r = gather_note_skipped(gather, list.n_skipped);
        for (size_t i = 0; r == 0 && i < list.n; i++)
                r = gather_add(gather, list.pids[i], reason);
        return r;
}

static int refuse_foreign(const Gather *gather, Reason *reason) {
        if (gather->n_foreign == gather->seen.n)
                return cgroup_refuse(gather->group->name, reason);
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "scope %.200s: %zu of its %zu processes are not yours",
                        gather->group->name,
                        gather->n_foreign,
                        gather->seen.n);
}

/* Fails closed: as long as not all threads are known to be listed, no record may pass. */
static int gather_doubt(Gather *gather) {
        for (size_t i = 0; i < gather->n_fit; i++) {
                Task leader = { .tid = gather->fit[i] };
                int r = task_set_add(&gather->arm->partial, &leader, 1);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* A newcomer that cannot be listed as a whole cannot be taken off the list either. */
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
        if (r == 0)
                task_set_drop(&gather->arm->partial, pid);
        if (r == KT_E_NO_SUCH_PROCESS) /* it ended */
                return 0;
        if (r > 0 && gather->arm->is_running)
                return gather_give_up(gather, pid, &why);
        return r > 0 ? reason_set(reason, r, "%s", why.text) : r;
}

/* All that is new and fit is listed in one write, then each process is armed as any other. */
static int gather_pass(Gather *gather, Reason *reason) {
        int r = gather_find(gather, reason);

        if (r == 0 && gather->n_foreign > 0)
                r = refuse_foreign(gather, reason);
        r = r ?: gather_doubt(gather);
        if (r == 0 && gather->n_threads > 0)
                r = arm_list(gather->arm, gather->threads, gather->n_threads);
        for (size_t i = 0; r == 0 && i < gather->n_fit; i++)
                r = gather_make_whole(gather, gather->fit[i], reason);
        return r;
}

/* Until a pass finds nothing new. */
static int gather_run(Gather *gather, Reason *reason) {
        for (unsigned i = 0; i < GATHER_PASSES; i++) {
                size_t n_seen = gather->seen.n;
                int r = gather_pass(gather, reason);

                if (r != 0 || gather->seen.n == n_seen)
                        return r;
        }
        return 0;
}

int arm_list_group(Arm *arm, const ArmGroup *group, Reason *reason) {
        bool is_own = group->cgroup_fd < 0;
        _cleanup_(gather_clear)
                        Gather gather = { .arm = arm, .group = group, .leaves_out = is_own };

        /* Not that of whatever process /proc shows first. */
        if (is_own && arm->is_judged && arm->rule.owner->n_gids > 0) {
                arm->rule.has_gid = true;
                arm->rule.gid = arm->rule.owner->gids[0];
        }
        int r = gather_run(&gather, reason);
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
                        "scope own: none of your %zu processes may be traced: %s",
                        arm->report.n_left_out,
                        arm->report.left_out);
}

/* What has ended is forgotten, or a session of weeks would remember all that ever came. */
static void forget(Arm *arm, const Gather *gather) {
        task_set_keep(&arm->listed, gather->known, gather->n_known);
        task_set_keep(&arm->verified, gather->known, gather->n_known);
        task_set_keep(&arm->partial, gather->known, gather->n_known);
        if (arm->left_out.n > LEFT_OUT_MAX) /* those that are still there are counted again */
                task_set_clear(&arm->left_out);
}

int arm_list_newcomers(Arm *arm, const ArmGroup *group) {
        _cleanup_(gather_clear) Gather gather = { .arm = arm, .group = group, .leaves_out = true };
        size_t n_before = arm->report.n_processes;

        arm->has_news = false;
        int r = instance_read_pids(arm->instance, &gather.known, &gather.n_known);
        if (r < 0)
                return r;
        qsort(gather.known, gather.n_known, sizeof(pid_t), pid_compare);
        forget(arm, &gather);
        r = gather_run(&gather, NULL);
        arm->has_news = arm->report.n_processes > n_before;
        arm->report.n_joined += arm->report.n_processes - n_before;
        arm->report.n_processes = n_before;
        return r;
}
