/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "boot/boot-line.h"
#include "boot/boot.h"
#include "feed/feed.h"

/* Private to boot.c and boot-steps.c, the files of a boot trace. */

struct Boot {
        BootOptions options;
        bool is_closing;
        BootLine *line;
        Subject owner; /* root */
        Spec *spec;    /* as far as the kernel reports it */
        Grant *grant;
        Trace trace;
        uint64_t percent; /* the original buffer_percent; the consumer changes it */
        bool is_of_crash; /* recorded by the previous boot */
        bool is_empty;    /* nothing was recorded */
        Plan plan;
        bool in_flight;
        void (*then)(Boot *boot, int result, const Reason *reason); /* after the plan */
        SpoolEntry *entry;
        Feed *feed;
        sd_event_source *timer;
        unsigned n_tries, n_looks;
};
