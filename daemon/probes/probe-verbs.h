/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-access.h"
#include "probes/probe-set.h"
#include "work/request.h"

/* A return other than 0 is the answer: `done` will not be called and the request stays the
 * caller's. */

/* Answers with request->list, {"name","module","signature","arguments":[…],"takes":[…]}: what a
 * definition may say of this function of the kernel. */
int probe_resolve_function(ProbeSet *set, Request *request, const char *function, Reason *reason);
/* See inspections_open. */
int probe_open_file(ProbeSet *set, Request *request, Reason *reason);
/* Has the file looked into that a definition is on: before it is added, and before anybody is asked
 * about it. 0: handler is called once, not before this has returned, with KT_E_FAILED where no
 * probe may stand, or with the file, which is the handler's then. The definition stays the
 * caller's; its path becomes the one that was found. */
typedef void (*ProbeFileHandler)(int result, const Reason *reason, ProbeFile *file, void *userdata);
int probe_inspect(ProbeSet *set,
                const Request *request,
                Definition *definition,
                ProbeFileHandler handler,
                void *userdata,
                Reason *reason);
/* Defines it for the caller, and answers with the name of its event; the same again is the same.
 * KT_E_NAME_TAKEN, KT_E_KERNEL_REFUSED, and what compile.h and definition.h say. */
int probe_set_define(ProbeSet *set,
                Request *request,
                Definition *definition /* consumed on 0 */,
                Reason *reason);
/* One of the caller's own. KT_E_NO_SUCH_PROBE, KT_E_BUSY while a session has it. */
int probe_set_undefine(ProbeSet *set, Request *request, const char *name, Reason *reason);

/* The definition as a probe of the caller's: one that is there, or (*ret_new, which owns it then) a
 * new one that nobody has submitted yet. */
int probe_take(ProbeSet *set,
                Request *request,
                Definition *definition,
                Probe **ret,
                bool *ret_new,
                Reason *reason);
