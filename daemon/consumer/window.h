/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/page.h"

/* What of a flight recorder reaches from one snapshot to the next: a snapshot takes what it reads
 * out of the ring, and the next one is to have it too. */
typedef struct Window {
        bool is_on;
        bool is_frozen; /* nobody writes to the rings that are read */
        size_t subbuf_size;
        uint64_t buffer_bytes;  /* of one CPU */
        int kept_fd;            /* for the next snapshot; -1: not open, or not any more */
        const uint8_t *earlier; /* mapped; of the last one */
        size_t earlier_size;
        bool is_whole; /* window_close() was called */
} Window;

#define WINDOW_NONE ((Window){ .kept_fd = -1 })

typedef int (*WindowPut)(unsigned cpu, const uint8_t *data, size_t size, void *userdata);

/* What stands in front of earlier is set. earlier_fd: what window_close() has left, or empty.
 * Pseudonyms of masks (NULL: none) go on as they were; those whose records are in it count as seen.
 */
int window_open(Window *window, int earlier_fd, const Masks *masks, PageTally *tally);
/* Puts of that CPU what the last snapshot has left, as far as it fits into a buffer with new_bytes
 * behind it. */
int window_visit(const Window *window,
                unsigned cpu,
                uint64_t new_bytes,
                WindowPut put,
                void *userdata);
/* For the next snapshot: sub-buffers in order, the last one may be cut. */
int window_keep(Window *window, unsigned cpu, const uint8_t *data, size_t size);
/* All is kept. */
int window_close(Window *window, const PageTally *tally);
