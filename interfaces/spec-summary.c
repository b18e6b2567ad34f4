/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Summarises in one line what a spec requests besides its events: for polkit's rules and
 * dialogs, and for the journal. Each way to see data has its words here, because an
 * administrator must not allow a request without seeing it. Names may be cut, numbers are not. */

#include "interfaces/spec-summary.h"

#include <stdio.h>

#include "interfaces/spec-trigger.h"

static void spec_summary_add(Reason *text, const char *what, const char *name, size_t n) {
        const Reason before = *text;
        char more[32] = "";

        if (n == 0)
                return;
        if (n > 1)
                snprintf(more, sizeof(more), " and %zu more", n - 1);
        reason_set(text,
                        0,
                        "%s%s%s %.60s%s",
                        before.text,
                        before.text[0] ? ", " : "",
                        what,
                        name,
                        more);
}

void spec_summarize_rest(const Spec *spec, Reason *events) {
        const Reason before = *events;

        reason_set(events, 0, "%.256s", before.text);
        if (spec->n_probes > 0)
                spec_summary_add(events, "probe", spec->probes[0].name, spec->n_probes);
        if (spec->n_triggers > 0)
                spec_summary_add(events, "trigger on", spec->triggers[0].event, spec->n_triggers);
        if (spec->n_functions > 0)
                spec_summary_add(events, "calls of", spec->functions[0], spec->n_functions);
        else if (spec->instance)
                spec_summary_add(events, "instance", spec->instance, 1);
        if (spec->stacktrace) {
                const Reason so_far = *events;

                reason_set(events, 0, "%.480s with stacks of the kernel", so_far.text);
        }
}
