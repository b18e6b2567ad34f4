/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/inspect/inspect-file.h"

/* Returns the addresses [start, end) of the function that contains `address`, from the file's
 * unwinding data or its symbols. Fails with -ENOENT when neither has it, and with -EBADMSG or
 * -EDQUOT. */
int inspect_find_function(InspectFile *file,
                uint64_t address,
                uint64_t *ret_start,
                uint64_t *ret_end);
