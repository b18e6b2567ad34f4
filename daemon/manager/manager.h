/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "manager/configuration.h"

/* The daemon's run, from the loaded configuration to the end of the last session. Returns 0 at an
 * orderly end, KT_E_* with the reason or -errno when it could not start, and -ECONNRESET when the
 * bus was lost. */
int manager_run(const Configuration *configuration, Reason *reason);
