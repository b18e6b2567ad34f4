/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Decides how long `record` and `stream` wait for the next daemon. On a loaded machine systemd and
 * the daemon may wait long for a CPU. The client does not know their processes. So it asks the
 * kernel how long any program waited for a CPU, and does not count that time. Used by watch.c.
 *
 * Relies on the line "some" of /proc/pressure/cpu, whose total is in microseconds
 * (Documentation/accounting/psi.rst). If the kernel has no such file, all time counts. */

#include "recording/absence.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "interfaces/cleanup.h"

static uint64_t absence_get_now(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t absence_parse_pressure(const char *text) {
        uint64_t total;

        return sscanf(text, "some avg10=%*f avg60=%*f avg300=%*f total=%" SCNu64, &total) == 1
                               ? total
                               : 0;
}

static uint64_t read_pressure(void) {
        _cleanup_close_ int fd = open("/proc/pressure/cpu", O_RDONLY | O_CLOEXEC);
        char text[256];

        ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
        text[MAX_OF(n, (ssize_t)0)] = '\0';
        return absence_parse_pressure(text);
}

void absence_begin(Absence *absence) {
        uint64_t now = absence_get_now();

        *absence = (Absence){
                .begin_usec = now, .last_usec = now, .last_wait_usec = read_pressure()
        };
}

bool absence_add(Absence *absence, uint64_t now_usec, uint64_t wait_usec) {
        uint64_t passed = now_usec - absence->last_usec;
        uint64_t waited = wait_usec > absence->last_wait_usec ? wait_usec - absence->last_wait_usec
                                                              : 0;

        absence->used_usec += passed - MIN_OF(passed, waited);
        absence->last_usec = now_usec;
        absence->last_wait_usec = wait_usec;
        return absence->used_usec >= ABSENCE_LIMIT_USEC ||
               now_usec - absence->begin_usec >= ABSENCE_MOST_USEC;
}

bool absence_is_over(Absence *absence) {
        return absence_add(absence, absence_get_now(), read_pressure());
}
