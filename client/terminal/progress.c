/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The live line of `record` on a terminal. live-counts.c gives it new counts once per second. The
 * line is cleared for a message (message.h) and at the end. At most one line exists. */

#include "terminal/progress.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "terminal/message.h"
#include "terminal/table.h"

struct Progress {
        bool drawn;
};

static void progress_clear(void *userdata) {
        Progress *progress = userdata;

        if (progress->drawn)
                (void)fputs("\r\033[K", stderr);
        progress->drawn = false;
}

int progress_new(Progress **ret) {
        Progress *progress = calloc(1, sizeof(*progress));

        if (!progress)
                return -ENOMEM;
        message_set_before(progress_clear, progress);
        *ret = progress;
        return 0;
}

void progress_show(Progress *progress, const ProgressCounts *counts) {
        char events[TABLE_NUMBER_MAX], bytes[TABLE_NUMBER_MAX], lost[TABLE_NUMBER_MAX] = "none";

        if (counts->n_lost > 0)
                table_format_number(lost, counts->n_lost);
        (void)fprintf(stderr,
                        "\r\033[K%02" PRIu64 ":%02" PRIu64 "  %s events  %s  %s lost",
                        counts->seconds / 60,
                        counts->seconds % 60,
                        table_format_number(events, counts->n_events),
                        table_format_bytes(bytes, counts->n_bytes),
                        lost);
        (void)fflush(stderr);
        progress->drawn = true;
}

Progress *progress_free(Progress *progress) {
        if (!progress)
                return NULL;
        progress_clear(progress);
        message_set_before(NULL, NULL);
        free(progress);
        return NULL;
}
