/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* Our own plans that write to one session's instance. */
typedef struct OwnWrites OwnWrites;

/* Called in the event loop. begins: true before the first of several plans is submitted, false when
 * the last one has ended. */
typedef void (*OwnWritesHandler)(bool begins, void *userdata);

int own_writes_new(OwnWritesHandler handler, void *userdata, OwnWrites **ret);
/* After this call the handler is not called. Plans may still be in flight. */
OwnWrites *own_writes_free(OwnWrites *writes);
bool own_writes_are_under_way(const OwnWrites *writes);
/* Only for worker.c: a plan is about to be submitted, or has ended. writes may be NULL. */
void own_writes_begin(OwnWrites *writes);
void own_writes_end(OwnWrites *writes);
