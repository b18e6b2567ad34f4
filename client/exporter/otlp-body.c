/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints a snapshot as OTLP, in the JSON form of its protobuf messages: names in lowerCamelCase,
 * 64-bit integers as strings, enums as numbers (opentelemetry-proto, docs/specification.md). Called
 * by otlp-push.c for each request.
 *
 *      counter              Sum, cumulative and monotonic
 *      gauge                Gauge
 *      histogram, log2      ExponentialHistogram of scale 0, see below
 *      histogram, linear    Histogram with explicit bounds
 *
 * Bucket i of an ExponentialHistogram of scale 0 has the numbers above 2^i, up to and including
 * 2^(i+1), which is exactly a bucket of the kernel. This is true only for the numbers that the
 * kernel compares, so these histograms are sent in the unit of the source: in microseconds, where
 * Prometheus gets seconds. The unit of OTLP is a property of its own, so names have no unit.
 *
 * Families that identify users are never sent: a receiver has no group of users. */

#include "exporter/otlp-body.h"

#include <errno.h>

#include "exporter/bucket-bounds.h"
#include "exporter/number-text.h"
#include "trace/json-string.h"

#define CUMULATIVE       2 /* AGGREGATION_TEMPORALITY_CUMULATIVE */
#define OTLP_BUCKETS_MAX 64

/* A family while it is printed. */
typedef struct OtlpFamily {
        TextBlock *block;
        const MetricFamily *family;
        int64_t taken_nsec;
} OtlpFamily;

static void otlp_add(TextBlock *block, const char *text) {
        text_block_add(block, text, strlen(text));
}

static void otlp_add_text(TextBlock *block, const char *before, const char *text) {
        otlp_add(block, before);
        json_string_add(block, text, strlen(text));
}

/* A 64-bit integer: JSON has only doubles, so it is a string. */
static void otlp_add_integer(TextBlock *block, const char *before, uint64_t number) {
        otlp_add(block, before);
        text_block_add_char(block, '"');
        text_block_add_decimal(block, number);
        text_block_add_char(block, '"');
}

static void otlp_add_attribute(TextBlock *block, const char *key, const char *value) {
        otlp_add_text(block, "{\"key\":", key);
        otlp_add_text(block, ",\"value\":{\"stringValue\":", value);
        otlp_add(block, "}}");
}

/* The part that all kinds of points have. The object stays open. */
static void otlp_add_point_head(const OtlpFamily *otlp, const MetricPoint *point) {
        const MetricFamily *family = otlp->family;

        otlp_add(otlp->block, "{\"attributes\":[");
        for (size_t i = 0; i < family->n_labels; i++) {
                otlp_add(otlp->block, i > 0 ? "," : "");
                otlp_add_attribute(otlp->block, family->labels[i], point->labels[i]);
        }
        otlp_add(otlp->block, "]");
        if (family->created_nsec > 0 && family->type != METRIC_GAUGE)
                otlp_add_integer(otlp->block,
                                ",\"startTimeUnixNano\":",
                                (uint64_t)family->created_nsec);
        otlp_add_integer(otlp->block, ",\"timeUnixNano\":", (uint64_t)otlp->taken_nsec);
}

static void otlp_add_number(const OtlpFamily *otlp, const MetricPoint *point) {
        double scale = otlp->family->scale;

        otlp_add_point_head(otlp, point);
        if (scale == 1 && point->number <= INT64_MAX)
                otlp_add_integer(otlp->block, ",\"asInt\":", point->number);
        else {
                otlp_add(otlp->block, ",\"asDouble\":");
                number_text_add(otlp->block, point->number, scale);
        }
        otlp_add(otlp->block, "}");
}

/* Histograms. The receiver checks that the buckets add up to the count. */

static void otlp_add_sums(const OtlpFamily *otlp, const MetricPoint *point, double scale) {
        uint64_t count = 0;

        for (size_t i = 0; i < point->n_buckets; i++)
                count += point->buckets[i].count;
        otlp_add_integer(otlp->block, ",\"count\":", count);
        otlp_add(otlp->block, ",\"sum\":");
        number_text_add(otlp->block, point->sum, scale);
}

/* The bucket that ends at `last`, a power of two or the largest number; from 0 for 2^0. */
static size_t otlp_find_bucket(uint64_t last) {
        if (last == UINT64_MAX)
                return OTLP_BUCKETS_MAX;
        return (size_t)__builtin_ctzll(last);
}

static void otlp_add_exponential(const OtlpFamily *otlp, const MetricPoint *point) {
        uint64_t counts[OTLP_BUCKETS_MAX + 1] = {}, zero = 0;
        size_t first = OTLP_BUCKETS_MAX, end = 0;

        for (size_t i = 0; i < point->n_buckets; i++) {
                const MetricBucket *bucket = &point->buckets[i];

                if (bucket->last == 0) {
                        zero += bucket->count;
                        continue;
                }
                size_t n = otlp_find_bucket(bucket->last);
                counts[n] += bucket->count;
                first = MIN_OF(first, n);
                end = MAX_OF(end, n + 1);
        }
        otlp_add_point_head(otlp, point);
        otlp_add_sums(otlp, point, 1);
        otlp_add_integer(otlp->block, ",\"scale\":0,\"zeroCount\":", zero);
        if (end > first) {
                /* (2^-1, 2^0] has index -1 */
                otlp_add(otlp->block, ",\"positive\":{\"offset\":");
                text_block_add_signed(otlp->block, (int64_t)first - 1);
                for (size_t n = first; n < end; n++)
                        otlp_add_integer(otlp->block,
                                        n == first ? ",\"bucketCounts\":[" : ",",
                                        counts[n]);
                otlp_add(otlp->block, "]}");
        }
        otlp_add(otlp->block, "}");
}

static void otlp_add_explicit(const OtlpFamily *otlp,
                const MetricPoint *point,
                const BucketBounds *bounds) {
        size_t next = 0;

        otlp_add_point_head(otlp, point);
        otlp_add_sums(otlp, point, otlp->family->scale);
        otlp_add(otlp->block, ",\"bucketCounts\":[");
        for (size_t i = 0; i <= bounds->n; i++) {
                uint64_t last = i < bounds->n ? bounds->lasts[i] : UINT64_MAX, count = 0;

                for (; next < point->n_buckets && point->buckets[next].last <= last; next++)
                        count += point->buckets[next].count;
                otlp_add_integer(otlp->block, i > 0 ? "," : "", count);
        }
        otlp_add(otlp->block, "],\"explicitBounds\":[");
        for (size_t i = 0; i < bounds->n; i++) {
                otlp_add(otlp->block, i > 0 ? "," : "");
                number_text_add(otlp->block, bounds->lasts[i], otlp->family->scale);
        }
        otlp_add(otlp->block, "]}");
}

static int otlp_add_points(const OtlpFamily *otlp) {
        const MetricFamily *family = otlp->family;
        bool is_explicit = family->type == METRIC_HISTOGRAM && !family->is_log2;
        BucketBounds bounds = {};
        int r = is_explicit ? bucket_bounds_make(family, &bounds) : 0;

        if (r < 0)
                return r;
        otlp_add(otlp->block, "\"dataPoints\":[");
        for (size_t i = 0; i < family->n_points; i++) {
                const MetricPoint *point = &family->points[i];

                otlp_add(otlp->block, i > 0 ? "," : "");
                if (is_explicit)
                        otlp_add_explicit(otlp, point, &bounds);
                else if (family->type == METRIC_HISTOGRAM)
                        otlp_add_exponential(otlp, point);
                else
                        otlp_add_number(otlp, point);
        }
        otlp_add(otlp->block, "]");
        bucket_bounds_clear(&bounds);
        return 0;
}

/* Families */

/* A unit of UCUM. has_scale: the numbers are multiplied, so they are in the family's unit. */
static void otlp_add_unit(TextBlock *block, const MetricFamily *family, bool has_scale) {
        static const struct {
                const char *unit;
                double scale;
                const char *code;
        } units[] = {
                { "seconds", 1, "s" },
                { "seconds", 1e-3, "ms" },
                { "seconds", 1e-6, "us" },
                { "seconds", 1e-9, "ns" },
                { "bytes", 1, "By" },
                { "bytes", 1024, "KiBy" },
                { "bytes", 1024 * 1024, "MiBy" },
        };

        const char *unit = family->unit ?: "";
        double scale = has_scale ? 1 : family->scale;

        otlp_add(block, ",\"unit\":\"");
        for (size_t i = 0; i < ELEMENTSOF(units); i++)
                if (strcmp(units[i].unit, unit) == 0 && units[i].scale == scale) {
                        otlp_add(block, units[i].code);
                        otlp_add(block, "\"");
                        return;
                }
        /* UCUM has other words in braces, and multiplies with a dot. */
        if (scale != 1)
                number_text_add_double(block, scale);
        otlp_add(block, scale != 1 && *unit ? "." : "");
        if (*unit)
                text_block_add_format(block, "{%s}", unit);
        otlp_add(block, "\"");
}

static void otlp_add_name(TextBlock *block, const MetricFamily *family) {
        size_t n = strlen(family->name), n_unit = family->unit ? strlen(family->unit) : 0;

        if (n_unit > 0 && n > n_unit + 1 && strcmp(family->name + n - n_unit, family->unit) == 0)
                n -= n_unit + 1;
        otlp_add(block, "{\"name\":");
        json_string_add(block, family->name, n);
}

static int otlp_add_family(const OtlpFamily *otlp) {
        const MetricFamily *family = otlp->family;
        bool is_exponential = family->type == METRIC_HISTOGRAM && family->is_log2;

        otlp_add_name(otlp->block, family);
        otlp_add_text(otlp->block, ",\"description\":", family->help);
        otlp_add_unit(otlp->block, family, !is_exponential);
        if (family->type == METRIC_GAUGE)
                otlp_add(otlp->block, ",\"gauge\":{");
        else {
                otlp_add(otlp->block,
                                family->type == METRIC_COUNTER ? ",\"sum\":{\"isMonotonic\":true,"
                                : is_exponential               ? ",\"exponentialHistogram\":{"
                                                               : ",\"histogram\":{");
                text_block_add_format(otlp->block, "\"aggregationTemporality\":%d,", CUMULATIVE);
        }
        int r = otlp_add_points(otlp);
        otlp_add(otlp->block, "}}");
        return r;
}

int otlp_body_print(TextBlock *block, const MetricSnapshot *snapshot, const char *host) {
        bool is_first = true;
        int r = 0;

        otlp_add(block, "{\"resourceMetrics\":[{\"resource\":{\"attributes\":[");
        otlp_add_attribute(block, "service.name", "ktrace-metrics");
        otlp_add(block, ",");
        otlp_add_attribute(block, "service.version", KT_VERSION);
        otlp_add(block, ",");
        otlp_add_attribute(block, "host.name", host);
        otlp_add(block,
                        "]},\"scopeMetrics\":[{\"scope\":{\"name\":\"org.ktrace1\",\"version\":\"" KT_VERSION
                        "\"},\"metrics\":[");
        for (size_t i = 0; r == 0 && i < snapshot->n_families; i++) {
                OtlpFamily otlp = { block, &snapshot->families[i], snapshot->taken_nsec };

                if (otlp.family->is_private || otlp.family->n_points == 0)
                        continue;
                otlp_add(block, is_first ? "" : ",");
                r = otlp_add_family(&otlp);
                is_first = false;
        }
        otlp_add(block, "]}]}]}");
        if (r == 0 && block->is_short_of_memory)
                r = -ENOMEM;
        if (r == 0 && block->is_cut)
                r = -EFBIG;
        return r;
}
