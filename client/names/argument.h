/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enough for the longest argument or result. Longer texts are cut. */
#define ARGUMENT_TEXT_MAX 512

/* Prints the value of an argument. call: "openat"; name, type: as the event's format has them.
 * is_native: recorded on the architecture that this program was built for; on others the flags have
 * other values, and numbers are printed. Always ends the text with a NUL. */
void argument_print(const char *call,
                const char *name,
                const char *type,
                uint64_t value,
                bool is_native,
                char *text,
                size_t size);

/* Prints what a call returned: "3", "0x7f1e5c000000" or "-2 ENOENT". call NULL: unknown. */
void argument_print_result(const char *call, int64_t result, char *text, size_t size);
/* The name of an error, from its positive code: "ENOENT". NULL: it has none. */
const char *argument_get_error(int64_t code);
