/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints a snapshot as Prometheus text 0.0.4 or OpenMetrics 1.0. Called by the HTTP server once per
 * snapshot. The differences between the two:
 *
 *                  Prometheus 0.0.4            OpenMetrics 1.0
 *      counter     TYPE and HELP have _total   only the sample has it
 *      UNIT        -                           yes
 *      _created    -                           yes, if the time is known
 *      HELP        escapes \ and newline       also "
 *      le="4"      le="4"                      le="4.0", its canonical number
 *      end         -                           # EOF
 *
 * One wrong byte makes a scraper refuse the whole answer. Names are checked where they are
 * configured, metric.c makes values valid UTF-8, and this file escapes them. Sources:
 * prometheus.io/docs/instrumenting/exposition_formats, and the OpenMetrics specification. */

#include "exporter/text-format.h"

#include <errno.h>

#include "exporter/bucket-bounds.h"
#include "exporter/json-format.h"
#include "exporter/number-text.h"

/* A family while it is printed. */
typedef struct TextFamily {
        TextBlock *block;
        const MetricFamily *family;
        bool is_openmetrics;
        BucketBounds bounds;
} TextFamily;

const char *text_format_get_type(TextFormat format) {
        static const char *const types[_TEXT_FORMAT_N] = {
                [TEXT_PROMETHEUS] = "text/plain; version=0.0.4; charset=utf-8",
                [TEXT_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
                [TEXT_JSON] = "application/json",
        };

        return types[format];
}

static void text_add(TextBlock *block, const char *text) {
        text_block_add(block, text, strlen(text));
}

static void text_add_escaped(TextBlock *block, const char *text, bool has_quotes) {
        for (const char *special = has_quotes ? "\\\n\"" : "\\\n"; *text;) {
                size_t n = strcspn(text, special);

                text_block_add(block, text, n);
                text += n;
                if (*text == '\0')
                        break;
                text_block_add_char(block, '\\');
                text_block_add_char(block, *text == '\n' ? 'n' : *text);
                text++;
        }
}

static void text_add_keyword(const TextFamily *text, const char *keyword) {
        bool has_total = text->family->type == METRIC_COUNTER && !text->is_openmetrics;

        text_add(text->block, keyword);
        text_add(text->block, text->family->name);
        text_add(text->block, has_total ? "_total " : " ");
}

static void text_add_head(const TextFamily *text) {
        const MetricFamily *family = text->family;

        text_add_keyword(text, "# HELP ");
        text_add_escaped(text->block, family->help, text->is_openmetrics);
        text_add_keyword(text, "\n# TYPE ");
        text_add(text->block, metric_type_to_string(family->type));
        if (text->is_openmetrics && family->unit) {
                text_add_keyword(text, "\n# UNIT ");
                text_add(text->block, family->unit);
        }
        text_block_add_char(text->block, '\n');
}

/* Prints "NAME SUFFIX { LABELS , le = BOUND }" and a space. bound: NULL for no le. */
static void text_add_name(const TextFamily *text,
                const MetricPoint *point,
                const char *suffix,
                const char *bound) {
        const MetricFamily *family = text->family;
        char separator = '{';

        text_add(text->block, family->name);
        text_add(text->block, suffix);
        for (size_t i = 0; i < family->n_labels; i++) {
                text_block_add_char(text->block, separator);
                text_add(text->block, family->labels[i]);
                text_add(text->block, "=\"");
                text_add_escaped(text->block, point->labels[i], true);
                text_block_add_char(text->block, '"');
                separator = ',';
        }
        if (bound) {
                text_block_add_char(text->block, separator);
                text_add(text->block, "le=\"");
                text_add(text->block, bound);
                text_block_add_char(text->block, '"');
                separator = ',';
        }
        text_add(text->block, separator == ',' ? "} " : " ");
}

static void text_add_sample(const TextFamily *text,
                const MetricPoint *point,
                const char *suffix,
                uint64_t number,
                double scale) {
        text_add_name(text, point, suffix, NULL);
        number_text_add(text->block, number, scale);
        text_block_add_char(text->block, '\n');
}

static void text_add_created(const TextFamily *text, const MetricPoint *point) {
        if (!text->is_openmetrics || text->family->created_nsec <= 0)
                return;
        text_add_name(text, point, "_created", NULL);
        number_text_add_seconds(text->block, text->family->created_nsec);
        text_block_add_char(text->block, '\n');
}

static void text_add_bucket(const TextFamily *text,
                const MetricPoint *point,
                const char *bound,
                uint64_t count) {
        text_add_name(text, point, "_bucket", bound);
        text_block_add_decimal(text->block, count);
        text_block_add_char(text->block, '\n');
}

static void text_format_bound(const TextFamily *text, uint64_t last, TextBlock *bound) {
        bound->used = 0;
        number_text_add(bound, last, text->family->scale);
        if (text->is_openmetrics && !memchr(bound->data, '.', bound->used) &&
                        !memchr(bound->data, 'e', bound->used))
                text_add(bound, ".0");
        text_block_add_char(bound, '\0');
}

static void text_add_histogram(const TextFamily *text, const MetricPoint *point, TextBlock *bound) {
        uint64_t count = 0;
        size_t next = 0;

        for (size_t i = 0; i < text->bounds.n; i++) {
                uint64_t last = text->bounds.lasts[i];

                for (; next < point->n_buckets && point->buckets[next].last <= last; next++)
                        count += point->buckets[next].count;
                text_format_bound(text, last, bound);
                if (bound->is_short_of_memory)
                        return;
                text_add_bucket(text, point, bound->data, count);
        }
        text_add_bucket(text, point, "+Inf", point->count);
        text_add_sample(text, point, "_sum", point->sum, text->family->scale);
        text_add_sample(text, point, "_count", point->count, 1);
        text_add_created(text, point);
}

static int text_add_histograms(TextFamily *text) {
        TextBlock bound = {};
        int r = bucket_bounds_make(text->family, &text->bounds);

        for (size_t i = 0; r == 0 && i < text->family->n_points; i++)
                text_add_histogram(text, &text->family->points[i], &bound);
        if (bound.is_short_of_memory)
                r = -ENOMEM;
        text_block_clear(&bound);
        bucket_bounds_clear(&text->bounds);
        return r;
}

static int text_add_family(TextFamily *text) {
        const MetricFamily *family = text->family;

        text_add_head(text);
        if (family->type == METRIC_HISTOGRAM)
                return text_add_histograms(text);
        for (size_t i = 0; i < family->n_points; i++) {
                const MetricPoint *point = &family->points[i];
                bool is_counter = family->type == METRIC_COUNTER;

                text_add_sample(text,
                                point,
                                is_counter ? "_total" : "",
                                point->number,
                                family->scale);
                if (is_counter)
                        text_add_created(text, point);
        }
        return 0;
}

static int text_add_families(TextBlock *block,
                const MetricSnapshot *snapshot,
                bool is_openmetrics,
                bool has_private) {
        int r = 0;

        for (size_t i = 0; snapshot && r == 0 && i < snapshot->n_families; i++) {
                TextFamily text = {
                        .block = block,
                        .family = &snapshot->families[i],
                        .is_openmetrics = is_openmetrics,
                };

                if (has_private || !text.family->is_private)
                        r = text_add_family(&text);
        }
        if (is_openmetrics)
                text_add(block, "# EOF\n");
        return r;
}

int text_format_print(TextBlock *block,
                const MetricSnapshot *snapshot,
                TextFormat format,
                bool has_private) {
        int r = format == TEXT_JSON ? json_format_print(block, snapshot, has_private)
                                    : text_add_families(block,
                                                      snapshot,
                                                      format == TEXT_OPENMETRICS,
                                                      has_private);

        if (r == 0 && block->is_short_of_memory)
                r = -ENOMEM;
        if (r == 0 && block->is_cut)
                r = -EFBIG;
        return r;
}
