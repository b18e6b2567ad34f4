/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/queue.h"

/* Makes sub-buffers from single records, and puts each as a frame into a queue. */
typedef struct Repack {
        uint8_t *page; /* with `used` bytes; 0: it has no record yet */
        size_t size, used;
        unsigned cpu;
        uint64_t nsec; /* of its last record */
} Repack;

int repack_init(Repack *repack, size_t subbuf_size);
void repack_clear(Repack *repack);
/* Adds a record. The records of a CPU come one after the other, in order of time. size: of its
 * body, at most that of a record in a sub-buffer of this size; otherwise -EBADMSG. */
int repack_put(Repack *repack,
                Queue *queue,
                unsigned cpu,
                uint64_t nsec,
                const uint8_t *record,
                size_t size);
int repack_end(Repack *repack, Queue *queue);
