/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "define/compile.h"
#include "work/worker.h"

/* A cache of the kernel's functions and types. */
typedef struct Probes Probes;

/* Returned, as no other error is, by the functions below if the lists have to be read first. */
#define PROBES_ABSENT INT_MIN

/* on_loaded is called after each read that probes_load began, also if it failed. It is not called
 * when the daemon ends. */
int probes_new(sd_event *event, void (*on_loaded)(void *userdata), void *userdata, Probes **ret);
Probes *probes_free(Probes *probes);
DEFINE_CLEANUP(Probes, probes_free);

/* Reads them in the worker thread for this user, unless they are being read. This takes up to 0.2
 * s. If they cannot be read, the functions below return that -errno for some time. */
void probes_load(Probes *probes, Worker *worker, const Tracefs *tracefs, uid_t uid);
/* Reads them immediately: only while the state of the previous daemon is taken over, when no caller
 * is served. */
void probes_load_now(Probes *probes, const Tracefs *tracefs);
/* Returns the number of the read that filled the cache; 0: it is empty. */
uint64_t probes_get_number(const Probes *probes);

int probes_resolve_function(Probes *probes,
                const char *function,
                json_object **ret,
                Reason *reason);
/* line: "p:GROUP/NAME FUNCTION …". KT_E_NO_SUCH_FUNCTION: the kernel does not allow probes
 * there. */
int probes_check_raw(Probes *probes, const char *line, Reason *reason);
int probes_compile(Probes *probes, const Definition *definition, ProbeForm **ret, Reason *reason);
