/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/instance.h"

/* Waits until the counters of all CPUs stop changing: the fallback if the kernel cannot report that
 * all handlers have ended. -ETIMEDOUT if they keep changing. */
int buffer_wait_quiet(const Instance *instance);

/* Resizes the ring in a short-lived child process, because the kernel makes the writer the first
 * victim of the OOM killer while it allocates. */
int instance_set_buffer_kb(const Instance *instance, uint64_t kb);
/* Writes buffer_subbuf_size_kb, kernels >= 6.8; -EOPNOTSUPP on others. Must be called before
 * anything is recorded. */
int instance_set_subbuf_kb(const Instance *instance, uint64_t kb);
/* Bytes of one sub-buffer including its header. */
int instance_get_subbuf_size(const Instance *instance, size_t *ret);
int instance_n_cpus(const Instance *instance, unsigned *ret);
/* Allocates a second buffer of the same size for instance_swap(), in a child process as
 * instance_set_buffer_kb() does. -EOPNOTSUPP: this kernel has no snapshots. */
int instance_allocate_snapshot(const Instance *instance);
/* Resizes the second buffer to the size of the ring. The ring keeps its records; events in the
 * microseconds between the two swaps are lost. */
int instance_resize_snapshot(const Instance *instance);
/* Swaps the ring with the second buffer: the records so far can be read from
 * per_cpu/cpuN/snapshot_raw, and recording continues without a gap in the other buffer. */
int instance_swap(const Instance *instance);
/* Drops the records that instance_swap() took and that were not read. */
int instance_clear_snapshot(const Instance *instance);
/* Drops the records in the ring. */
int instance_clear(const Instance *instance);
