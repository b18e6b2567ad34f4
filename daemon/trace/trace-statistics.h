/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

int trace_read_statistics(const Trace *trace, unsigned cpu, CpuStatistics *ret);
/* The events of all CPUs since the instance was made, lost ones included. It only grows, except
 * when a program resets the kernel's counters. */
int trace_count_events(const Trace *trace, uint64_t *ret);
