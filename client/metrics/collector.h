/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "metrics/board.h"
#include "metrics/settings.h"

/* Counts by the settings and publishes a snapshot at each interval, in a thread of its own. */
typedef struct Collector Collector;

/* Adds numbers to each snapshot, in the collector's thread. Returns 0 or -ENOMEM. */
typedef int (*CollectorFill)(MetricSnapshot *snapshot, void *userdata);

/* Where snapshots go, and who adds numbers to them. Borrowed. */
typedef struct CollectorOptions {
        Board *board;
        CollectorFill fill;
        void *userdata;
} CollectorOptions;

/* Starts the thread. Takes the settings on success. Returns 0 or -errno. */
int collector_new(Settings *settings, const CollectorOptions *options, Collector **ret);
/* The thread goes on with these settings, which are taken. Does not wait. */
void collector_reload(Collector *collector, Settings *settings);
/* How long the thread has not ended a step. A step takes as long as a few calls of ktraced. 0: it
 * sleeps until its next reading. May be called from another thread. */
uint64_t collector_get_silence_usec(const Collector *collector);
/* Ends the thread. The sessions stay for a moment, for a service that starts again. Returns the
 * collector if its thread waits for ktraced: it uses the board until the process ends. */
Collector *collector_free(Collector *collector);
