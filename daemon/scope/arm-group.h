/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "scope/arm.h"

/* Does the same as arm_list_processes for every process of the group. The owner's processes that
 * may not be listed are left out and counted. A cgroup must be fit as a whole.
 * KT_E_NO_SUCH_PROCESS: the group contains no process of the owner. */
int arm_list_group(Arm *arm, const ArmGroup *group, Reason *reason);
/* While events are enabled: lists processes that have joined the group since, except children of
 * listed tasks. Unfit processes are left out. */
int arm_list_newcomers(Arm *arm, const ArmGroup *group);
Gather *gather_free(Gather *gather);
