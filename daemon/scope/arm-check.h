/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "scope/arm.h"

/* Checks whatever is on the kernel's list by now, also children: all uids the owner's, all gids the
 * one that all share, no capabilities, dumpable, and no_new_privs where the rule asks for it. To be
 * called once the guard is armed, and again whenever something was listed since.
 * KT_E_ACCESS_DENIED: something unfit is listed, no event may be enabled. */
int arm_check(Arm *arm, Reason *reason);
/* Takes the time by this clock (since_nsec), then keeps of the verified tasks only those that have
 * not begun to exit. If exits are recorded by now, the record of each one's exit comes after
 * since_nsec. PLAN_AGAIN, -errno. */
int arm_prove(Arm *arm, clockid_t clock);
/* Is this process fit, with each of its threads? For what is not on the list yet; 0 when the arm
 * does not judge. */
int arm_check_process(const Arm *arm, pid_t pid, const Task *tasks, size_t n, Reason *reason);
Round *round_free(Round *round);
