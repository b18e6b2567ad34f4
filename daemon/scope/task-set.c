/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A sorted set of tasks. Used by arm.c and the other arm files. A tid alone is no key, because the
 * kernel reuses it for another task later. */

#include "scope/task-set.h"

#include <errno.h>

void task_set_clear(TaskSet *set) {
        free(set->tasks);
        *set = (TaskSet){};
}

static int task_compare(const void *a, const void *b) {
        const Task *x = a, *y = b;

        if (x->tid != y->tid)
                return x->tid < y->tid ? -1 : 1;
        return x->start_time < y->start_time ? -1 : x->start_time > y->start_time;
}

bool task_set_has(const TaskSet *set, const Task *task) {
        return set->n > 0 && bsearch(task, set->tasks, set->n, sizeof(Task), task_compare);
}

static int tid_compare(const void *a, const void *b) {
        const Task *x = a, *y = b;

        return x->tid < y->tid ? -1 : x->tid > y->tid;
}

bool task_set_has_tid(const TaskSet *set, pid_t tid) {
        return set->n > 0 &&
               bsearch(&(Task){ .tid = tid }, set->tasks, set->n, sizeof(Task), tid_compare);
}

int task_set_add(TaskSet *set, const Task *tasks, size_t n) {
        Task *bigger = reallocarray(set->tasks, set->n + n + 1, sizeof(Task));
        size_t n_after = 0;

        if (!bigger)
                return -ENOMEM;
        set->tasks = bigger;
        for (size_t i = 0; i < n; i++)
                bigger[set->n + i] = tasks[i];
        qsort(bigger, set->n + n, sizeof(Task), task_compare);
        for (size_t i = 0; i < set->n + n; i++)
                if (i == 0 || task_compare(&bigger[i - 1], &bigger[i]) != 0)
                        bigger[n_after++] = bigger[i];
        set->n = n_after;
        return 0;
}

void task_set_keep(TaskSet *set, const pid_t *tids, size_t n) {
        size_t n_kept = 0;

        for (size_t i = 0, j = 0; i < set->n; i++) {
                while (j < n && tids[j] < set->tasks[i].tid)
                        j++;
                if (j < n && tids[j] == set->tasks[i].tid)
                        set->tasks[n_kept++] = set->tasks[i];
        }
        set->n = n_kept;
}

void task_set_drop(TaskSet *set, pid_t tid) {
        size_t n_kept = 0;

        for (size_t i = 0; i < set->n; i++)
                if (set->tasks[i].tid != tid)
                        set->tasks[n_kept++] = set->tasks[i];
        set->n = n_kept;
}
