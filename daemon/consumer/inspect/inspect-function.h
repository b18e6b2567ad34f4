/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/inspect/inspect-file.h"

/* Addresses [start, end) of the function around `address`, as the file's unwinding tells it, or its
 * symbols. -ENOENT: neither does; -EBADMSG, -EDQUOT. */
int inspect_find_function(InspectFile *file,
                uint64_t address,
                uint64_t *ret_start,
                uint64_t *ret_end);
