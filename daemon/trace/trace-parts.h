/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* What the files of a trace (trace.c, trace-adopt.c, trace-change.c, trace-rings.c,
 * trace-triggers.c) have of each other; for nobody else. */

void trace_plan(Trace *trace, Plan *plan, const PlanStep *steps, size_t n_steps, bool is_urgent);
/* How an undo went: nobody else is told. r: 0 or an errno. */
void trace_report_undo(const Trace *trace, int r, const char *what);
/* Each that is open; frees the array. */
void trace_close_fds(int **fds, size_t n);
/* Of create: which events are off at first. */
int trace_step_off(void *context, Reason *reason);
/* Steps of create that are the same for an instance that is there already: what is opened and read
 * of it. */
int trace_step_statistics(void *context, Reason *reason);
int trace_step_probes(void *context, Reason *reason);
int trace_step_marker(void *context, Reason *reason);
int trace_step_metadata(void *context, Reason *reason);
/* Of a daemon before this one that was switching events: those are as they were. */
int trace_step_switched_back(void *context, Reason *reason);
/* Of stop: events off. */
int trace_step_disable(void *context, Reason *reason);
/* Of the buffers, and reads back what the kernel makes of it. */
int trace_set_size(Trace *trace, uint64_t kb);
void trace_read_size(Trace *trace);
/* Reads the command names into names_fd. */
int trace_step_names(void *context, Reason *reason);
