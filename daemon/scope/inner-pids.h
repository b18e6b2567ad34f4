/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <time.h>

#include "interfaces/control.h"
#include "scope/arm.h"

/* The pids that containers use for tasks of a session. All zero: empty. */
typedef struct InnerPids {
        ControlInnerPid *pids;
        size_t n;
        TaskSet seen;   /* they were read, or have no such pid */
        TaskSet joined; /* they have their entry */
        pid_t *tids;    /* of the reading in progress; NULL: none */
        size_t n_tids, next;
        Task *found; /* in it */
        size_t n_found;
} InnerPids;

/* Reads the pids of those tasks on the kernel's list that were not read before. If the arm judges,
 * only those of verified tasks. Events must be enabled. clock: that of the trace. PLAN_AGAIN: not
 * finished, call again with the same arguments. */
int inner_pids_read(InnerPids *inner, const Arm *arm, clockid_t clock);
/* Adds an entry for each task that was not listed by the last call: its number may have been that
 * of another one before since_nsec. */
int inner_pids_add_joined(InnerPids *inner, const Arm *arm, uint64_t since_nsec);
/* Remembers the tasks without an entry: they did not join. */
int inner_pids_take_over(InnerPids *inner, const Arm *arm, const TaskSet *seen);
/* Drops a reading that was cancelled. */
void inner_pids_forget_turns(InnerPids *inner);
void inner_pids_clear(InnerPids *inner);
