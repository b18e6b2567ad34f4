/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "manager/configuration.h"

/* Runs the daemon, from the loaded configuration to the end of the last session. Returns 0 after an
 * orderly end, KT_E_* with the reason or -errno if it could not start, and -ECONNRESET if the bus
 * was lost. */
int manager_run(const Configuration *configuration, Reason *reason);
