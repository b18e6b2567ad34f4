/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The newest snapshot. The collector publishes one at each interval. Outputs in other threads take
 * references, so all of them answer from the same snapshot until the next interval, however often
 * they are asked: a program that scrapes often learns no more about the time of an event. */

#include "metrics/board.h"

#include <pthread.h>

struct Board {
        pthread_mutex_t lock;
        MetricSnapshot *newest;
};

Board *board_new(void) {
        Board *board = calloc(1, sizeof(*board));

        if (board)
                (void)pthread_mutex_init(&board->lock, NULL); /* cannot fail on Linux */
        return board;
}

Board *board_free(Board *board) {
        if (!board)
                return NULL;
        metric_snapshot_unref(board->newest);
        (void)pthread_mutex_destroy(&board->lock);
        free(board);
        return NULL;
}

void board_publish(Board *board, MetricSnapshot *snapshot) {
        (void)pthread_mutex_lock(&board->lock);
        MetricSnapshot *before = board->newest;
        board->newest = snapshot;
        (void)pthread_mutex_unlock(&board->lock);
        metric_snapshot_unref(before);
}

MetricSnapshot *board_get(Board *board) {
        (void)pthread_mutex_lock(&board->lock);
        MetricSnapshot *newest = board->newest ? metric_snapshot_ref(board->newest) : NULL;
        (void)pthread_mutex_unlock(&board->lock);
        return newest;
}
