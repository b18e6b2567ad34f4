/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interfaces/cleanup.h"

#define METRIC_LABELS_MAX 3   /* keys of a kernel histogram, see HIST_KEYS_MAX */
#define METRIC_VALUE_MAX  128 /* bytes of a label's value; longer ones are cut */

typedef enum MetricType {
        METRIC_COUNTER,
        METRIC_GAUGE,
        METRIC_HISTOGRAM,
        _METRIC_TYPE_N,
} MetricType;

/* "counter", as sets and all text formats have it. */
const char *metric_type_to_string(MetricType type);

/* One bucket of a histogram. It counts the numbers above the `last` of the bucket before it. */
typedef struct MetricBucket {
        uint64_t last; /* the largest number that it counts, in the unit of the source */
        uint64_t count;
} MetricBucket;

/* The numbers of one set of labels, in the unit of the source. */
typedef struct MetricPoint {
        char *labels[METRIC_LABELS_MAX]; /* in the order of the family's labels; valid UTF-8 */
        uint64_t number;                 /* of a counter or gauge */
        MetricBucket *buckets;           /* of a histogram: sorted by `last`, not cumulative */
        size_t n_buckets;
        uint64_t count, sum;
} MetricPoint;

/* All numbers with one name. */
typedef struct MetricFamily {
        MetricType type;
        char *name; /* "ktrace_syscalls", without the suffix _total of counters */
        char *help;
        char *unit;           /* "seconds" or "bytes", which the name ends with; NULL: none */
        double scale;         /* a number of the source times this is in `unit` */
        bool is_log2;         /* each bucket ends at a power of two */
        bool is_private;      /* identifies users */
        int64_t created_nsec; /* since 1970: counting began; 0: unknown */
        char *labels[METRIC_LABELS_MAX];
        size_t n_labels;
        MetricPoint *points;
        size_t n_points;
} MetricFamily;

/* What a family is made of. The texts are copied. */
typedef struct MetricHead {
        MetricType type;
        const char *name, *help, *unit;
        double scale; /* 0: 1 */
        bool is_log2, is_private;
        int64_t created_nsec;
        const char *const *labels;
        size_t n_labels;
} MetricHead;

/* The numbers of one moment. It does not change after its publication, see board.h. */
typedef struct MetricSnapshot {
        unsigned n_refs;
        int64_t taken_nsec; /* since 1970 */
        MetricFamily *families;
        size_t n_families;
} MetricSnapshot;

MetricSnapshot *metric_snapshot_new(int64_t taken_nsec);
MetricSnapshot *metric_snapshot_ref(MetricSnapshot *snapshot);
MetricSnapshot *metric_snapshot_unref(MetricSnapshot *snapshot);
DEFINE_CLEANUP(MetricSnapshot, metric_snapshot_unref);

/* Returns 0 or -ENOMEM. *ret is valid until the next family is added. */
int metric_snapshot_add(MetricSnapshot *snapshot, const MetricHead *head, MetricFamily **ret);
/* labels: any bytes, which traced programs may have chosen. Malformed UTF-8 and control characters
 * become U+FFFD. *ret is valid until the next point is added. */
int metric_family_add(MetricFamily *family, const char *const *labels, MetricPoint **ret);
/* The text that a label gets: as above, and cut to METRIC_VALUE_MAX bytes. NULL: no memory. */
char *metric_make_value(const char *text);
/* The caller adds buckets in the order of `last`. */
int metric_point_add_bucket(MetricPoint *point, uint64_t last, uint64_t count);
