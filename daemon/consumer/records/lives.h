/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "interfaces/cleanup.h"
#include "interfaces/task-names.h"

/* Which tasks were the session's own, and when. */
typedef struct Lives Lives;

typedef enum LifeEventKind { /* sorted: for events of the same time */
        LIFE_MEMBER,         /* the daemon has verified it */
        LIFE_FORK,
        LIFE_EXIT,
        LIFE_EXEC, /* the number changes if the thread was not its process's first */
        LIFE_LOSS, /* records were lost; forks and exits may be among them */
        LIFE_GAP,  /* forks and exits were not recorded; the daemon sends the members with it */
} LifeEventKind;

typedef struct LifeEvent {
        uint64_t nsec;
        LifeEventKind kind;
        uint32_t tid;   /* fork: the parent; exec: the new number */
        uint32_t other; /* fork: the child; exec: the old number */
        /* For a member: the daemon has seen that it is the same task at this time. For a loss and a
         * gap: it lost nothing after this time. 0: not known yet, see lives_end_losses(). */
        uint64_t until_nsec;
        char name[TASK_NAME_MAX]; /* fork: the child's name; "": unknown */
} LifeEvent;

typedef enum Standing {
        STANDING_MEMBER,
        STANDING_FOREIGN,
        STANDING_DOUBTFUL, /* perhaps a member or its child: the deciding records were lost */
        STANDING_MIXED,    /* changes between first and last */
} Standing;

int lives_new(Lives **ret);
Lives *lives_free(Lives *lives);
DEFINE_CLEANUP(Lives, lives_free);

/* Notes an event. Events may come in any order of time. Fails with -ENOMEM. */
int lives_note(Lives *lives, const LifeEvent *event);
/* The losses that are noted so far lost nothing after this time. */
void lives_end_losses(Lives *lives, uint64_t nsec);
/* Returns the time after which the noted losses up to the horizon lost nothing. 0: no losses. */
uint64_t lives_find_loss(const Lives *lives, uint64_t horizon);
/* The caller promises that no event up to the horizon will be noted after this call. Applies the
 * noted events up to the horizon in order of time. Fails with -ENOMEM. */
int lives_advance(Lives *lives, uint64_t horizon);
/* For a time in which some exits are unknown: forks that are noted before it make no task a
 * member. */
void lives_forget_births(Lives *lives, uint64_t before);
/* From this time on exits may be missing: only tasks that the daemon has verified are members
 * then. */
void lives_doubt_from(Lives *lives, uint64_t nsec);
/* Adds a whole life. Those of one number must come in order of time. name: TASK_NAME_MAX bytes.
 * Fails with -ENOMEM. */
int lives_add(Lives *lives, uint32_t tid, uint64_t birth, uint64_t death, const char *name);
/* Returns the standing of a task from first to last. Both must not be after the horizon. */
Standing lives_judge(const Lives *lives, uint32_t tid, uint64_t first, uint64_t last);
/* Returns the names of all tasks that were ever members. */
const TaskNames *lives_get_names(const Lives *lives);
/* The caller promises not to ask about times before this one. */
void lives_forget(Lives *lives, uint64_t before);
