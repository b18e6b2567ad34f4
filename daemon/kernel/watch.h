/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "kernel/instance.h"

#define WATCH_NAME_MAX 256

/* Reports when any process, including ours, writes to a control file of an instance. */
typedef struct Watch Watch;

int watch_new(const Instance *instance, Watch **ret);
/* The same for an instance that only this program may use: writes to all files matter, and so does
 * each opening of a file with which records are taken out of the ring. */
int watch_new_alone(const Instance *instance, Watch **ret);
/* The same for the lists of all probes. */
int watch_new_probes(const Tracefs *tracefs, Watch **ret);
Watch *watch_free(Watch *watch);
DEFINE_CLEANUP(Watch, watch_free);
/* Adds a directory below the instance's, "." for the instance itself. Adding it twice is
 * allowed. */
int watch_add(Watch *watch, const char *directory);
/* The fd becomes readable when a write was detected. */
int watch_get_fd(const Watch *watch);
/* Takes the queued events; returns false if none of them matters. ret_name: the first file that
 * matters, relative to the instance. */
bool watch_take(Watch *watch, char ret_name[static WATCH_NAME_MAX]);
/* Returns whether, since the last call, a process opened `trace` to empty the ring. */
bool watch_was_emptied(Watch *watch);
