/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"
#include "work/spawn.h"
#include "work/worker.h"

/* Counts the hits of a session's notify triggers. */
typedef struct HitCounter HitCounter;

typedef struct HitCounterHandlers {
        /* `trigger` is an index into the triggers of the spec. It was hit n more times, the last
         * time by process pid. */
        void (*on_hits)(size_t trigger, uint64_t n, uint32_t pid, void *userdata);
        /* Counting has ended. `why` is the reason. */
        void (*on_failed)(const char *why, void *userdata);
} HitCounterHandlers;

int hit_counter_new(const ConsumerLauncher *launcher,
                Worker *worker,
                const Trace *trace,
                const HitCounterHandlers *handlers,
                void *userdata,
                HitCounter **ret);
/* No handler is called after this. The trace may be freed when the plan that is submitted next is
 * over. NULL is allowed, here and below. */
HitCounter *hit_counter_free(HitCounter *counter);
DEFINE_CLEANUP(HitCounter, hit_counter_free);
/* Another daemon has already reported n hits of this trigger. Call this before the start. */
void hit_counter_set_known(HitCounter *counter, size_t trigger, uint64_t n);
/* The triggers are set. Counts from now on, and includes earlier hits. */
void hit_counter_start(HitCounter *counter);
/* The triggers are paused, or are about to be. Counts one last time. */
void hit_counter_stop(HitCounter *counter);
