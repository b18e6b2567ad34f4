/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "metrics/metric.h"
#include "trace/text-block.h"

/* See text_format_print, which calls it and checks the block. */
int json_format_print(TextBlock *block, const MetricSnapshot *snapshot, bool has_private);
