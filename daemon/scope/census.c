/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the status of all tasks of the machine that may belong to users, for the history of the
 * black box. What it reads does not matter here: a probe records each reading with the state of the
 * task, in order with what happens to the task (kernel/history-probe.c). Called in a plan's step on
 * the worker thread, some tasks at a time.
 *
 * Any user can start a process that is hard to read, so only errors of this program end the census.
 * Only the first byte of a status is read, because a task with many groups has a long one. */

#include "scope/census.h"

#include <errno.h>
#include <stdlib.h>

#include "scope/process.h"
#include "work/plan.h"

/* A task takes about 30 us, so a step takes a few milliseconds. */
#define TASKS_PER_TURN 128
/* Two readings must be a second apart. Any user can make a census necessary and slow, so a census
 * takes a small part of the time. */
#define PAUSE_USEC_MIN UINT64_C(2000000)
#define PAUSE_FACTOR   20

void census_clear(Census *census) {
        if (census->threads)
                closedir(census->threads);
        free(census->pids);
        *census = (Census){};
}

static bool census_is_own_error(int r) {
        return r == -ENOMEM || r == -EMFILE || r == -ENFILE;
}

/* Processes of root, and those that are not dumpable, belong to no user. */
static int census_open_next(Census *census) {
        pid_t pid = census->pids[census->next++];
        uid_t owner;

        int r = process_read_owner(pid, &owner);
        if (r == 0 && owner != 0)
                r = process_open_threads(pid, &census->threads);
        return r;
}

static int census_read_next(Census *census) {
        pid_t tid = process_next_thread(census->threads);

        if (tid != 0)
                return process_touch_status(census->pids[census->next - 1], tid);
        closedir(census->threads);
        census->threads = NULL;
        return 0;
}

int census_advance(Census *census) {
        int r = census->pids ? 0 : process_list_all(&census->pids, &census->n_pids);

        for (unsigned i = 0; r == 0 && i < TASKS_PER_TURN; i++) {
                if (!census->threads && census->next == census->n_pids)
                        return 0;
                r = census->threads ? census_read_next(census) : census_open_next(census);
                r = census_is_own_error(r) ? r : 0;
        }
        return r < 0 ? r : PLAN_AGAIN;
}

uint64_t census_count_pause(uint64_t taken_usec) {
        return MAX_OF(PAUSE_USEC_MIN, PAUSE_FACTOR * taken_usec);
}
