/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the steps of a decision have in common: names of events, whether the rule grants one, and
 * the formats of events. Called by grant.c, which runs the steps, and by each of them (grant-*.c).
 * Owns nothing, changes only the account of work. */

#include "policy/decision.h"

#include <errno.h>
#include <string.h>

#include "interfaces/cleanup.h"

/* The cost of reading and parsing a format, in units of about 20 ns. */
#define DECISION_WORK_FORMAT 1000

bool decision_split_name(const char *full, char system[static EVENT_NAME_MAX], const char **name) {
        const char *colon = strchr(full, ':');
        if (!colon || (size_t)(colon - full) >= EVENT_NAME_MAX ||
                        strlen(colon + 1) >= EVENT_NAME_MAX)
                return false;
        memcpy(system, full, (size_t)(colon - full));
        system[colon - full] = '\0';
        *name = colon + 1;
        return true;
}

bool decision_has_event(const Decision *d, const char *full) {
        char system[EVENT_NAME_MAX];
        const char *name;

        if (!decision_split_name(full, system, &name))
                return false;
        return !d->rule || rule_find_event(d->rule, system, name);
}

int decision_get_format(Decision *d, const GrantEvent *event, const Format **ret) {
        if (!d->events->get_format)
                return -EOPNOTSUPP;
        int r = d->events->get_format(event->system, event->name, ret, d->events->userdata);
        if (r > 0)
                d->work -= DECISION_WORK_FORMAT;
        return MIN_OF(r, 0);
}
