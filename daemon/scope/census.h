/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A reading of all tasks of users, in parts. {}: not begun. */
typedef struct Census {
        pid_t *pids;
        size_t n_pids, next;
        DIR *threads; /* of the process before `next`; NULL: it is done */
} Census;

void census_clear(Census *census);
/* A plan's step: reads some tasks. A process that cannot be read is left out. */
int census_advance(Census *census);
/* Returns how long to wait before the next census, after one that took so long. */
uint64_t census_count_pause(uint64_t taken_usec);
