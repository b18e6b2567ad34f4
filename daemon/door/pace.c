/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How much of the loop's time one user's calls may take. All users' calls come over one connection,
 * one behind the other, and what one of them costs all that come behind it wait for. Calls are not
 * counted but measured: some cost fifty times what others do. Used by the door before any handler
 * sees a call; to refuse one costs next to nothing.
 *
 * A user who is not in the table has not called for some time. Where more than the table holds are
 * busy at once the one who has used least gives way, so that it needs no memory. */

#include "pace.h"

#include <stddef.h>

#include "cleanup.h"

#define USEC_PER_SEC UINT64_C(1000000)
/* A call that takes longer does so once: it is the first to need something that stays. */
#define SPENT_USEC_MAX (USEC_PER_SEC / 10)

/* That user's place, or the one to be given to them. */
static size_t find_place(const Pace *pace, uid_t uid) {
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
static uint64_t find_ahead(const Pace *pace, size_t at, uid_t uid, uint64_t now_usec) {
        bool is_ahead = pace->users[at].uid == uid && pace->users[at].due_usec > now_usec;

        return is_ahead ? pace->users[at].due_usec - now_usec : 0;
}

bool pace_has_left(const Pace *pace, uid_t uid, uint64_t now_usec) {
        return find_ahead(pace, find_place(pace, uid), uid, now_usec) < USEC_PER_SEC;
}

void pace_take(Pace *pace,
                uid_t uid,
                uint64_t spent_usec,
                uint64_t usec_per_sec,
                uint64_t now_usec) {
        size_t at = find_place(pace, uid);
        uint64_t ahead = find_ahead(pace, at, uid, now_usec);

        spent_usec = MIN_OF(spent_usec, SPENT_USEC_MAX);
        pace->users[at].uid = uid;
        pace->users[at].due_usec = now_usec + ahead + spent_usec * USEC_PER_SEC / usec_per_sec;
}
