/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/mux/viewer.h"

/* Which events fill the rings of a shared instance. */
typedef struct Crowd {
        uint64_t *bytes; /* by event id; older ones count less */
        uint16_t *ids;   /* those that have bytes */
        size_t n_ids;
        uint64_t age_nsec;   /* since the bytes were halved */
        uint64_t quiet_nsec; /* no viewer is named for this time */
        bool is_crowded;     /* since the last crowd_choose() a ring had hardly any room */
} Crowd;

/* Fails with -ENOMEM. */
int crowd_init(Crowd *crowd);
void crowd_clear(Crowd *crowd);
/* Adds the bytes of a batch. */
void crowd_count(Crowd *crowd, const Batch *batch);
/* Notes that a ring had these bytes, of so many, and whether it has lost records since the last
 * call. */
void crowd_note(Crowd *crowd, uint64_t bytes, uint64_t ring_bytes, bool has_lost);
void crowd_pass_time(Crowd *crowd, uint64_t nsec);
/* What was counted is too old. */
void crowd_forget(Crowd *crowd);
/* Returns the number of the viewer that should move to another instance, or SHARE_VIEWERS_MAX.
 * viewers: SHARE_VIEWERS_MAX of them. */
uint32_t crowd_choose(Crowd *crowd, MuxViewer *const *viewers);
