/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>

#include "consumer/bucket.h"

#define SEC ((uint64_t)1000 * 1000 * 1000)

static void test_no_limit(void) {
        Bucket bucket;

        bucket_init(&bucket, 0, 8192, 0);
        g_assert_true(bucket_take(&bucket, UINT64_MAX));
}

static void test_rate(void) {
        Bucket bucket;

        bucket_init(&bucket, 100000, 8192, 5 * SEC);
        for (int i = 0; i < 10; i++)
                g_assert_true(bucket_take(&bucket, 10000));
        g_assert_false(bucket_take(&bucket, 1));
        bucket_fill(&bucket, 5 * SEC + SEC / 2);
        g_assert_true(bucket_take(&bucket, 50000));
        g_assert_false(bucket_take(&bucket, 1));
        bucket_fill(&bucket, 100 * SEC); /* no more than a second's is saved */
        g_assert_true(bucket_take(&bucket, 100000));
        g_assert_false(bucket_take(&bucket, 1));
        bucket_fill(&bucket, 99 * SEC);
        g_assert_false(bucket_take(&bucket, 1));
}

/* Parts of a byte add up; a sub-buffer fits at any rate. */
static void test_slow(void) {
        Bucket bucket;

        bucket_init(&bucket, 10, 8192, 0);
        g_assert_true(bucket_take(&bucket, 8192));
        for (uint64_t now = 0; now <= SEC; now += SEC / 1000)
                bucket_fill(&bucket, now);
        g_assert_true(bucket_take(&bucket, 10));
        g_assert_false(bucket_take(&bucket, 1));
        bucket_init(&bucket, UINT64_MAX, 8192, 0);
        g_assert_true(bucket_take(&bucket, (uint64_t)1 << 33));
        bucket_fill(&bucket, SEC / 2);
        g_assert_true(bucket_take(&bucket, (uint64_t)1 << 33));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/bucket/no-limit", test_no_limit);
        g_test_add_func("/bucket/rate", test_rate);
        g_test_add_func("/bucket/slow", test_slow);
        return g_test_run();
}
