/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Triggers in a decision; part of grant.c. The action of a trigger reveals when its event happened
 * and what its filter compared. So its event must be granted like a recorded event, its filter is
 * checked like an event's filter, and it may turn on or off only events of the session itself. A
 * histogram reveals the fields that it counts by (hist.c). Combinations that the kernel does not
 * support on one event are refused here with a reason, because the kernel only returns a number. */

#include "policy/grant-trigger.h"

#include <errno.h>
#include <string.h>

#include "policy/decision.h"
#include "policy/grant-choice.h"
#include "policy/grant-filter.h"
#include "policy/grant-sink.h"

static SpecTriggerPlace place_of(const Decision *d, size_t i) {
        return spec_trigger_place(&d->spec->triggers[i]);
}

static int compare_name(const void *key, const void *entry) {
        return strcmp(key, *(const char *const *)entry);
}

static Choice *find_choice(const Decision *d, const char *full) {
        const PolicyEvents *events = d->events;
        const char *const *found = events->n_names == 0 ? NULL
                                                        : bsearch(full,
                                                                          events->names,
                                                                          events->n_names,
                                                                          sizeof(events->names[0]),
                                                                          compare_name);

        return found ? &d->choices[found - events->names] : NULL;
}

/* Decides about an event that only a trigger names: granted as if it were requested, but not
 * recorded. */
static int decide_event(Decision *d, const char *full, Choice **ret) {
        Choice *choice = find_choice(d, full);
        int r = 0;

        if (!choice || !choice->is_granted) {
                r = decision_grant_unrecorded(d, full, choice);
                if (r != 0)
                        return r;
        }
        *ret = choice;
        return 0;
}

static int find_target(Decision *d, size_t i, const char *full, Choice **ret) {
        Choice *choice = find_choice(d, full);

        if (!choice || !choice->is_granted || choice->event.is_unrecorded)
                return reason_set(d->reason,
                                KT_E_INVALID_SPEC,
                                "%s.event: %s is not an event of the session: add it to events, "
                                "with \"enabled\": false (--off) if it starts off",
                                place_of(d, i).text,
                                full);
        *ret = choice;
        return 0;
}

/* A stack consists of kernel addresses. */
static int check_stack(const Decision *d, size_t i) {
        if (d->grant->addresses == ADDRESS_KEEP && !d->grant->redacted && !d->grant->fenced)
                return 0;
        return reason_set(d->reason,
                        KT_E_ACCESS_DENIED,
                        "%s.do: stacktrace: kernel addresses are cut by %s: leave it out%s",
                        place_of(d, i).text,
                        d->grant->rule,
                        d->spec->unredacted ? "" : ", or ask for --unredacted");
}

/* The kernel allows one of each of these kinds on an event. */
static bool share_a_place(const Decision *d, const SpecTrigger *a, const SpecTrigger *b) {
        bool is_window_a = spec_trigger_is_window(a), is_window_b = spec_trigger_is_window(b),
             is_switch_a = a->target != NULL, is_switch_b = b->target != NULL;

        if (is_window_a && is_window_b)
                return true;
        /* In a fenced session, windows are implemented by switches of every event. */
        if (d->grant->fenced && ((is_window_a && is_switch_b) || (is_switch_a && is_window_b)))
                return true;
        if (is_switch_a && is_switch_b)
                return strcmp(a->target, b->target) == 0;
        return a->action == b->action &&
               (a->action == ACTION_SNAPSHOT || a->action == ACTION_STACKTRACE);
}

static int check_places(const Decision *d, size_t i) {
        const SpecTrigger *one = &d->spec->triggers[i];

        for (size_t j = 0; j < i; j++) {
                const SpecTrigger *other = &d->spec->triggers[j];

                if (strcmp(one->event, other->event) != 0 || !share_a_place(d, one, other))
                        continue;
                return reason_set(d->reason,
                                KT_E_INVALID_SPEC,
                                "%s: %s on %s excludes %s of %s there: the kernel keeps only "
                                "one of them%s",
                                place_of(d, i).text,
                                spec_action_to_string(one->action),
                                one->event,
                                spec_action_to_string(other->action),
                                place_of(d, j).text,
                                one->action == other->action ? "; join their filters with ||"
                                                             : ": put one on another event");
        }
        return 0;
}

/* The kernel would treat two equal triggers on an event as one. */
static int grant_trigger_check_same(const Decision *d, size_t i) {
        const GrantTrigger *one = &d->grant->triggers[i];

        for (size_t j = 0; j < i; j++) {
                const GrantTrigger *other = &d->grant->triggers[j];

                if (other->hist.command && strcmp(other->hist.command, one->hist.command) == 0 &&
                                strcmp(d->spec->triggers[i].event, d->spec->triggers[j].event) ==
                                                0 &&
                                strcmp(other->filter ?: "", one->filter ?: "") == 0)
                        return reason_set(d->reason,
                                        KT_E_INVALID_SPEC,
                                        "%s: the same histogram as %s: leave one out",
                                        place_of(d, i).text,
                                        place_of(d, j).text);
        }
        return 0;
}

static int compile_filter(Decision *d, const Choice *choice, size_t i) {
        char key[sizeof(SpecTriggerPlace) + sizeof(".when")];

        (void)snprintf(key, sizeof(key), "%s.when", place_of(d, i).text);
        return decision_compile(
                        d, choice, key, d->spec->triggers[i].filter, &d->grant->triggers[i].filter);
}

static int decide_hist(Decision *d, const Choice *choice, size_t i) {
        GrantTrigger *trigger = &d->grant->triggers[i];

        int r = decision_compile_hist(d,
                        choice,
                        place_of(d, i).text,
                        &d->spec->triggers[i].hist,
                        &trigger->hist,
                        &trigger->filter);
        return r ?: grant_trigger_check_same(d, i);
}

static int decide_trigger(Decision *d, size_t i) {
        const SpecTrigger *wanted = &d->spec->triggers[i];
        GrantTrigger *trigger = &d->grant->triggers[d->grant->n_triggers++];
        Choice *choice, *target = NULL;

        trigger->target = GRANT_NO_TARGET;
        int r = decision_check_action(d, i);
        r = r ?: check_places(d, i);
        r = r ?: decide_event(d, wanted->event, &choice);
        if (r == 0 && wanted->target)
                r = find_target(d, i, wanted->target, &target);
        if (r == 0 && wanted->action == ACTION_STACKTRACE)
                r = check_stack(d, i);
        if (r == 0 && wanted->filter)
                r = compile_filter(d, choice, i);
        if (r == 0 && wanted->action == ACTION_HIST)
                r = decide_hist(d, choice, i);
        if (r != 0)
                return r;
        /* Indexes of choices; decision_end_triggers replaces them by indexes of the grant's
         * events. */
        trigger->event = (size_t)(choice - d->choices);
        if (target)
                trigger->target = (size_t)(target - d->choices);
        return 0;
}

int decision_add_triggers(Decision *d) {
        size_t n = d->spec->n_triggers;
        int r = 0;

        d->grant->triggers = calloc(n ?: 1, sizeof(GrantTrigger));
        if (!d->grant->triggers)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < n; i++)
                r = decide_trigger(d, i);
        return r;
}

static size_t count_granted(const Decision *d, size_t end) {
        size_t n = 0;

        for (size_t i = 0; i < end; i++)
                n += d->choices[i].is_granted;
        return n;
}

void decision_end_triggers(Decision *d) {
        for (size_t i = 0; i < d->grant->n_triggers; i++) {
                GrantTrigger *trigger = &d->grant->triggers[i];

                trigger->event = count_granted(d, trigger->event);
                if (trigger->target != GRANT_NO_TARGET)
                        trigger->target = count_granted(d, trigger->target);
        }
}
