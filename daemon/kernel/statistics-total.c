/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Adds up what the rings of all CPUs of an instance contain. Called by buffer.c, which waits until
 * writers have finished, and by boot and session, which ask whether there are records and how old
 * they are. Owns nothing. It is not part of statistics.c because it also adds up the rings of the
 * tests' kernel in memory. */

#include "kernel/statistics-total.h"

#include <errno.h>

static void statistics_total_add(CpuStatistics *total, const CpuStatistics *cpu) {
        total->entries += cpu->entries;
        total->overrun += cpu->overrun;
        total->commit_overrun += cpu->commit_overrun;
        total->bytes += cpu->bytes;
        total->dropped += cpu->dropped;
        total->read += cpu->read;
        if (cpu->oldest_nsec > 0 &&
                        (total->oldest_nsec == 0 || cpu->oldest_nsec < total->oldest_nsec))
                total->oldest_nsec = cpu->oldest_nsec;
        total->now_nsec = cpu->now_nsec;
}

int statistics_total_read(const Instance *instance, unsigned n_cpus, CpuStatistics *ret) {
        CpuStatistics total = {};

        for (unsigned cpu = 0; cpu < n_cpus; cpu++) {
                CpuStatistics statistics;

                int r = instance_read_statistics(instance, cpu, &statistics);
                if (r == -ENOENT) /* CPU numbers may have gaps */
                        continue;
                if (r < 0)
                        return r;
                statistics_total_add(&total, &statistics);
        }
        *ret = total;
        return 0;
}
