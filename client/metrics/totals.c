/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Counts of a metric by the values of its labels. Used by set-run.c, which reads the kernel's table
 * at each interval.
 *
 * The table's rows have numbers as keys, and several rows may have equal labels: tasks of one unit.
 * A row that was counted for a unit stays counted for it when its task has moved or ended. So each
 * row keeps its count of the last reading, and only what was added since then is added to the
 * labels that the row has now. Totals therefore never decrease, also when a session begins again at
 * zero.
 *
 * Traced programs choose some labels and keys. The hashes begin with a random number, so that no
 * program can choose names that meet in one place of an index and make its search slow.
 *
 * Label sets keep the order in which they came. Above the metric's max-sets, each label is "other".
 * A table has at most SET_ROWS_MAX rows, so that a wrong answer of a daemon cannot take memory. */

#include "metrics/totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "interfaces/array.h"

#define NONE UINT32_MAX

typedef struct TotalsNumbers {
        uint64_t count, sum;
} TotalsNumbers;

/* A row of the kernel's table, and its numbers in the last reading and in this one. */
typedef struct TotalsTableRow {
        uint64_t keys[METRIC_LABELS_MAX];
        uint64_t last;
        TotalsNumbers before, now;
        uint32_t reading; /* the last one that has the row */
        uint32_t point;   /* that has its labels; NONE: not decoded yet */
} TotalsTableRow;

typedef struct TotalsPoint {
        char *labels[METRIC_LABELS_MAX];
        uint64_t count, sum;
        MetricBucket *buckets; /* sorted by `last` */
        size_t n_buckets;
} TotalsPoint;

/* Finds elements of an array by a hash: open addressing, at most half full. */
typedef struct TotalsIndex {
        uint32_t *slots; /* NONE: free */
        size_t n_slots;  /* a power of two */
} TotalsIndex;

struct Totals {
        const SetMetric *metric;
        uint64_t seed; /* of the hashes */
        TotalsTableRow *rows;
        size_t n_rows;
        TotalsIndex row_index;
        TotalsPoint *points;
        size_t n_points;
        TotalsIndex point_index;
        uint32_t other; /* the point of label sets above the limit; NONE: there are none */
        uint64_t n_other;
        uint32_t reading;
};

static uint64_t totals_add_saturating(uint64_t a, uint64_t b) {
        uint64_t sum;

        return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* The index */

static uint64_t totals_hash(uint64_t hash, const void *data, size_t size) {
        const unsigned char *p = data;

        for (size_t i = 0; i < size; i++)
                hash = (hash ^ p[i]) * UINT64_C(1099511628211); /* FNV-1a */
        return hash;
}

/* The lower bits, which choose a slot, depend only on those of the seed: for some seeds a program
 * could choose them. The upper bits depend on all. */
static uint64_t totals_fold_hash(uint64_t hash) {
        return hash ^ hash >> 32;
}

static void totals_index_put(TotalsIndex *index, uint64_t hash, uint32_t element) {
        size_t slot = hash & (index->n_slots - 1);

        while (index->slots[slot] != NONE)
                slot = (slot + 1) & (index->n_slots - 1);
        index->slots[slot] = element;
}

static void totals_index_clear(TotalsIndex *index) {
        if (index->n_slots > 0)
                memset(index->slots, 0xff, index->n_slots * sizeof(*index->slots));
}

/* Makes room for one more element than n. Returns 1 if all elements must be put again. */
static int totals_index_grow(TotalsIndex *index, size_t n) {
        size_t n_slots = index->n_slots ? index->n_slots * 2 : 16;

        if (2 * (n + 1) <= index->n_slots)
                return 0;
        uint32_t *slots = reallocarray(index->slots, n_slots, sizeof(*slots));
        if (!slots)
                return -ENOMEM;
        *index = (TotalsIndex){ slots, n_slots };
        totals_index_clear(index);
        return 1;
}

/* Label sets */

static uint64_t point_hash(const Totals *totals, char *const *labels) {
        uint64_t hash = totals->seed;

        for (size_t i = 0; i < totals->metric->n_labels; i++)
                hash = totals_hash(hash + 1, labels[i], strlen(labels[i]) + 1);
        return totals_fold_hash(hash);
}

static bool point_has_labels(const Totals *totals, const TotalsPoint *point, char *const *labels) {
        for (size_t i = 0; i < totals->metric->n_labels; i++)
                if (strcmp(point->labels[i], labels[i]) != 0)
                        return false;
        return true;
}

static uint32_t point_find(const Totals *totals, char *const *labels) {
        const TotalsIndex *index = &totals->point_index;

        if (index->n_slots == 0)
                return NONE;
        for (size_t slot = point_hash(totals, labels);; slot++) {
                uint32_t found = index->slots[slot & (index->n_slots - 1)];

                if (found == NONE || point_has_labels(totals, &totals->points[found], labels))
                        return found;
        }
}

/* Takes the labels on success. */
static int point_append(Totals *totals, char **labels, uint32_t *ret) {
        int r = array_grow(&totals->points, totals->n_points, sizeof(TotalsPoint));

        r = r ?: totals_index_grow(&totals->point_index, totals->n_points);
        if (r < 0)
                return r;
        for (uint32_t i = 0; r > 0 && i < totals->n_points; i++)
                totals_index_put(&totals->point_index,
                                point_hash(totals, totals->points[i].labels),
                                i);
        TotalsPoint *point = &totals->points[totals->n_points];
        *point = (TotalsPoint){};
        for (size_t i = 0; i < totals->metric->n_labels; i++)
                point->labels[i] = TAKE_PTR(labels[i]);
        *ret = (uint32_t)totals->n_points++;
        totals_index_put(&totals->point_index, point_hash(totals, point->labels), *ret);
        return 0;
}

static int point_get_other(Totals *totals, uint32_t *ret) {
        char *labels[METRIC_LABELS_MAX] = {};
        int r = 0;

        for (size_t i = 0; totals->other == NONE && i < totals->metric->n_labels; i++)
                if (!(labels[i] = strdup(TOTALS_OTHER)))
                        r = -ENOMEM;
        /* A traced program may be called so. */
        if (r == 0 && totals->other == NONE)
                totals->other = point_find(totals, labels);
        if (r == 0 && totals->other == NONE)
                r = point_append(totals, labels, &totals->other);
        for (size_t i = 0; i < METRIC_LABELS_MAX; i++)
                free(labels[i]);
        *ret = totals->other;
        return r;
}

/* Consumes the labels. */
static int point_get(Totals *totals, char **labels, uint32_t *ret) {
        int r = 0;

        *ret = point_find(totals, labels);
        if (*ret == NONE) {
                size_t n = totals->n_points - (totals->other != NONE);

                r = n < totals->metric->max_sets ? point_append(totals, labels, ret)
                                                 : point_get_other(totals, ret);
        }
        for (size_t i = 0; i < METRIC_LABELS_MAX; i++)
                free(labels[i]);
        return r;
}

/* Finds the labels of a row. point: those that it has; NONE: it is new. */
static int totals_decode(Totals *totals, const DecodeKey *keys, uint32_t point, uint32_t *ret) {
        const SetMetric *metric = totals->metric;
        char *labels[METRIC_LABELS_MAX] = {};
        char text[DECODE_TEXT_MAX];
        int r = 0;

        for (size_t i = 0; i < metric->n_labels; i++) {
                const SetLabel *label = &metric->labels[i];
                bool stays = point != NONE && !decode_is_volatile(label);

                /* A task that has ended was where it was last seen. */
                if (!stays && !decode_label(label, &keys[i], text))
                        stays = point != NONE;
                labels[i] = metric_make_value(stays ? totals->points[point].labels[i] : text);
                if (!labels[i])
                        r = -ENOMEM;
        }
        if (r == 0)
                return point_get(totals, labels, ret);
        for (size_t i = 0; i < METRIC_LABELS_MAX; i++)
                free(labels[i]);
        return r;
}

/* Rows */

static uint64_t row_hash(const Totals *totals, const TotalsTableRow *row) {
        uint64_t hash = totals_hash(totals->seed, row->keys, sizeof(row->keys));

        return totals_fold_hash(totals_hash(hash, &row->last, sizeof(row->last)));
}

static TotalsTableRow *row_find(const Totals *totals, const TotalsTableRow *wanted) {
        const TotalsIndex *index = &totals->row_index;

        if (index->n_slots == 0)
                return NULL;
        for (size_t slot = row_hash(totals, wanted);; slot++) {
                uint32_t found = index->slots[slot & (index->n_slots - 1)];
                TotalsTableRow *row = &totals->rows[found == NONE ? 0 : found];

                if (found == NONE)
                        return NULL;
                if (memcmp(row->keys, wanted->keys, sizeof(row->keys)) == 0 &&
                                row->last == wanted->last)
                        return row;
        }
}

static int row_append(Totals *totals, const TotalsTableRow *wanted, TotalsTableRow **ret) {
        if (totals->n_rows == SET_ROWS_MAX)
                return -E2BIG;
        int r = array_grow(&totals->rows, totals->n_rows, sizeof(TotalsTableRow));
        r = r ?: totals_index_grow(&totals->row_index, totals->n_rows);
        if (r < 0)
                return r;
        for (uint32_t i = 0; r > 0 && i < totals->n_rows; i++)
                totals_index_put(&totals->row_index, row_hash(totals, &totals->rows[i]), i);
        totals->rows[totals->n_rows] = *wanted;
        totals_index_put(&totals->row_index, row_hash(totals, wanted), (uint32_t)totals->n_rows);
        *ret = &totals->rows[totals->n_rows++];
        return 0;
}

/* Rounds up to the end of a bucket: a wrong answer cannot make more than SET_LINEAR_MAX or
 * SET_LOG2_MAX buckets. The last linear bucket has no end. */
static uint64_t totals_round_last(const SetMetric *metric, uint64_t last) {
        if (metric->type != METRIC_HISTOGRAM)
                return 0;
        if (metric->width > 0)
                return last / metric->width < SET_LINEAR_MAX - 1
                                       ? (last / metric->width + 1) * metric->width - 1
                                       : UINT64_MAX;
        if (last <= 1)
                return 1;
        return last > UINT64_C(1) << 63 ? UINT64_MAX
                                        : UINT64_C(1) << (64 - __builtin_clzll(last - 1));
}

void totals_begin(Totals *totals) {
        totals->reading++;
}

int totals_add(Totals *totals, const TotalsRow *row) {
        TotalsTableRow wanted = { .last = totals_round_last(totals->metric, row->last),
                .point = NONE };

        for (size_t i = 0; i < totals->metric->n_labels; i++)
                wanted.keys[i] = row->keys[i].number;
        TotalsTableRow *known = row_find(totals, &wanted);
        int r = known ? 0 : row_append(totals, &wanted, &known);
        if (r == 0 && known->point == NONE)
                r = totals_decode(totals, row->keys, NONE, &known->point);
        if (r < 0)
                return r;
        if (known->reading != totals->reading)
                known->now = (TotalsNumbers){};
        known->reading = totals->reading;
        known->now.count = totals_add_saturating(known->now.count, row->count);
        known->now.sum = totals_add_saturating(known->now.sum, row->sum);
        return 0;
}

/* A number that is smaller than before began again at zero. */
static uint64_t totals_get_growth(uint64_t before, uint64_t now) {
        return now >= before ? now - before : now;
}

static int point_add_bucket(TotalsPoint *point, uint64_t last, uint64_t count) {
        size_t i = point->n_buckets;

        while (i > 0 && point->buckets[i - 1].last >= last)
                i--;
        if (i == point->n_buckets || point->buckets[i].last != last) {
                int r = array_grow(&point->buckets, point->n_buckets, sizeof(MetricBucket));

                if (r < 0)
                        return r;
                memmove(&point->buckets[i + 1],
                                &point->buckets[i],
                                (point->n_buckets - i) * sizeof(MetricBucket));
                point->buckets[i] = (MetricBucket){ .last = last };
                point->n_buckets++;
        }
        point->buckets[i].count = totals_add_saturating(point->buckets[i].count, count);
        return 0;
}

static bool totals_is_volatile(const SetMetric *metric) {
        for (size_t i = 0; i < metric->n_labels; i++)
                if (decode_is_volatile(&metric->labels[i]))
                        return true;
        return false;
}

static int row_commit(Totals *totals, TotalsTableRow *row) {
        uint64_t count = totals_get_growth(row->before.count, row->now.count),
                 sum = totals_get_growth(row->before.sum, row->now.sum);
        int r = 0;

        if (count == 0)
                return 0;
        if (totals_is_volatile(totals->metric)) {
                DecodeKey keys[METRIC_LABELS_MAX] = {};

                for (size_t i = 0; i < METRIC_LABELS_MAX; i++)
                        keys[i].number = row->keys[i];
                r = totals_decode(totals, keys, row->point, &row->point);
        }
        TotalsPoint *point = r == 0 ? &totals->points[row->point] : NULL;
        if (r == 0 && totals->metric->type == METRIC_HISTOGRAM)
                r = point_add_bucket(point, row->last, count);
        if (r < 0)
                return r;
        point->count = totals_add_saturating(point->count, count);
        point->sum = totals_add_saturating(point->sum, sum);
        if (row->point == totals->other)
                totals->n_other = totals_add_saturating(totals->n_other, count);
        row->before = row->now;
        return 0;
}

int totals_commit(Totals *totals) {
        char *none[METRIC_LABELS_MAX] = {};
        uint32_t point;
        int r = 0;

        /* A metric without labels shows 0 before its first event. */
        if (totals->metric->n_labels == 0)
                r = point_get(totals, none, &point);

        for (size_t i = 0; r == 0 && i < totals->n_rows; i++)
                if (totals->rows[i].reading == totals->reading)
                        r = row_commit(totals, &totals->rows[i]);
        return r;
}

void totals_skip(Totals *totals) {
        for (size_t i = 0; i < totals->n_rows; i++)
                if (totals->rows[i].reading == totals->reading)
                        totals->rows[i].before = totals->rows[i].now;
}

void totals_restart(Totals *totals) {
        free(totals->rows);
        totals->rows = NULL;
        totals->n_rows = 0;
        totals_index_clear(&totals->row_index);
}

Totals *totals_new(const SetMetric *metric) {
        Totals *totals = calloc(1, sizeof(*totals));

        if (!totals)
                return NULL;
        *totals = (Totals){ .metric = metric, .other = NONE };
        /* Always complete: the kernel's random numbers are ready when services start. */
        (void)!getrandom(&totals->seed, sizeof(totals->seed), 0);
        return totals;
}

Totals *totals_free(Totals *totals) {
        if (!totals)
                return NULL;
        for (size_t i = 0; i < totals->n_points; i++) {
                for (size_t j = 0; j < METRIC_LABELS_MAX; j++)
                        free(totals->points[i].labels[j]);
                free(totals->points[i].buckets);
        }
        free(totals->points);
        free(totals->point_index.slots);
        free(totals->rows);
        free(totals->row_index.slots);
        free(totals);
        return NULL;
}

void totals_move(Totals *totals, const SetMetric *metric) {
        totals->metric = metric;
}

uint64_t totals_get_other(const Totals *totals) {
        return totals->n_other;
}

int totals_fill(const Totals *totals, MetricFamily *family) {
        const SetMetric *metric = totals->metric;

        for (size_t i = 0; i < totals->n_points; i++) {
                const TotalsPoint *from = &totals->points[i];
                MetricPoint *point;

                int r = metric_family_add(family, (const char *const *)from->labels, &point);
                if (r < 0)
                        return r;
                point->number = metric->value && metric->type == METRIC_COUNTER ? from->sum
                                                                                : from->count;
                point->count = from->count;
                point->sum = from->sum;
                for (size_t j = 0; r == 0 && j < from->n_buckets; j++)
                        r = metric_point_add_bucket(
                                        point, from->buckets[j].last, from->buckets[j].count);
                if (r < 0)
                        return r;
        }
        return 0;
}
