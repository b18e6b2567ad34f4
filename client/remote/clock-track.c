/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arithmetic of clocks of several machines, for clock-question.c and hosts-trace.c.
 *
 * A question to another machine is sent at one time here and answered by another. Its clocks were
 * read at some time between these two. So the middle is wrong by at most half the round trip,
 * whatever the network did: this is the bound of the point. Before the first and after the last
 * point the nearest offset is used, and the bound grows with the distance.
 *
 * Between two points the offset is interpolated. This is right if both clocks ran evenly. They do
 * not when a virtual machine is paused or a time service corrects a clock. The offset then changes
 * at another rate than in the intervals before and after, and the bound includes the difference.
 *
 * The other machine may be hostile: any number may come. Times outside of CLOCK_TIME_MAX and clocks
 * that run backwards are refused, and nothing overflows. Does no I/O. */

#include "remote/clock-track.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "interfaces/cleanup.h"

int clock_point_make(int64_t sent,
                int64_t received,
                const uint64_t there[static _CLOCK_KIND_N],
                ClockPoint *ret) {
        ClockPoint point;

        if (sent < 0 || received < sent || received > CLOCK_TIME_MAX)
                return -ERANGE;
        point.at = sent + (received - sent) / 2;
        point.bound = (received - sent + 1) / 2;
        for (size_t i = 0; i < _CLOCK_KIND_N; i++) {
                if (there[i] > (uint64_t)CLOCK_TIME_MAX)
                        return -ERANGE;
                point.offsets[i] = (int64_t)there[i] - point.at;
        }
        *ret = point;
        return 0;
}

/* Both values are valid: no larger number makes sense. */
static int64_t clock_clamp(__int128 time) {
        return time < 0 ? 0 : time > CLOCK_TIME_MAX ? CLOCK_TIME_MAX : (int64_t)time;
}

/* What the bound of a point becomes at a distance from it. */
static int64_t clock_widen(int64_t bound, __int128 distance) {
        __int128 positive = distance < 0 ? -distance : distance;

        return clock_clamp(bound + positive * CLOCK_DRIFT_PPM / 1000000);
}

static __int128 clock_point_there(const ClockPoint *point, ClockKind kind) {
        return (__int128)point->at + point->offsets[kind];
}

static bool clock_point_is_valid(const ClockPoint *point) {
        if (point->at < 0 || point->at > CLOCK_TIME_MAX || point->bound < 0 ||
                        point->bound > CLOCK_TIME_MAX)
                return false;
        for (ClockKind kind = 0; kind < _CLOCK_KIND_N; kind++) {
                __int128 there = clock_point_there(point, kind);

                if (there < 0 || there > CLOCK_TIME_MAX)
                        return false;
        }
        return true;
}

/* Finds the inner point whose neighbours are closest to each other, so that the others stay evenly
 * spread over the whole time. */
static size_t clock_track_find_closest(const ClockTrack *track) {
        const ClockPoint *points = track->points;
        size_t closest = 1;

        for (size_t i = 2; i + 1 < track->n; i++)
                if (points[i + 1].at - points[i - 1].at <
                                points[closest + 1].at - points[closest - 1].at)
                        closest = i;
        return closest;
}

void clock_track_thin(ClockTrack *track, size_t n_max) {
        while (track->n > n_max) {
                size_t i = clock_track_find_closest(track);

                memmove(&track->points[i],
                                &track->points[i + 1],
                                (--track->n - i) * sizeof(ClockPoint));
        }
}

/* An answer that came late, for example after much data on the same connection. A point that
 * differs from the last one by more than both bounds is always new: a clock has jumped. */
static bool clock_point_adds_nothing(const ClockPoint *last, const ClockPoint *point) {
        int64_t known = clock_widen(last->bound, (__int128)point->at - last->at);

        if (point->bound <= known)
                return false;
        for (ClockKind kind = 0; kind < CLOCK_KIND_REALTIME; kind++) {
                __int128 change = (__int128)point->offsets[kind] - last->offsets[kind];

                if ((change < 0 ? -change : change) > (__int128)known + point->bound)
                        return false;
        }
        return true;
}

int clock_track_add(ClockTrack *track, const ClockPoint *point) {
        if (!clock_point_is_valid(point))
                return -ERANGE;
        if (track->n > 0) {
                const ClockPoint *last = &track->points[track->n - 1];

                if (point->at <= last->at)
                        return -ERANGE;
                /* The time of day may be set back. */
                for (ClockKind kind = 0; kind < CLOCK_KIND_REALTIME; kind++)
                        if (clock_point_there(point, kind) <= clock_point_there(last, kind))
                                return -ERANGE;
                if (clock_point_adds_nothing(last, point))
                        return 0;
        }
        clock_track_thin(track, CLOCK_POINTS_MAX - 1);
        track->points[track->n++] = *point;
        return 0;
}

/* Finds the points around a time that is not before the first one. */
static size_t clock_track_find(const ClockTrack *track, ClockKind kind, __int128 there) {
        size_t first = 0, last = track->n - 1;

        while (last - first > 1) {
                size_t middle = first + (last - first) / 2;

                if (there < clock_point_there(&track->points[middle], kind))
                        last = middle;
                else
                        first = middle;
        }
        return first;
}

int clock_track_convert(const ClockTrack *track, ClockKind kind, uint64_t there, int64_t *ret) {
        if (track->n == 0)
                return -ENODATA;
        const ClockPoint *first = &track->points[0], *last = &track->points[track->n - 1];
        bool is_early = there <= clock_point_there(first, kind);

        if (is_early || there >= clock_point_there(last, kind)) {
                *ret = clock_clamp((__int128)there - (is_early ? first : last)->offsets[kind]);
                return 0;
        }
        const ClockPoint *a = &track->points[clock_track_find(track, kind, there)], *b = a + 1;
        __int128 passed = there - clock_point_there(a, kind),
                 whole = clock_point_there(b, kind) - clock_point_there(a, kind),
                 change = (__int128)b->offsets[kind] - a->offsets[kind];
        *ret = clock_clamp(there - a->offsets[kind] - change * passed / whole);
        return 0;
}

uint64_t clock_track_get_there(const ClockTrack *track, ClockKind kind, size_t i) {
        return (uint64_t)clock_point_there(&track->points[i], kind);
}

/* The interval from point i to the next one. */
typedef struct ClockInterval {
        double length, change; /* here; of the offset */
        double noise;          /* of the change: both bounds */
} ClockInterval;

static ClockInterval clock_track_get_interval(const ClockTrack *track, ClockKind kind, size_t i) {
        const ClockPoint *a = &track->points[i], *b = a + 1;

        return (ClockInterval){ .length = (double)(b->at - a->at),
                .change = (double)((__int128)b->offsets[kind] - a->offsets[kind]),
                .noise = (double)a->bound + (double)b->bound };
}

/* How far the change of an interval is from the rate of a neighbour, if the bounds do not explain
 * it. At most both changes together were misplaced, also when a short neighbour has a steep rate.
 */
static double clock_interval_compare(const ClockInterval *interval, const ClockInterval *other) {
        double scale = interval->length / other->length,
               uneven = fabs(interval->change - other->change * scale);

        if (uneven <= interval->noise + other->noise * scale)
                return 0;
        return fmin(uneven, fabs(interval->change) + fabs(other->change));
}

/* How far the offset may have been from the interpolated one. */
static double clock_track_get_unevenness(const ClockTrack *track, ClockKind kind, size_t i) {
        ClockInterval interval = clock_track_get_interval(track, kind, i);
        double uneven = 0;

        if (track->n == 2) {
                double normal = interval.noise + interval.length * CLOCK_DRIFT_PPM / 1e6;

                return fabs(interval.change) > normal ? fabs(interval.change) : 0;
        }
        for (size_t j = i > 0 ? i - 1 : i + 1; j <= i + 1 && j + 1 < track->n; j += 2) {
                ClockInterval other = clock_track_get_interval(track, kind, j);

                uneven = fmax(uneven, clock_interval_compare(&interval, &other));
        }
        return uneven;
}

static int64_t clock_track_get_bound_within(const ClockTrack *track,
                ClockKind kind,
                size_t i,
                int64_t here) {
        const ClockPoint *a = &track->points[i], *b = a + 1;
        double distance = (double)MIN_OF(here - a->at, b->at - here),
               bound = (double)MAX_OF(a->bound, b->bound) + distance * CLOCK_WANDER_PPM / 1e6 +
                       clock_track_get_unevenness(track, kind, i);

        return bound >= (double)CLOCK_TIME_MAX ? CLOCK_TIME_MAX : (int64_t)ceil(bound);
}

int64_t clock_track_get_bound(const ClockTrack *track, ClockKind kind, int64_t here) {
        size_t before = 0, after = track->n;

        if (track->n == 0)
                return CLOCK_TIME_MAX;
        /* The first point that is later. */
        while (before < after) {
                size_t middle = before + (after - before) / 2;

                if (track->points[middle].at <= here)
                        before = middle + 1;
                else
                        after = middle;
        }
        const ClockPoint *nearest = &track->points[before > 0 ? before - 1 : 0];
        if (before > 0 && before < track->n && nearest->at < here)
                return clock_track_get_bound_within(track, kind, before - 1, here);
        return clock_widen(nearest->bound, (__int128)here - nearest->at);
}

int64_t clock_track_get_largest_bound(const ClockTrack *track, ClockKind kind) {
        int64_t largest = track->n > 0 ? track->points[0].bound : CLOCK_TIME_MAX;

        for (size_t i = 0; i + 1 < track->n; i++) {
                int64_t a = track->points[i].at, b = track->points[i + 1].at,
                        bound = clock_track_get_bound(track, kind, a + (b - a) / 2);

                largest = MAX_OF(largest, MAX_OF(bound, track->points[i + 1].bound));
        }
        return largest;
}
