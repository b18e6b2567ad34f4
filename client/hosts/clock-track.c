/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arithmetic of clocks of several machines, for member.c and hosts-trace.c.
 *
 * A question to another machine is sent at one time here and answered by another. Its clocks were
 * read at some time between these two. So the middle is wrong by at most half the round trip,
 * whatever the network did: this is the bound of the point. Between two points both clocks are
 * taken to run evenly, and the offset is interpolated. Before the first and after the last point
 * the nearest offset is used, and the bound grows with the distance.
 *
 * The other machine may be hostile: any number may come. Times outside of CLOCK_TIME_MAX and clocks
 * that run backwards are refused, and nothing overflows. Does no I/O. */

#include "hosts/clock-track.h"

#include <errno.h>

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

/* When there is no room, every second point goes, but the first one stays. */
static void clock_track_thin(ClockTrack *track) {
        for (size_t i = 0; 2 * i < track->n; i++)
                track->points[i] = track->points[2 * i];
        track->n = (track->n + 1) / 2;
}

int clock_track_add(ClockTrack *track, const ClockPoint *point) {
        if (track->n > 0) {
                const ClockPoint *last = &track->points[track->n - 1];

                if (point->at <= last->at)
                        return -ERANGE;
                /* The time of day may be set back. */
                for (size_t i = 0; i < CLOCK_KIND_REALTIME; i++)
                        if (point->at + point->offsets[i] <= last->at + last->offsets[i])
                                return -ERANGE;
        }
        if (track->n == CLOCK_POINTS_MAX)
                clock_track_thin(track);
        track->points[track->n++] = *point;
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

/* A negative time is one of a hostile manifest. */
uint64_t clock_track_get_there(const ClockTrack *track, ClockKind kind, size_t i) {
        __int128 there = clock_point_there(&track->points[i], kind);

        return there < 0 ? 0 : (uint64_t)there;
}

int64_t clock_track_get_bound(const ClockTrack *track, int64_t here) {
        size_t next = 0;

        while (next < track->n && track->points[next].at <= here)
                next++;
        const ClockPoint *before = next > 0 ? &track->points[next - 1] : NULL,
                         *after = next < track->n ? &track->points[next] : NULL;
        if (before && after)
                return before->at == here ? before->bound : MAX_OF(before->bound, after->bound);
        const ClockPoint *nearest = before ?: after;
        return nearest ? clock_widen(nearest->bound, (__int128)here - nearest->at) : CLOCK_TIME_MAX;
}

bool clock_is_uncertain(int64_t a, int64_t a_bound, int64_t b, int64_t b_bound) {
        __int128 distance = (__int128)a - b;

        return (distance < 0 ? -distance : distance) < (__int128)a_bound + b_bound;
}
