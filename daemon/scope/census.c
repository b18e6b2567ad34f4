/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the status of all tasks of the machine that may belong to users, for the history of the
 * black box. What it reads does not matter here: a probe records each reading with the state of the
 * task, in order with what happens to the task (kernel/history-probe.c). Called in a plan's step on
 * the worker thread, a part of the processes at a time. */

#include "scope/census.h"

#include <errno.h>
#include <stdlib.h>

#include "scope/process.h"
#include "work/plan.h"

#define PROCESSES_PER_TURN 32

void census_clear(Census *census) {
        free(census->pids);
        *census = (Census){};
}

/* Processes of root, and those that are not dumpable, belong to no user. */
static int census_read_process(pid_t pid) {
        _cleanup_free_ Task *tasks = NULL;
        TaskStatus status;
        uid_t owner;
        size_t n = 0;

        int r = process_read_owner(pid, &owner);
        if (r < 0 || owner == 0)
                return r;
        r = process_list_threads(pid, &tasks, &n);
        for (size_t i = 0; r == 0 && i < n; i++) {
                r = process_read_status(pid, tasks[i].tid, &status);
                r = r == -ESRCH ? 0 : r; /* it has ended */
        }
        return r;
}

int census_advance(Census *census) {
        int r = census->pids ? 0 : process_list_all(&census->pids, &census->n_pids);

        for (unsigned i = 0; r == 0 && i < PROCESSES_PER_TURN && census->next < census->n_pids;
                        i++) {
                r = census_read_process(census->pids[census->next++]);
                r = r == -ESRCH || r == -ENOENT ? 0 : r;
        }
        return r < 0 || census->next == census->n_pids ? r : PLAN_AGAIN;
}
