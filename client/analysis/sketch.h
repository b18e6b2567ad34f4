/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Counts values, to estimate their percentiles. All zeros: no value yet. A percentile is at most
 * 1.6 % away from the exact one; count, total, smallest and largest value are exact. Grows to at
 * most 15 kB. */
typedef struct Sketch {
        uint64_t n, total, min, max;
        uint64_t *counts;
        size_t n_counts;
} Sketch;

/* Returns 0 or -ENOMEM. The total stays at its largest value instead of overflowing. */
int sketch_add(Sketch *sketch, uint64_t value);
/* Returns the smallest value that is not exceeded by percent % of the values. 0: no value yet. */
uint64_t sketch_get_percentile(const Sketch *sketch, unsigned percent);
uint64_t sketch_get_mean(const Sketch *sketch);
void sketch_clear(Sketch *sketch);
