/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PACE_USERS 64

/* When each user's calls would be done at the pace that is allowed; {}: nobody has called. */
typedef struct Pace {
        struct {
                uid_t uid;
                uint64_t due_usec;
        } users[PACE_USERS];
} Pace;

/* Has this user any time left? */
bool pace_has_left(const Pace *pace, uid_t uid, uint64_t now_usec);
/* A call has taken so much. usec_per_sec: of the loop's time, and as much in one go. */
void pace_take(Pace *pace,
                uid_t uid,
                uint64_t spent_usec,
                uint64_t usec_per_sec,
                uint64_t now_usec);
