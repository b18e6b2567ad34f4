/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Decides whether a session can share an instance with others. Pure. Called by session/create.c.
 *
 * One process reads all records of a shared instance, and passes them to all viewers. So a session
 * shares only if it wants nothing that affects the whole instance, and causes no loss for the
 * others: a trigger or a tracer affects every viewer, and the removal of a probe empties the ring
 * of all (session/session-share.c knows which events are probes). The process that reads the
 * instance evaluates the filters of each viewer, but only the kernel knows what is not in the
 * record, such as the name of the task. A trace of own processes has a fence, and always its own
 * instance. */

#include "policy/grant-share.h"

static bool needs_kernel(const Grant *grant) {
        for (size_t i = 0; i < grant->n_events; i++)
                if (grant->events[i].needs_kernel)
                        return true;
        return false;
}

const char *grant_find_exclusive(const Spec *spec, const Grant *grant) {
        return spec->scope != SCOPE_SYSTEM || grant->fenced ? "scope"
               : spec->mode != MODE_STREAM                  ? "mode"
               : spec->n_probes > 0                         ? "probes"
               : spec->n_triggers > 0                       ? "triggers"
               : needs_kernel(grant)                        ? "filter"
               : spec->cpus                                 ? "cpus"
               : spec->stacktrace                           ? "stacktrace"
               : spec->tracer                               ? "tracer"
               : spec->instance                             ? "instance"
                                                            : NULL;
}
