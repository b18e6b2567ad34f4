/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/feed-parts.h"
#include "feed/feed.h"

/* A stream to the disk, without a client. entry comes from spool_make. The feed owns entry from
 * this call on, even if the call fails, and ends it with the feed. on_ready delivers no fd. */
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
/* Leaves the entry to the next daemon. */
void feed_leave_spool(Feed *feed);
