/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The memory and CPU time of a process. */
typedef struct ProcessCost {
        uint64_t memory_kb;  /* in RAM, including shared memory */
        uint64_t cpu_usec;   /* of all its threads, since its start */
        uint64_t begun_usec; /* CLOCK_BOOTTIME */
} ProcessCost;

/* -ESRCH: it has ended. Does not block. */
int process_cost_read(pid_t pid, ProcessCost *ret);
