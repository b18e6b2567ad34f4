/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* What the kernel has recorded because of a trace. Each number only grows, except when a program
 * resets the kernel's counters. */
typedef struct TraceLoad {
        /* Own instance: all events, lost ones included. Shared instance: the events that the trace
         * asked for and that were read, also if its filters did not let them through. */
        uint64_t wanted;
        /* Shared instance: all of its events. It is unknown of which event a lost one was. */
        uint64_t read, lost;
} TraceLoad;

int trace_read_statistics(const Trace *trace, unsigned cpu, CpuStatistics *ret);
/* The kernel's counters, in a shared instance those of all viewers. */
int trace_read_ring_statistics(const Trace *trace, unsigned cpu, CpuStatistics *ret);
int trace_read_load(const Trace *trace, TraceLoad *ret);
/* A number that changes with each event of the instance, and with each that a viewer of a shared
 * instance gets or loses. */
int trace_count_activity(const Trace *trace, uint64_t *ret);
/* The events of all CPUs since the instance was made, lost ones included. It only grows, except
 * when a program resets the kernel's counters. */
int trace_count_events(const Trace *trace, uint64_t *ret);
