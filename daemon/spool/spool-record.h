/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spool/spool-entry.h"
#include "spool/spool.h"

/* Makes a new entry. It is on disk when handler is called, and records until spool_end. */
int spool_make(Spool *spool, const SpoolMake *make, SpoolHandler handler, void *userdata);
/* Adopts an entry with that id, which a previous daemon made and which still records. Call it
 * before any other use of the spool: an entry that is not adopted counts as crashed. make: the same
 * values as then. goes_on: true if its consumer still runs and reports its position; otherwise a
 * new consumer continues after the existing files. */
int spool_adopt(Spool *spool, const SpoolMake *make, bool goes_on, SpoolEntry **ret);
const char *spool_get_id(const SpoolEntry *entry);
/* Starts to hand out files. Each file follows when the one before it is in use. */
void spool_start_files(SpoolEntry *entry, const SpoolReceiver *receiver, void *userdata);
/* Stops handing out files. */
void spool_stop_files(SpoolEntry *entry);
void spool_take_note(SpoolEntry *entry, const SpoolNote *note);
/* The disk has no space for promised bytes. Drops the oldest file if the entry permits it. */
void spool_make_room(SpoolEntry *entry);
uint64_t spool_get_max_bytes(const SpoolEntry *entry);
uint64_t spool_get_rotate_bytes(const SpoolEntry *entry);
unsigned spool_get_sync(const SpoolEntry *entry);
/* Describes the entry for ListSpool. */
int spool_describe_entry(const SpoolEntry *entry, json_object **ret);
/* The entry's files on the disk are now known. */
void spool_record_loaded(SpoolEntry *entry);
/* Tries again: there may be space now. */
void spool_record_retry(Spool *spool);
uint64_t spool_count_promised(const Spool *spool);
