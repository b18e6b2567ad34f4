/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A viewer of a shared instance moves to another instance, once, without losing or repeating a
 * record. mux.c calls this, in the readers of both instances.
 *
 * Both record the viewer's events from a time on, which MOVE has. The kernel writes each event into
 * the old instance first, then into the new one, with a later time. For each CPU there is a cut: a
 * record of the old instance, of any event, which is not earlier than that time. The viewer gets
 * what comes before the cut from the old instance, and from the new one the first record that is
 * not earlier than the cut, and all that follow. A clock that goes back after the cut changes
 * nothing. This is exact, because both records of an event are written before the next event of
 * this CPU. An interrupt can come between the two, so the cut is a record of a task: when it is
 * written, no other event is half written. If the batch has none, the cut is a record of an
 * interrupt, and an event that it has interrupted exactly there would be shown twice.
 *
 * If a ring has no such record, the cut is a time at which it had none. It must be later than that
 * of the MOVE: at that time an event can be in the old instance and not yet in the new one.
 *
 * What must survive a kill is in the viewer's memory (share.h), and is stored in an order in which
 * the next reader can always continue: the time of the MOVE, each cut before any record that
 * depends on it is passed on, and at the end, that the viewer has moved. A cut that is stored stays
 * the same. Records that a killed reader had taken and not passed on count as lost, also those
 * after the cut, which the new instance has: it is unknown how many they are. */

#include "consumer/mux/move.h"

/* Nothing moves over this line: the next reader sees the stores in the order of the program. */
static void move_keep_order(void) {
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void move_store_cut(MuxViewer *viewer, unsigned cpu, uint64_t nsec) {
        move_keep_order();
        __atomic_store_n(&viewer->memory->counters[cpu].from_nsec, nsec, __ATOMIC_RELAXED);
        move_keep_order();
}

void move_begin(MuxViewer *viewer, uint64_t nsec) {
        viewer->memory->move_nsec = nsec;
        move_keep_order();
}

void move_end(MuxViewer *viewer, uint64_t passed_nsec) {
        ShareMemory *memory = viewer->memory;

        for (unsigned i = 0; i < viewer->n_cpus; i++)
                if (memory->counters[i].from_nsec == 0)
                        move_store_cut(viewer, i, memory->move_nsec + passed_nsec);
        memory->has_moved = true;
        move_keep_order();
}

/* The kernel's numbers of the new instance begin at 0: what it has lost before it was read counts.
 */
void move_arrive(MuxViewer *viewer) {
        ShareMemory *memory = viewer->memory;

        if (!memory->has_moved) /* an earlier reader of this instance has done it */
                return;
        for (unsigned i = 0; i < viewer->n_cpus; i++)
                memory->counters[i].ring_read = memory->counters[i].ring_lost = 0;
        memory->move_nsec = 0;
        move_keep_order();
        memory->has_moved = false;
        move_keep_order();
}

/* Returns the record at which the viewer leaves this instance, or the end of the records. */
static const BatchRecord *move_find_cut(const Batch *batch, uint64_t nsec) {
        const BatchRecord *first = batch_find_time(batch, nsec), *end = batch_get_all(batch).end;

        for (const BatchRecord *record = first; record < end; record++)
                if (!(batch_record_get_body(record)[2] & MASK_INTERRUPTS))
                        return record;
        return first;
}

/* A cut that was found in an earlier batch, or by an earlier reader, is before this batch. */
static void move_cut(MuxViewer *viewer, const Batch *batch) {
        BatchPart *part = &viewer->part;

        if (viewer->memory->counters[batch->cpu].from_nsec > 0) {
                part->end = part->begin;
                return;
        }
        const BatchRecord *cut = move_find_cut(batch, viewer->memory->move_nsec);
        if (cut < part->end)
                move_store_cut(viewer, batch->cpu, cut->nsec);
        part->end = cut;
}

/* The viewer gets all that follows the first record that is not earlier than the cut. */
static void move_skip(MuxViewer *viewer, const Batch *batch, uint64_t from) {
        BatchPart *part = &viewer->part;

        part->begin = batch_find_time(batch, from);
        if (part->begin < part->end)
                move_store_cut(viewer, batch->cpu, 0);
}

void move_choose_part(MuxViewer *viewer, const Batch *batch) {
        const ShareMemory *memory = viewer->memory;
        uint64_t from = memory->counters[batch->cpu].from_nsec;

        viewer->part = batch_get_all(batch);
        if (memory->move_nsec > 0)
                move_cut(viewer, batch);
        else if (from > 0)
                move_skip(viewer, batch, from);
}
