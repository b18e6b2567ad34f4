/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "kernel/instance.h"

#define WATCH_NAME_MAX 256

/* Tells when anybody, ourselves included, writes to a file of an instance by which it is
 * controlled. */
typedef struct Watch Watch;

int watch_new(const Instance *instance, Watch **ret);
/* The same of the lists of all probes. */
int watch_new_probes(const Tracefs *tracefs, Watch **ret);
Watch *watch_free(Watch *watch);
DEFINE_CLEANUP(Watch, watch_free);
/* A directory below the instance's, "." for that itself. Again: no matter. */
int watch_add(Watch *watch, const char *directory);
/* Becomes readable. */
int watch_get_fd(const Watch *watch);
/* Takes what is queued; false when nothing of it matters. ret_name: the first file that does, below
 * the instance. */
bool watch_take(Watch *watch, char ret_name[static WATCH_NAME_MAX]);
/* Of what was taken since this was asked last: somebody has opened `trace` to empty the ring. */
bool watch_was_emptied(Watch *watch);
