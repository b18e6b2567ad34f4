/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Grants one event: gives it its name, what the rule says about its fields, and the rule's filter.
 * Called by grant.c for entries and sources of probes, and by grant-trigger.c. Owns nothing: the
 * events belong to the decision. */

#include "policy/grant-choice.h"

#include <errno.h>
#include <string.h>

#include "policy/grant-event.h"
#include "policy/grant-filter.h"
#include "policy/grant-refusal.h"

int decision_grant_event(Decision *d,
                const char *system,
                const char *name,
                const GrantEvent *from,
                Choice *choice) {
        GrantEvent *event = &choice->event;
        int r = 0;

        event->system = strdup(system);
        event->name = strdup(name);
        if (!event->system || !event->name)
                return -ENOMEM;
        if (from)
                r = grant_event_copy(event, from);
        if (r == 0 && from && from->policy_filter)
                r = decision_add_policy_filter(d, choice, from->policy_filter);
        choice->is_granted = r == 0;
        return r;
}

int decision_grant_unrecorded(Decision *d, const char *full, Choice *choice) {
        char system[EVENT_NAME_MAX];
        const RuleEvent *from = NULL;
        const char *name;

        if (!decision_split_name(full, system, &name) || !choice)
                return decision_refuse(d, full);
        if (d->rule) {
                from = rule_find_event(d->rule, system, name);
                if (!from)
                        return decision_refuse(d, full);
        }
        choice->event.is_unrecorded = true;
        return decision_grant_event(d, system, name, from ? &from->gives : NULL, choice);
}
