/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/feed-parts.h"

/* feed-setup.c */
int feed_set_up(Feed *feed, ControlSink kind, Trace *trace);
/* Both ends of a way to a client. ret_sink: what the consumer gets; ret_client: what the client
 * gets. */
int feed_make_ends(ControlSink kind, int *ret_sink, int *ret_client);
