/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "metrics/board.h"
#include "metrics/settings.h"

/* Counts by the settings and publishes a snapshot at each interval, in a thread of its own. */
typedef struct Collector Collector;

/* Starts the thread. board: borrowed. Takes the settings on success. Returns 0 or -errno. */
int collector_new(Settings *settings, Board *board, Collector **ret);
/* The thread goes on with these settings, which are taken. Does not wait. */
void collector_reload(Collector *collector, Settings *settings);
/* Ends the thread. The sessions stay for a moment, for a service that starts again. Returns the
 * collector if its thread waits for ktraced: it uses the board until the process ends. */
Collector *collector_free(Collector *collector);
