/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interfaces/share.h"

/* A stream worker's end of the viewer of a shared instance (share.h). */
typedef struct View {
        bool is_open;
        bool is_over; /* the reader of the instance has ended: nothing more comes */
        int entries_fd, finished_fd;
        const uint8_t *pool;
        const ShareCounters *counters; /* one for each CPU */
        unsigned n_cpus;
        uint64_t last_number; /* of the entries that were taken */
} View;

#define VIEW_NONE ((View){ .entries_fd = -1, .finished_fd = -1 })

/* Takes the fds of VIEW; those that are taken become -1. Returns -errno on failure. */
int view_open(View *view, unsigned n_cpus, int *fds);
void view_close(View *view);
/* Takes up to n entries. Returns their number; 0: there is none now. Fails with -EBADMSG. */
int view_take(View *view, ShareEntry *entries, size_t n);
/* Returns the data of an entry, which stays until view_finish(). NULL: the entry is wrong. */
const uint8_t *view_get(const View *view, const ShareEntry *entry, size_t size_max);
/* Everything that was taken may be used again. */
void view_finish(View *view);
