/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/records/page.h"

typedef struct WindowPart {
        const uint8_t *data; /* mapped; NULL: empty */
        size_t size;
} WindowPart;

/* The data that a flight recorder passes from one snapshot to the next. A snapshot removes the data
 * that it reads from the ring, but the next snapshot must contain this data too. */
typedef struct Window {
        bool is_on;
        bool is_frozen; /* the rings are not written during the reading */
        unsigned n_cpus;
        size_t subbuf_size;
        uint64_t buffer_bytes; /* for one CPU */
        int kept_fd;           /* for the next snapshot; -1: not open, or already closed */
        WindowPart earlier;    /* data of the last snapshot; until window_close() */
        WindowPart kept;       /* data of this snapshot; from window_close() on */
        uint8_t *n_marks;      /* for each CPU */
        bool is_whole;         /* the window is complete */
} Window;

#define WINDOW_NONE ((Window){ .kept_fd = -1 })

typedef int (*WindowPut)(unsigned cpu, const uint8_t *data, size_t size, void *userdata);

/* The caller has set the members before `earlier`. earlier_fd: the data that window_close() has
 * left, or an empty file. The pseudonyms of masks (NULL: none) continue those of the last snapshot.
 * The pids whose records are in the data count as seen. kept_fd may have what a consumer has kept
 * that did not complete its window: then this window continues it. */
int window_open(Window *window, int earlier_fd, const Masks *masks, PageTally *tally);
/* Puts the data of that CPU that the last snapshot has left, as much as fits into a buffer together
 * with new_bytes. */
int window_visit(const Window *window,
                unsigned cpu,
                uint64_t new_bytes,
                WindowPut put,
                void *userdata);
/* Returns whether the ended consumer has read a part of this ring. Perhaps it has not kept all of
 * that part. */
bool window_has_begun(const Window *window, unsigned cpu);
/* Called before the first data of a ring is read. */
int window_begin(Window *window, unsigned cpu);
/* Keeps what window_visit() puts, before the first data of this ring. Does nothing if the ended
 * consumer has done it. */
int window_carry(Window *window, unsigned cpu, uint64_t new_bytes);
/* Keeps data for the next snapshot: sub-buffers in order. The last one may be cut. */
int window_keep(Window *window, unsigned cpu, const uint8_t *data, size_t size);
/* Called when all data is kept. Fails also if only this process cannot read the window. */
int window_close(Window *window, const PageTally *tally);
/* After window_close(): puts all data, in order. */
int window_read(const Window *window, WindowPut put, void *userdata);
void window_clear(Window *window);
