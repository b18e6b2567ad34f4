/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spec/bootconfig.h"

/* which: a release, a file such as /boot/config-…, or NULL for the running kernel. */
int boot_kernel_find(const char *which, BootKernel *ret, Reason *reason);
/* A number with K, M or G, as the kernel reads sizes. */
bool boot_is_size(const char *text);
/* Refuses words that do not fit on the kernel's command line. For the running kernel, the other
 * words that are on it stay. */
int boot_check_size(const char *text, const BootKernel *kernel, Reason *reason);
/* True if the running kernel was booted with this mark. mark: NAME, or NAME:HASH. */
bool boot_has_mark(const char *mark);
/* config: CONFIG_… lines after a head that contains the version. */
int boot_kernel_parse(const char *config, BootKernel *ret, Reason *reason);
