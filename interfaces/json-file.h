/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/json.h"

/* Reads a whole fd (regular file, at most JSON_MAX_BYTES), from its beginning. The same results. */
int json_read_fd(const char *source, int fd, char **ret, size_t *ret_size, Reason *reason);
/* … and parses it. */
int json_load_fd(const char *source, int fd, json_object **ret, Reason *reason);
