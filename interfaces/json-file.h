/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/json.h"

/* Reads a whole fd (regular file, at most JSON_MAX_BYTES), from its beginning. Returns the same
 * codes as json_parse_strict(). */
int json_read_fd(const char *source, int fd, char **ret, size_t *ret_size, Reason *reason);
/* The same, and parses the text. */
int json_load_fd(const char *source, int fd, json_object **ret, Reason *reason);
