/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One viewer of a shared instance: passes pieces of the class's pool to its stream worker, and
 * drops those that the worker has finished. A viewer that does not keep up loses records, which are
 * counted. It never delays the reader, and never holds more than its share of the pool.
 *
 * The worker handles data of its client, so nothing that it sends is trusted. It only sends how
 * many entries it has finished. A number that cannot be true ends its viewer. Any other number
 * drops only pieces of this viewer.
 *
 * This process may be killed at any point, and another one continues with the same memory
 * (share.h). Before it notes that records were passed on or lost, it writes the change down as a
 * step. The next reader repeats a step that was under way: it sends the entry again, and the worker
 * ignores an entry that it already has. Records that the killed reader had taken from a ring, but
 * had not passed on, are between the viewer's place in the ring and the kernel's. They are counted
 * as lost. A process that is killed has executed its stores in the order of the program, so only
 * the compiler must keep that order. */

#include "consumer/mux/viewer.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A worker sends one number for several entries, and the entries of one reading are few. */
#define COLLECT_READS_MAX 4

static SharePiece *mux_viewer_get_piece(const MuxViewer *viewer, uint64_t number) {
        return &viewer->memory->pieces[(number - 1) % SHARE_PIECES_MAX];
}

static void mux_viewer_drop_until(MuxViewer *viewer, uint64_t n_finished) {
        ShareMemory *memory = viewer->memory;

        for (; memory->n_finished < n_finished; memory->n_finished++)
                viewer->n_blocks -= blocks_drop(&viewer->class->blocks,
                                mux_viewer_get_piece(viewer, memory->n_finished + 1)->block);
}

/* The memory stays as it is: after a failure another reader needs it. */
MuxViewer *mux_viewer_free(MuxViewer *viewer) {
        if (!viewer)
                return NULL;
        if (viewer->class) {
                for (uint64_t i = viewer->memory->n_finished; i < viewer->memory->n_sent; i++)
                        (void)blocks_drop(&viewer->class->blocks,
                                        mux_viewer_get_piece(viewer, i + 1)->block);
                viewer->class->n_viewers--;
        }
        if (viewer->memory)
                (void)munmap(viewer->memory, sizeof(*viewer->memory));
        event_set_drop(viewer->off);
        close_cleanup(&viewer->entries_fd);
        close_cleanup(&viewer->finished_fd);
        close_cleanup(&viewer->memory_fd);
        free(viewer);
        return NULL;
}

/* A later worker of the same viewer repeats numbers of the earlier one, or skips those that it did
 * not report. */
void mux_viewer_collect(MuxViewer *viewer) {
        const ShareMemory *memory = viewer->memory;
        uint64_t numbers[64];

        /* A worker that sends without end is not read without end. */
        for (unsigned i = 0; i < COLLECT_READS_MAX && !memory->is_broken; i++) {
                ssize_t n = read(viewer->finished_fd, numbers, sizeof(numbers));

                if (n <= 0)
                        return;
                bool is_whole = (size_t)n % sizeof(*numbers) == 0;
                uint64_t last = is_whole ? numbers[(size_t)n / sizeof(*numbers) - 1] : 0;

                if (!is_whole || last > memory->n_sent || last < memory->n_finished) {
                        viewer->memory->is_broken = true;
                        return;
                }
                mux_viewer_drop_until(viewer, last);
        }
}

/* The counters are read by other processes while they change. */
static void mux_viewer_store(MuxViewer *viewer, unsigned cpu, const ShareCounters *new) {
        ShareCounters *counters = &viewer->memory->counters[cpu];

        __atomic_store_n(&counters->records, new->records, __ATOMIC_RELAXED);
        __atomic_store_n(&counters->lost, new->lost, __ATOMIC_RELAXED);
        __atomic_store_n(&counters->bytes, new->bytes, __ATOMIC_RELAXED);
        __atomic_store_n(&counters->wanted, new->wanted, __ATOMIC_RELAXED);
        __atomic_store_n(&counters->unparsed, new->unparsed, __ATOMIC_RELAXED);
        __atomic_store_n(&counters->unknown, new->unknown, __ATOMIC_RELAXED);
        __atomic_store_n(&counters->ring_read, new->ring_read, __ATOMIC_RELAXED);
        __atomic_store_n(&counters->ring_lost, new->ring_lost, __ATOMIC_RELAXED);
}

/* Nothing moves over this line. */
static void mux_viewer_mark_step(MuxViewer *viewer, bool is_under_way) {
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        __atomic_store_n(&viewer->memory->step.is_under_way, is_under_way, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void mux_viewer_begin_step(MuxViewer *viewer,
                unsigned cpu,
                const ShareEntry *entry,
                const ShareCounters *after) {
        ShareStep *step = &viewer->memory->step;

        step->cpu = cpu;
        step->entry = entry ? *entry : (ShareEntry){};
        step->after = *after;
        mux_viewer_mark_step(viewer, true);
}

static void mux_viewer_end_step(MuxViewer *viewer) {
        const ShareStep *step = &viewer->memory->step;

        mux_viewer_store(viewer, step->cpu, &step->after);
        if (step->entry.number > 0)
                viewer->memory->n_sent = step->entry.number;
        mux_viewer_mark_step(viewer, false);
}

static void mux_viewer_lose(MuxViewer *viewer, unsigned cpu, const ShareCounters *after) {
        mux_viewer_begin_step(viewer, cpu, NULL, after);
        mux_viewer_end_step(viewer);
}

static bool mux_viewer_has_room(const MuxViewer *viewer, uint32_t n_blocks) {
        const ShareMemory *memory = viewer->memory;

        return !memory->is_broken && memory->n_sent - memory->n_finished < SHARE_PIECES_MAX &&
               viewer->n_blocks + n_blocks <= SHARE_BYTES_MAX / SHARE_BLOCK_SIZE;
}

/* A pipe takes so few bytes completely or not at all. */
static bool mux_viewer_write(const MuxViewer *viewer, const ShareEntry *entry) {
        return write(viewer->entries_fd, entry, sizeof(*entry)) == sizeof(*entry);
}

/* after: the counters without this piece. */
static bool mux_viewer_send(MuxViewer *viewer,
                unsigned cpu,
                const Piece *piece,
                uint32_t n_blocks,
                const ShareCounters *after) {
        const ShareEntry entry = {
                .number = viewer->memory->n_sent + 1,
                .block = piece->block,
                .size = piece->size,
                .cpu = cpu,
                .n_records = piece->n_records,
                .lost = after->lost,
        };
        ShareCounters sent = *after;

        sent.records += piece->n_records;
        sent.bytes += piece->size;
        *mux_viewer_get_piece(viewer, entry.number) = (SharePiece){ piece->block, n_blocks };
        mux_viewer_begin_step(viewer, cpu, &entry, &sent);
        if (!mux_viewer_write(viewer, &entry)) {
                mux_viewer_mark_step(viewer, false);
                return false;
        }
        mux_viewer_end_step(viewer);
        blocks_hold(&viewer->class->blocks, piece->block);
        viewer->n_blocks += n_blocks;
        return true;
}

void mux_viewer_put(MuxViewer *viewer, unsigned cpu, uint64_t read, const Piece *piece) {
        ShareCounters after = viewer->memory->counters[cpu];

        after.ring_read = read;
        after.wanted += piece->n_wanted;
        after.unparsed += piece->n_unparsed;
        after.unknown += piece->n_unknown;
        if (piece->n_records == 0) {
                mux_viewer_store(viewer, cpu, &after);
                return;
        }
        uint32_t n_blocks = piece->is_lost ? 0 : viewer->class->blocks.lengths[piece->block];
        if (!mux_viewer_has_room(viewer, n_blocks))
                mux_viewer_collect(viewer);
        if (!piece->is_lost && mux_viewer_has_room(viewer, n_blocks) &&
                        mux_viewer_send(viewer, cpu, piece, n_blocks, &after))
                return;
        after.lost += piece->n_records;
        mux_viewer_lose(viewer, cpu, &after);
}

/* If another program has cleared the buffer, the kernel's numbers begin again. */
static uint64_t mux_viewer_count_gap(uint64_t from, uint64_t to) {
        return to > from ? to - from : 0;
}

void mux_viewer_lose_until(MuxViewer *viewer, MuxPlace place) {
        ShareCounters after = viewer->memory->counters[place.cpu];

        after.lost += mux_viewer_count_gap(after.ring_read, place.read) +
                      mux_viewer_count_gap(after.ring_lost, place.lost);
        after.ring_read = place.read;
        after.ring_lost = place.lost;
        mux_viewer_lose(viewer, place.cpu, &after);
}

void mux_viewer_set_place(MuxViewer *viewer, MuxPlace place) {
        ShareCounters after = viewer->memory->counters[place.cpu];

        after.ring_read = place.read;
        after.ring_lost = place.lost;
        mux_viewer_store(viewer, place.cpu, &after);
}

void mux_viewer_join(MuxViewer *viewer, bool on) {
        __atomic_signal_fence(__ATOMIC_SEQ_CST); /* after the places */
        viewer->memory->is_joined = on;
}

/* The process that wrote this may have been taken over by a hostile record. */
static bool mux_viewer_is_sane(const MuxViewer *viewer) {
        const ShareMemory *memory = viewer->memory;
        const ShareStep *step = &memory->step;
        uint64_t n_sent = memory->n_sent;

        if (memory->n_finished > n_sent || n_sent - memory->n_finished > SHARE_PIECES_MAX)
                return false;
        if (!step->is_under_way)
                return true;
        if (step->cpu >= viewer->n_cpus)
                return false;
        return step->entry.number == 0 || step->entry.number == n_sent ||
               (step->entry.number == n_sent + 1 && n_sent < memory->n_finished + SHARE_PIECES_MAX);
}

static int mux_viewer_claim_all(MuxViewer *viewer) {
        const ShareMemory *memory = viewer->memory;
        int r = 0;

        for (uint64_t i = memory->n_finished; r == 0 && i < memory->n_sent; i++) {
                const SharePiece *piece = mux_viewer_get_piece(viewer, i + 1);

                r = blocks_claim(&viewer->class->blocks, piece->block, piece->n_blocks);
                if (r == 0)
                        viewer->n_blocks += piece->n_blocks;
                for (uint64_t k = memory->n_finished; r < 0 && k < i; k++)
                        (void)blocks_drop(&viewer->class->blocks,
                                        mux_viewer_get_piece(viewer, k + 1)->block);
        }
        return r;
}

/* It is unknown whether the killed reader has sent the entry. If it cannot be sent again, its
 * records count as lost; it keeps its number and its piece, because the worker may have it. */
static void mux_viewer_repeat_step(MuxViewer *viewer) {
        const ShareStep *step = &viewer->memory->step;
        const ShareEntry *entry = &step->entry;
        ShareCounters after = step->after;

        if (entry->number > viewer->memory->n_finished && !mux_viewer_write(viewer, entry)) {
                after.records -= entry->n_records;
                after.bytes -= entry->size;
                after.lost += entry->n_records;
        }
        mux_viewer_store(viewer, step->cpu, &after);
        mux_viewer_mark_step(viewer, false);
}

/* The killed reader may have read the last number of the worker and not stored it. The worker
 * answers a repeated entry with that number. If the pipe is full, it has entries to finish. */
static void mux_viewer_ask(const MuxViewer *viewer) {
        const ShareEntry entry = { .number = viewer->memory->n_sent };

        if (viewer->memory->n_sent > viewer->memory->n_finished)
                (void)mux_viewer_write(viewer, &entry);
}

static int mux_viewer_take_over(MuxViewer *viewer) {
        ShareMemory *memory = viewer->memory;
        ShareStep *step = &memory->step;

        if (!mux_viewer_is_sane(viewer))
                return -EBADMSG;
        if (step->is_under_way && step->entry.number > 0)
                memory->n_sent = step->entry.number;
        int r = mux_viewer_claim_all(viewer);
        if (r < 0)
                return r;
        mux_viewer_collect(viewer);
        if (step->is_under_way)
                mux_viewer_repeat_step(viewer);
        mux_viewer_ask(viewer);
        return 0;
}

int mux_viewer_new(Class *class, const MuxViewerFiles *files, unsigned n_cpus, MuxViewer **ret) {
        MuxViewer *viewer = calloc(1, sizeof(*viewer));

        if (!viewer) {
                close(files->entries);
                close(files->finished);
                close(files->memory);
                return -ENOMEM;
        }
        viewer->entries_fd = files->entries;
        viewer->finished_fd = files->finished;
        viewer->memory_fd = files->memory;
        viewer->n_cpus = n_cpus;
        void *mapped = mmap(NULL,
                        sizeof(ShareMemory),
                        PROT_READ | PROT_WRITE,
                        MAP_SHARED,
                        viewer->memory_fd,
                        0);
        int r = mapped == MAP_FAILED ? -errno : 0;
        if (r == 0) {
                viewer->memory = mapped;
                viewer->class = class;
                r = mux_viewer_take_over(viewer);
        }
        if (r < 0) {
                viewer->class = NULL; /* it holds no piece */
                mux_viewer_free(viewer);
                return r;
        }
        class->n_viewers++;
        *ret = viewer;
        return 0;
}
