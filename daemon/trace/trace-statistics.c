/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The counters of a trace's rings. Those of a viewer of a shared instance come from the process
 * that reads the instance: they can be wrong if that process is, and do no other harm. The kernel
 * counts for the whole instance. */

#include "trace/trace-statistics.h"

#include <errno.h>

#include "interfaces/defence.h"
#include "kernel/statistics.h"

int trace_read_statistics(const Trace *trace, unsigned cpu, CpuStatistics *ret) {
        if (trace_is_shared(trace) && cpu < trace->n_cpus) {
                const ShareCounters *viewed = &trace->viewed[cpu];

                *ret = (CpuStatistics){
                        .read = __atomic_load_n(&viewed->records, __ATOMIC_RELAXED),
                        .dropped = __atomic_load_n(&viewed->lost, __ATOMIC_RELAXED),
                };
                return 0;
        }
        return trace_read_ring_statistics(trace, cpu, ret);
}

int trace_read_ring_statistics(const Trace *trace, unsigned cpu, CpuStatistics *ret) {
        if (!trace->stats_fds || cpu >= trace->n_cpus)
                return -ENODEV;
        return instance_read_statistics_fd(trace->stats_fds[cpu], ret);
}

int trace_count_events(const Trace *trace, uint64_t *ret) {
        uint64_t n = 0;

        for (unsigned cpu = 0; cpu < trace->n_cpus; cpu++) {
                CpuStatistics s = {};
                int r = trace_read_statistics(trace, cpu, &s);

                if (r < 0)
                        return r;
                n += s.read + s.entries + s.overrun + s.dropped + s.commit_overrun;
        }
        *ret = n;
        return 0;
}

/* When the reader takes a record, the kernel moves it from `entries` to `read`. `read` counts
 * twice, so that the sum changes then, too. */
static int trace_count_shared_activity(const Trace *trace, uint64_t *ret) {
        uint64_t n = 0;

        for (unsigned cpu = 0; cpu < trace->n_cpus; cpu++) {
                CpuStatistics ring = {}, viewed = {};
                int r = trace_read_ring_statistics(trace, cpu, &ring);

                r = r ?: trace_read_statistics(trace, cpu, &viewed);
                if (r < 0)
                        return r;
                n += 2 * ring.read + ring.entries + ring.dropped + ring.commit_overrun +
                     viewed.read + viewed.dropped;
        }
        *ret = n;
        return 0;
}

int trace_count_activity(const Trace *trace, uint64_t *ret) {
        return trace_is_shared(trace) ? trace_count_shared_activity(trace, ret)
                                      : trace_count_events(trace, ret);
}

static int trace_read_shared_load(const Trace *trace, TraceLoad *ret) {
        TraceLoad load = {};

        for (unsigned cpu = 0; cpu < trace->n_cpus; cpu++) {
                CpuStatistics s = {};
                int r = trace_read_ring_statistics(trace, cpu, &s);

                if (r < 0)
                        return r;
                load.wanted += __atomic_load_n(&trace->viewed[cpu].wanted, __ATOMIC_RELAXED);
                load.read += s.read;
                load.lost += s.dropped + s.commit_overrun;
        }
        *ret = load;
        return 0;
}

int trace_read_load(const Trace *trace, TraceLoad *ret) {
        TraceLoad load = {};

        if (trace_is_shared(trace) && defence_is_on("share-rate"))
                return trace_read_shared_load(trace, ret);
        int r = trace_count_events(trace, &load.wanted);
        if (r == 0)
                *ret = load;
        return r;
}
