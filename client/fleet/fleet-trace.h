/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "fleet/manifest.h"
#include "trace/trace.h"

/* The recordings of several machines on one time line. */
typedef struct FleetTrace FleetTrace;

/* One recording of it. */
typedef struct FleetLane {
        size_t machine; /* in the manifest */
        Trace *trace;
        ClockKind kind; /* of the trace's clock */
        TraceItem item; /* the next one; its time is that of the machine */
        int64_t here, bound;
        bool is_done;
} FleetLane;

/* The next record or loss of all machines. */
typedef struct FleetItem {
        FleetLane *lane; /* whose item is the item there */
        uint64_t ts;     /* here, see clock-track.h */
        int64_t bound;
        /* Whether it may have been before the item that was returned before, of another machine. */
        bool is_uncertain;
} FleetItem;

/* manifest: borrowed. Opens the files of all machines that have one, and whose clocks were
 * compared. */
int fleet_trace_open(int directory_fd,
                const Manifest *manifest,
                bool with_plugins,
                FleetTrace **ret,
                Reason *reason);
/* Parses them. Called after the process was sealed, see trace_load(). */
int fleet_trace_load(FleetTrace *fleet, Reason *reason);
/* Gets the next item in the order of times here. Returns 1, 0 at the end, or -errno. */
int fleet_trace_next(FleetTrace *fleet, FleetItem *ret);
size_t fleet_trace_get_n_lanes(const FleetTrace *fleet);
FleetLane *fleet_trace_get_lane(FleetTrace *fleet, size_t i);
FleetTrace *fleet_trace_free(FleetTrace *fleet);
DEFINE_CLEANUP(FleetTrace, fleet_trace_free);
