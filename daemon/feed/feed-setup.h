/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/feed-parts.h"

/* feed-setup.c */
int feed_set_up(Feed *feed, ControlSink kind, Trace *trace);
/* Makes both ends of a connection to a client. ret_sink is the consumer's end; ret_client is the
 * client's end. */
int feed_make_ends(ControlSink kind, int *ret_sink, int *ret_client);
