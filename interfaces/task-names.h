/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "interfaces/cleanup.h"

#define TASK_NAME_MAX 16 /* with the NUL; the kernel's TASK_COMM_LEN */

/* The names of tasks by their numbers. */
typedef struct TaskNames TaskNames;

typedef struct TaskName {
        uint32_t tid;
        char text[TASK_NAME_MAX]; /* any bytes; "": unknown */
} TaskName;

int task_names_new(TaskNames **ret);
TaskNames *task_names_free(TaskNames *names);
DEFINE_CLEANUP(TaskNames, task_names_free);

/* text: TASK_NAME_MAX bytes; "" changes nothing. A full table drops the name. */
void task_names_set(TaskNames *names, uint32_t tid, const char *text);
size_t task_names_get(const TaskNames *names, const TaskName **ret);
