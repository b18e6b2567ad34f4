/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds how far back the black box reaches: to the oldest record in its ring, or in the window that
 * the last snapshot has left for the next one. The history of tasks needs nothing from before.
 * Called on the worker thread.
 *
 * A consumer has written the window, and may have been compromised. A wrong time only makes the
 * answers shorter. */

#include "session/black-box-window.h"

#include <errno.h>
#include <unistd.h>

#include "interfaces/window.h"
#include "kernel/buffer.h"

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
        uint64_t oldest = UINT64_MAX;

        for (unsigned cpu = 0; cpu < n_cpus; cpu++) {
                CpuStatistics s;

                int r = instance_read_statistics(instance, cpu, &s);
                if (r == -ENOENT) /* CPU numbers may have gaps */
                        continue;
                if (r < 0)
                        return r;
                if (s.oldest_nsec > 0)
                        oldest = MIN_OF(oldest, s.oldest_nsec);
        }
        if (window_fd >= 0 && !black_box_find_in_window(window_fd, &oldest))
                oldest = 0;
        *ret = oldest == UINT64_MAX ? 0 : oldest;
        return 0;
}
