/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

void trace_close_rings(Trace *trace);
/* As a consumer is told of it. */
ControlMember trace_make_member(const KnownTask *known);
/* Opens what a consumer needs. */
void trace_plan_rings(Trace *trace, Plan *plan);
/* The same of a flight recorder, with the command names: what is there now. */
void trace_plan_snapshot(Trace *trace, Plan *plan);
/* Event loop. One more that is known; NULL: none is any more. -ENOMEM. */
int trace_know(Trace *trace, const KnownTask *known);
/* Event loop, before the plan. -ENOMEM. */
int trace_begin_proof(Trace *trace);
/* Event loop, after it: who has ended is forgotten. */
void trace_end_proof(Trace *trace);
/* When all of it is read: `proven`. Who is alive by then, or dead and not waited for, with the
 * start time with which it was found fit, was that task all the time. */
void trace_plan_proven(Trace *trace, Plan *plan);
/* Each that is open; frees the array. */
void trace_close_fds(int **fds, size_t n);
/* Reads the command names into names_fd. */
int trace_step_names(void *context, Reason *reason);
