/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "metrics/metric.h"

#define SAMPLE_TAKEN   INT64_C(1700000100000000000) /* nanoseconds since 1970 */
#define SAMPLE_CREATED INT64_C(1700000000500000000)
/* A label's value as a traced program may choose it. */
#define SAMPLE_HOSTILE "a\"b\\c\nd\xff\x1b[2J"

/* A snapshot with a family of each kind. calls: the number of the counter. n_sets: label sets of
 * one more counter; 0: without it. */
MetricSnapshot *sample_make(uint64_t calls, size_t n_sets);
