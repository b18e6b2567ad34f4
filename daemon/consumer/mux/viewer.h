/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/mux/class.h"
#include "interfaces/share.h"

#define SHARE_PIECES_MAX 2048 /* in use at a time */

/* One viewer, as the reader of the shared instance sees it. */
typedef struct MuxViewer {
        Class *class;
        int entries_fd, finished_fd; /* pipes: to the worker, and back */
        ShareCounters *counters;     /* n_cpus of them, shared with the daemon and the worker */
        unsigned n_cpus;
        bool is_joined;                    /* it gets what is recorded */
        bool is_broken;                    /* its worker has sent nonsense: it gets nothing more */
        uint32_t n_blocks;                 /* in use */
        uint64_t n_sent, n_finished;       /* entries */
        uint32_t pieces[SHARE_PIECES_MAX]; /* a ring: entry i at i % SHARE_PIECES_MAX */
} MuxViewer;

/* The pipes, which do not block, and the memfd of ShareCounters. Consumes them all, also on
 * failure. */
typedef struct MuxViewerFiles {
        int entries, finished, counters;
} MuxViewerFiles;

int mux_viewer_new(Class *class, const MuxViewerFiles *files, unsigned n_cpus, MuxViewer **ret);
/* Drops what it holds. */
MuxViewer *mux_viewer_free(MuxViewer *viewer);
DEFINE_CLEANUP(MuxViewer, mux_viewer_free);
/* Passes a piece on, or counts its records as lost. */
void mux_viewer_put(MuxViewer *viewer, unsigned cpu, const Piece *piece);
void mux_viewer_lose(MuxViewer *viewer, unsigned cpu, uint64_t n);
/* Drops the pieces that the worker has finished. */
void mux_viewer_collect(MuxViewer *viewer);
