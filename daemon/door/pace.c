/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How much of the event loop's time the calls of one user may take. While the loop handles one
 * call, every other caller waits. Calls are not counted but measured, since some cost fifty times
 * what others do. The whole time is charged: a call that took a second leaves its user without time
 * for as long as a second is worth. Used by the doors before any handler sees a call; a refusal
 * costs next to nothing.
 *
 * A user who is not in the table has not called for some time. Where more users are busy than the
 * table holds, the one who has used least gives way, so that the table needs no memory. */

#include "door/pace.h"

#include <stddef.h>

#include "interfaces/cleanup.h"

#define USEC_PER_SEC UINT64_C(1000000)

/* That user's place, or the one to be given to them. */
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

/* How far ahead of the time they are. */
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
