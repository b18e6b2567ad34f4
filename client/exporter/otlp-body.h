/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "metrics/metric.h"
#include "trace/text-block.h"

/* Prints an ExportMetricsServiceRequest of OTLP as JSON. host: the attribute host.name. Returns 0,
 * -ENOMEM, or -EFBIG when the text is longer than a TextBlock can be. */
int otlp_body_print(TextBlock *block, const MetricSnapshot *snapshot, const char *host);
