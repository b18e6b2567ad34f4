/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints a snapshot as JSON. Called by text-format.c. ktracectl(1) describes the form under
 * `metrics`. Numbers, bounds and the order are those of the text formats. */

#include "exporter/json-format.h"

#include "exporter/bucket-bounds.h"
#include "exporter/number-text.h"
#include "trace/json-string.h"

static void json_add(TextBlock *block, const char *text) {
        text_block_add(block, text, strlen(text));
}

static void json_add_string(TextBlock *block, const char *key, const char *text) {
        json_add(block, key);
        json_string_add(block, text, strlen(text));
}

static void json_add_labels(TextBlock *block,
                const MetricFamily *family,
                const MetricPoint *point) {
        json_add(block, "{\"labels\":{");
        for (size_t i = 0; i < family->n_labels; i++) {
                json_add_string(block, i > 0 ? "," : "", family->labels[i]);
                json_add_string(block, ":", point->labels[i]);
        }
        json_add(block, "}");
}

static void json_add_buckets(TextBlock *block,
                const MetricFamily *family,
                const MetricPoint *point,
                const BucketBounds *bounds) {
        uint64_t count = 0;
        size_t next = 0;

        json_add(block, ",\"buckets\":[");
        for (size_t i = 0; i < bounds->n; i++) {
                for (; next < point->n_buckets && point->buckets[next].last <= bounds->lasts[i];
                                next++)
                        count += point->buckets[next].count;
                json_add(block, i > 0 ? ",{\"le\":" : "{\"le\":");
                number_text_add(block, bounds->lasts[i], family->scale);
                json_add(block, ",\"count\":");
                text_block_add_decimal(block, count);
                json_add(block, "}");
        }
        json_add(block, "],\"count\":");
        text_block_add_decimal(block, point->count);
        json_add(block, ",\"sum\":");
        number_text_add(block, point->sum, family->scale);
}

static void json_add_point(TextBlock *block,
                const MetricFamily *family,
                const MetricPoint *point,
                const BucketBounds *bounds) {
        json_add_labels(block, family, point);
        if (family->type == METRIC_HISTOGRAM)
                json_add_buckets(block, family, point, bounds);
        else {
                json_add(block, ",\"value\":");
                number_text_add(block, point->number, family->scale);
        }
        json_add(block, "}");
}

static int json_add_family(TextBlock *block, const MetricFamily *family) {
        BucketBounds bounds = {};
        int r = family->type == METRIC_HISTOGRAM ? bucket_bounds_make(family, &bounds) : 0;

        if (r < 0)
                return r;
        json_add_string(block, "{\"name\":", family->name);
        json_add_string(block, ",\"type\":", metric_type_to_string(family->type));
        json_add_string(block, ",\"help\":", family->help);
        if (family->unit)
                json_add_string(block, ",\"unit\":", family->unit);
        if (family->created_nsec > 0) {
                json_add(block, ",\"created\":");
                number_text_add_seconds(block, family->created_nsec);
        }
        json_add(block, family->is_private ? ",\"private\":true,\"points\":[" : ",\"points\":[");
        for (size_t i = 0; i < family->n_points; i++) {
                json_add(block, i > 0 ? "," : "");
                json_add_point(block, family, &family->points[i], &bounds);
        }
        json_add(block, "]}");
        bucket_bounds_clear(&bounds);
        return 0;
}

int json_format_print(TextBlock *block, const MetricSnapshot *snapshot, bool has_private) {
        bool is_first = true;
        int r = 0;

        json_add(block, "{\"taken\":");
        number_text_add_seconds(block, snapshot ? snapshot->taken_nsec : 0);
        json_add(block, ",\"families\":[");
        for (size_t i = 0; snapshot && r == 0 && i < snapshot->n_families; i++) {
                const MetricFamily *family = &snapshot->families[i];

                if (family->is_private && !has_private)
                        continue;
                json_add(block, is_first ? "" : ",");
                r = json_add_family(block, family);
                is_first = false;
        }
        json_add(block, "]}\n");
        return r;
}
