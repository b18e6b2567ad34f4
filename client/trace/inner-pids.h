/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "interfaces/cleanup.h"

/* The pids that a container uses for the tasks of a trace. */
typedef struct InnerPids InnerPids;

/* A task had this pid in the container for this time. */
typedef struct InnerLife {
        uint64_t from, until;
        uint32_t tid, inner;
} InnerLife;

/* lives: sorted by tid, then time; no two of a task at the same time. Consumed, also on failure.
 * Returns 0 or -ENOMEM. */
int inner_pids_new(InnerLife *lives, size_t n, InnerPids **ret);
InnerPids *inner_pids_free(InnerPids *inner);
DEFINE_CLEANUP(InnerPids, inner_pids_free);
/* Returns the pid in the container of the task that had this number at that time. 0: unknown. inner
 * may be NULL. */
uint32_t inner_pids_find(const InnerPids *inner, int pid, uint64_t ts);
