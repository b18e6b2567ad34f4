/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* Whether the streams of a trace with this spec and grant show the pids of a container. */
bool trace_may_show_inner_pids(const Trace *trace);
/* Whether they still do. */
bool trace_shows_inner_pids(const Trace *trace);
/* Step of start: reads them into trace->inner. */
int trace_step_inner_pids(void *context, Reason *reason);
/* Step of stop, before the events are off: reads them again. */
int trace_step_inner_pids_again(void *context, Reason *reason);
