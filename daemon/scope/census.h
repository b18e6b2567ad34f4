/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/control.h"
#include "interfaces/error.h"
#include "scope/process.h"

/* A reading of all tasks of users, in parts. {}: not begun. */
typedef struct Census {
        pid_t *pids;
        size_t n_pids, next;
        ControlSeed *seeds;
        size_t n_seeds;
        uint64_t begin_nsec, end_nsec; /* CLOCK_MONOTONIC, before the first and after the last */
} Census;

void census_clear(Census *census);
/* A plan's step: reads some processes. */
int census_advance(Census *census);
