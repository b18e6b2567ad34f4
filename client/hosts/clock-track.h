/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All times are nanoseconds. "Here" is CLOCK_BOOTTIME of this machine. */
#define CLOCK_TIME_MAX   (INT64_C(1) << 62)
#define CLOCK_POINTS_MAX 16
/* How fast two clocks may drift apart where they were not compared, in parts per million. */
#define CLOCK_DRIFT_PPM 100

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
/* Adds a later point. Returns 0, or -ERANGE when a clock went backwards since the last one. */
int clock_track_add(ClockTrack *track, const ClockPoint *point);
/* Converts a time there to the time here. Returns 0, or -ENODATA when the clocks were never
 * compared. */
int clock_track_convert(const ClockTrack *track, ClockKind kind, uint64_t there, int64_t *ret);
/* The time there when the clocks were compared for point i. */
uint64_t clock_track_get_there(const ClockTrack *track, ClockKind kind, size_t i);
/* How far a converted time may be from the true one. */
int64_t clock_track_get_bound(const ClockTrack *track, int64_t here);
/* Whether one of two times here may be before or after the other. */
bool clock_is_uncertain(int64_t a, int64_t a_bound, int64_t b, int64_t b_bound);
