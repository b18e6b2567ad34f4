/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/records/page.h"

/* The data that a flight recorder passes from one snapshot to the next. A snapshot removes the data
 * that it reads from the ring, but the next snapshot must contain this data too. */
typedef struct Window {
        bool is_on;
        bool is_frozen; /* the rings are not written during the reading */
        size_t subbuf_size;
        uint64_t buffer_bytes;  /* for one CPU */
        int kept_fd;            /* for the next snapshot; -1: not open, or already closed */
        const uint8_t *earlier; /* mapped; data of the last snapshot */
        size_t earlier_size;
        bool is_whole; /* window_close() succeeded */
} Window;

#define WINDOW_NONE ((Window){ .kept_fd = -1 })

typedef int (*WindowPut)(unsigned cpu, const uint8_t *data, size_t size, void *userdata);

/* The caller has set the members before `earlier`. earlier_fd: the data that window_close() has
 * left, or an empty file. The pseudonyms of masks (NULL: none) continue those of the last snapshot.
 * The pids whose records are in the data count as seen. */
int window_open(Window *window, int earlier_fd, const Masks *masks, PageTally *tally);
/* Puts the data of that CPU that the last snapshot has left, as much as fits into a buffer together
 * with new_bytes. */
int window_visit(const Window *window,
                unsigned cpu,
                uint64_t new_bytes,
                WindowPut put,
                void *userdata);
/* Keeps data for the next snapshot: sub-buffers in order. The last one may be cut. */
int window_keep(Window *window, unsigned cpu, const uint8_t *data, size_t size);
/* Called when all data is kept. */
int window_close(Window *window, const PageTally *tally);
