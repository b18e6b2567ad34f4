/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/compile.h"

/* Does the same for a definition on a file: `file` is the kernel's name for it, places are its
 * places. */
int probe_compile_user(const Definition *definition,
                const char *file,
                const UserPlace *places,
                size_t n_places,
                ProbeForm **ret,
                Reason *reason);
