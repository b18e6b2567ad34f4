/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Limits a request that came through the socket of a container. The container's processes are in
 * one cgroup, and only they may be traced (scope/arm-check.c). So a scope that names anything else
 * is refused, and so is everything that outlives the client's connection or reaches other
 * processes. It does not matter what the rule grants: this is checked first. Part of grant.c.
 * Pure. */

#include "policy/grant-container.h"

static int refuse_scope(const Decision *d) {
        return reason_set(d->reason,
                        KT_E_ACCESS_DENIED,
                        "scope: a container may only trace its own processes: use own (all processes of the container), command or pids");
}

int decision_check_container(const Decision *d) {
        const Spec *spec = d->spec;

        if (!container_has_uid(d->subject->uid))
                return 0;
        if (spec->scope != SCOPE_OWN && spec->scope != SCOPE_COMMAND && spec->scope != SCOPE_PIDS)
                return refuse_scope(d);
        const char *key = spec->lifetime != LIFETIME_CLIENT ? "lifetime"
                          : spec->spool.is_on               ? "spool"
                          : spec->n_probes > 0              ? "probes"
                          : d->events->n_probes > 0         ? "probes"
                          : spec->instance                  ? "instance"
                          : spec->tracer                    ? "tracer"
                          : spec->stacktrace                ? "stacktrace"
                          : spec->unredacted                ? "unredacted"
                          : spec->allow_setuid              ? "allow-setuid"
                                                            : NULL;

        return key ? reason_set(d->reason,
                                     KT_E_ACCESS_DENIED,
                                     "%s: not possible from inside a container: leave it out, or ask "
                                     "an administrator to trace the container from the host",
                                     key)
                   : 0;
}
