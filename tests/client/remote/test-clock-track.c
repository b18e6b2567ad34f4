/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Clocks of other machines: the true time is always within the bound, whatever the network does;
 * the best answer, interpolation, clocks that run unevenly, and numbers of a hostile machine. */

#include <errno.h>
#include <glib.h>

#include "remote/clock-track.h"

#define SECOND INT64_C(1000000000)

static ClockPoint point_at(int64_t at, int64_t offset, int64_t bound) {
        return (ClockPoint){
                .at = at, .offsets = { offset, offset + 1, offset + 2 }, .bound = bound
        };
}

/* The clock there is `offset` ahead, and was read at any time of the round trip. */
static void test_bound(void) {
        for (int64_t offset = -5 * SECOND; offset <= 5 * SECOND; offset += SECOND)
                for (int64_t way = 0; way <= 1001; way += 77) {
                        int64_t sent = 100 * SECOND, received = sent + 1001;
                        uint64_t there = (uint64_t)(sent + way + offset);
                        ClockPoint point;

                        g_assert_cmpint(clock_point_make(sent,
                                                        received,
                                                        (uint64_t[]){ there, there, there },
                                                        &point),
                                        ==,
                                        0);
                        g_assert_cmpint(point.bound, ==, 501);
                        g_assert_cmpint(ABS(point.offsets[CLOCK_KIND_MONO] - offset),
                                        <=,
                                        point.bound);
                }
}

static void test_range(void) {
        const uint64_t good[] = { 1, 2, 3 }, max = CLOCK_TIME_MAX;
        ClockPoint point;

        g_assert_cmpint(clock_point_make(10, 9, good, &point), ==, -ERANGE);
        g_assert_cmpint(clock_point_make(-1, 9, good, &point), ==, -ERANGE);
        for (size_t i = 0; i < _CLOCK_KIND_N; i++) {
                uint64_t there[] = { 1, 1, 1 };

                there[i] = UINT64_MAX;
                g_assert_cmpint(clock_point_make(1, 2, there, &point), ==, -ERANGE);
                there[i] = max + 1;
                g_assert_cmpint(clock_point_make(1, 2, there, &point), ==, -ERANGE);
                there[i] = max;
                g_assert_cmpint(clock_point_make(0, 0, there, &point), ==, 0);
                g_assert_cmpint(point.offsets[i], ==, CLOCK_TIME_MAX);
        }
}

static void test_order(void) {
        ClockPoint first = point_at(2000 * SECOND, 0, 5), same = point_at(2000 * SECOND, 1, 5),
                   back = point_at(2001 * SECOND, -2 * SECOND, 5),
                   real = point_at(2001 * SECOND, 0, 5);
        ClockTrack track = {};

        g_assert_cmpint(clock_track_add(&track, &first), ==, 0);
        g_assert_cmpint(clock_track_add(&track, &same), ==, -ERANGE);
        g_assert_cmpint(clock_track_add(&track, &back), ==, -ERANGE);
        real.offsets[CLOCK_KIND_REALTIME] = -1000 * SECOND; /* the time of day was set back */
        g_assert_cmpint(clock_track_add(&track, &real), ==, 0);
        g_assert_cmpuint(track.n, ==, 2);
}

static void convert(const ClockTrack *track, int64_t there, int64_t here, int64_t bound) {
        int64_t is;

        g_assert_cmpint(clock_track_convert(track, CLOCK_KIND_MONO, (uint64_t)there, &is), ==, 0);
        g_assert_cmpint(is, ==, here);
        g_assert_cmpint(clock_track_get_bound(track, CLOCK_KIND_MONO, is), ==, bound);
}

/* The clock there is 100 s ahead and gains 10 us in a second. */
static void test_interpolation(void) {
        ClockTrack track = {};
        ClockPoint a = point_at(100 * SECOND, 100 * SECOND, 2000),
                   b = point_at(200 * SECOND, 100 * SECOND + 1000000, 1000),
                   c = point_at(300 * SECOND, 100 * SECOND + 2000000, 500);
        int64_t is;

        g_assert_cmpint(clock_track_convert(&track, CLOCK_KIND_MONO, 1, &is), ==, -ENODATA);
        g_assert_cmpint(clock_track_add(&track, &a), ==, 0);
        convert(&track, 200 * SECOND, 100 * SECOND, 2000);
        /* One comparison: the bound grows by 100 us for each second. */
        convert(&track, 210 * SECOND, 110 * SECOND, 2000 + 1000000);
        convert(&track, 190 * SECOND, 90 * SECOND, 2000 + 1000000);
        g_assert_cmpint(clock_track_add(&track, &b), ==, 0);
        g_assert_cmpint(clock_track_add(&track, &c), ==, 0);
        convert(&track, 200 * SECOND, 100 * SECOND, 2000);
        /* Between them it grows by 1 us for each second to the nearer one. */
        convert(&track, 250 * SECOND + 500000, 150 * SECOND, 2000 + 50000);
        convert(&track, 350 * SECOND + 1500000, 250 * SECOND, 1000 + 50000);
        g_assert_cmpint(clock_track_get_largest_bound(&track, CLOCK_KIND_MONO), ==, 2000 + 50000);
        convert(&track, 400 * SECOND + 2000000, 300 * SECOND, 500);
        convert(&track, 401 * SECOND + 2000000, 301 * SECOND, 500 + 100000);
        g_assert_cmpint(clock_track_convert(&track, CLOCK_KIND_BOOT, 200 * SECOND + 1, &is), ==, 0);
        g_assert_cmpint(is, ==, 100 * SECOND);
}

/* What runs unevenly: the offset there at each second here. */
typedef int64_t OffsetAt(int64_t at);

static int64_t offset_paused(int64_t at) { /* for 10 s, in the middle of an interval */
        return 100 * SECOND - CLAMP(at - 410 * SECOND, 0, 10 * SECOND);
}

static int64_t offset_slewed(int64_t at) { /* 500 us in a second, in the middle of intervals */
        return 100 * SECOND + CLAMP(at - 415 * SECOND, 0, 100 * SECOND) / 2000;
}

static int64_t offset_set(int64_t at) { /* 1 ms at once */
        return 100 * SECOND + (at > 500 * SECOND ? 1000000 : 0);
}

static int64_t offset_even(int64_t at) { /* 50 us in a second */
        return 100 * SECOND + at / 20000;
}

/* Compares every 30 s, drops points as a small manifest does, and checks each second. */
static int64_t check_offsets(OffsetAt *offset, int64_t n_points, size_t n_kept) {
        ClockTrack track = {};
        int64_t largest = 0, is;

        for (int64_t i = 0; i < n_points; i++) {
                int64_t at = (300 + 30 * i) * SECOND;
                ClockPoint point = point_at(at, offset(at) + 10, 50000);

                g_assert_cmpint(clock_track_add(&track, &point), ==, 0);
        }
        clock_track_thin(&track, n_kept);
        for (int64_t at = 300; at <= 300 + 30 * (n_points - 1); at++) {
                int64_t here = at * SECOND, there = here + offset(here), bound;

                g_assert_cmpint(clock_track_convert(&track, CLOCK_KIND_MONO, (uint64_t)there, &is),
                                ==,
                                0);
                bound = clock_track_get_bound(&track, CLOCK_KIND_MONO, is);
                g_assert_cmpint(ABS(is - here), <=, bound);
                largest = MAX(largest, bound);
        }
        g_assert_cmpint(largest, <=, clock_track_get_largest_bound(&track, CLOCK_KIND_MONO));
        return largest;
}

/* The true time is within the bound also where a clock was paused, set or slewed. */
static void test_uneven(void) {
        OffsetAt *const offsets[] = { offset_paused, offset_slewed, offset_set };

        for (size_t i = 0; i < G_N_ELEMENTS(offsets); i++)
                for (int64_t n = 10; n <= 40; n += 10) {
                        g_assert_cmpint(check_offsets(offsets[i], n, 128), >, 500000);
                        (void)check_offsets(offsets[i], n, 12);
                }
        /* Two comparisons only: what no clock drifts. */
        g_assert_cmpint(check_offsets(offset_paused, 5, 2), >, 9 * SECOND);
        /* A drift that stays the same is none of these. */
        g_assert_cmpint(check_offsets(offset_even, 40, 128), <, 50000 + 15001);
}

/* An answer that came late does not spoil the good ones before and after it. */
static void test_late_answer(void) {
        ClockPoint a = point_at(100 * SECOND, 7, 1000), late = point_at(110 * SECOND, 9, SECOND),
                   b = point_at(120 * SECOND, 7, 1000), old = point_at(99 * SECOND, 7, SECOND),
                   jump = point_at(130 * SECOND, 3 * SECOND, SECOND);
        ClockTrack track = {};

        g_assert_cmpint(clock_track_add(&track, &a), ==, 0);
        g_assert_cmpint(clock_track_add(&track, &late), ==, 0);
        g_assert_cmpuint(track.n, ==, 1);
        g_assert_cmpint(clock_track_add(&track, &b), ==, 0);
        g_assert_cmpint(clock_track_get_bound(&track, CLOCK_KIND_MONO, 110 * SECOND),
                        ==,
                        1000 + 10000);
        /* It is checked before it is dropped, and kept if it shows a jump. */
        g_assert_cmpint(clock_track_add(&track, &old), ==, -ERANGE);
        g_assert_cmpint(clock_track_add(&track, &jump), ==, 0);
        g_assert_cmpuint(track.n, ==, 3);
}

static void test_extremes(void) {
        ClockPoint low = point_at(1, -1, CLOCK_TIME_MAX),
                   high = point_at(CLOCK_TIME_MAX, -CLOCK_TIME_MAX + 4, CLOCK_TIME_MAX - 1);
        const ClockPoint bad[] = { point_at(-1, 5, 0),
                point_at(1, -2, 0),
                point_at(1, INT64_MIN, 0),
                point_at(1, 0, -1),
                point_at(CLOCK_TIME_MAX, 1, 0),
                point_at(CLOCK_TIME_MAX, CLOCK_TIME_MAX, 0),
                point_at(INT64_MAX, INT64_MAX - 2, INT64_MAX) };
        const uint64_t times[] = { 0, 1, CLOCK_TIME_MAX, INT64_MAX, UINT64_MAX };
        ClockTrack track = {};

        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
                g_assert_cmpint(clock_track_add(&track, &bad[i]), ==, -ERANGE);
        g_assert_cmpint(clock_track_add(&track, &low), ==, 0);
        for (int i = 0; i < 2; i++) {
                for (size_t j = 0; j < G_N_ELEMENTS(times); j++) {
                        int64_t is, bound;

                        g_assert_cmpint(clock_track_convert(&track, CLOCK_KIND_MONO, times[j], &is),
                                        ==,
                                        0);
                        bound = clock_track_get_bound(&track, CLOCK_KIND_MONO, is);
                        g_assert_cmpint(is, >=, 0);
                        g_assert_cmpint(is, <=, CLOCK_TIME_MAX);
                        g_assert_cmpint(bound, >=, 0);
                        g_assert_cmpint(bound, <=, CLOCK_TIME_MAX);
                }
                g_assert_cmpint(clock_track_add(&track, &high), ==, i == 0 ? 0 : -ERANGE);
        }
        g_assert_cmpuint(track.n, ==, 2);
}

/* A long recording keeps its first comparison and the newest ones. */
static void test_many(void) {
        ClockTrack track = {};

        for (int64_t i = 1; i <= 1000; i++) {
                ClockPoint point = point_at(i * SECOND, 7, 3);

                g_assert_cmpint(clock_track_add(&track, &point), ==, 0);
                g_assert_cmpint(track.points[0].at, ==, SECOND);
                g_assert_cmpint(track.points[track.n - 1].at, ==, i * SECOND);
        }
        for (int64_t i = 1; i <= 1000; i++) {
                int64_t here;

                g_assert_cmpint(clock_track_convert(&track,
                                                CLOCK_KIND_MONO,
                                                (uint64_t)(i * SECOND + 7),
                                                &here),
                                ==,
                                0);
                g_assert_cmpint(here, ==, i * SECOND);
                g_assert_cmpint(clock_track_get_bound(&track, CLOCK_KIND_MONO, here),
                                <=,
                                3 + 8 * 1000);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/clock-track/bound", test_bound);
        g_test_add_func("/clock-track/range", test_range);
        g_test_add_func("/clock-track/order", test_order);
        g_test_add_func("/clock-track/interpolation", test_interpolation);
        g_test_add_func("/clock-track/uneven", test_uneven);
        g_test_add_func("/clock-track/late-answer", test_late_answer);
        g_test_add_func("/clock-track/extremes", test_extremes);
        g_test_add_func("/clock-track/many", test_many);
        return g_test_run();
}
