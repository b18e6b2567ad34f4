/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "interfaces/error.h"

/* Lets this process have as many more files open, for n_machines. Returns 0, -errno, or KT_E_FAILED
 * with a reason. */
int file_limit_raise(size_t n_files, size_t n_machines, Reason *reason);
