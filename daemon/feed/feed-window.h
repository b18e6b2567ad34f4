/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/feed-parts.h"

/* A snapshot has let the rings go; whole: all of it is in the window that it leaves. */
void feed_end_turn(Feed *feed, bool is_whole);
void feed_send_window(Feed *feed);
/* All of a judged snapshot is in the consumer's memory: whose it is is looked up now. Nothing of
 * other feeds. */
void feed_prove(Feed *feed);
