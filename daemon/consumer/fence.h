/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/hold.h"
#include "consumer/rings.h"
#include "interfaces/control.h"

/* What a judged stream has more than others. */
typedef struct Fence {
        Hold hold;
        Lives *lives;
        clockid_t clock; /* of the trace */
        bool is_on;
        uint64_t *since;      /* of a snapshot, by CPU: from here on nothing is missing */
        bool has_more;        /* not all could be read */
        uint64_t read_nsec;   /* when the reading began */
        uint64_t proven_nsec; /* the daemon has said who lives at this time */
        uint64_t waits_since, asked_nsec; /* for that proof, after a loss; 0: not */
        bool wants_proof;                 /* the daemon is to be asked, by whoever runs this */
} Fence;

/* setup: of a stream that is judged. -EBADMSG, -ENOMEM, -EINVAL (no such clock). */
int fence_init(Fence *fence,
                const ControlMessage *setup,
                const Masks *masks,
                PageTally *tally,
                Bucket *bucket);
/* The tasks of one message. -EBADMSG, -ENOMEM. */
int fence_take_members(Fence *fence, const ControlMessage *message, int fd);
/* After a loss nothing is released before the daemon has said who lives, or has said nothing for
 * long. Sets wants_proof. */
bool fence_awaits_proof(Fence *fence);
/* Marks of this task may pass as well. */
void fence_add_marker(Fence *fence, uint32_t tid);
/* Reads all rings once, up to now. *ret_bytes grows. -errno. */
int fence_read(Fence *fence, Rings *rings, uint64_t now, uint64_t *ret_bytes);
/* Of a snapshot: reads all rings to their end. -errno. */
int fence_read_window(Fence *fence, Rings *rings);
/* Behind it, and when all members are known: who is born where exits may be missing is none.
 * is_frozen: nobody wrote to the rings meanwhile. */
void fence_settle_window(Fence *fence, const Rings *rings, bool is_frozen);
/* By the clock of the trace. */
uint64_t fence_get_now(const Fence *fence);
