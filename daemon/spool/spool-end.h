/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spool/spool-entry.h"
#include "spool/spool.h"

/* It is whole: nothing is added any more, its owner may remove it. The entry is not the caller's
 * any more. lost: records, as far as anybody knows. */
void spool_end(SpoolEntry *entry, const char *code, const char *reason);
/* spool-end.c */
uint64_t spool_now_usec(void);
/* session.json as it stands. */
void spool_save_entry(SpoolEntry *entry);
void spool_close_entry(SpoolEntry *entry, const char *code, const char *reason);
