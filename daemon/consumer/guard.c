/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether the guard of a fenced instance is still quiet. Asked by the consumer after it has read
 * and before it tells: what was recorded before the guard fired cannot be told apart from what came
 * after by anything else. The latch: tracing_on is 1 from the beginning and nobody ever writes it
 * again, so a 0 is the guard's, or a stranger's. The hist counts even where tracing is off.
 *
 * Relies on kernel/trace/trace_events_hist.c: each hist ends in "Totals:" and "    Hits: N", and
 * has lines before it only when it has entries. */

#include "consumer/guard.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interfaces/defence.h"

#define HIST_MAX 16384 /* its head quotes the trigger, a command of 4095 bytes at most */

static int guard_refuse(char *text, size_t size, const char *why) {
        snprintf(text, size, "%s", why);
        return -ECANCELED;
}

static bool guard_is_on(int fd) {
        char state[2];

        return pread(fd, state, sizeof(state), 0) >= 1 && state[0] == '1';
}

/* Every one of them, and one at least. */
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

        /* Asked second: the guard that switches tracing off counts in the same moment, and then the
         * reason is certain. */
        if (defence_is_on("guard-hist") && guard->hist_fd >= 0 && !has_no_hits(guard->hist_fd))
                return guard_refuse(text, size, "a traced process changed its credentials");
        return is_off ? guard_refuse(text,
                                        size,
                                        "tracing is off: a traced process changed its credentials, or another program switched it off")
                      : 0;
}
