/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "define/compile.h"
#include "work/worker.h"

/* A cache of the kernel's functions and types. */
typedef struct Probes Probes;

int probes_new(sd_event *event, Probes **ret);
Probes *probes_free(Probes *probes);
DEFINE_CLEANUP(Probes, probes_free);

/* Reads them in the worker thread for this user, unless they are cached or being read. This takes
 * up to 0.2 s. done is called exactly once, from a later turn of the loop, with 0, -errno or
 * KT_E_CANCELLED. The functions below read them immediately if they are not cached. */
typedef void (*ProbesHandler)(int result, void *userdata);
int probes_load(Probes *probes,
                Worker *worker,
                const Tracefs *tracefs,
                uid_t uid,
                ProbesHandler done,
                void *userdata);
bool probes_are_loaded(const Probes *probes);

int probes_resolve_function(Probes *probes,
                const Tracefs *tracefs,
                const char *function,
                json_object **ret,
                Reason *reason);
/* line: "p:GROUP/NAME FUNCTION …". KT_E_NO_SUCH_FUNCTION: the kernel does not allow probes
 * there. */
int probes_check_raw(Probes *probes, const Tracefs *tracefs, const char *line, Reason *reason);
int probes_compile(Probes *probes,
                const Tracefs *tracefs,
                const Definition *definition,
                ProbeForm **ret,
                Reason *reason);
