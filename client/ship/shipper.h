/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ship/ship-settings.h"

/* Ships what is marked on this machine, until the process ends. settings and credentials_dir are
 * borrowed; credentials_dir may be NULL. Returns only without memory: -ENOMEM. */
int shipper_run(const ShipSettings *settings, const char *credentials_dir);
