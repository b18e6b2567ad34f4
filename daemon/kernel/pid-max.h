/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* Reads kernel.pid_max: task ids are below it, and start again when it is reached. */
int pid_max_read(uint64_t *ret);
