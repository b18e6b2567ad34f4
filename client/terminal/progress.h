/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "interfaces/cleanup.h"

/* The live line of a recording on a terminal: time, events, bytes, lost events. */
typedef struct Progress Progress;

typedef struct ProgressCounts {
        uint64_t seconds, n_events, n_bytes, n_lost;
} ProgressCounts;

/* The line is cleared before each message. */
int progress_new(Progress **ret);
/* Prints the line in place of the one before. */
void progress_show(Progress *progress, const ProgressCounts *counts);
/* Clears the line. */
Progress *progress_free(Progress *progress);
DEFINE_CLEANUP(Progress, progress_free);
