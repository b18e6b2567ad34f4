/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "hosts/hosts-clock.h"

/* The recordings of several machines on one time line. */
typedef struct HostsTrace HostsTrace;

/* One recording of it. */
typedef struct HostsLane {
        size_t machine; /* in the manifest */
        Trace *trace;
        HostsClock clock;
        TraceItem item; /* the next one */
        int64_t bound;  /* of its time */
        bool is_done;
        Reason failure; /* why it cannot be read, or not to its end; "": it can */
} HostsLane;

/* The next record or loss of all machines. */
typedef struct HostsItem {
        HostsLane *lane; /* whose item is the item there */
        int64_t bound;
        /* Whether it may have been before an item of another machine that was returned before. */
        bool is_uncertain;
} HostsItem;

/* manifest: borrowed. Opens the files of all machines that have one, and whose clocks were
 * compared. A file that cannot be read is not a failure here and below: its lane says why, and the
 * others go on. Returns 0 or -ENOMEM. */
int hosts_trace_open(int directory_fd,
                const Manifest *manifest,
                bool with_plugins,
                HostsTrace **ret);
/* Parses them. Called after the process was sealed, see trace_load(). */
void hosts_trace_load(HostsTrace *hosts);
/* Returns only these records. A machine that has none is left out; fails with KT_E_INVALID_SPEC and
 * a reason when no machine has any. Called before the first hosts_trace_next(). */
int hosts_trace_select(HostsTrace *hosts, const Selection *selection, Reason *reason);
/* Gets the next item in the order of times here. Returns false at the end. */
bool hosts_trace_next(HostsTrace *hosts, HostsItem *ret);
/* Whether there are lanes, and none of them can be read. */
bool hosts_trace_has_failed(const HostsTrace *hosts);
size_t hosts_trace_get_n_lanes(const HostsTrace *hosts);
HostsLane *hosts_trace_get_lane(HostsTrace *hosts, size_t i);
HostsTrace *hosts_trace_free(HostsTrace *hosts);
DEFINE_CLEANUP(HostsTrace, hosts_trace_free);
