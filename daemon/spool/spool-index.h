/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spool/spool-entry.h"

/* spool-index.c */
SpoolEntry *spool_entry_new(Spool *spool, const char *id);
SpoolEntry *spool_entry_free(SpoolEntry *entry);
SpoolEntry *spool_find(const Spool *spool, const char *id);
SpoolMember *spool_entry_add(SpoolEntry *entry, const char *name, uint64_t bytes);
SpoolMember *spool_entry_find(const SpoolEntry *entry, const char *name);
void spool_entry_drop(SpoolEntry *entry, SpoolMember *member);
uint64_t spool_entry_count(const SpoolEntry *entry);
void spool_format_number(unsigned number, char name[static SPOOL_MEMBER_MAX + 1]);
/* Makes the text of session.json. */
int spool_entry_save(const SpoolEntry *entry, char **ret);
/* Describes the entry for ListSpool. */
int spool_entry_describe(const SpoolEntry *entry, json_object **ret);
/* In the thread: reads all entries, as a list of objects. */
int spool_index_read(SpoolDisk *disk, json_object **ret);
/* In the thread: reads {"files":…} of one entry. spool_index_take_files takes the result. */
int spool_index_read_entry(SpoolDisk *disk, const char *id, json_object **ret);
void spool_index_take_files(SpoolEntry *entry, json_object *object);
/* Takes the result of spool_index_read. An entry that was not adopted and has no end has crashed;
 * this function closes it. */
void spool_index_take(Spool *spool, json_object *list);
