/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/selection.h"

/* Selects the processes of a list such as "1204,1210", with all threads that they have now. Returns
 * 0, -errno, or KT_E_INVALID_SPEC with a reason. */
int last_tasks_add_processes(Selection *selection, const char *list, Reason *reason);
/* Selects the threads that are in the unit of the system now, and its last main process, even if
 * that has ended. Returns KT_E_INVALID_SPEC when the unit has none of them. */
int last_tasks_add_unit(Selection *selection, const char *unit, Reason *reason);
