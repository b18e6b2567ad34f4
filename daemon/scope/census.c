/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads all tasks of the machine that belong to users, for the history of the black box. Called in
 * a plan's step on the worker thread, a part of the processes at a time. Each answer may be
 * outdated when it arrives: the history knows of what has happened since the reading began, and
 * uses no task to which something has.
 *
 * It relies on this behaviour of the kernel: /proc/PID/uid_map has one line that maps all ids to
 * themselves in the first user namespace. Only root can make another one in which it has. */

#include "scope/census.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "work/plan.h"

#define PROCESSES_PER_TURN 32
#define UID_MAP_MAX        16384

void census_clear(Census *census) {
        free(census->pids);
        free(census->seeds);
        *census = (Census){};
}

static uint64_t census_get_now(void) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
        return control_nsec(&now);
}

static int census_is_in_first_namespace(pid_t pid, bool *ret) {
        _cleanup_free_ char *text = NULL;
        unsigned inside, outside, count;
        char path[64];
        int end = 0;

        snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
        int r = fd_read_file_at(AT_FDCWD, path, UID_MAP_MAX, &text, NULL);
        if (r < 0)
                return r;
        *ret = sscanf(text, "%u %u %u %n", &inside, &outside, &count, &end) == 3 && inside == 0 &&
               outside == 0 && count == UINT32_MAX && text[end] == '\0';
        return 0;
}

static int census_add(Census *census, const ControlSeed *seed) {
        size_t n = census->n_seeds;

        if (n == CONTROL_SEEDS_MAX)
                return -E2BIG;
        if ((n & (n - 1)) == 0) { /* the room was doubled at the last power of two */
                ControlSeed *bigger =
                                reallocarray(census->seeds, n > 0 ? 2 * n : 1, sizeof(*bigger));

                if (!bigger)
                        return -ENOMEM;
                census->seeds = bigger;
        }
        census->seeds[census->n_seeds++] = *seed;
        return 0;
}

static int census_add_thread(Census *census,
                pid_t pid,
                const Task *task,
                const ControlSeed *process) {
        ControlSeed seed = *process;
        TaskStatus status;

        int r = process_read_status(pid, task->tid, &status);
        if (r < 0)
                return r;
        seed.tid = (uint32_t)task->tid;
        seed.tgid = status.tgid;
        for (unsigned i = 0; i < 4; i++) {
                seed.uids[i] = status.uids[i];
                seed.gids[i] = status.gids[i];
        }
        seed.permitted = status.permitted | status.effective;
        seed.is_dumpable = process->uids[0] == status.uids[1];
        memcpy(seed.comm, task->comm, sizeof(seed.comm));
        return census_add(census, &seed);
}

/* Processes of root, and those that are not dumpable, belong to no user. */
static int census_add_process(Census *census, pid_t pid) {
        _cleanup_free_ Task *tasks = NULL;
        ControlSeed process = {};
        bool is_in_first = false;
        uid_t owner;
        size_t n = 0;

        int r = process_read_owner(pid, &owner);
        if (r < 0 || owner == 0)
                return r;
        r = census_is_in_first_namespace(pid, &is_in_first);
        r = r ?: process_list_threads(pid, &tasks, &n);
        process.is_in_first_namespace = is_in_first;
        process.uids[0] = owner;
        for (size_t i = 0; r == 0 && i < n; i++) {
                r = census_add_thread(census, pid, &tasks[i], &process);
                r = r == -ESRCH ? 0 : r;
        }
        return r;
}

int census_advance(Census *census) {
        int r = 0;

        if (!census->pids) {
                census->begin_nsec = census_get_now();
                r = process_list_all(&census->pids, &census->n_pids);
        }
        for (unsigned i = 0; r == 0 && i < PROCESSES_PER_TURN && census->next < census->n_pids;
                        i++) {
                r = census_add_process(census, census->pids[census->next++]);
                r = r == -ESRCH || r == -ENOENT ? 0 : r;
        }
        if (r < 0)
                return r;
        if (census->next < census->n_pids)
                return PLAN_AGAIN;
        census->end_nsec = census_get_now();
        return 0;
}
