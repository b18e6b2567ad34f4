/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spool/spool-entry.h"
#include "spool/spool.h"

/* One's own, root any: answers with request->fd, a pipe to read. file: a member's name or the
 * number of a stream; NULL: all streams, one after the other. KT_E_NO_SUCH_SESSION,
 * KT_E_LIMIT_REACHED. */
int spool_open(Spool *spool, Request *request, const char *id, const char *file, Reason *reason);
/* spool-fetch.c */
SpoolFetch *spool_fetch_free(SpoolFetch *fetch);
/* The member is dropped: who reads it at this moment keeps its bytes on the disk, and they count
 * for them until it was passed on. */
void spool_fetch_pin(Spool *spool, const char *id, const SpoolMember *member);
/* What readers keep so; of one user, or (NULL) of all. */
uint64_t spool_fetch_count(const Spool *spool, const uid_t *uid);
/* That entry is being removed. */
void spool_fetch_drop(Spool *spool, const char *id);
