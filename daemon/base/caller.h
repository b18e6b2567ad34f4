/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* The process that has made a call. All zero: it is not known. */
typedef struct Caller {
        pid_t pid; /* as we see it */
        uint64_t start_time;
} Caller;
