/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "interfaces/error.h"

#define SYSTEMCTL_WORDS_MAX 6

/* Runs systemctl with these words, up to the first NULL, and waits. Its messages go to stderr.
 * ret_line: gets the first line of its output; NULL: none is read. Returns 0, -errno, or
 * KT_E_FAILED with a reason. */
int systemctl_run(const char *const words[SYSTEMCTL_WORDS_MAX],
                char *ret_line,
                size_t size,
                Reason *reason);
