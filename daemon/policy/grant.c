/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides about one request: finds the rule that applies, and turns each entry of spec.events into
 * the events that it may have. Called by the session floor at creation, and again after the rules
 * were read again. Pure: the list of the kernel's events is a parameter. grant-choice.c grants one
 * event, grant-refusal.c says why there is none, grant-filter.c handles the filters, grant-field.c
 * the fields.
 *
 * Events in groups that others define (probes of another user) are counted only if the rule grants
 * them, so that the counts do not reveal them. */
#include "policy/grant.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "interfaces/glob.h"
#include "interfaces/spec-scope.h"
#include "policy/decision.h"
#include "policy/grant-choice.h"
#include "policy/grant-container.h"
#include "policy/grant-filter.h"
#include "policy/grant-kernel.h"
#include "policy/grant-refusal.h"
#include "policy/grant-sink.h"
#include "policy/grant-trigger.h"
#include "policy/policy.h"
#include "policy/rule-probes.h"

/* Total size of the globs of one request. Each is matched against each event of the kernel; the
 * worst case is the product of both sizes. */
#define GLOB_BYTES_MAX 2048
/* Number of pairs of an entry and a matching event in one request. For each pair a filter is
 * compiled and joined. A kernel has about 2,000 events, and a spec has at most 4,096 entries. */
#define PAIRS_MAX 8192

/* The cost of the steps of a decision, in units of about 20 ns. */
enum {
        WORK_NAME = 2,     /* to examine an event; plus 1 for each byte of the glob */
        WORK_PAIR = 100,   /* to grant an event; plus 1 for each byte of the filter */
        WORK_SUGGEST = 20, /* to compare a name with an event; plus 1 for each byte of the name */
};

Decision *decision_free(Decision *d) {
        if (!d)
                return NULL;
        for (size_t i = 0; d->choices && i < d->n_choices; i++)
                grant_event_clear(&d->choices[i].event);
        free(d->choices);
        grant_free(d->grant);
        free(d);
        return NULL;
}

Grant *grant_free(Grant *grant) {
        if (!grant)
                return NULL;
        for (size_t i = 0; i < grant->n_events; i++)
                grant_event_clear(&grant->events[i]);
        for (size_t i = 0; i < grant->n_sources; i++)
                grant_event_clear(&grant->sources[i]);
        for (size_t i = 0; i < grant->n_requests; i++)
                free(grant->requests[i].pattern);
        for (size_t i = 0; i < grant->n_triggers; i++) {
                free(grant->triggers[i].filter);
                hist_text_clear(&grant->triggers[i].hist);
        }
        free(grant->triggers);
        free(grant->events);
        free(grant->sources);
        free(grant->requests);
        free(grant->rule);
        free(grant);
        return NULL;
}

static int count_pair(Decision *d, const SpecEvent *wanted) {
        d->work -= WORK_PAIR + (wanted->filter ? (int64_t)strlen(wanted->filter) : 0);
        if (++d->n_pairs <= PAIRS_MAX)
                return 0;
        return reason_set(d->reason,
                        KT_E_LIMIT_REACHED,
                        "events: all entries together match more than %d events: name fewer events, or "
                        "name each event only once",
                        PAIRS_MAX);
}

/* All fields, except addresses. A histogram may count by the fields that the rule lists for the
 * entry of the catalogue. The fields of a user's own probe on events are judged by those of the
 * events (probe-origin.c). Any other probe has no field to count by. */
static RuleEvent grant_describe_probe(const Decision *d, const char *name) {
        static char all[] = "*", *globs[] = { all };
        const PlaceStrings *keys = NULL;
        RuleEvent event = {};

        if (d->probe.is_of_catalogue)
                keys = rule_probes_find_keys(d->rule->probes, name);
        if (keys) {
                event.gives.keys = keys->strings;
                event.gives.n_keys = keys->n;
        } else if (d->probe.is_derived && !d->probe.is_of_catalogue) {
                event.gives.keys = globs;
                event.gives.n_keys = ELEMENTSOF(globs);
        }
        return event;
}

static int take_event(Decision *d, size_t i, const SpecEvent *wanted, GrantRequest *request) {
        Choice *choice = &d->choices[i];
        const char *full = d->events->names[i], *name;
        char system[EVENT_NAME_MAX];
        const RuleEvent *from = NULL;
        RuleEvent of_probe;
        int r = 0;

        if (!decision_split_name(full, system, &name))
                return 0;
        if (d->rule && !choice->is_granted && d->is_probe) {
                of_probe = grant_describe_probe(d, name);
                from = &of_probe;
        } else if (d->rule && !choice->is_granted)
                from = rule_find_event(d->rule, system, name);
        /* An earlier choice has already passed the rule. */
        if (d->rule && !choice->is_granted && !from) {
                if (!rule_is_of_definers(system))
                        request->n_matched++;
                return 0;
        }
        request->n_matched++;
        request->n_granted++;
        r = count_pair(d, wanted);
        if (r == 0 && !choice->is_granted)
                r = decision_grant_event(d, system, name, from ? &from->gives : NULL, choice);
        choice->event.is_of_program |= d->probe.is_of_program;
        choice->event.is_off = wanted->is_off;
        choice->event.is_unrecorded = !grant_has_records(d->grant);
        return r ?: decision_add_filter(d, choice, wanted->filter);
}

static int name_compare(const void *key, const void *entry) {
        return strcmp(key, *(const char *const *)entry);
}

/* Continues the entry where the last call stopped. DECISION_AGAIN: the allowed work is used up. */
static int grant_match_all(Decision *d, const SpecEvent *wanted, GrantRequest *request) {
        size_t size = strlen(wanted->name);
        char system[EVENT_NAME_MAX];
        const char *name;

        if (d->next_name == 0)
                d->n_glob_bytes += size;
        if (d->rule && d->n_glob_bytes > GLOB_BYTES_MAX)
                return reason_set(d->reason,
                                KT_E_LIMIT_REACHED,
                                "events: the entries that are globs or have no system have more "
                                "than %d bytes together",
                                GLOB_BYTES_MAX);
        while (d->next_name < d->events->n_names) {
                if (d->work <= 0)
                        return DECISION_AGAIN;
                d->work -= WORK_NAME + (int64_t)size;
                size_t i = d->next_name++;
                if (!decision_split_name(d->events->names[i], system, &name) ||
                                !glob_match_event(wanted->name, system, name))
                        continue;
                int r = take_event(d, i, wanted, request);
                if (r != 0)
                        return r;
        }
        return 0;
}

static int grant_match_one(Decision *d, const SpecEvent *wanted, GrantRequest *request) {
        const char *const *found = d->events->n_names == 0
                                                   ? NULL
                                                   : bsearch(wanted->name,
                                                                     d->events->names,
                                                                     d->events->n_names,
                                                                     sizeof(d->events->names[0]),
                                                                     name_compare);
        if (!found)
                return 0;
        return take_event(d, (size_t)(found - d->events->names), wanted, request);
}

static int begin_entry(Decision *d, const SpecEvent *wanted) {
        GrantRequest *request = &d->grant->requests[d->grant->n_requests++];

        d->next_name = 0;
        d->is_probe = d->next_entry < d->events->n_probes;
        d->probe = d->is_probe && d->events->probes ? d->events->probes[d->next_entry]
                                                    : (PolicyProbe){};
        request->pattern = strdup(wanted->name);
        return request->pattern ? 0 : -ENOMEM;
}

static int decide_entry(Decision *d) {
        const SpecEvent *wanted = &d->spec->events[d->next_entry];
        int r = 0;

        if (d->grant->n_requests == d->next_entry)
                r = begin_entry(d, wanted) ?: decision_check_entry(d, wanted);
        GrantRequest *request = &d->grant->requests[d->next_entry];
        if (r == 0 && (glob_is_pattern(wanted->name) || !strchr(wanted->name, ':')))
                r = grant_match_all(d, wanted, request);
        else if (r == 0)
                r = grant_match_one(d, wanted, request);
        if (r == 0 && request->n_granted == 0) {
                d->work -= (int64_t)(d->events->n_names * (WORK_SUGGEST + strlen(wanted->name)));
                r = decision_refuse(d, wanted->name);
        }
        if (r != DECISION_AGAIN)
                d->next_entry++;
        return r;
}

static bool has_name(const Decision *d, const char *full) {
        return d->events->n_names > 0 && bsearch(full,
                                                         d->events->names,
                                                         d->events->n_names,
                                                         sizeof(d->events->names[0]),
                                                         name_compare);
}

/* The source event of a probe is granted as if it were requested, but it is not turned on. */
static int decide_source(Decision *d, const char *full) {
        char system[EVENT_NAME_MAX];
        const RuleEvent *from = NULL;
        Choice choice = {};
        const char *name;

        if (!decision_split_name(full, system, &name) || !has_name(d, full))
                return decision_refuse(d, full);
        if (d->rule) {
                from = rule_find_event(d->rule, system, name);
                if (!from)
                        return decision_refuse(d, full);
                if (from->gives.policy_filter)
                        return reason_set(d->reason,
                                        KT_E_ACCESS_DENIED,
                                        "%s: %s grants only some of its records, and a probe "
                                        "requires all of them",
                                        full,
                                        d->grant->rule);
        }
        int r = decision_grant_event(d, system, name, from ? &from->gives : NULL, &choice);
        d->grant->sources[d->grant->n_sources++] =
                        choice.event; /* counted even if incomplete, so that it is freed */
        return r;
}

static int decide_sources(Decision *d) {
        size_t n = d->events->n_sources;
        int r = 0;

        d->grant->sources = calloc(n ?: 1, sizeof(GrantEvent));
        if (!d->grant->sources)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < n; i++)
                r = decide_source(d, d->events->sources[i]);
        return r;
}

/* Joins the filter of all events to that of each event. */
static int decide_where(Decision *d) {
        const char *where = d->spec->where;

        if (!where)
                d->next_choice = d->n_choices;
        while (d->next_choice < d->n_choices) {
                if (d->work <= 0)
                        return DECISION_AGAIN;
                Choice *choice = &d->choices[d->next_choice++];
                if (!choice->is_granted || choice->event.is_unrecorded)
                        continue;
                d->work -= WORK_PAIR + (int64_t)strlen(where);
                int r = decision_add_where(d, choice, where);
                if (r != 0)
                        return r;
        }
        return 0;
}

static int collect_events(Decision *d) {
        Grant *grant = d->grant;
        size_t n = 0;

        for (size_t i = 0; i < d->n_choices; i++)
                n += d->choices[i].is_granted;
        decision_end_triggers(d);
        grant->events = calloc(n ?: 1, sizeof(*grant->events));
        if (!grant->events)
                return -ENOMEM;
        for (size_t i = 0; i < d->n_choices; i++) {
                Choice *choice = &d->choices[i];

                if (!choice->is_granted)
                        continue;
                grant->events[grant->n_events++] = choice->event;
                choice->event = (GrantEvent){};
        }
        return 0;
}

/* A unit may exist without limit, so lifetime "unit" must not bypass a rule's longest linger time,
 * unless the rule lists it. */
static bool grants_lifetime(const Rule *rule, SpecLifetime lifetime) {
        if (lifetime == LIFETIME_UNIT && rule->max_linger_usec > 0 && rule->lifetimes == ~0U)
                return false;
        return rule->lifetimes & (1U << lifetime);
}

static int grant_check_lifetime(const Decision *d) {
        static const char *const names[_LIFETIME_N] = {
                [LIFETIME_CLIENT] = "client",
                [LIFETIME_LINGER] = "linger",
                [LIFETIME_UNIT] = "unit",
        };
        const Spec *spec = d->spec;
        const Rule *rule = d->rule;

        if (!grants_lifetime(rule, spec->lifetime))
                return reason_set(d->reason,
                                KT_E_ACCESS_DENIED,
                                "lifetime: %s does not grant %s",
                                rule->label,
                                names[spec->lifetime]);
        if (spec->lifetime != LIFETIME_LINGER || rule->max_linger_usec == 0 ||
                        spec->linger_usec <= rule->max_linger_usec)
                return 0;
        return reason_set(d->reason,
                        KT_E_ACCESS_DENIED,
                        "lifetime: %s grants linger:%" PRIu64 "s at most",
                        rule->label,
                        rule->max_linger_usec / 1000000);
}

static int grant_find_rule(Decision *d) {
        const Spec *spec = d->spec;

        if (d->subject->uid == 0)
                return 0;
        d->rule = policy_find_rule(d->policy, d->subject, spec->scope, spec->unredacted);
        if (!d->rule && d->subject->container)
                return reason_set(d->reason,
                                KT_E_ACCESS_DENIED,
                                "scope %s: no rule grants container %s anything in it",
                                spec_scope_to_string(spec->scope),
                                d->subject->container);
        if (!d->rule)
                return reason_set(d->reason,
                                KT_E_ACCESS_DENIED,
                                "%sscope %s: no rule grants uid %u anything in it",
                                spec->unredacted ? "unredacted, " : "",
                                spec_scope_to_string(spec->scope),
                                d->subject->uid);
        if (d->rule->deny)
                return reason_set(d->reason,
                                KT_E_ACCESS_DENIED,
                                "scope %s: denied by %s",
                                spec_scope_to_string(spec->scope),
                                d->rule->label);
        return grant_check_lifetime(d);
}

/* Decides what does not depend on events. */
static int begin_grant(Decision *d) {
        const Rule *rule = d->rule;
        Grant *grant = d->grant = calloc(1, sizeof(*grant));

        if (!grant)
                return -ENOMEM;
        grant->rule = strdup(rule ? rule->label : "root");
        grant->requests = calloc(d->spec->n_events ?: 1, sizeof(*grant->requests));
        d->choices = calloc(d->events->n_names ?: 1, sizeof(*d->choices));
        d->n_choices = d->events->n_names;
        if (!grant->rule || !grant->requests || !d->choices)
                return -ENOMEM;
        if (d->events->limits)
                grant->limits = *d->events->limits;
        grant->addresses = rule ? rule->addresses : ADDRESS_KEEP;
        grant->sinks = rule ? rule->sinks : GRANT_SINKS_ALL;
        if (!rule)
                return 0;
        grant->fenced = !rule->processes_any;
        grant->redacted = !rule_is_unredacted(rule);
        grant->allow_setuid = rule->allow_setuid;
        grant->denies_black_box = rule->denies_black_box;
        grant->polkit_action = rule->polkit_action;
        grant->max_linger_usec = rule->max_linger_usec;
        for (size_t i = 0; i < rule->n_limits; i++)
                *(uint64_t *)((char *)&grant->limits + rule->limits[i].field->offset) =
                                rule->limits[i].value;
        return 0;
}

/* If a decision collects refusals, the first one is its result. */
static int note_refusal(Decision *d, int r) {
        if (r <= 0 || r == DECISION_AGAIN)
                return r;
        if (d->refusal == 0) {
                d->refusal = r;
                d->first = *d->reason;
        }
        if (!d->events->on_refusal || !d->events->on_refusal(r, d->reason, d->events->userdata))
                return r;
        *d->reason = (Reason){};
        return 0;
}

static int decide_begin(Decision *d) {
        int r = decision_check_container(d);

        r = r ?: grant_find_rule(d);
        r = r ?: begin_grant(d);
        r = r ?: decision_check_sinks(d);
        return r ?: decision_check_kernel(d);
}

static int decide_entries(Decision *d) {
        int r = 0;

        while (r == 0 && d->next_entry < d->spec->n_events)
                r = d->work <= 0 ? DECISION_AGAIN : note_refusal(d, decide_entry(d));
        return r ?: d->refusal;
}

static int decide_joins(Decision *d) {
        int r = 0;

        while (r == 0 && d->next_choice < d->n_choices)
                r = note_refusal(d, decide_where(d));
        return r ?: d->refusal;
}

int decision_advance(Decision *d, int64_t work, Reason *reason) {
        static int (*const steps[])(Decision *) = {
                decide_begin,
                decide_entries,
                decision_add_triggers,
                decide_sources,
                decide_joins,
                decision_find_kernel_filters,
                collect_events,
        };
        int r = 0;

        d->work = work;
        while (r == 0 && d->step < ELEMENTSOF(steps)) {
                r = steps[d->step](d);
                if (r == 0)
                        d->step++;
        }
        if (r <= 0 || r == DECISION_AGAIN)
                return r;
        if (reason)
                *reason = d->refusal ? d->first : d->own;
        return d->refusal ?: r;
}

int decision_new(const Policy *policy,
                const Subject *subject,
                const Spec *spec,
                const PolicyEvents *events,
                Decision **ret) {
        Decision *d = calloc(1, sizeof(*d));

        if (!d)
                return -ENOMEM;
        d->policy = policy;
        d->subject = subject;
        d->spec = spec;
        d->events = events;
        d->reason = &d->own;
        *ret = d;
        return 0;
}

Grant *decision_take_grant(Decision *d) {
        return TAKE_PTR(d->grant);
}

int policy_decide(const Policy *policy,
                const Subject *subject,
                const Spec *spec,
                const PolicyEvents *events,
                Grant **ret,
                Reason *reason) {
        _cleanup_(decision_free_cleanup) Decision *d = NULL;

        int r = decision_new(policy, subject, spec, events, &d);
        r = r ?: decision_advance(d, INT64_MAX, reason);
        if (r == 0)
                *ret = decision_take_grant(d);
        return r;
}
