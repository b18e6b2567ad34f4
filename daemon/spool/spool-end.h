/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <time.h>

#include "spool/spool-entry.h"
#include "spool/spool.h"

/* Its session has ended. From now on calls that read or remove the entry wait until it ends. */
void spool_finish(SpoolEntry *entry);
/* Returns true if the entry is about to end. Then job->begin is called again when it has ended. */
bool spool_hold_until_ended(SpoolEntry *entry, SpoolJob *job);
/* Ends the entry: it is complete, and its owner may remove it. The caller gives up the entry. lost:
 * the known number of lost records. */
void spool_end(SpoolEntry *entry, const char *code, const char *reason);
/* The daemon ends, and the worker still writes the end of the entry. spool_free() takes its last
 * reports from fd, which is consumed. -1: they are unknown. */
void spool_await(SpoolEntry *entry, int fd, const char *code, const char *reason);
/* Waits for the worker until then (CLOCK_MONOTONIC), and ends the entry. In the thread. */
void spool_end_awaited(SpoolEntry *entry, const struct timespec *until);
/* spool-end.c */
uint64_t spool_now_usec(void);
/* Writes the current session.json. */
void spool_save_entry(SpoolEntry *entry);
void spool_close_entry(SpoolEntry *entry, const char *code, const char *reason);
