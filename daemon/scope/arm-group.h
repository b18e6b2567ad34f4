/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "scope/arm.h"

/* The same for every process of the group. Of the owner's processes those that may not be listed
 * are left out and counted; a cgroup must be fit as a whole. KT_E_NO_SUCH_PROCESS: nothing in it is
 * the owner's. */
int arm_list_group(Arm *arm, const ArmGroup *group, Reason *reason);
/* While events are on: what has come to the group since, other than as a child of what is listed.
 * The unfit are left out. */
int arm_list_newcomers(Arm *arm, const ArmGroup *group);
Gather *gather_free(Gather *gather);
