/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One viewer of a shared instance: passes pieces of the class's pool to its stream worker, and
 * drops those that the worker has finished. A viewer that does not keep up loses records, which are
 * counted. It never delays the reader, and never holds more than its share of the pool.
 *
 * The worker handles data of its client, so nothing that it sends is trusted. It can only say how
 * many entries it has finished. A number that cannot be true ends its viewer; whatever it says,
 * only its own pieces are dropped. */

#include "consumer/mux/viewer.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A worker sends one number for several entries, and the entries of one reading are few. */
#define COLLECT_READS_MAX 4

int mux_viewer_new(Class *class, const MuxViewerFiles *files, unsigned n_cpus, MuxViewer **ret) {
        _cleanup_close_ int counters = files->counters;
        _cleanup_(mux_viewer_free_cleanup) MuxViewer *viewer = calloc(1, sizeof(*viewer));

        if (!viewer) {
                close(files->entries);
                close(files->finished);
                return -ENOMEM;
        }
        viewer->entries_fd = files->entries;
        viewer->finished_fd = files->finished;
        viewer->n_cpus = n_cpus;
        void *mapped = mmap(NULL,
                        n_cpus * sizeof(ShareCounters),
                        PROT_READ | PROT_WRITE,
                        MAP_SHARED,
                        counters,
                        0);
        if (mapped == MAP_FAILED)
                return -errno;
        viewer->counters = mapped;
        viewer->class = class;
        class->n_viewers++;
        *ret = TAKE_PTR(viewer);
        return 0;
}

static void mux_viewer_drop_until(MuxViewer *viewer, uint64_t n_finished) {
        for (; viewer->n_finished < n_finished; viewer->n_finished++)
                viewer->n_blocks -= blocks_drop(&viewer->class->blocks,
                                viewer->pieces[viewer->n_finished % SHARE_PIECES_MAX]);
}

MuxViewer *mux_viewer_free(MuxViewer *viewer) {
        if (!viewer)
                return NULL;
        if (viewer->class) {
                mux_viewer_drop_until(viewer, viewer->n_sent);
                viewer->class->n_viewers--;
        }
        if (viewer->counters)
                (void)munmap(viewer->counters, viewer->n_cpus * sizeof(ShareCounters));
        close_cleanup(&viewer->entries_fd);
        close_cleanup(&viewer->finished_fd);
        free(viewer);
        return NULL;
}

/* A later worker of the same viewer repeats numbers of the earlier one, or skips those that it did
 * not report. */
void mux_viewer_collect(MuxViewer *viewer) {
        uint64_t numbers[64];

        /* A worker that sends without end is not read without end. */
        for (unsigned i = 0; i < COLLECT_READS_MAX && !viewer->is_broken; i++) {
                ssize_t n = read(viewer->finished_fd, numbers, sizeof(numbers));

                if (n <= 0)
                        return;
                uint64_t last = numbers[(size_t)n / sizeof(*numbers) - 1];

                if ((size_t)n % sizeof(*numbers) != 0 || last > viewer->n_sent ||
                                last < viewer->n_finished) {
                        viewer->is_broken = true;
                        return;
                }
                mux_viewer_drop_until(viewer, last);
        }
}

/* The counters are read by other processes while they change. */
static void mux_viewer_count(uint64_t *counter, uint64_t n) {
        __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

void mux_viewer_lose(MuxViewer *viewer, unsigned cpu, uint64_t n) {
        mux_viewer_count(&viewer->counters[cpu].lost, n);
}

static bool mux_viewer_has_room(const MuxViewer *viewer, uint32_t n_blocks) {
        return !viewer->is_broken && viewer->n_sent - viewer->n_finished < SHARE_PIECES_MAX &&
               viewer->n_blocks + n_blocks <= SHARE_BYTES_MAX / SHARE_BLOCK_SIZE;
}

static bool mux_viewer_send(const MuxViewer *viewer, unsigned cpu, const Piece *piece) {
        const ShareEntry entry = {
                .number = viewer->n_sent + 1,
                .block = piece->block,
                .size = piece->size,
                .cpu = cpu,
                .n_records = piece->n_records,
                .lost = viewer->counters[cpu].lost,
        };

        /* A pipe takes so few bytes completely or not at all. */
        return write(viewer->entries_fd, &entry, sizeof(entry)) == sizeof(entry);
}

void mux_viewer_put(MuxViewer *viewer, unsigned cpu, const Piece *piece) {
        Blocks *blocks = &viewer->class->blocks;

        if (piece->n_records == 0)
                return;
        uint32_t n_blocks = piece->is_lost ? 0 : blocks->lengths[piece->block];
        if (!mux_viewer_has_room(viewer, n_blocks))
                mux_viewer_collect(viewer);
        if (piece->is_lost || !mux_viewer_has_room(viewer, n_blocks) ||
                        !mux_viewer_send(viewer, cpu, piece)) {
                mux_viewer_lose(viewer, cpu, piece->n_records);
                return;
        }
        blocks_hold(blocks, piece->block);
        viewer->pieces[viewer->n_sent++ % SHARE_PIECES_MAX] = piece->block;
        viewer->n_blocks += n_blocks;
        mux_viewer_count(&viewer->counters[cpu].records, piece->n_records);
        mux_viewer_count(&viewer->counters[cpu].bytes, piece->size);
}
