/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All times are nanoseconds. "Here" is CLOCK_BOOTTIME of this machine. */
#define CLOCK_TIME_MAX   (INT64_C(1) << 62)
#define CLOCK_POINTS_MAX 128
/* How fast two clocks may drift apart where they were not compared, in parts per million. */
#define CLOCK_DRIFT_PPM 100
/* How far this speed may change between two comparisons without a trace in the next one. */
#define CLOCK_WANDER_PPM 1

typedef enum ClockKind {
        CLOCK_KIND_MONO,
        CLOCK_KIND_BOOT,
        CLOCK_KIND_REALTIME,
        _CLOCK_KIND_N,
} ClockKind;

/* One comparison of the clocks of another machine with those here. */
typedef struct ClockPoint {
        int64_t at;                     /* here */
        int64_t offsets[_CLOCK_KIND_N]; /* the clock there minus `at` */
        int64_t bound;                  /* the true offsets are at most so far away */
} ClockPoint;

/* The comparisons with one machine, in order. */
typedef struct ClockTrack {
        ClockPoint points[CLOCK_POINTS_MAX];
        size_t n;
} ClockTrack;

/* A question was sent and its answer came at these times here. there: the clocks in the answer.
 * Returns 0, or -ERANGE for times that no clock has. */
int clock_point_make(int64_t sent,
                int64_t received,
                const uint64_t there[static _CLOCK_KIND_N],
                ClockPoint *ret);
/* Adds a later point, unless it is so uncertain that it adds nothing to the last one. Returns 0, or
 * -ERANGE for times that no clock has, and when a clock went backwards since the last point. */
int clock_track_add(ClockTrack *track, const ClockPoint *point);
/* Drops points until there are at most n_max, which is at least 2. The first and the last one
 * stay. */
void clock_track_thin(ClockTrack *track, size_t n_max);
/* Converts a time there to the time here. Returns 0, or -ENODATA when the clocks were never
 * compared. */
int clock_track_convert(const ClockTrack *track, ClockKind kind, uint64_t there, int64_t *ret);
/* The time there when the clocks were compared for point i. */
uint64_t clock_track_get_there(const ClockTrack *track, ClockKind kind, size_t i);
/* How far a converted time may be from the true one. */
int64_t clock_track_get_bound(const ClockTrack *track, ClockKind kind, int64_t here);
/* The largest bound from the first to the last comparison. CLOCK_TIME_MAX: there is none. */
int64_t clock_track_get_largest_bound(const ClockTrack *track, ClockKind kind);
