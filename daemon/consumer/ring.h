/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct RingStatistics {
        uint64_t entries, bytes; /* in the ring, unread */
        uint64_t overrun, commit_overrun, dropped, read;
} RingStatistics;

/* One CPU's ring: its raw reader and its counters. */
typedef struct Ring {
        unsigned cpu;
        int raw_fd; /* -1: not given yet, or closed */
        int stats_fd;
        uint64_t told_lost; /* of the kernel's counters, in frames so far */
        uint64_t n_cut;     /* records that the caller cut and did not tell yet */
        RingStatistics last;
} Ring;

/* One whole sub-buffer, zeros behind what the kernel gave. Its size; 0: nothing there; -errno. */
ssize_t ring_read_one(Ring *ring, uint8_t *page, size_t subbuf_size);
/* Reads whole sub-buffers into the batch until one is far from full, the ring is empty or the batch
 * is full. Returns the bytes (0: nothing there), the last sub-buffer cut behind what it carries. */
ssize_t ring_read(Ring *ring, uint8_t *batch, size_t batch_size, size_t subbuf_size);
/* Events that the kernel could not keep, and those cut, since the last call. */
uint64_t ring_take_lost(Ring *ring);
/* Reads the counters into ring->last. */
int ring_read_statistics(Ring *ring);
void ring_close(Ring *ring);
