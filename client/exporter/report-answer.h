/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "metrics/metric.h"
#include "trace/text-block.h"

/* The lists of a snapshot's metrics. Each is made once, when a client first asks for it. */
typedef struct ReportLists {
        MetricSnapshot *snapshot; /* NULL: before the first one */
        TextBlock texts[2];       /* metrics, descriptions; empty: not made yet */
} ReportLists;

/* Takes over the reference. The lists of the snapshot before are dropped. */
void report_lists_set_snapshot(ReportLists *lists, MetricSnapshot *snapshot);
void report_lists_clear(ReportLists *lists);
/* Prints the answers to a call of a Varlink client, each with its NUL; nothing for a call without
 * an answer. Returns 0, -ENOMEM, or -EBADMSG for a message that is no call: the connection ends. */
int report_answer_print(TextBlock *block, ReportLists *lists, const char *message, size_t size);
