/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "base/fd-store.h"
#include "interfaces/share.h"

/* What connects the reader of a shared instance with the stream worker of one viewer. */
typedef struct ShareEnds {
        /* Both ends of the pipes, as the reader gets them, and the memory. */
        int entries, finished, memory;
        /* What the worker gets: see VIEW in control.h. */
        int views[SHARE_VIEW_FDS];
        const ShareMemory *mapped; /* read-only */
} ShareEnds;

#define SHARE_ENDS_NONE \
        ((ShareEnds){ .entries = -1, .finished = -1, .memory = -1, .views = { -1, -1, -1, -1 } })

/* The descriptor of the pool is missing in the views. Returns -errno on failure. */
int share_ends_make(ShareEnds *ends);
void share_ends_clear(ShareEnds *ends);
/* Makes the memory of a class. */
int share_ends_make_pool(int *ret);
/* Opens the memory for a reader. No other reader can get it until this one has ended. Fails with
 * -EWOULDBLOCK while another one has it. */
int share_ends_lock_memory(const ShareEnds *ends, int *ret);
/* Leaves the ends to the next daemon, under the id of the session. */
void share_ends_keep(const ShareEnds *ends, FdStore *store, const char *id);
void share_ends_unkeep(FdStore *store, const char *id);
/* Takes those of the last daemon. Fails with -ENOENT if one is missing. */
int share_ends_adopt(ShareEnds *ends, FdStore *store, const char *id);
/* Gives the worker the pool of the viewer's class. */
int share_ends_view_pool(ShareEnds *ends, int pool);
