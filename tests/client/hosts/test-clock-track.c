/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Clocks of other machines: the true time is always within the bound, whatever the network does;
 * the best answer, interpolation, and numbers of a hostile machine. */

#include <errno.h>
#include <glib.h>

#include "hosts/clock-track.h"

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
        ClockPoint first = point_at(10 * SECOND, 0, 5), same = point_at(10 * SECOND, 1, 5),
                   back = point_at(11 * SECOND, -2 * SECOND, 5), real = point_at(11 * SECOND, 0, 5);
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
        g_assert_cmpint(clock_track_get_bound(track, is), ==, bound);
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
        convert(&track, 250 * SECOND + 500000, 150 * SECOND, 2000);
        convert(&track, 350 * SECOND + 1500000, 250 * SECOND, 1000);
        convert(&track, 400 * SECOND + 2000000, 300 * SECOND, 500);
        convert(&track, 401 * SECOND + 2000000, 301 * SECOND, 500 + 100000);
        g_assert_cmpint(clock_track_convert(&track, CLOCK_KIND_BOOT, 200 * SECOND + 1, &is), ==, 0);
        g_assert_cmpint(is, ==, 100 * SECOND);
}

static void test_extremes(void) {
        ClockPoint low = point_at(1, -CLOCK_TIME_MAX, CLOCK_TIME_MAX),
                   high = point_at(CLOCK_TIME_MAX, CLOCK_TIME_MAX - 2, CLOCK_TIME_MAX);
        const uint64_t times[] = { 0, 1, CLOCK_TIME_MAX, INT64_MAX, UINT64_MAX };
        ClockTrack track = {};

        g_assert_cmpint(clock_track_add(&track, &low), ==, 0);
        for (int i = 0; i < 2; i++) {
                for (size_t j = 0; j < G_N_ELEMENTS(times); j++) {
                        int64_t is, bound;

                        g_assert_cmpint(clock_track_convert(&track, CLOCK_KIND_MONO, times[j], &is),
                                        ==,
                                        0);
                        bound = clock_track_get_bound(&track, is);
                        g_assert_cmpint(is, >=, 0);
                        g_assert_cmpint(is, <=, CLOCK_TIME_MAX);
                        g_assert_cmpint(bound, >=, 0);
                        g_assert_cmpint(bound, <=, CLOCK_TIME_MAX);
                }
                g_assert_cmpint(clock_track_add(&track, &high), ==, i == 0 ? 0 : -ERANGE);
        }
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
        for (int64_t i = 1; i <= 1000; i++)
                convert(&track, i * SECOND + 7, i * SECOND, 3);
}

static void test_uncertain(void) {
        g_assert_false(clock_is_uncertain(100, 5, 110, 5));
        g_assert_true(clock_is_uncertain(100, 5, 109, 5));
        g_assert_true(clock_is_uncertain(109, 5, 100, 5));
        g_assert_false(clock_is_uncertain(100, 0, 100, 0));
        g_assert_true(clock_is_uncertain(0, CLOCK_TIME_MAX, CLOCK_TIME_MAX, CLOCK_TIME_MAX));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/clock-track/bound", test_bound);
        g_test_add_func("/clock-track/range", test_range);
        g_test_add_func("/clock-track/order", test_order);
        g_test_add_func("/clock-track/interpolation", test_interpolation);
        g_test_add_func("/clock-track/extremes", test_extremes);
        g_test_add_func("/clock-track/many", test_many);
        g_test_add_func("/clock-track/uncertain", test_uncertain);
        return g_test_run();
}
