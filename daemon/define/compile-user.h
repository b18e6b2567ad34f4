/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/compile.h"

/* The same for a definition on a file: which the kernel finds as `file`, with the places in it. */
int probe_compile_user(const Definition *definition,
                const char *file,
                const UserPlace *places,
                size_t n_places,
                ProbeForm **ret,
                Reason *reason);
