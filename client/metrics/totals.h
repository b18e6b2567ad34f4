/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "metrics/decode.h"

#define TOTALS_OTHER "other" /* each label of the sets above max-sets */

/* What one metric has counted since the service began. It goes on when the session is another one,
 * or when the settings were read again. */
typedef struct Totals Totals;

/* A row of the kernel's table. */
typedef struct TotalsRow {
        DecodeKey keys[METRIC_LABELS_MAX]; /* of the labels */
        uint64_t last;                     /* of a histogram: the largest number of the bucket */
        uint64_t count, sum;
} TotalsRow;

/* metric: borrowed. */
Totals *totals_new(const SetMetric *metric);
Totals *totals_free(Totals *totals);
DEFINE_CLEANUP(Totals, totals_free);
/* The metric is a part of other settings now. Its counts are alike: set_metric_counts_alike(). */
void totals_move(Totals *totals, const SetMetric *metric);

/* A reading: begin, add each row, commit. Rows with equal keys are added up. A reading that is not
 * committed changes no count. add fails with -ENOMEM, or -E2BIG: more rows than a table can have.
 */
void totals_begin(Totals *totals);
int totals_add(Totals *totals, const TotalsRow *row);
int totals_commit(Totals *totals);
/* As commit, but nothing is counted: the rows are only what later readings are compared with. */
void totals_skip(Totals *totals);
/* The rows of the next reading begin at zero. */
void totals_restart(Totals *totals);

/* Hits that were counted as TOTALS_OTHER. */
uint64_t totals_get_other(const Totals *totals);
/* Adds all points to a family with the metric's labels. */
int totals_fill(const Totals *totals, MetricFamily *family);
