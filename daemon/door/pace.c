/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Limits the event-loop time that the calls of one user may use. While the loop handles one call,
 * every other caller waits. Calls are measured, not counted, because some cost fifty times as much
 * as others. The full time is charged: after a call that took a second, its user is refused until
 * the allowed share adds up to one second. Used by the doors before a handler sees the call; a
 * refusal costs almost no time.
 *
 * A user without an entry in the table has not called for some time. If more users are active than
 * the table holds, the user that has used least loses its entry, so that the table has a fixed
 * size. */

#include "door/pace.h"

#include <stddef.h>

#include "interfaces/cleanup.h"

#define USEC_PER_SEC UINT64_C(1000000)

/* Returns the index of the user's entry, or of the entry to replace. */
static size_t pace_find_place(const Pace *pace, uid_t uid) {
        size_t least = 0;

        for (size_t i = 0; i < PACE_USERS; i++) {
                if (pace->users[i].uid == uid && pace->users[i].due_usec > 0)
                        return i;
                if (pace->users[i].due_usec < pace->users[least].due_usec)
                        least = i;
        }
        return least;
}

/* Returns the time that the user has used in advance of its share. */
static uint64_t pace_get_debt_usec(const Pace *pace, size_t at, uid_t uid, uint64_t now_usec) {
        bool is_ahead = pace->users[at].uid == uid && pace->users[at].due_usec > now_usec;

        return is_ahead ? pace->users[at].due_usec - now_usec : 0;
}

bool pace_has_left(const Pace *pace, uid_t uid, uint64_t now_usec) {
        return pace_get_debt_usec(pace, pace_find_place(pace, uid), uid, now_usec) < USEC_PER_SEC;
}

void pace_take(Pace *pace,
                uid_t uid,
                uint64_t spent_usec,
                uint64_t usec_per_sec,
                uint64_t now_usec) {
        size_t at = pace_find_place(pace, uid);
        uint64_t ahead = pace_get_debt_usec(pace, at, uid, now_usec);

        pace->users[at].uid = uid;
        pace->users[at].due_usec = now_usec + ahead + spent_usec * USEC_PER_SEC / usec_per_sec;
}
