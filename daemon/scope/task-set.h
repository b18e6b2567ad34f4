/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "scope/process.h"

/* A set of tasks, sorted by tid. All zero: empty. */
typedef struct TaskSet {
        Task *tasks;
        size_t n;
} TaskSet;

void task_set_clear(TaskSet *set);
/* Returns whether any task has that number. */
bool task_set_has_tid(const TaskSet *set, pid_t tid);
bool task_set_has(const TaskSet *set, const Task *task);
/* Adds the tasks that are not in the set yet. -ENOMEM: the set is unchanged. */
int task_set_add(TaskSet *set, const Task *tasks, size_t n);
/* Removes tasks whose tid is not in the sorted list. */
void task_set_keep(TaskSet *set, const pid_t *tids, size_t n);
/* Removes any task with that tid. */
void task_set_drop(TaskSet *set, pid_t tid);
