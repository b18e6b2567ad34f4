/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "scope/process.h"

/* Tasks, each once, sorted by tid. All zero: empty. */
typedef struct TaskSet {
        Task *tasks;
        size_t n;
} TaskSet;

void task_set_clear(TaskSet *set);
/* Any task of that number. */
bool task_set_has_tid(const TaskSet *set, pid_t tid);
bool task_set_has(const TaskSet *set, const Task *task);
/* What is in it already is left out. -ENOMEM: the set is as it was. */
int task_set_add(TaskSet *set, const Task *tasks, size_t n);
/* Drops those whose tid is not among the sorted ones. */
void task_set_keep(TaskSet *set, const pid_t *tids, size_t n);
/* Drops whatever has that tid. */
void task_set_drop(TaskSet *set, pid_t tid);
