/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Gives the histograms of a family the same bounds. A histogram of the kernel has only the buckets
 * that contain something. Prometheus adds up the buckets of several label sets by their bound: a
 * set without a bucket at this bound would be missing from the sum. So each set has every bound
 * that a set of the family has, and the bounds of log2 histograms have no gaps.
 *
 * A bucket that ends at the largest 64-bit number has no bound: the output's last bucket, which
 * counts everything, contains it. */

#include "exporter/bucket-bounds.h"

#include <errno.h>
#include <string.h>

static int compare_bounds(const void *a, const void *b) {
        uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

        return (first > second) - (first < second);
}

static size_t bucket_bounds_count(const MetricFamily *family) {
        size_t n = 0;

        for (size_t i = 0; i < family->n_points; i++)
                n += family->points[i].n_buckets;
        return n;
}

static size_t bucket_bounds_collect(const MetricFamily *family, uint64_t *lasts) {
        size_t n = 0, n_unique = 0;

        for (size_t i = 0; i < family->n_points; i++)
                for (size_t j = 0; j < family->points[i].n_buckets; j++)
                        lasts[n++] = family->points[i].buckets[j].last;
        qsort(lasts, n, sizeof(*lasts), compare_bounds);
        for (size_t i = 0; i < n; i++)
                if (lasts[i] != UINT64_MAX && (n_unique == 0 || lasts[i] != lasts[n_unique - 1]))
                        lasts[n_unique++] = lasts[i];
        return n_unique;
}

/* lasts has room for 65 bounds: 0 and all powers of two. */
static size_t bucket_bounds_fill_log2(uint64_t *lasts, size_t n) {
        uint64_t highest = lasts[n - 1], lowest = lasts[0];

        for (n = 0; lowest < highest; lowest = lowest ? lowest * 2 : 1)
                lasts[n++] = lowest;
        lasts[n++] = highest;
        return n;
}

int bucket_bounds_make(const MetricFamily *family, BucketBounds *ret) {
        size_t n = bucket_bounds_count(family);
        uint64_t *lasts = calloc(MAX_OF(n, 65U), sizeof(*lasts));

        if (!lasts)
                return -ENOMEM;
        n = bucket_bounds_collect(family, lasts);
        if (n > 0 && family->is_log2)
                n = bucket_bounds_fill_log2(lasts, n);
        *ret = (BucketBounds){ lasts, n };
        return 0;
}

void bucket_bounds_clear(BucketBounds *bounds) {
        free(bounds->lasts);
        *bounds = (BucketBounds){};
}
