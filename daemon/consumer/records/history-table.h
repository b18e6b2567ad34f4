/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "interfaces/cleanup.h"
#include "interfaces/control.h"

/* When which task was plainly whose, for all tasks of the machine. */
typedef struct HistoryTable HistoryTable;

/* The user of a task. A task that is not plainly one user's has none. */
typedef struct HistoryOwner {
        bool is_known;
        uint32_t uid, gid;
} HistoryOwner;

/* Credentials in a record. */
typedef struct HistoryCredentials {
        uint32_t uids[4], gids[4];
        uint64_t permitted;
        uint32_t level;
} HistoryCredentials;

typedef enum HistoryKind {
        HISTORY_CLONE, /* the task is about to make another one */
        HISTORY_FORK,
        HISTORY_EXIT,
        HISTORY_EXEC, /* the number changes if the thread was not its process's first */
        HISTORY_COMMIT,
        HISTORY_DUMPABLE, /* the task's memory is no longer dumpable */
        HISTORY_DONE,     /* the end of an exec, with the complete state of the task */
} HistoryKind;

typedef struct HistoryEvent {
        uint64_t nsec;
        HistoryKind kind;
        uint32_t tid;             /* exec: the new number */
        uint32_t other;           /* fork: the child; exec: the old number */
        uint64_t flags;           /* clone */
        uint64_t mm;              /* clone, dumpable, done: which memory */
        HistoryOwner owner;       /* commit, done */
        char name[TASK_NAME_MAX]; /* fork: the child's; "": unknown */
} HistoryEvent;

/* n_max: of tasks, and of past lives; 0: the usual number. */
int history_table_new(size_t n_max, HistoryTable **ret);
HistoryTable *history_table_free(HistoryTable *table);
DEFINE_CLEANUP(HistoryTable, history_table_free);

/* Returns whose these credentials are. Dynamic users of systemd count as unknown. */
HistoryOwner history_judge(const HistoryCredentials *credentials);

/* Notes an event. Events may come in any order of time; those of one CPU in their order. Fails with
 * -ENOMEM. */
int history_table_note(HistoryTable *table, const HistoryEvent *event);
/* Notes what the daemon has read in /proc between two times. It counts when the table has advanced
 * to the second one. Replaces seeds that do not count yet. Fails with -ENOMEM. */
int history_table_seed(HistoryTable *table,
                const ControlSeed *seeds,
                size_t n,
                uint64_t begin_nsec,
                uint64_t end_nsec);
/* Records of this time may be missing: no task is known in it, and none after it until it is proven
 * anew. */
void history_table_lose(HistoryTable *table, uint64_t since_nsec, uint64_t until_nsec);
/* The caller promises that no event up to the horizon will be noted after this call. Fails with
 * -ENOMEM. */
int history_table_advance(HistoryTable *table, uint64_t horizon);

/* Whose lives, and from when on. */
typedef struct HistoryQuestion {
        uint32_t uid, gid;
        uint64_t since_nsec;
} HistoryQuestion;

/* Returns the lives of that user up to the horizon of the last advance, sorted by their begin. */
int history_table_collect(const HistoryTable *table,
                const HistoryQuestion *question,
                ControlLife **ret,
                size_t *ret_n);
