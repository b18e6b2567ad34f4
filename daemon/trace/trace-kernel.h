/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* Steps of the plans of trace.c: recording besides events, and the CPUs. */

/* Steps of create. */
int trace_step_cpus(void *context, Reason *reason);
int trace_step_tracer(void *context, Reason *reason);
/* The last step of start. */
int trace_step_run_tracer(void *context, Reason *reason);
/* True if start and stop write tracing_on, because the tracer stops in no other way. */
bool trace_tracer_needs_tracing_on(const Trace *trace);
/* Stops the tracer. Call it before the events are disabled. */
int trace_run_tracer(Trace *trace, bool on);
