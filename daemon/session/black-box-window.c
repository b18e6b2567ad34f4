/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds how far back the black box reaches: to the oldest record in its ring, or in the window that
 * the last snapshot has left for the next one. The history of tasks needs nothing from before.
 * Called on the worker thread.
 *
 * A consumer has written the window, and may have been compromised. A wrong time only makes the
 * answers shorter. */

#include "session/black-box-window.h"

#include <unistd.h>

#include "interfaces/window.h"
#include "kernel/statistics-total.h"

/* A consumer writes at least a sub-buffer at once. */
#define BATCHES_MAX 262144

static bool black_box_read_at(int fd, uint64_t at, void *data, size_t size) {
        return pread(fd, data, size, (off_t)at) == (ssize_t)size;
}

/* Lowers *ret. Returns false if the window is not as expected. */
static bool black_box_find_in_window(int fd, uint64_t *ret) {
        uint64_t at = sizeof(WindowHead), nsec;
        WindowBatch batch;

        for (unsigned i = 0; i < BATCHES_MAX; i++) {
                if (!black_box_read_at(fd, at, &batch, sizeof(batch)))
                        return true;
                at += sizeof(batch);
                if (batch.cpu != WINDOW_PIDS && batch.size > 0) {
                        if (!black_box_read_at(fd, at, &nsec, sizeof(nsec)))
                                return false;
                        *ret = MIN_OF(*ret, nsec);
                }
                at += batch.size;
        }
        return false;
}

int black_box_find_oldest(const Instance *instance, unsigned n_cpus, int window_fd, uint64_t *ret) {
        CpuStatistics total;

        int r = statistics_total_read(instance, n_cpus, &total);
        if (r < 0)
                return r;
        uint64_t oldest = total.oldest_nsec ?: UINT64_MAX;
        if (window_fd >= 0 && !black_box_find_in_window(window_fd, &oldest))
                oldest = 0;
        *ret = oldest == UINT64_MAX ? 0 : oldest;
        return 0;
}
