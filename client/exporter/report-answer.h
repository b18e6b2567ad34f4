/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "metrics/metric.h"
#include "trace/text-block.h"

/* Prints the answers to a call of a Varlink client, each with its NUL; nothing for a call without
 * an answer. snapshot: NULL before the first one. Returns 0, -ENOMEM, or -EBADMSG for a message
 * that is no call: the connection ends. */
int report_answer_print(TextBlock *block,
                const MetricSnapshot *snapshot,
                const char *message,
                size_t size);
