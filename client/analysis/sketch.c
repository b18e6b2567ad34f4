/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Estimates percentiles of durations in memory that does not grow with their number. Called by the
 * tables of the summary. The ranges are linear within each power of two: 32 of them. So a range is
 * at most 1/32 of its values wide, and its middle is at most 1/64 away from each of them. Values
 * below 64 are exact. */

#include "analysis/sketch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/cleanup.h"

#define RANGE_BITS 5
#define N_RANGES   (1U << RANGE_BITS) /* in each power of two */

static size_t sketch_find_range(uint64_t value) {
        if (value < 2 * N_RANGES)
                return value;
        unsigned shift = 63 - (unsigned)__builtin_clzll(value) - RANGE_BITS;

        return (size_t)shift * N_RANGES + (value >> shift);
}

static uint64_t sketch_get_middle(size_t range) {
        if (range < 2 * N_RANGES)
                return range;
        unsigned shift = (unsigned)(range / N_RANGES) - 1;
        uint64_t first = (N_RANGES + (uint64_t)range % N_RANGES) << shift;

        return first + (UINT64_C(1) << shift) / 2;
}

int sketch_add(Sketch *sketch, uint64_t value) {
        size_t range = sketch_find_range(value);

        if (range >= sketch->n_counts) {
                size_t n = range + N_RANGES;
                uint64_t *counts = reallocarray(sketch->counts, n, sizeof(*counts));

                if (!counts)
                        return -ENOMEM;
                memset(counts + sketch->n_counts, 0, (n - sketch->n_counts) * sizeof(*counts));
                sketch->counts = counts;
                sketch->n_counts = n;
        }
        sketch->counts[range]++;
        sketch->min = sketch->n == 0 ? value : MIN_OF(sketch->min, value);
        sketch->max = MAX_OF(sketch->max, value);
        sketch->total = value > UINT64_MAX - sketch->total ? UINT64_MAX : sketch->total + value;
        sketch->n++;
        return 0;
}

uint64_t sketch_get_percentile(const Sketch *sketch, unsigned percent) {
        uint64_t wanted = sketch->n / 100 * percent + (sketch->n % 100 * percent + 99) / 100;
        uint64_t n = 0;

        for (size_t i = 0; i < sketch->n_counts; i++) {
                n += sketch->counts[i];
                if (n > 0 && n >= wanted)
                        return MAX_OF(sketch->min, MIN_OF(sketch->max, sketch_get_middle(i)));
        }
        return sketch->max;
}

uint64_t sketch_get_mean(const Sketch *sketch) {
        return sketch->n == 0 ? 0 : sketch->total / sketch->n;
}

void sketch_clear(Sketch *sketch) {
        free(sketch->counts);
        *sketch = (Sketch){};
}
