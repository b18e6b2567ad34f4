/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

void trace_close_rings(Trace *trace);
/* Makes the message entry of a member for a consumer. */
ControlMember trace_make_member(const KnownTask *known);
/* Opens the files that a consumer needs. */
void trace_plan_rings(Trace *trace, Plan *plan);
/* The same for a snapshot of a flight recorder, with the command names. */
void trace_plan_snapshot(Trace *trace, Plan *plan);
/* Event loop. Adds a known task; NULL removes all. Fails with -ENOMEM, or with -ENOSPC at the
 * limit. */
int trace_know(Trace *trace, const KnownTask *known);
/* Event loop, before the plan. Fails with -ENOMEM. */
int trace_begin_proof(Trace *trace);
/* Event loop, after the plan: removes tasks that have ended. */
void trace_end_proof(Trace *trace);
/* Runs when the snapshot is completely read; fills `proven`. A task that is still alive or a
 * zombie, with the start time that it had when it was found fit, was the same task all the time. */
void trace_plan_proven(Trace *trace, Plan *plan);
/* Reads the command names into names_fd. */
int trace_step_names(void *context, Reason *reason);
