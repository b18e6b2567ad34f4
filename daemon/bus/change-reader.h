/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "error.h"

/* One of them. */
typedef struct Change {
        char **patterns; /* of events to be turned on or off; NULL: it is about something else */
        bool on;
        const char *hist_verb; /* "hist-clear", …; static; NULL: it is about the buffer */
        const char *hist;      /* which one; of the message */
        uint64_t buffer_kb;
} Change;

/* KT_E_* with the reason, or -errno. */
int change_read(sd_bus_message *m, Change *change, Reason *reason);
void change_clear(Change *change);
