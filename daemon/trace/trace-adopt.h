/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* Instead of it: takes over the instance that a daemon before this one has made. What was laid is
 * read back where records are judged, KT_E_FAILED when it is not as it was; events that shall be on
 * are, and a stop that was under way is finished. has_guard, is_guarded, guard_gid, is_armed,
 * is_live, is_stopping, is_off and arm are the caller's to fill in. Undone: nothing. */
void trace_plan_adopt(Trace *trace, Plan *plan);
