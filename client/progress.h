/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "proxy.h"

/* The live line of a recording on a terminal: elapsed, events, bytes, lost; once a second. */
typedef struct Progress Progress;

/* proxy must be attached. */
int progress_new(Proxy *proxy, const char *session, Progress **ret);
/* Clears the line. */
Progress *progress_free(Progress *progress);
DEFINE_CLEANUP(Progress, progress_free);
