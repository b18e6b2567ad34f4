/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "interfaces/cleanup.h"
#include "interfaces/control.h"

/* Which user owned each task of the machine, and when. */
typedef struct HistoryTable HistoryTable;

/* The user of a task. A task for which this is not certain has none. */
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
        HISTORY_BIRTH,
        HISTORY_EXIT,
        HISTORY_EXEC,        /* the number changes if the thread was not its process's first */
        HISTORY_CREDENTIALS, /* the task has other credentials */
        HISTORY_UNDUMPABLE,  /* this memory is no longer dumpable */
        HISTORY_DONE,        /* the end of an exec, with the complete state of the task */
        HISTORY_SEEN,        /* the daemon has read the task in /proc: the same */
} HistoryKind;

typedef struct HistoryEvent {
        uint64_t nsec;
        HistoryKind kind;
        uint32_t tid;             /* birth: the parent; exec: the new number */
        uint32_t other;           /* birth: the child; exec: the old number */
        bool is_plain;            /* birth: the child is in the first user namespace and a
                                     program's own */
        uint64_t mm;              /* birth, undumpable, done, seen: which memory */
        HistoryOwner owner;       /* done, seen */
        char name[TASK_NAME_MAX]; /* "": unknown */
} HistoryEvent;

/* n_max: of past lives; 0: the usual number. */
int history_table_new(size_t n_max, HistoryTable **ret);
HistoryTable *history_table_free(HistoryTable *table);
DEFINE_CLEANUP(HistoryTable, history_table_free);

/* Returns whose these credentials are. Uids that several users have count as unknown. */
HistoryOwner history_judge(const HistoryCredentials *credentials);

/* Notes an event. Events may come in any order of time; those of one CPU in their order. Fails with
 * -ENOMEM. */
int history_table_note(HistoryTable *table, const HistoryEvent *event);
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

#define HISTORY_PART 4096

/* How far an answer is. {}: at its begin. */
typedef struct HistoryCursor {
        const struct PastLife *past;
        bool pasts_are_done;
        uint32_t n_tasks;
} HistoryCursor;

/* Returns a part of the lives of that user up to the horizon of the last advance. Those of one
 * number are in order of time. Returns whether there may be more. Only history_table_note() may be
 * called between the parts. */
bool history_table_collect(const HistoryTable *table,
                const HistoryQuestion *question,
                HistoryCursor *cursor,
                ControlLife lives[HISTORY_PART],
                size_t *ret_n);
/* No later question is about a time before this one. Forgets a part of what is over, and returns
 * whether there is more. */
bool history_table_expire(HistoryTable *table, uint64_t before_nsec);
