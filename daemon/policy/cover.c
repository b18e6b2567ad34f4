/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks whether one decision grants everything that another one granted. Called by the session
 * floor after the rules were read again, for sessions that were created under the old rules.
 * Compares all members of a Grant except its name, the request, and the limits, which the session
 * floor compares. If two filters or lists differ, the new one counts as less; whether it happens to
 * contain the old one is not computed. */

#include "policy/cover.h"

#include <string.h>

#include "interfaces/text-same.h"
#include "policy/grant-sink.h"
#include "policy/policy.h"

#define COUNTS (1U << GRANT_SINK_HISTOGRAM | 1U << GRANT_SINK_COUNT)

static bool list_has(char *const *list, size_t n, const char *text) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(list[i], text) == 0)
                        return true;
        return false;
}

static bool list_has_all(char *const *list, size_t n, char *const *wanted, size_t n_wanted) {
        for (size_t i = 0; i < n_wanted; i++)
                if (!list_has(list, n, wanted[i]))
                        return false;
        return true;
}

static bool member_is_covered(const GrantEvent *now, const GrantMember *then) {
        for (size_t i = 0; i < now->n_members; i++)
                if (text_is_same(now->members[i].pid_field, then->pid_field) &&
                                list_has_all(now->members[i].fields,
                                                now->members[i].n_fields,
                                                then->fields,
                                                then->n_fields))
                        return true;
        return false;
}

static bool fields_are_covered(const GrantEvent *now, const GrantEvent *then) {
        if (!list_has_all(then->cut, then->n_cut, now->cut, now->n_cut) ||
                        (then->is_of_program && !now->is_of_program))
                return false;
        /* Showing fields only for member tasks is less than showing them for all tasks. */
        for (size_t i = 0; i < now->n_members; i++)
                if (!member_is_covered(then, &now->members[i]))
                        return false;
        if (then->also_of && !text_is_same(then->also_of, now->also_of))
                return false;
        /* Keeps all fields except those cut. */
        if (!now->speaks_of_others && now->n_keep == 0)
                return true;
        if (!then->speaks_of_others && then->n_keep == 0)
                return false;
        if (!list_has_all(now->keep, now->n_keep, then->keep, then->n_keep))
                return false;
        for (size_t i = 0; i < then->n_members; i++)
                if (!member_is_covered(now, &then->members[i]))
                        return false;
        return true;
}

/* Both decisions have their events in the same order, so the search starts after the event found
 * last: *next. */
static const GrantEvent *find_event(const GrantEvent *events,
                size_t n_events,
                size_t *next,
                const GrantEvent *wanted) {
        for (size_t i = 0; i < n_events; i++) {
                size_t at = (*next + i) % n_events;

                if (strcmp(events[at].system, wanted->system) == 0 &&
                                strcmp(events[at].name, wanted->name) == 0) {
                        *next = at + 1;
                        return &events[at];
                }
        }
        return NULL;
}

static bool keys_are_covered(const Grant *grant, const GrantEvent *now, const GrantEvent *then) {
        return grant_has_records(grant) ||
               list_has_all(now->keys, now->n_keys, then->keys, then->n_keys);
}

static const char *find_lack(const Grant *grant, const GrantEvent *now, const GrantEvent *then) {
        if (!now)
                return "is no longer granted";
        if (now->filter && !text_is_same(now->filter, then->filter))
                return "would have another filter";
        if (now->policy_filter && !text_is_same(now->policy_filter, then->policy_filter))
                return "is now granted with a filter of the rule";
        if (!fields_are_covered(now, then))
                return "is now granted with fewer fields";
        if (!keys_are_covered(grant, now, then))
                return "is now granted with fewer keys";
        return NULL;
}

int grant_check_covers(const Grant *now, const Grant *then, Reason *reason) {
        size_t next_event = 0, next_source = 0;
        const char *what = NULL;

        if (now->fenced && !then->fenced)
                what = "processes of others are";
        else if (now->redacted && !then->redacted)
                what = "all fields are";
        else if (now->addresses < then->addresses)
                what = "kernel addresses are";
        else if (then->allow_setuid && !now->allow_setuid)
                what = "allow-setuid is";
        else if (grant_has_records(then) && !grant_has_records(now))
                what = "records are";
        else if (then->sinks & ~now->sinks & COUNTS)
                what = "counts are";
        if (what)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "%s no longer granted (%s)",
                                what,
                                now->rule);
        if (now->polkit_action && !text_is_same(now->polkit_action, then->polkit_action))
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "polkit must allow this now (%s)",
                                now->rule);
        for (size_t i = 0; i < then->n_events + then->n_sources; i++) {
                bool is_source = i >= then->n_events;
                const GrantEvent *event =
                                is_source ? &then->sources[i - then->n_events] : &then->events[i];
                const GrantEvent *found = is_source ? find_event(now->sources,
                                                                      now->n_sources,
                                                                      &next_source,
                                                                      event)
                                                    : find_event(now->events,
                                                                      now->n_events,
                                                                      &next_event,
                                                                      event);
                const char *lack = find_lack(now, found, event);

                if (lack)
                        return reason_set(reason,
                                        KT_E_ACCESS_DENIED,
                                        "%s:%s %s (%s)",
                                        event->system,
                                        event->name,
                                        lack,
                                        now->rule);
        }
        return 0;
}
