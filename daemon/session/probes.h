/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "compile.h"

/* The kernel's functions and types, kept for a while. */
typedef struct Probes Probes;

int probes_new(sd_event *event, Probes **ret);
Probes *probes_free(Probes *probes);
DEFINE_CLEANUP(Probes, probes_free);

int probes_resolve_function(Probes *probes,
                const Tracefs *tracefs,
                const char *function,
                json_object **ret,
                Reason *reason);
/* line: "p:GROUP/NAME FUNCTION …". KT_E_NO_SUCH_FUNCTION: the kernel forbids probes there. */
int probes_check_raw(Probes *probes, const Tracefs *tracefs, const char *line, Reason *reason);
int probes_compile(Probes *probes,
                const Tracefs *tracefs,
                const Definition *definition,
                ProbeForm **ret,
                Reason *reason);
