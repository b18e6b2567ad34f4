/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/feed-parts.h"
#include "feed/feed.h"

/* A stream onto the disk: no client has a part in it. entry: as spool_make has given it, the feed's
 * from now on, whatever it returns; it ends with the feed. on_ready brings no fd. */
int feed_new_spool(const ConsumerLauncher *launcher,
                Worker *worker,
                Trace *trace,
                SpoolEntry *entry,
                const FeedHandlers *handlers,
                void *userdata,
                Feed **ret,
                Reason *reason);
/* feed-spool.c */
void feed_set_entry(Feed *feed, SpoolEntry *entry);
void feed_on_spooled(Feed *feed, const ControlMessage *message);
void feed_end_spool(Feed *feed);
/* The entry is the next daemon's. */
void feed_leave_spool(Feed *feed);
