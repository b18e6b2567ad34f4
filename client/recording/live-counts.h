/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call/proxy.h"

/* The counts of a session on the live line of a terminal. Updated once per second. */
typedef struct LiveCounts LiveCounts;

/* The proxy must be attached. */
int live_counts_new(Proxy *proxy, const char *session, LiveCounts **ret);
/* Clears the line. */
LiveCounts *live_counts_free(LiveCounts *counts);
DEFINE_CLEANUP(LiveCounts, live_counts_free);
