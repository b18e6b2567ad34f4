/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks who may define and use which probes: policy decides by the definition and by its resolved
 * form. Called by the other files of this folder, again for every verb, because rules change. */

#include "probes/probe-access.h"

#include <errno.h>
#include <string.h>

#include "interfaces/nearest.h"
#include "interfaces/quote.h"
#include "policy/rule-probes.h"

/* Returns the function in "[MODULE:]FUNCTION[+OFFSET]" as rules name it. With an offset the probe
 * may be in any other function. */
static char *get_function(const char *on) {
        const char *colon = strchr(on, ':'), *name = colon ? colon + 1 : on;

        return strdup(strchr(name, '+') ? "" : name);
}

int probe_check_user(ProbeSet *set,
                const Subject *subject,
                const Definition *d,
                const ProbeFile *file,
                const char **ret_action,
                Reason *reason) {
        const ProbeRequest request = {
                .file = file ? file->path : "",
                .is_own_file = file && probe_file_is_own(file, subject->uid),
        };

        if (d->raw && subject->uid != 0)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "raw: only root may probe a program without inspection: use the "
                                "key on");
        return policy_decide_probe(set->policy, subject, &request, ret_action, reason);
}

int probe_check_define(ProbeSet *set,
                const Subject *subject,
                const Definition *d,
                unsigned takes,
                const char **ret_action,
                Reason *reason) {
        _cleanup_free_ char *name = get_function(d->on ?: "");
        bool is_derived = d->event || d->from;
        const ProbeRequest request = {
                .function = is_derived ? NULL : name, .is_derived = is_derived, .takes = takes
        };

        if (!name)
                return -ENOMEM;
        return policy_decide_probe(set->policy, subject, &request, ret_action, reason);
}

int probe_check_own(ProbeSet *set,
                const Subject *subject,
                const Probe *probe,
                bool is_authorized,
                Reason *reason) {
        const Definition *d = probe->definition;
        const char *action = NULL;
        int r;

        if (probe->kind == PROBE_USER)
                r = probe_check_user(set, subject, d, probe->file, &action, reason);
        else
                r = probe_check_define(set, subject, d, probe_get_takes(probe), &action, reason);
        if (r == 0 && action && !is_authorized)
                r = reason_set(reason, KT_E_AUTH_REQUIRED, "polkit must allow this (%s)", action);
        return r;
}

bool probe_may_use(ProbeSet *set, const Subject *subject, const Probe *probe) {
        const ProbeRequest request = { .entry = probe->definition->name };
        const char *action;

        if (subject->uid == 0)
                return true;
        if (!probe->source)
                return probe->uid == subject->uid &&
                       probe_check_own(set, subject, probe, probe->is_approved, NULL) == 0;
        return policy_decide_probe(set->policy, subject, &request, &action, NULL) == 0;
}

/* Gets the same answer as a probe that the caller may not use. So such a name is never suggested
 * either. */
int probe_refuse_absent(ProbeSet *set, const Subject *subject, const char *name, Reason *reason) {
        Nearest near = { name, (uint32_t)MIN_OF(strlen(name) / 3 + 1, (size_t)3), NULL };
        const Probe *probe;

        TAILQ_FOREACH(probe, &set->list, probes)
                if (!probe->is_leaving &&
                                nearest_distance(name, probe->definition->name, near.least) <
                                                near.least &&
                                probe_may_use(set, subject, probe))
                        nearest_consider(&near, probe->definition->name);
        return reason_set(reason,
                        KT_E_NO_SUCH_PROBE,
                        "%s: no such probe; %s%s%s'ktracectl probes list' shows them",
                        quote(name).text,
                        near.name ? "did you mean " : "",
                        near.name ?: "",
                        near.name ? "? " : "");
}

int probe_check_origins(ProbeSet *set, const Subject *subject, const Probe *probe, Reason *reason) {
        for (size_t i = 0; i < probe->n_origins; i++) {
                const Probe *origin = probe->origins[i].probe;

                if (origin && !probe_may_use(set, subject, origin))
                        return probe_refuse_absent(set,
                                        subject,
                                        i == 0 ? probe->definition->from : probe->definition->to,
                                        reason);
        }
        return 0;
}
