/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spool/spool-entry.h"
#include "spool/spool.h"

/* Whether the subject may ship the entry: its owner has marked it, and a rule lets the subject ship
 * recordings of the rule that granted it. */
bool spool_may_ship(const SpoolEntry *entry, const Subject *subject);
/* The streams up to `file` have arrived elsewhere; "end": and so has the end of the recording. The
 * answer comes when this is on the disk. KT_E_NO_SUCH_SESSION, KT_E_ACCESS_DENIED, KT_E_BUSY. */
int spool_acknowledge(Spool *spool,
                Request *request,
                const char *id,
                const char *file,
                Reason *reason);
/* Begins to remove the oldest recording of this user that has arrived elsewhere completely. Returns
 * false if there is none. When it is removed, jobs in Spool.ending begin again, and entries that
 * wait for space try again. */
bool spool_reclaim(Spool *spool, uid_t uid);
