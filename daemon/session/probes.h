/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "function.h"

/* The probes that there are, and what is known of the kernel's functions. */
typedef struct Probes Probes;

int probes_new(sd_event *event, Probes **ret);
Probes *probes_free(Probes *probes);
DEFINE_CLEANUP(Probes, probes_free);

int probes_resolve_function(Probes *probes,
                const Tracefs *tracefs,
                const char *function,
                json_object **ret,
                Reason *reason);
