/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The log of a service that is a client of ktraced: lines on standard error, which systemd writes
 * to the journal with the level that sd-daemon(3) defines for a line. Any thread may call it: a
 * line is one write. */

#include "service/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void log_print(int level, const char *format, ...) {
        char text[1024];
        va_list args;

        va_start(args, format);
        (void)vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        if (getenv("JOURNAL_STREAM"))
                (void)fprintf(stderr, "<%d>%s\n", level, text);
        else
                (void)fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
}
