/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "metrics/metric.h"
#include "trace/text-block.h"

typedef enum TextFormat {
        TEXT_PROMETHEUS,  /* Prometheus text 0.0.4 */
        TEXT_OPENMETRICS, /* OpenMetrics 1.0 */
        TEXT_JSON,        /* for ktracectl metrics --json, see json-format.c */
        _TEXT_FORMAT_N,
} TextFormat;

/* For the header Content-Type. */
const char *text_format_get_type(TextFormat format);
/* has_private: also the families that identify users. snapshot: NULL before the first one.
 * Returns 0, -ENOMEM, or -EFBIG when the text is longer than a TextBlock can be. */
int text_format_print(TextBlock *block,
                const MetricSnapshot *snapshot,
                TextFormat format,
                bool has_private);
