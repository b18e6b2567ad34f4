/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#define DURATION_TEXT_MAX 32

/* "30s", "5min", "500ms"; a number alone means seconds. Returns 0, -EINVAL for anything else, or
 * -ERANGE when it does not fit. */
int duration_parse(const char *text, uint64_t *ret_usec);
/* Uses the largest unit that is exact: "90s", "7d". */
void duration_format(uint64_t usec, char out[static DURATION_TEXT_MAX]);
