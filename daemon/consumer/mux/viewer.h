/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/mux/class.h"
#include "consumer/mux/event-set.h"
#include "interfaces/share.h"

/* One viewer, as the reader of the shared instance sees it. */
typedef struct MuxViewer {
        Class *class;
        EventSet *off;               /* events that it has turned off; NULL: none */
        int entries_fd, finished_fd; /* pipes: to the worker, and back */
        int memory_fd;               /* holds the daemon's lock until this process ends */
        ShareMemory *memory;         /* outlives this process */
        unsigned n_cpus;
        uint32_t n_blocks; /* in use */
        BatchPart part;    /* what it gets of the batch, apart from its marks (move.h) */
} MuxViewer;

/* The pipes, which do not block, and the memfd of ShareMemory. Consumes them all, also on
 * failure. */
typedef struct MuxViewerFiles {
        int entries, finished, memory;
} MuxViewerFiles;

/* The kernel's numbers for a ring. */
typedef struct MuxPlace {
        unsigned cpu;
        uint64_t read, lost;
} MuxPlace;

/* Continues where an earlier reader was killed. Fails with -EBADMSG if the memory cannot be what
 * such a reader has left. */
int mux_viewer_new(Class *class, const MuxViewerFiles *files, unsigned n_cpus, MuxViewer **ret);
/* Drops what it holds. */
MuxViewer *mux_viewer_free(MuxViewer *viewer);
DEFINE_CLEANUP(MuxViewer, mux_viewer_free);
/* The viewer gets what is recorded from this place on; call it for each CPU, then
 * mux_viewer_join(). */
void mux_viewer_set_place(MuxViewer *viewer, MuxPlace place);
void mux_viewer_join(MuxViewer *viewer, bool on);

static inline bool mux_viewer_is_joined(const MuxViewer *viewer) {
        return viewer && viewer->memory->is_joined && !viewer->memory->has_moved;
}

/* marks: the viewer whose marks it gets, or EXTRACT_NO_VIEWER. */
static inline ExtractPortion mux_viewer_get_portion(const MuxViewer *viewer, uint32_t marks) {
        return (ExtractPortion){
                .off = viewer->off ? &viewer->off->bits : NULL,
                .viewer = marks,
                .part = viewer->part,
        };
}

/* Passes a piece on, or counts its records as lost. read: the kernel's number after the piece. */
void mux_viewer_put(MuxViewer *viewer, unsigned cpu, uint64_t read, const Piece *piece);
/* Counts what was recorded until this place and did not come here as lost. */
void mux_viewer_lose_until(MuxViewer *viewer, MuxPlace place);
/* Drops the pieces that the worker has finished. */
void mux_viewer_collect(MuxViewer *viewer);
