/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/instance.h"

/* Reads the counters of a CPU. Does not block. */
int instance_read_statistics(const Instance *instance, unsigned cpu, CpuStatistics *ret);
/* The same from an open per_cpu/cpuN/stats, for repeated reads without a path lookup. */
int instance_read_statistics_fd(int stats_fd, CpuStatistics *ret);
