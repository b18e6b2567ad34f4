/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bootconfig.h"

/* which: a release, a file like /boot/config-…, or NULL: the one that runs. */
int boot_kernel_find(const char *which, BootKernel *ret, Reason *reason);
/* CONFIG_… lines and the version in their head. */
int boot_kernel_parse(const char *config, BootKernel *ret, Reason *reason);
