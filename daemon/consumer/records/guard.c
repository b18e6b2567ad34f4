/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks that the guard of a fenced instance has not fired. The consumer calls it after it has read
 * data and before it sends that data: nothing else separates the records from before the guard
 * fired from later records. The latch is tracing_on: it is 1 from the beginning, and ktraced never
 * writes it again. So a 0 comes from the guard or from another program. The hist counts hits even
 * when tracing is off.
 *
 * It relies on kernel/trace/trace_events_hist.c: each hist ends in "Totals:" and "    Hits: N", and
 * has lines before it only when it has entries. */

#include "consumer/records/guard.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interfaces/defence.h"

#define HIST_MAX 16384 /* it starts with the trigger, a command of at most 4095 bytes */

static int guard_refuse(char *text, size_t size, const char *why) {
        snprintf(text, size, "%s", why);
        return -ECANCELED;
}

static bool guard_is_on(int fd) {
        char state[2];

        return pread(fd, state, sizeof(state), 0) >= 1 && state[0] == '1';
}

/* Returns true when there is at least one table and no table has hits. */
static bool has_no_hits(int fd) {
        static const char totals[] = "\nTotals:\n    Hits: ";
        char text[HIST_MAX];
        bool is_empty = false;

        ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
        if (n <= 0)
                return false;
        text[n] = '\0';
        for (const char *at = text; (at = strstr(at, totals)); is_empty = true) {
                at += strlen(totals);
                if (at[0] != '0' || at[1] != '\n')
                        return false;
        }
        return is_empty;
}

int guard_check(const Guard *guard, char *text, size_t size) {
        bool is_off = defence_is_on("latch") && guard->tracing_fd >= 0 &&
                      !guard_is_on(guard->tracing_fd);

        /* The hist is read after tracing_on: the guard counts a hit at the moment in which it
         * switches tracing off, so a hit shows the reason with certainty. */
        if (defence_is_on("guard-hist") && guard->hist_fd >= 0 && !has_no_hits(guard->hist_fd))
                return guard_refuse(text, size, "a traced process changed its credentials");
        return is_off ? guard_refuse(text,
                                        size,
                                        "tracing is off: a traced process changed its credentials, or another program switched it off")
                      : 0;
}
