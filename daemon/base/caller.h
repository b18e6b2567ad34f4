/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* The process that made a call. All zero: not known. */
typedef struct Caller {
        pid_t pid; /* in our pid namespace */
        uint64_t start_time;
} Caller;
