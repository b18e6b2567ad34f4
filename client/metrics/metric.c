/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The numbers that ktrace-metrics serves. The collector makes a snapshot at each interval, and each
 * output prints it. Label values may come from traced programs: this file makes them valid UTF-8
 * without control characters, which a terminal would act on, and cuts long ones, so that no output
 * has to. Escaping is different in each output, so the outputs do it. */

#include "metrics/metric.h"

#include <errno.h>
#include <string.h>

#include "interfaces/array.h"
#include "interfaces/utf8.h"

#define REPLACEMENT      "\xef\xbf\xbd" /* U+FFFD */
#define REPLACEMENT_SIZE (sizeof(REPLACEMENT) - 1)

const char *metric_type_to_string(MetricType type) {
        static const char *const names[_METRIC_TYPE_N] = {
                [METRIC_COUNTER] = "counter",
                [METRIC_GAUGE] = "gauge",
                [METRIC_HISTOGRAM] = "histogram",
        };

        return names[type];
}

static void point_clear(MetricPoint *point) {
        for (size_t i = 0; i < METRIC_LABELS_MAX; i++)
                free(point->labels[i]);
        free(point->buckets);
}

static void family_clear(MetricFamily *family) {
        for (size_t i = 0; i < family->n_points; i++)
                point_clear(&family->points[i]);
        for (size_t i = 0; i < METRIC_LABELS_MAX; i++)
                free(family->labels[i]);
        free(family->points);
        free(family->name);
        free(family->help);
        free(family->unit);
}

MetricSnapshot *metric_snapshot_new(int64_t taken_nsec) {
        MetricSnapshot *snapshot = calloc(1, sizeof(*snapshot));

        if (snapshot)
                *snapshot = (MetricSnapshot){ .n_refs = 1, .taken_nsec = taken_nsec };
        return snapshot;
}

/* Threads share snapshots: board.c. */
MetricSnapshot *metric_snapshot_ref(MetricSnapshot *snapshot) {
        (void)__atomic_add_fetch(&snapshot->n_refs, 1, __ATOMIC_RELAXED);
        return snapshot;
}

MetricSnapshot *metric_snapshot_unref(MetricSnapshot *snapshot) {
        if (!snapshot || __atomic_sub_fetch(&snapshot->n_refs, 1, __ATOMIC_ACQ_REL) > 0)
                return NULL;
        for (size_t i = 0; i < snapshot->n_families; i++)
                family_clear(&snapshot->families[i]);
        free(snapshot->families);
        free(snapshot);
        return NULL;
}

int metric_snapshot_add(MetricSnapshot *snapshot, const MetricHead *head, MetricFamily **ret) {
        int r = array_grow(&snapshot->families, snapshot->n_families, sizeof(MetricFamily));

        if (r < 0)
                return r;
        MetricFamily *family = &snapshot->families[snapshot->n_families++];
        *family = (MetricFamily){
                .type = head->type,
                .name = strdup(head->name),
                .help = strdup(head->help),
                .unit = head->unit ? strdup(head->unit) : NULL,
                .scale = head->scale > 0 ? head->scale : 1,
                .is_log2 = head->is_log2,
                .is_private = head->is_private,
                .created_nsec = head->created_nsec,
        };
        if (!family->name || !family->help || (head->unit && !family->unit))
                return -ENOMEM;
        for (; family->n_labels < head->n_labels; family->n_labels++) {
                family->labels[family->n_labels] = strdup(head->labels[family->n_labels]);
                if (!family->labels[family->n_labels])
                        return -ENOMEM;
        }
        *ret = family;
        return 0;
}

/* text: a well-formed character. Those of C1 begin with 0xc2. */
static bool metric_is_control(const char *text) {
        unsigned char first = (unsigned char)text[0];

        return first < 0x20 || first == 0x7f || (first == 0xc2 && (unsigned char)text[1] < 0xa0);
}

char *metric_make_value(const char *text) {
        size_t size = strlen(text), n = 0;
        char value[METRIC_VALUE_MAX + 1];

        while (size > 0) {
                size_t length = utf8_length(text, size);
                bool is_kept = length > 0 && !metric_is_control(text);
                const char *from = is_kept ? text : REPLACEMENT;
                size_t n_from = is_kept ? length : REPLACEMENT_SIZE;

                if (n + n_from > METRIC_VALUE_MAX)
                        break;
                memcpy(value + n, from, n_from);
                n += n_from;
                text += length ?: 1;
                size -= length ?: 1;
        }
        return strndup(value, n);
}

int metric_family_add(MetricFamily *family, const char *const *labels, MetricPoint **ret) {
        int r = array_grow(&family->points, family->n_points, sizeof(MetricPoint));

        if (r < 0)
                return r;
        MetricPoint *point = &family->points[family->n_points++];
        *point = (MetricPoint){};
        for (size_t i = 0; i < family->n_labels; i++) {
                point->labels[i] = metric_make_value(labels[i]);
                if (!point->labels[i])
                        return -ENOMEM;
        }
        *ret = point;
        return 0;
}

int metric_point_add_bucket(MetricPoint *point, uint64_t last, uint64_t count) {
        int r = array_grow(&point->buckets, point->n_buckets, sizeof(MetricBucket));

        if (r < 0)
                return r;
        point->buckets[point->n_buckets++] = (MetricBucket){ last, count };
        return 0;
}
