/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/feed-parts.h"
#include "feed/feed.h"

/* Does its consumer count histograms? Then it reads whether or not it has a reader. */
bool feed_is_counting(const Feed *feed);
/* A client reads it, or is about to. */
bool feed_has_reader(const Feed *feed);
/* Gives a counting feed without a reader one: on_ready brings the client's end. */
int feed_attach(Feed *feed, ControlSink kind);
/* Asks a counting feed about the histogram of a trigger of the spec, or changes it. fd: where its
 * consumer answers (control.h, COUNTS), or -1; stays the caller's. -errno: not sent. */
int feed_ask_counts(Feed *feed, uint32_t trigger, ControlCountsVerb verb, int fd);
/* feed-counts.c */
void feed_on_rose(Feed *feed, const ControlMessage *message);
void feed_on_detached(Feed *feed, const ControlMessage *message);
