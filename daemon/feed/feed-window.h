/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/feed-link.h"

/* Sends the window of the last snapshot and an empty memfd for the next window. Returns this memfd,
 * or -1. Errors are not returned: without a window the consumer takes no rings, so the next step
 * fails. */
int feed_window_send(FeedLink *link, const Trace *trace);
/* The snapshot has released the rings. is_whole: the window contains all its records, and is kept
 * for the next snapshot. A failed snapshot has consumed records and these are lost; the next
 * snapshot begins after them. */
void feed_window_keep(Trace *trace, int *fd, bool is_whole);
