/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/instance.h"

/* Waits until no CPU's counters move any more: what is left where the kernel cannot tell that all
 * handlers have ended. -ETIMEDOUT when they do not come to rest. */
int buffer_wait_quiet(const Instance *instance);

/* Grows or shrinks in a short-lived child, because the kernel makes the writer the first victim of
 * the OOM killer while it allocates. */
int instance_set_buffer_kb(const Instance *instance, uint64_t kb);
/* buffer_subbuf_size_kb, kernels >= 6.8; -EOPNOTSUPP where there is none. Only while nothing was
 * recorded. */
int instance_set_subbuf_kb(const Instance *instance, uint64_t kb);
/* Bytes of one sub-buffer including its header. */
int instance_get_subbuf_size(const Instance *instance, size_t *ret);
int instance_n_cpus(const Instance *instance, unsigned *ret);
/* Does not block. */
int instance_read_statistics(const Instance *instance, unsigned cpu, CpuStatistics *ret);
/* The same from an open per_cpu/cpuN/stats, again and again: nothing is left to look up. */
int instance_read_statistics_fd(int stats_fd, CpuStatistics *ret);
/* A second buffer of the same size for instance_swap(), made as instance_set_buffer_kb() does.
 * -EOPNOTSUPP: this kernel has no snapshots. */
int instance_allocate_snapshot(const Instance *instance);
/* The second buffer as large as the ring is now. What either held before is in the ring as it was;
 * what is recorded in the microseconds between is lost. */
int instance_resize_snapshot(const Instance *instance);
/* What was recorded so far becomes what per_cpu/cpuN/snapshot_raw reads; recording goes on, without
 * a gap, in what was read from there before. */
int instance_swap(const Instance *instance);
/* Drops what instance_swap() has taken and nobody has read. */
int instance_clear_snapshot(const Instance *instance);
/* Drops what is in the ring. */
int instance_clear(const Instance *instance);
