/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-access.h"
#include "probes/probe-set.h"
#include "work/request.h"

/* If a function returns another value than 0, that value is the answer: `done` is not called and
 * the caller keeps the request. */

/* Answers with request->list, {"name","module","signature","arguments":[…],"takes":[…]}: what a
 * definition may use of this kernel function. */
int probe_resolve_function(ProbeSet *set, Request *request, const char *function, Reason *reason);
/* See inspections_open. */
int probe_open_file(ProbeSet *set, Request *request, Reason *reason);
/* Has the file of a definition inspected. This happens before the definition is added and before
 * polkit is asked about it. If it returns 0, handler is called once, after the return. It gets
 * KT_E_FAILED if no probe may be there, or the file, which the handler then owns. The caller keeps
 * the definition. Its path is replaced by the path that was found. */
typedef void (*ProbeFileHandler)(int result, const Reason *reason, ProbeFile *file, void *userdata);
int probe_inspect(ProbeSet *set,
                const Request *request,
                Definition *definition,
                ProbeFileHandler handler,
                void *userdata,
                Reason *reason);
/* Defines a probe for the caller and answers with the name of its event. An identical definition
 * shares the existing probe. If it returns 0, handler is called once, from a later turn of the
 * loop: with 0 if the set has taken request and definition over. Otherwise the caller still has
 * both, and the result is KT_E_NAME_TAKEN, KT_E_AUTH_REQUIRED or one of the codes of compile.h and
 * definition.h. The definition may still be refused by the kernel: KT_E_KERNEL_REFUSED. */
typedef void (*DefineHandler)(int result, const Reason *reason, void *userdata);
int probe_set_define(ProbeSet *set,
                Request *request,
                Definition *definition,
                DefineHandler handler,
                void *userdata);
/* Removes one of the caller's own probes. KT_E_NO_SUCH_PROBE, KT_E_BUSY while a session has it. */
int probe_set_undefine(ProbeSet *set, Request *request, const char *name, Reason *reason);

/* Returns the definition as a probe of the caller: an existing one, or a new one that is not
 * submitted yet. *ret_new owns a new one. */
int probe_take(ProbeSet *set,
                Request *request,
                Definition *definition,
                Probe **ret,
                bool *ret_new,
                Reason *reason);
