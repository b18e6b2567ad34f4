/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Decides about the keys of a spec that concern the kernel and not events: the data of tracers,
 * stacks and foreign instances cannot be cut field by field, so these keys require a grant that
 * cuts nothing. Part of grant.c. Pure. */

#include "policy/grant-kernel.h"

#include "policy/decision.h"

int decision_check_kernel(const Decision *d) {
        const Grant *grant = d->grant;
        const Spec *spec = d->spec;
        const char *key = spec->tracer       ? "tracer"
                          : spec->instance   ? "instance"
                          : spec->stacktrace ? "stacktrace"
                                             : NULL;

        if (key && (grant->fenced || grant->redacted))
                return reason_set(d->reason,
                                KT_E_ACCESS_DENIED,
                                "%s: %s does not grant kernel addresses and all fields of other "
                                "processes%s",
                                key,
                                grant->rule,
                                spec->unredacted ? "" : "; --unredacted asks for more");
        return 0;
}
