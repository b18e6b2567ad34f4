/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "interfaces/cleanup.h"
#include "interfaces/control.h"

/* Lives of tasks that are over. Each user has a list of them. */
typedef struct PastLives PastLives;

typedef struct PastLife {
        uint32_t uid, gid;
        ControlLife life;
} PastLife;

/* n_max: lives of all users together. */
int past_lives_new(size_t n_max, PastLives **ret);
PastLives *past_lives_free(PastLives *lives);
/* nsec: of the event that has ended the life, which may have ended before. Fails with -ENOMEM. */
int past_lives_keep(PastLives *lives, const PastLife *life, uint64_t nsec);
/* Cuts all lives so that they end before this time. */
void past_lives_cut(PastLives *lives, uint64_t since_nsec);
/* Forgets the lives that have ended before this time, a part of them. Returns whether some are
 * left. */
#define PAST_LIVES_PART 4096
bool past_lives_expire(PastLives *lives, uint64_t before_nsec);
/* Returns the oldest life of a user, or the one after `life`. NULL: there is none. */
const PastLife *past_lives_next(const PastLives *lives, uint32_t uid, const PastLife *life);
