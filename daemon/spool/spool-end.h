/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spool/spool-entry.h"
#include "spool/spool.h"

/* Ends the entry: it is complete, and its owner may remove it. The caller gives up the entry. lost:
 * the known number of lost records. */
void spool_end(SpoolEntry *entry, const char *code, const char *reason);
/* spool-end.c */
uint64_t spool_now_usec(void);
/* Writes the current session.json. */
void spool_save_entry(SpoolEntry *entry);
void spool_close_entry(SpoolEntry *entry, const char *code, const char *reason);
