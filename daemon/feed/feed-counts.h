/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/feed-parts.h"
#include "feed/feed.h"

/* True if the feed's consumer counts histograms. Such a consumer reads with or without a reader. */
bool feed_is_counting(const Feed *feed);
/* True if a client reads the feed or is being attached. */
bool feed_has_reader(const Feed *feed);
/* Attaches a reader to a counting feed that has no reader. on_ready delivers the client's end. */
int feed_attach(Feed *feed, ControlSink kind);
/* Asks a counting feed about the histogram of a trigger of the spec, or changes that histogram. The
 * consumer answers on fd (control.h, COUNTS); -1 requests no answer. The caller keeps fd. Returns
 * -errno if the message was not sent. */
int feed_ask_counts(Feed *feed, uint32_t trigger, ControlCountsVerb verb, int fd);
/* feed-counts.c */
void feed_on_rose(Feed *feed, const ControlMessage *message);
void feed_on_detached(Feed *feed, const ControlMessage *message);
