/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* The plans of ours that write to one session's instance. */
typedef struct OwnWrites OwnWrites;

/* In the event loop. begins: before the first of several plans is submitted; else: the last of them
 * is over. */
typedef void (*OwnWritesHandler)(bool begins, void *userdata);

int own_writes_new(OwnWritesHandler handler, void *userdata, OwnWrites **ret);
/* The handler is not called any more. Plans may still be in flight. */
OwnWrites *own_writes_free(OwnWrites *writes);
bool own_writes_are_under_way(const OwnWrites *writes);
/* For worker.c alone: a plan is about to be submitted, and over. NULL is fine. */
void own_writes_begin(OwnWrites *writes);
void own_writes_end(OwnWrites *writes);
