/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "interfaces/share.h"

typedef struct RingStatistics {
        uint64_t entries, bytes; /* unread, in the ring */
        uint64_t overrun, commit_overrun, dropped, read;
} RingStatistics;

/* One CPU's ring: its raw reader and its counters. */
typedef struct Ring {
        unsigned cpu;
        int raw_fd; /* -1: not given yet, or closed */
        int stats_fd;
        const ShareCounters *counters; /* used instead, for the viewer of a shared instance */
        bool is_unread;      /* the last read found no memory: the ring may have records */
        bool is_absent;      /* the last read found no ring: poll(2) would not wait for it */
        uint64_t taken_lost; /* part of ring_get_lost() that ring_take_lost() has returned */
        uint64_t n_cut;      /* records that the caller cut and that are not reported yet */
        RingStatistics last;
        uint64_t cleared_lost; /* lost before the ring was cleared, which resets the counters */
} Ring;

/* Reads one whole sub-buffer. Bytes that the kernel did not fill are zero. Returns its size, 0 when
 * the ring is empty or the kernel has no memory for the reader, or -errno. */
ssize_t ring_read_one(Ring *ring, uint8_t *page, size_t subbuf_size);
/* Reads whole sub-buffers into the batch until a sub-buffer is far from full, the ring is empty, or
 * the batch is full. Returns the bytes (0: the ring is empty). The last sub-buffer is cut after its
 * used bytes. */
ssize_t ring_read(Ring *ring, uint8_t *batch, size_t batch_size, size_t subbuf_size);
/* Reads the counters into ring->last. */
int ring_read_statistics(Ring *ring);
/* Returns the number of full sub-buffers, by the counters in ring->last. */
size_t ring_count_full(const Ring *ring, size_t subbuf_size);
/* Returns the events that the kernel could not keep so far, by the counters in ring->last. */
uint64_t ring_get_lost(const Ring *ring);
/* Returns the events that the kernel could not keep and those that were cut, since the last call.
 * Reads the counters first. */
uint64_t ring_take_lost(Ring *ring);
/* The same, by the counters in ring->last. */
uint64_t ring_take_known_lost(Ring *ring);
void ring_close(Ring *ring);
