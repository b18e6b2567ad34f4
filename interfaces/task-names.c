/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The names of a judged stream's tasks, for its end. The kernel's list of names (saved_cmdlines)
 * uses only the task's number, so a name may belong to an earlier or later task of another user.
 * lives.c therefore sets here the names in a member's own records, and the names that the daemon
 * read together with the member's start time. If two members had the same number, the later one
 * counts.
 *
 * Memory is bounded: it holds at most as many names as a reader accepts. */

#include "interfaces/task-names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 65536
#define N_BUCKETS ((size_t)NAMES_MAX * 2) /* a power of two */
#define NO_NAME   UINT32_MAX

struct TaskNames {
        TaskName *names;
        size_t n, n_max;
        uint32_t *buckets; /* open addressing: a collision uses the next free one */
};

int task_names_new(TaskNames **ret) {
        _cleanup_(task_names_free_cleanup) TaskNames *names = calloc(1, sizeof(*names));

        if (!names)
                return -ENOMEM;
        names->buckets = malloc(N_BUCKETS * sizeof(*names->buckets));
        if (!names->buckets)
                return -ENOMEM;
        memset(names->buckets, 0xff, N_BUCKETS * sizeof(*names->buckets));
        *ret = TAKE_PTR(names);
        return 0;
}

TaskNames *task_names_free(TaskNames *names) {
        if (!names)
                return NULL;
        free(names->names);
        free(names->buckets);
        free(names);
        return NULL;
}

static uint32_t *task_names_find_bucket(const TaskNames *names, uint32_t tid) {
        size_t at = (tid * 0x9e3779b1U >> 7) & (N_BUCKETS - 1);

        while (names->buckets[at] != NO_NAME && names->names[names->buckets[at]].tid != tid)
                at = (at + 1) & (N_BUCKETS - 1);
        return &names->buckets[at];
}

static int task_names_make_room(TaskNames *names) {
        size_t n_max = names->n_max * 2 + 64;

        if (names->n < names->n_max)
                return 0;
        if (names->n >= NAMES_MAX)
                return -ENOSPC;
        TaskName *bigger = reallocarray(names->names, n_max, sizeof(*bigger));
        if (!bigger)
                return -ENOMEM;
        names->names = bigger;
        names->n_max = n_max;
        return 0;
}

void task_names_set(TaskNames *names, uint32_t tid, const char *text) {
        if (text[0] == '\0')
                return;
        uint32_t *bucket = task_names_find_bucket(names, tid);
        if (*bucket == NO_NAME) {
                if (names->n >= NAMES_MAX || task_names_make_room(names) < 0)
                        return;
                names->names[names->n].tid = tid;
                *bucket = (uint32_t)names->n++;
        }
        char *name = names->names[*bucket].text;
        memcpy(name, text, TASK_NAME_MAX - 1);
        name[TASK_NAME_MAX - 1] = '\0';
}

size_t task_names_get(const TaskNames *names, const TaskName **ret) {
        *ret = names->names;
        return names->n;
}
