/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How long the daemon has been away, without the time in which programs waited for a CPU. */
typedef struct Absence {
        uint64_t begin_usec, last_usec, last_wait_usec;
        uint64_t used_usec;
} Absence;

#define ABSENCE_LIMIT_USEC UINT64_C(20000000)  /* systemd restarts it in a fraction of this */
#define ABSENCE_MOST_USEC  UINT64_C(200000000) /* elapsed time, all of it */
#define ABSENCE_LOOK_USEC  UINT64_C(500000)    /* between two checks */

void absence_begin(Absence *absence);
/* Checks again. True: the limit is reached and the wait ends. */
bool absence_is_over(Absence *absence);

/* For absence_is_over() and its tests. Adds the current time, and the total time in which programs
 * waited for a CPU. */
bool absence_add(Absence *absence, uint64_t now_usec, uint64_t wait_usec);
/* Parses the text of /proc/pressure/cpu. 0: it has no such value. */
uint64_t absence_parse_pressure(const char *text);
