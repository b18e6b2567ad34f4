/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* A reading of all tasks of users, in parts. {}: not begun. */
typedef struct Census {
        pid_t *pids;
        size_t n_pids, next;
} Census;

void census_clear(Census *census);
/* A plan's step: reads some processes. */
int census_advance(Census *census);
