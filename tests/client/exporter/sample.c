/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A snapshot that no collector has made. Its numbers are chosen for their texts: the largest ones,
 * fractions that no double has, and values that would break a format. */

#include "sample.h"

#include <glib.h>

static MetricFamily *sample_add_family(MetricSnapshot *snapshot, const MetricHead *head) {
        MetricFamily *family = NULL;

        g_assert_cmpint(metric_snapshot_add(snapshot, head, &family), ==, 0);
        return family;
}

static MetricPoint *sample_add_point(MetricFamily *family, const char *first, const char *second) {
        const char *labels[] = { first, second };
        MetricPoint *point = NULL;

        g_assert_cmpint(metric_family_add(family, labels, &point), ==, 0);
        return point;
}

static void sample_add_bucket(MetricPoint *point, uint64_t last, uint64_t count) {
        g_assert_cmpint(metric_point_add_bucket(point, last, count), ==, 0);
        point->count += count;
}

static void sample_add_calls(MetricSnapshot *snapshot, uint64_t calls) {
        static const char *const labels[] = { "call", "error" };
        const MetricHead head = {
                .type = METRIC_COUNTER,
                .name = "ktrace_calls",
                .help = "Calls with \\ and \"quotes\"\nin two lines",
                .created_nsec = SAMPLE_CREATED,
                .labels = labels,
                .n_labels = 2,
        };
        MetricFamily *family = sample_add_family(snapshot, &head);

        sample_add_point(family, "read", "")->number = calls;
        sample_add_point(family, SAMPLE_HOSTILE, "EPERM")->number = UINT64_MAX;
}

static void sample_add_gauge(MetricSnapshot *snapshot) {
        const MetricHead head = {
                .type = METRIC_GAUGE,
                .name = "ktrace_gap_seconds",
                .help = "Last gap",
                .unit = "seconds",
                .scale = 1e-6,
        };

        sample_add_point(sample_add_family(snapshot, &head), NULL, NULL)->number = 3;
}

/* Two devices without a common bucket. */
static void sample_add_log2(MetricSnapshot *snapshot) {
        static const char *const labels[] = { "device" };
        const MetricHead head = {
                .type = METRIC_HISTOGRAM,
                .name = "ktrace_latency_seconds",
                .help = "Latency",
                .unit = "seconds",
                .scale = 1e-6,
                .is_log2 = true,
                .created_nsec = SAMPLE_CREATED,
                .labels = labels,
                .n_labels = 1,
        };
        MetricFamily *family = sample_add_family(snapshot, &head);
        MetricPoint *point = sample_add_point(family, "sda", NULL);

        sample_add_bucket(point, 2, 5);
        sample_add_bucket(point, 8, 1);
        point->sum = 16;
        point = sample_add_point(family, "sdb", NULL);
        sample_add_bucket(point, 4, 2);
        sample_add_bucket(point, UINT64_MAX, 1);
        point->sum = 9;
}

static void sample_add_linear(MetricSnapshot *snapshot) {
        const MetricHead head = {
                .type = METRIC_HISTOGRAM,
                .name = "ktrace_size_bytes",
                .help = "Size",
                .unit = "bytes",
        };
        MetricPoint *point = sample_add_point(sample_add_family(snapshot, &head), NULL, NULL);

        sample_add_bucket(point, 99, 7);
        sample_add_bucket(point, 199, 1);
        point->sum = 500;
}

static void sample_add_private(MetricSnapshot *snapshot) {
        static const char *const labels[] = { "comm" };
        const MetricHead head = {
                .type = METRIC_COUNTER,
                .name = "ktrace_private",
                .help = "By name of the task",
                .is_private = true,
                .labels = labels,
                .n_labels = 1,
        };

        sample_add_point(sample_add_family(snapshot, &head), "secret", NULL)->number = 1;
}

static void sample_add_sets(MetricSnapshot *snapshot, size_t n_sets) {
        static const char *const labels[] = { "call", "error" };
        const MetricHead head = {
                .type = METRIC_COUNTER,
                .name = "ktrace_many",
                .help = "Many label sets",
                .created_nsec = SAMPLE_CREATED,
                .labels = labels,
                .n_labels = 2,
        };
        MetricFamily *family = sample_add_family(snapshot, &head);
        char text[64];

        for (size_t i = 0; i < n_sets; i++) {
                (void)snprintf(text, sizeof(text), "call_number_%zu", i);
                sample_add_point(family, text, "EAGAIN")->number = i * 1000003;
        }
}

MetricSnapshot *sample_make(uint64_t calls, size_t n_sets) {
        MetricSnapshot *snapshot = metric_snapshot_new(SAMPLE_TAKEN);

        g_assert_nonnull(snapshot);
        sample_add_calls(snapshot, calls);
        sample_add_gauge(snapshot);
        sample_add_log2(snapshot);
        sample_add_linear(snapshot);
        sample_add_private(snapshot);
        if (n_sets > 0)
                sample_add_sets(snapshot, n_sets);
        return snapshot;
}
