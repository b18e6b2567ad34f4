/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spec/bootconfig.h"

/* which: a release, a file such as /boot/config-…, or NULL for the running kernel. */
int boot_kernel_find(const char *which, BootKernel *ret, Reason *reason);
/* config: CONFIG_… lines after a head that contains the version. */
int boot_kernel_parse(const char *config, BootKernel *ret, Reason *reason);
