/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* The move of a trace from one shared instance to another one, while it records. */
typedef struct TraceMove TraceMove;

/* Returns whether a move loses and repeats nothing on this kernel. */
bool trace_can_move(const Trace *trace);
/* The trace runs, and no plan of it is in flight until trace_move_swap(). It becomes viewer 0. */
int trace_move_new(const Trace *trace, Shared *to, TraceMove **ret);
/* The kernel must have nothing more of the move. Returns NULL. */
TraceMove *trace_move_free(TraceMove *move);
/* Records the same in the next instance too. Undo leaves that instance. */
void trace_plan_enter_next(TraceMove *move, Plan *plan);
/* In the event loop: from now on the trace is in the other one of the two instances. A second call
 * takes the first one back. */
void trace_move_swap(TraceMove *move, Trace *trace);
/* Takes back what the trace has in the instance that it is not in. Fails with -EBUSY while a
 * process holds an instance without other traces. */
void trace_plan_leave_other(TraceMove *move, Plan *plan);
/* The same, without a worker: the daemon ends. */
int trace_leave_other_now(TraceMove *move);
