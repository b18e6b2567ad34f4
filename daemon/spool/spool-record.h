/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spool/spool-entry.h"
#include "spool/spool.h"

/* A new entry, on disk when handler is called; recording until spool_end. */
int spool_make(Spool *spool, const SpoolMake *make, SpoolHandler handler, void *userdata);
/* The one of that id that a daemon before this one has made and that goes on recording. Before
 * anything else is asked of the spool: what nobody adopts has crashed. make: as then. goes_on: its
 * consumer is there and says where it is; else another one goes on behind what is there. */
int spool_adopt(Spool *spool, const SpoolMake *make, bool goes_on, SpoolEntry **ret);
const char *spool_get_id(const SpoolEntry *entry);
/* From now on files come, each when the one before it is in use. */
void spool_give(SpoolEntry *entry, const SpoolGiver *giver, void *userdata);
/* Nothing comes any more; who gave up on a file that it was given says so by its note. */
void spool_stop_giving(SpoolEntry *entry);
void spool_take_note(SpoolEntry *entry, const SpoolNote *note);
/* The disk has no room for what was promised: the oldest go if they may. */
void spool_make_room(SpoolEntry *entry);
uint64_t spool_get_max_bytes(const SpoolEntry *entry);
uint64_t spool_get_rotate_bytes(const SpoolEntry *entry);
unsigned spool_get_sync(const SpoolEntry *entry);
/* As ListSpool has it. */
int spool_describe_entry(const SpoolEntry *entry, json_object **ret);
/* Its files as the disk has them are known. */
void spool_record_loaded(SpoolEntry *entry);
/* There may be room again. */
void spool_record_retry(Spool *spool);
uint64_t spool_count_promised(const Spool *spool);
