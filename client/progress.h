/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "proxy.h"

/* The live line of a recording on a terminal: time, events, bytes, lost events. Updated once per
 * second. */
typedef struct Progress Progress;

/* The proxy must be attached. */
int progress_new(Proxy *proxy, const char *session, Progress **ret);
/* Clears the line. */
Progress *progress_free(Progress *progress);
DEFINE_CLEANUP(Progress, progress_free);
