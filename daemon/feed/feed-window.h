/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/feed-link.h"

/* Sends the window of the last snapshot, and a memfd for the next window: an empty one, or what a
 * failed snapshot has kept. Returns this memfd, or -1. Errors are not returned: without a window
 * the consumer takes no rings, so the next step fails. */
int feed_window_send(FeedLink *link, Trace *trace);
/* The snapshot has released the rings. is_whole: the window contains all its records, and is kept
 * for the next snapshot. Otherwise it must be continued or forgotten. */
void feed_window_keep(Trace *trace, int *fd, bool is_whole);
/* The next snapshot begins after the records that were read. */
void feed_window_forget(Trace *trace);
