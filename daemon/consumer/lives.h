/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "interfaces/cleanup.h"
#include "interfaces/task-names.h"

/* Which tasks were the session's own, and when. */
typedef struct Lives Lives;

typedef enum LifeEventKind { /* in the order in which those of one time count */
        LIFE_MEMBER,         /* the daemon has verified it */
        LIFE_FORK,
        LIFE_EXIT,
        LIFE_EXEC, /* perhaps under another number: of a thread that was not its process's first */
        LIFE_LOSS, /* records were lost, forks and exits may be among them */
        LIFE_GAP,  /* forks and exits were not recorded; who lives is told with it */
} LifeEventKind;

typedef struct LifeEvent {
        uint64_t nsec;
        LifeEventKind kind;
        uint32_t tid;   /* of a fork the parent's, of an exec the new one */
        uint32_t other; /* of a fork the child's, of an exec the old one */
        /* Of a member: the daemon has seen that it is the same task at this time. Of a loss and a
         * gap: nothing later was lost by it; 0: not known yet, see lives_end_losses(). */
        uint64_t until_nsec;
        char name[TASK_NAME_MAX]; /* of a fork the child's; "": it is not known */
} LifeEvent;

typedef enum Standing {
        STANDING_MEMBER,
        STANDING_FOREIGN,
        STANDING_DOUBTFUL, /* it may have been one, or its child: what would tell was lost */
        STANDING_MIXED,    /* not the same all the time */
} Standing;

int lives_new(Lives **ret);
Lives *lives_free(Lives *lives);
DEFINE_CLEANUP(Lives, lives_free);

/* Takes note, in any order of time. -ENOMEM. */
int lives_note(Lives *lives, const LifeEvent *event);
/* What was lost by all that is noted by now is not later than this. */
void lives_end_losses(Lives *lives, uint64_t nsec);
/* Of the losses that are noted up to the horizon: nothing later was lost by them. 0: there are
 * none. */
uint64_t lives_find_loss(const Lives *lives, uint64_t horizon);
/* Nothing up to the horizon will be noted any more: makes it count, in order of time. -ENOMEM. */
int lives_advance(Lives *lives, uint64_t horizon);
/* Of a time of which not all exits are known: births that are noted before it make nobody a
 * member. */
void lives_forget_births(Lives *lives, uint64_t before);
/* From here on exits may be missing: only those that the daemon has verified are members then. */
void lives_doubt_from(Lives *lives, uint64_t nsec);
/* Of a task from first to last, none of it beyond the horizon. */
Standing lives_judge(const Lives *lives, uint32_t tid, uint64_t first, uint64_t last);
/* The names of all that ever were members. */
const TaskNames *lives_get_names(const Lives *lives);
/* Nothing before this time will be asked for. */
void lives_forget(Lives *lives, uint64_t before);
