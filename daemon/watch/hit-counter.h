/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"
#include "work/spawn.h"
#include "work/worker.h"

/* Counts the hits of a session's notify triggers. */
typedef struct HitCounter HitCounter;

typedef struct HitCounterHandlers {
        /* trigger: of the spec's. n more hits, the last one seen by process pid. */
        void (*on_hits)(size_t trigger, uint64_t n, uint32_t pid, void *userdata);
        /* Nobody counts any more, and why. */
        void (*on_failed)(const char *why, void *userdata);
} HitCounterHandlers;

int hit_counter_new(const ConsumerLauncher *launcher,
                Worker *worker,
                const Trace *trace,
                const HitCounterHandlers *handlers,
                void *userdata,
                HitCounter **ret);
/* Tells nothing any more. The trace may go when whatever plan is submitted next is over. NULL is
 * fine, here and below. */
HitCounter *hit_counter_free(HitCounter *counter);
DEFINE_CLEANUP(HitCounter, hit_counter_free);
/* So many hits of a trigger were told by another daemon. Before the start. */
void hit_counter_set_known(HitCounter *counter, size_t trigger, uint64_t n);
/* The triggers are laid: counts from now on, also what was hit before. */
void hit_counter_start(HitCounter *counter);
/* They are in pause or about to be: counts once more what is there, and then no longer. */
void hit_counter_stop(HitCounter *counter);
