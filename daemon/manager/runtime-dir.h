/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"

#define RUNTIME_STATE_DIR "state" /* in the runtime directory: lost at reboot */

/* Creates the runtime directory and its contents and takes its lock, which this process holds until
 * *ret_lock is closed. Fails with KT_E_FAILED if it cannot, or if another ktraced holds the
 * lock. */
int runtime_dir_take(const char *path, int *ret_lock, Reason *reason);
