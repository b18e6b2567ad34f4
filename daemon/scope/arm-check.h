/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "scope/arm.h"

/* Checks all tasks on the kernel's list, also children: all uids are the owner's, all gids are the
 * one shared gid, the task has no capabilities, is dumpable, and has no_new_privs if the rule
 * requires it. To be called once the guard is armed, and again after each later listing.
 * KT_E_ACCESS_DENIED: an unfit task is listed, so no event may be enabled. */
int arm_check(Arm *arm, Reason *reason);
/* Reads this clock into since_nsec, then keeps only those verified tasks that have not begun to
 * exit. If exits are already recorded, the exit record of each of them comes after since_nsec.
 * Returns 0, PLAN_AGAIN, -errno. */
int arm_prove(Arm *arm, clockid_t clock);
/* Checks whether this process and all of its threads are fit. For a process that is not listed yet.
 * Returns 0 if the arm does not judge. */
int arm_check_process(const Arm *arm, pid_t pid, const Task *tasks, size_t n, Reason *reason);
Round *round_free(Round *round);
