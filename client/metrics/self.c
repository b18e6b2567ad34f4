/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The service's own numbers: whether each set works, what its readings cost, and what they miss.
 * They are served without a set, too. Called by the collector for each snapshot. */

#include "metrics/self.h"

#define NSEC_PER_USEC 1000

/* A number for each set. */
typedef struct SelfOfSet {
        MetricHead head;
        uint64_t (*get)(const SetRun *run);
} SelfOfSet;

static uint64_t self_get_up(const SetRun *run) {
        return run->is_up;
}

static uint64_t self_get_last(const SetRun *run) {
        return (uint64_t)run->read_nsec / NSEC_PER_USEC;
}

static uint64_t self_get_interval(const SetRun *run) {
        return run->set->interval_usec;
}

static uint64_t self_get_reading(const SetRun *run) {
        return run->reading_usec;
}

static uint64_t self_get_lost(const SetRun *run) {
        return run->n_lost;
}

static uint64_t self_get_restarts(const SetRun *run) {
        return run->n_restarts;
}

static uint64_t self_get_gap(const SetRun *run) {
        return run->gap_usec;
}

static const char *const of_set[] = { "set" }, *const of_metric[] = { "metric" },
                         *const of_way[] = { "set", "by" }, *const of_build[] = { "version" };

static const SelfOfSet self_of_sets[] = {
        { { METRIC_GAUGE,
                          "ktrace_metrics_up",
                          "Whether the last reading of the set succeeded",
                          .labels = of_set,
                          .n_labels = 1 },
                        self_get_up },
        { { METRIC_GAUGE,
                          "ktrace_metrics_last_reading_seconds",
                          "Time of the last reading that succeeded, since 1970",
                          "seconds",
                          .scale = 1e-6,
                          .labels = of_set,
                          .n_labels = 1 },
                        self_get_last },
        { { METRIC_GAUGE,
                          "ktrace_metrics_interval_seconds",
                          "Time between two readings",
                          "seconds",
                          .scale = 1e-6,
                          .labels = of_set,
                          .n_labels = 1 },
                        self_get_interval },
        { { METRIC_COUNTER,
                          "ktrace_metrics_reading_seconds",
                          "Time that the readings took",
                          "seconds",
                          .scale = 1e-6,
                          .labels = of_set,
                          .n_labels = 1 },
                        self_get_reading },
        { { METRIC_COUNTER,
                          "ktrace_metrics_lost",
                          "Events that were not counted, because the stream worker was too slow",
                          .labels = of_set,
                          .n_labels = 1 },
                        self_get_lost },
        { { METRIC_COUNTER,
                          "ktrace_metrics_restarts",
                          "Sessions that took the place of one that was lost",
                          .labels = of_set,
                          .n_labels = 1 },
                        self_get_restarts },
        { { METRIC_COUNTER,
                          "ktrace_metrics_gap_seconds",
                          "Time between such sessions, in which nothing was counted",
                          "seconds",
                          .scale = 1e-6,
                          .labels = of_set,
                          .n_labels = 1 },
                        self_get_gap },
};

static int self_add_point(MetricFamily *family,
                const char *first,
                const char *second,
                uint64_t number) {
        const char *labels[METRIC_LABELS_MAX] = { first, second };
        MetricPoint *point;

        int r = metric_family_add(family, labels, &point);
        if (r == 0)
                point->number = number;
        return r;
}

static int self_fill_sets(MetricSnapshot *snapshot, SetRun *const *runs, size_t n) {
        for (size_t i = 0; i < ELEMENTSOF(self_of_sets); i++) {
                MetricFamily *family;
                int r = metric_snapshot_add(snapshot, &self_of_sets[i].head, &family);

                for (size_t j = 0; r == 0 && j < n; j++)
                        r = self_add_point(family,
                                        runs[j]->set->name,
                                        NULL,
                                        self_of_sets[i].get(runs[j]));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int self_fill_ways(MetricSnapshot *snapshot, SetRun *const *runs, size_t n) {
        const MetricHead head = { METRIC_GAUGE,
                "ktrace_metrics_counted_by",
                "How the events of the set are counted: by the kernel, or by ktraced's stream worker",
                .labels = of_way,
                .n_labels = 2 };
        MetricFamily *family;

        int r = metric_snapshot_add(snapshot, &head, &family);
        for (size_t i = 0; r == 0 && i < n; i++)
                if (runs[i]->id)
                        r = self_add_point(family,
                                        runs[i]->set->name,
                                        runs[i]->is_of_consumer ? "consumer" : "kernel",
                                        1);
        return r;
}

/* A number for each metric of a session. Returns false if the metric has none. */
typedef struct SelfOfMetric {
        MetricHead head;
        bool (*get)(const SetRun *run, size_t metric, uint64_t *ret);
} SelfOfMetric;

static bool self_get_dropped(const SetRun *run, size_t metric, uint64_t *ret) {
        *ret = run->metrics[metric].dropped;
        return run->metrics[metric].totals && run->metrics[metric].is_read;
}

static bool self_get_other(const SetRun *run, size_t metric, uint64_t *ret) {
        const MetricRun *of = &run->metrics[metric];

        if (!of->totals || !of->is_read)
                return false;
        *ret = totals_get_other(of->totals);
        return true;
}

static bool self_get_left_out(const SetRun *run, size_t metric, uint64_t *ret) {
        *ret = run->left_out[metric];
        return run->id && run->metrics[metric].totals;
}

static const SelfOfMetric self_of_metrics[] = {
        { { METRIC_COUNTER,
                          "ktrace_metrics_dropped",
                          "Events that were not counted, because the kernel's table was full",
                          .labels = of_metric,
                          .n_labels = 1 },
                        self_get_dropped },
        { { METRIC_COUNTER,
                          "ktrace_metrics_other",
                          "Events that were counted with the labels \"other\", because of max-sets",
                          .labels = of_metric,
                          .n_labels = 1 },
                        self_get_other },
        { { METRIC_GAUGE,
                          "ktrace_metrics_left_out",
                          "Whether the metric is not counted, because ktraced or this kernel refuses it",
                          .labels = of_metric,
                          .n_labels = 1 },
                        self_get_left_out },
};

static int self_fill_metrics(MetricSnapshot *snapshot, SetRun *const *runs, size_t n) {
        for (size_t i = 0; i < ELEMENTSOF(self_of_metrics); i++) {
                const SelfOfMetric *of = &self_of_metrics[i];
                MetricFamily *family;
                uint64_t number;
                int r = metric_snapshot_add(snapshot, &of->head, &family);

                for (size_t j = 0; r == 0 && j < n; j++)
                        for (size_t k = 0; r == 0 && k < runs[j]->set->n_metrics; k++)
                                if (of->get(runs[j], k, &number))
                                        r = self_add_point(family,
                                                        runs[j]->set->metrics[k].name,
                                                        NULL,
                                                        number);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int self_fill_build(MetricSnapshot *snapshot) {
        const MetricHead head = { METRIC_GAUGE,
                "ktrace_metrics_build_info",
                "The version of the service",
                .labels = of_build,
                .n_labels = 1 };
        MetricFamily *family;

        int r = metric_snapshot_add(snapshot, &head, &family);
        return r ?: self_add_point(family, KT_VERSION, NULL, 1);
}

int self_fill(MetricSnapshot *snapshot, SetRun *const *runs, size_t n) {
        int r = self_fill_build(snapshot);

        r = r ?: self_fill_sets(snapshot, runs, n);
        r = r ?: self_fill_ways(snapshot, runs, n);
        return r ?: self_fill_metrics(snapshot, runs, n);
}
