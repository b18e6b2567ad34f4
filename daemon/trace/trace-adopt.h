/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* Replaces trace_plan_create: takes over the instance that the previous daemon made. If records are
 * judged, it reads back the fence and fails with KT_E_FAILED when the fence was changed. It enables
 * the events that should be enabled, and completes a stop that was in progress. The caller fills in
 * has_guard, is_guarded, guard_gid, is_armed, is_live, is_stopping, is_off and arm. The plan undoes
 * nothing. */
void trace_plan_adopt(Trace *trace, Plan *plan);
/* Puts the trace into an instance that it shared, in the event loop. It must come before the plan
 * of any trace in that instance. Returns -errno on failure. */
int trace_adopt_shared(Trace *trace, Shared *shared);
