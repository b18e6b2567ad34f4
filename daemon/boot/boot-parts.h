/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "boot/boot-line.h"
#include "boot/boot.h"
#include "feed/feed.h"

/* What the files of a boot trace (boot.c, boot-steps.c) have of each other; for nobody else. */

struct Boot {
        BootOptions options;
        bool is_closing;
        BootLine *line;
        Subject owner; /* root */
        Spec *spec;    /* as far as the kernel says what it was */
        Grant *grant;
        Trace trace;
        uint64_t percent; /* buffer_percent, which the consumer changes */
        bool is_of_crash; /* the boot before this one has recorded it */
        bool is_empty;    /* nothing was recorded */
        Plan plan;
        bool in_flight;
        void (*then)(Boot *boot, int result, const Reason *reason); /* when it is over */
        SpoolEntry *entry;
        Feed *feed;
        sd_event_source *timer;
        unsigned n_tries;
};
