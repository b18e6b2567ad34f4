/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "interfaces/error.h"
#include "interfaces/json.h"

/* Makes the words for the kernel's command line, with a newline. preset: its spec. size: of the
 * memory, a number with K, M or G. *ret_is_booted: the running kernel has them. */
int blackbox_persistent_make(json_object *preset,
                const char *size,
                char **ret,
                bool *ret_is_booted,
                Reason *reason);
/* Returns whether the running kernel keeps a black box over a crash. */
bool blackbox_persistent_is_on(void);
