/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spool/spool-entry.h"
#include "spool/spool.h"

/* Opens a recording of the caller; root may open any. Answers with request->fd, a pipe to read.
 * file: a member's name or the number of a stream; NULL selects all streams, one after the other.
 * KT_E_NO_SUCH_SESSION, KT_E_LIMIT_REACHED. */
int spool_open(Spool *spool, Request *request, const char *id, const char *file, Reason *reason);
/* spool-fetch.c */
SpoolFetch *spool_fetch_free(SpoolFetch *fetch);
/* The member is dropped. A reader that is reading it keeps its bytes on the disk. These bytes count
 * against the reader until the member was passed on. */
void spool_fetch_pin(Spool *spool, const char *id, const SpoolMember *member);
/* Returns the bytes that readers keep this way: those of one user, or of all users (NULL). */
uint64_t spool_fetch_count(const Spool *spool, const uid_t *uid);
/* The entry is being removed; stops its readers. */
void spool_fetch_drop(Spool *spool, const char *id);
