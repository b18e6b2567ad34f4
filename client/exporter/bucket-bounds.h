/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "metrics/metric.h"

/* The upper bounds that all histograms of a family get, in ascending order. */
typedef struct BucketBounds {
        uint64_t *lasts;
        size_t n;
} BucketBounds;

/* Returns 0 or -ENOMEM. */
int bucket_bounds_make(const MetricFamily *family, BucketBounds *ret);
void bucket_bounds_clear(BucketBounds *bounds);
