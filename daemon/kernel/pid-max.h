/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* kernel.pid_max: numbers of tasks are below it, and begin anew when it is reached. */
int pid_max_read(uint64_t *ret);
