/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PACE_USERS 64

/* For each user, the time at which the calls so far would be complete at the allowed pace. {}: no
 * calls yet. */
typedef struct Pace {
        struct {
                uid_t uid;
                uint64_t due_usec;
        } users[PACE_USERS];
} Pace;

/* Returns true if the user has time left. */
bool pace_has_left(const Pace *pace, uid_t uid, uint64_t now_usec);
/* Charges the time of a call. usec_per_sec: the allowed loop time per second, and the allowed
 * burst. */
void pace_take(Pace *pace,
                uid_t uid,
                uint64_t spent_usec,
                uint64_t usec_per_sec,
                uint64_t now_usec);
