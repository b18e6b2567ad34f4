/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/feed-parts.h"

/* A snapshot has released the rings. is_whole: the window that it leaves contains all its records.
 */
void feed_end_turn(Feed *feed, bool is_whole);
void feed_send_window(Feed *feed);
/* The consumer holds the complete judged snapshot in memory; looks up its members. Does nothing for
 * other feeds. */
void feed_prove(Feed *feed);
