/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "hosts/manifest.h"
#include "trace/selection.h"

/* The clock of one machine's recording. */
typedef struct HostsClock {
        const ClockTrack *track;
        ClockKind kind;
        uint64_t knots[CLOCK_POINTS_MAX]; /* see TraceTimeline */
} HostsClock;

/* Lets a trace of the machine use the time line of the machine that collected the recordings. The
 * clock and the manifest stay valid as long as the trace. Returns 0, or KT_E_FAILED with a reason
 * when its clock cannot be compared. */
int hosts_clock_set(HostsClock *clock,
                const Manifest *manifest,
                size_t machine,
                Trace *trace,
                Reason *reason);
/* Times of the result that count from the begin or the end count from those of the whole recording,
 * not from those of each machine. selection: NULL: all. */
Selection hosts_clock_fix_selection(const Manifest *manifest, const Selection *selection);
