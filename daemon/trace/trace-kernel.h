/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* Steps of the plans of trace.c: what records besides events, and where. */

/* Of create. */
int trace_step_cpus(void *context, Reason *reason);
int trace_step_tracer(void *context, Reason *reason);
/* Of start, the last one. */
int trace_step_run_tracer(void *context, Reason *reason);
/* Off: before the events go off. */
int trace_run_tracer(Trace *trace, bool on);
