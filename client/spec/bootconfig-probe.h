/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spec/bootconfig.h"

/* Returns the probe of that name in probes.d as "p:GROUP/NAME PLACE ARG…", separated by single
 * blanks. index: its index in the spec's probes, for the reason. */
int boot_probe_find(const BootLineOptions *wanted,
                const char *name,
                size_t index,
                char **ret,
                Reason *reason);
