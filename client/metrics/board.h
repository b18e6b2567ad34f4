/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "metrics/metric.h"

/* Passes the newest snapshot from the collector to the outputs. All functions may be called by any
 * thread. */
typedef struct Board Board;

Board *board_new(void);
Board *board_free(Board *board);
DEFINE_CLEANUP(Board, board_free);
/* Takes over the caller's reference. */
void board_publish(Board *board, MetricSnapshot *snapshot);
/* Returns a reference, or NULL before the first publication. */
MetricSnapshot *board_get(Board *board);
