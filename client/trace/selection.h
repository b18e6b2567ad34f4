/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/cpu-list.h"
#include "trace/selection-time.h"
#include "trace/trace.h"

#define SELECTION_EVENTS_MAX 64
#define SELECTION_PIDS_MAX   256

/* The part of a recording that a user chose. All zeros: the whole recording. */
typedef struct Selection {
        SelectionTime from, until;
        bool may_be_empty;                        /* times without a record are no mistake */
        uint64_t last_ns;                         /* 0: not set; then `from` is not set */
        const char *events[SELECTION_EVENTS_MAX]; /* patterns; borrowed */
        size_t n_events;
        int pids[SELECTION_PIDS_MAX];
        size_t n_pids;
        const CpuList *cpus; /* borrowed; NULL: all */
} Selection;

/* Each of these adds an option's value. option: for messages. KT_E_INVALID_SPEC with reason. */
int selection_add_pids(Selection *selection, const char *option, const char *text, Reason *reason);
int selection_add_event(Selection *selection,
                const char *option,
                const char *pattern,
                Reason *reason);

/* Whether it chooses among the records of a CPU. */
bool selection_is_cut(const Selection *selection);
/* Makes trace_next() return only the selected records. Called once, before the first trace_next().
 * The pids of the selection are borrowed. Returns 0, -errno, or KT_E_* with reason: the trace has
 * no such CPU, event or time. */
int selection_apply(const Selection *selection, Trace *trace, Reason *reason);
