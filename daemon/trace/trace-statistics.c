/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The counters of a trace's rings. */

#include "trace/trace-statistics.h"

#include <errno.h>

#include "kernel/buffer.h"

int trace_read_statistics(const Trace *trace, unsigned cpu, CpuStatistics *ret) {
        if (!trace->stats_fds || cpu >= trace->n_cpus)
                return -ENODEV;
        return instance_read_statistics_fd(trace->stats_fds[cpu], ret);
}
