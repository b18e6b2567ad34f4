/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/statistics.h"

/* Adds up the counters of all CPUs. The oldest time is that of the CPU whose records reach back
 * furthest, the time of the query that of the last CPU. */
int statistics_total_read(const Instance *instance, unsigned n_cpus, CpuStatistics *ret);
