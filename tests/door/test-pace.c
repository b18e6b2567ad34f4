/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* So much time a second, each user for itself. */

#include <glib.h>

#include "door/pace.h"

#define SEC   G_GUINT64_CONSTANT(1000000)
#define SHARE (SEC / 5)

/* Calls of a millisecond each. */
static unsigned take(Pace *pace, uid_t uid, unsigned n, guint64 now) {
        unsigned n_taken = 0;

        for (; n_taken < n && pace_has_left(pace, uid, now); n_taken++)
                pace_take(pace, uid, 1000, SHARE, now);
        return n_taken;
}

static void test_rate(void) {
        Pace pace = {};
        guint64 now = 1000 * SEC;

        g_assert_cmpuint(take(&pace, 7, 1000, now), ==, 200); /* a second's in one go */
        g_assert_cmpuint(take(&pace, 7, 10, now), ==, 0);
        g_assert_cmpuint(take(&pace, 7, 10, now + 5000), ==, 1);
        g_assert_cmpuint(take(&pace, 7, 1000, now + SEC / 2), ==, 99);
        g_assert_cmpuint(take(&pace, 7, 1000, now + 5 * SEC), ==, 200);
}

/* All of the time that a call took is charged. At a fifth of the loop's time, a call of 100 ms is
 * worth half a second, and one of 2 s is worth 10 s. */
static void test_dear(void) {
        Pace pace = {};

        pace_take(&pace, 7, SEC / 10, SHARE, SEC);
        g_assert_true(pace_has_left(&pace, 7, SEC));
        pace_take(&pace, 7, 2 * SEC, SHARE, SEC);
        g_assert_false(pace_has_left(&pace, 7, SEC));
        g_assert_false(pace_has_left(&pace, 7, 10 * SEC));
        g_assert_true(pace_has_left(&pace, 7, 11 * SEC));
}

static void test_each_for_itself(void) {
        Pace pace = {};

        g_assert_cmpuint(take(&pace, 7, 1000, SEC), ==, 200);
        g_assert_cmpuint(take(&pace, 8, 1000, SEC), ==, 200);
        g_assert_cmpuint(take(&pace, 7, 1000, SEC), ==, 0);
        g_assert_cmpuint(take(&pace, 8, 1000, SEC), ==, 0);
}

/* Beyond the table the busiest stay in it: no crowd of others buys anybody time. */
static void test_crowd(void) {
        Pace pace = {};

        g_assert_cmpuint(take(&pace, 7, 1000, SEC), ==, 200);
        for (uid_t uid = 1000; uid < 1000 + 10 * PACE_USERS; uid++)
                g_assert_cmpuint(take(&pace, uid, 1, SEC), ==, 1);
        g_assert_cmpuint(take(&pace, 7, 1000, SEC), ==, 0);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/pace/rate", test_rate);
        g_test_add_func("/pace/dear", test_dear);
        g_test_add_func("/pace/each-for-itself", test_each_for_itself);
        g_test_add_func("/pace/crowd", test_crowd);
        return g_test_run();
}
