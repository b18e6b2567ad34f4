/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "instance.h"
#include "policy.h"
#include "process.h"

/* What was listed and what was left out, for the caller's receipt. */
typedef struct ArmReport {
        size_t n_processes;
        size_t n_threads;
        size_t n_left_out;  /* scope own: processes of the caller that may not be listed */
        char left_out[256]; /* why the first of them was */
} ArmReport;

/* The kernel's PID_MAX_LIMIT: no task ever has it. It keeps the pid list from ever being empty,
 * since an empty list means "trace everybody". */
#define ARM_SENTINEL 4194304

/* What arming needs to know; the report is filled on success. */
typedef struct Arm {
        const Instance *instance;
        const Subject *owner;
        bool needs_sentinel; /* nothing is on the list yet: the sentinel goes first, in the same
                                write */
        ArmReport report;
        Task *listed; /* written so far */
        size_t n_listed;
} Arm;

void arm_clear(Arm *arm);
/* Lists every thread of each process in the instance's set_event_pid, then checks credentials: all
 * uids and gids the caller's, no capabilities, dumpable, and no_new_privs set on every thread
 * (root: no checks). Events must be off: what is refused is listed by then. With single_thread a
 * process of more than one is refused. KT_E_NO_SUCH_PROCESS, KT_E_ACCESS_DENIED with the reason. */
int arm_processes(Arm *arm, const pid_t *pids, size_t n_pids, bool single_thread, Reason *reason);
/* The same for every process of the owner; those that may not be listed are left out and counted.
 */
int arm_own(Arm *arm, Reason *reason);
