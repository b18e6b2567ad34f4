/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/hold.h"
#include "consumer/records/rings.h"
#include "interfaces/control.h"

/* The additional state of a judged stream. */
typedef struct Fence {
        Hold hold;
        Lives *lives;
        clockid_t clock; /* clock of the trace */
        bool is_on;
        uint64_t *since;      /* for a snapshot, by CPU: nothing is missing after this time */
        bool has_more;        /* some data could not be read */
        uint64_t read_nsec;   /* when the reading began */
        uint64_t proven_nsec; /* the daemon has reported the members at this time */
        uint64_t waits_since, asked_nsec; /* waiting for that proof after a loss; 0: not waiting */
        bool wants_proof;                 /* the caller must ask the daemon for a proof */
} Fence;

/* setup: of a judged stream. Fails with -EBADMSG, -ENOMEM or -EINVAL (no such clock). */
int fence_init(Fence *fence,
                const ControlMessage *setup,
                const Masks *masks,
                PageTally *tally,
                Bucket *bucket);
/* Notes the tasks of one message. Fails with -EBADMSG or -ENOMEM. */
int fence_take_members(Fence *fence, const ControlMessage *message, int fd);
/* Returns true when nothing may be released yet: after a loss, until the daemon has reported the
 * members or has been silent for too long. Sets wants_proof. */
bool fence_awaits_proof(Fence *fence);
/* Marks of this task may also pass. */
void fence_add_marker(Fence *fence, uint32_t tid);
/* Reads all rings once, up to now. Adds the bytes to *ret_bytes. Returns -errno on failure. */
int fence_read(Fence *fence, Rings *rings, uint64_t now, uint64_t *ret_bytes);
/* For a snapshot: reads all rings to their end. Returns -errno on failure. */
int fence_read_window(Fence *fence, Rings *rings);
/* Must be called after fence_read_window(), when all members are known. A task that was born while
 * exits may be missing becomes no member. is_frozen: the rings were not written during the
 * reading. */
void fence_settle_window(Fence *fence, const Rings *rings, bool is_frozen);
/* Returns the time by the clock of the trace. */
uint64_t fence_get_now(const Fence *fence);
