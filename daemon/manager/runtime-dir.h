/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"

#define RUNTIME_STATE_DIR "state" /* in the runtime directory: gone with the machine's memory */

/* Makes the runtime directory and what is in it, and takes its lock, which is this process's until
 * *ret_lock is closed. KT_E_FAILED: it cannot, or another ktraced has it. */
int runtime_dir_take(const char *path, int *ret_lock, Reason *reason);
