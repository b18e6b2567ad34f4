/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Says why an entry of a request grants no event, and what the caller may have meant. Called by
 * grant.c and grant-choice.c. Owns nothing.
 *
 * Limits what the answer reveals: a caller learns that an event exists only if the rule grants it.
 * Names outside the rule get the same text whether they exist or not. */

#include "policy/grant-refusal.h"

#include <string.h>

#include "interfaces/glob.h"
#include "policy/policy.h"
#include "policy/suggestion.h"

/* A rule that still needs polkit's answer grants nothing yet, so suggestions come only from rules
 * that need no polkit. */
static Suggestion suggest(const Decision *d, const char *wanted) {
        PolicyView view = { .rules = { d->rule }, .n_rules = 1, .is_root = !d->rule };

        if (glob_is_pattern(wanted))
                return (Suggestion){ "" };
        if (!d->rule)
                view.n_rules = 0;
        else if (d->rule->polkit_action)
                view = policy_get_view(d->policy, d->subject);
        return policy_suggest_event(&view, d->events->names, d->events->n_names, wanted);
}

static int refuse_absent(const Decision *d, const char *wanted) {
        Suggestion suggestion = suggest(d, wanted);

        return reason_set(d->reason,
                        KT_E_NO_SUCH_EVENT,
                        "%s: %s; %s",
                        wanted,
                        glob_is_pattern(wanted) ? "matches no event" : "no such event",
                        suggestion.text[0] ? suggestion.text : "'ktracectl events' lists them");
}

/* Returns whether a rule grants all of it, usually with an administrator's password. Checks only
 * the name, so that the answer does not reveal which events exist. */
static bool exists_unredacted(const Decision *d, const char *wanted) {
        char system[EVENT_NAME_MAX];
        const char *name;

        if (d->spec->unredacted || !decision_split_name(wanted, system, &name))
                return false;
        const Rule *rule = policy_find_rule(d->policy, d->subject, d->spec->scope, true);
        return rule && !rule->deny && rule != d->rule && rule_find_event(rule, system, name);
}

int decision_refuse(const Decision *d, const char *wanted) {
        if (!d->rule || (!glob_is_pattern(wanted) && decision_has_event(d, wanted)))
                return refuse_absent(d, wanted);
        Suggestion suggestion = suggest(d, wanted);
        return reason_set(d->reason,
                        KT_E_ACCESS_DENIED,
                        "%s: not granted by %s; %s%s'ktracectl events' lists what you may use%s",
                        wanted,
                        d->grant->rule,
                        suggestion.text,
                        suggestion.text[0] ? " " : "",
                        exists_unredacted(d, wanted) ? ", --unredacted asks for more" : "");
}
