/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The decision about one request: the rule that counts, and each entry of spec.events turned into
 * the events that it may have. Called by the session floor once at creation. Pure: the kernel's
 * events are handed in.
 *
 * What an answer may tell: a caller learns of an event's existence only where the rule grants it.
 * Names outside the rule get one and the same text whether they exist or not, and events in groups
 * that others define (probes of another user) are not even counted. */
#include "policy.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "filter.h"
#include "glob.h"
#include "rule.h"

/* What the kernel takes in one filter write, with room for what a caller's parentheses add. */
#define JOINED_FILTER_MAX 4000
#define EVENT_NAME_MAX    128
/* All globs of one request together. Each is matched against each event of the kernel, at worst in
 * bytes times bytes, on the loop that serves everybody: this is a tenth of a second. */
#define GLOB_BYTES_MAX 2048

/* What has been decided about one of the kernel's events so far. */
typedef struct Choice {
        bool granted;
        bool unfiltered; /* asked for once without a filter: nothing may narrow it again */
        char *filter;
} Choice;

typedef struct Decision {
        const Subject *subject;
        const Rule *rule; /* NULL: root */
        const PolicyEvents *events;
        Choice *choices; /* one per entry of events */
        size_t n_choices, n_glob_bytes;
        Grant *grant;
        Reason *reason;
} Decision;

static void decision_clear(Decision *d) {
        for (size_t i = 0; d->choices && i < d->n_choices; i++)
                free(d->choices[i].filter);
        free(d->choices);
        grant_free(d->grant);
}

Grant *grant_free(Grant *grant) {
        if (!grant)
                return NULL;
        for (size_t i = 0; i < grant->n_events; i++) {
                free(grant->events[i].system);
                free(grant->events[i].name);
                free(grant->events[i].filter);
        }
        for (size_t i = 0; i < grant->n_requests; i++)
                free(grant->requests[i].pattern);
        free(grant->events);
        free(grant->requests);
        free(grant->rule);
        free(grant);
        return NULL;
}

/* Splits "system:name" into buffer and a pointer behind the colon. False: it is neither short
 * enough nor has a colon. */
static bool split_name(const char *full, char system[static EVENT_NAME_MAX], const char **name) {
        const char *colon = strchr(full, ':');
        if (!colon || (size_t)(colon - full) >= EVENT_NAME_MAX)
                return false;
        memcpy(system, full, (size_t)(colon - full));
        system[colon - full] = '\0';
        *name = colon + 1;
        return true;
}

static bool is_granted(const Decision *d, const char *full) {
        char system[EVENT_NAME_MAX];
        const char *name;

        if (!split_name(full, system, &name))
                return false;
        return !d->rule || rule_grants_event(d->rule, system, name);
}

/* Groups of dynamic events: who defined what there is not everybody's business. */
static bool is_defined_by_others(const char *full) {
        static const char *const groups[] = {
                "ktrace_", "kprobes:", "uprobes:", "eprobes:", "fprobes:", "synthetic:"
        };

        for (size_t i = 0; i < ELEMENTSOF(groups); i++)
                if (strncmp(full, groups[i], strlen(groups[i])) == 0)
                        return true;
        return false;
}

static size_t edit_distance(const char *a, const char *b) {
        size_t row[EVENT_NAME_MAX + 1];
        size_t n = strlen(b);

        if (n > EVENT_NAME_MAX)
                return SIZE_MAX;
        for (size_t j = 0; j <= n; j++)
                row[j] = j;
        for (size_t i = 0; a[i]; i++) {
                size_t diagonal = row[0];
                row[0] = i + 1;
                for (size_t j = 0; j < n; j++) {
                        size_t above = row[j + 1];
                        size_t cost = diagonal + (a[i] == b[j] ? 0 : 1);
                        row[j + 1] = MIN_OF(cost, MIN_OF(above, row[j]) + 1);
                        diagonal = above;
                }
        }
        return row[n];
}

/* The granted event that is spelled most like `wanted`, or NULL when none is near. */
static const char *find_nearest(const Decision *d, const char *wanted) {
        bool has_system = strchr(wanted, ':') != NULL;
        size_t best_distance = strlen(wanted) / 3 + 1;
        const char *best = NULL;

        if (strlen(wanted) > EVENT_NAME_MAX)
                return NULL;
        for (size_t i = 0; i < d->events->n_names; i++) {
                const char *full = d->events->names[i];
                const char *colon = strchr(full, ':');
                if (!colon)
                        continue;
                size_t distance = edit_distance(wanted, has_system ? full : colon + 1);
                if (distance < best_distance && is_granted(d, full)) {
                        best_distance = distance;
                        best = full;
                }
        }
        return best;
}

/* Adds ` || (filter)`; the same event named twice means either of the two. */
static int join_filter(Choice *choice, const SpecEvent *wanted, Reason *reason) {
        _cleanup_free_ char *joined = NULL;

        if (choice->unfiltered)
                return 0;
        if (!wanted->filter) {
                choice->unfiltered = true;
                free(choice->filter);
                choice->filter = NULL;
                return 0;
        }
        if (!choice->filter) {
                choice->filter = strdup(wanted->filter);
                return choice->filter ? 0 : -ENOMEM;
        }
        if (strcmp(choice->filter, wanted->filter) == 0)
                return 0;
        if (asprintf(&joined, "(%s) || (%s)", choice->filter, wanted->filter) < 0) {
                joined = NULL;
                return -ENOMEM;
        }
        if (strlen(joined) > JOINED_FILTER_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: its filters are longer than %d bytes together",
                                wanted->name,
                                JOINED_FILTER_MAX);
        free(choice->filter);
        choice->filter = TAKE_PTR(joined);
        return 0;
}

/* The caller's text as the kernel gets it for this event. Fields are not cut yet where filters are
 * granted: to root. */
static int compile_filter(const Decision *d,
                const char *full,
                const char *key,
                const char *text,
                char **ret) {
        FilterContext context = { .event = full, .key = key };
        char system[EVENT_NAME_MAX];
        const char *name;

        if (!d->events->get_format || !split_name(full, system, &name))
                return -EOPNOTSUPP;
        int r = d->events->get_format(system, name, &context.format, d->events->userdata);
        return r < 0 ? r : filter_compile(&context, text, ret, d->reason);
}

static int take_event(Decision *d, size_t i, const SpecEvent *wanted, GrantRequest *request) {
        _cleanup_free_ char *filter = NULL;
        Choice *choice = &d->choices[i];
        const char *full = d->events->names[i];

        /* A choice made before has passed the rule already. */
        if (!choice->granted && !is_granted(d, full)) {
                if (!is_defined_by_others(full))
                        request->n_matched++;
                return 0;
        }
        request->n_matched++;
        request->n_granted++;
        int r = wanted->filter ? compile_filter(d, full, NULL, wanted->filter, &filter) : 0;
        if (r == 0)
                r = join_filter(choice,
                                &(SpecEvent){ .name = wanted->name, .filter = filter },
                                d->reason);
        if (r == 0)
                choice->granted = true;
        return r;
}

static int name_compare(const void *key, const void *entry) {
        return strcmp(key, *(const char *const *)entry);
}

static int match_all(Decision *d, const SpecEvent *wanted, GrantRequest *request) {
        char system[EVENT_NAME_MAX];
        const char *name;

        d->n_glob_bytes += strlen(wanted->name);
        if (d->rule && d->n_glob_bytes > GLOB_BYTES_MAX)
                return reason_set(d->reason,
                                KT_E_LIMIT_REACHED,
                                "events: the entries that are globs or name no system are longer "
                                "than %d bytes together",
                                GLOB_BYTES_MAX);
        for (size_t i = 0; i < d->events->n_names; i++) {
                if (!split_name(d->events->names[i], system, &name) ||
                                !glob_match_event(wanted->name, system, name))
                        continue;
                int r = take_event(d, i, wanted, request);
                if (r != 0)
                        return r;
        }
        return 0;
}

static int match_one(Decision *d, const SpecEvent *wanted, GrantRequest *request) {
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

static int refuse_absent(const Decision *d, const char *wanted) {
        const char *nearest = glob_is_pattern(wanted) ? NULL : find_nearest(d, wanted);

        if (glob_is_pattern(wanted))
                return reason_set(d->reason,
                                KT_E_NO_SUCH_EVENT,
                                "%s: matches no event; 'ktracectl events' lists them",
                                wanted);
        return reason_set(d->reason,
                        KT_E_NO_SUCH_EVENT,
                        "%s: no such event%s%s%s",
                        wanted,
                        nearest ? "; did you mean " : "; 'ktracectl events' lists them",
                        nearest ? nearest : "",
                        nearest ? "?" : "");
}

/* Nothing of this entry was granted: is it not there, or not allowed? */
static int refuse_entry(const Decision *d, const char *wanted) {
        if (!d->rule || (!glob_is_pattern(wanted) && is_granted(d, wanted)))
                return refuse_absent(d, wanted);
        return reason_set(d->reason,
                        KT_E_ACCESS_DENIED,
                        "%s: not granted by %s; 'ktracectl events' lists what you may use",
                        wanted,
                        d->grant->rule);
}

static int decide_entry(Decision *d, const SpecEvent *wanted, GrantRequest *request) {
        int r;

        /* Until a rule says which fields are cut, which a filter would tell. */
        if (wanted->filter && d->rule)
                return reason_set(d->reason,
                                KT_E_ACCESS_DENIED,
                                "%s: filters are granted to root only",
                                wanted->name);
        request->pattern = strdup(wanted->name);
        if (!request->pattern)
                return -ENOMEM;

        if (glob_is_pattern(wanted->name) || !strchr(wanted->name, ':'))
                r = match_all(d, wanted, request);
        else
                r = match_one(d, wanted, request);
        if (r != 0)
                return r;
        return request->n_granted > 0 ? 0 : refuse_entry(d, wanted->name);
}

/* Adds ` && (where)` to what is granted. */
static int join_where(Decision *d, const char *where) {
        for (size_t i = 0; i < d->n_choices; i++) {
                _cleanup_free_ char *text = NULL;
                char *joined;

                if (!d->choices[i].granted)
                        continue;
                int r = compile_filter(d, d->events->names[i], "where", where, &text);
                if (r != 0)
                        return r;
                if (d->choices[i].filter) {
                        if (asprintf(&joined, "(%s) && (%s)", d->choices[i].filter, text) < 0)
                                return -ENOMEM;
                } else
                        joined = TAKE_PTR(text);
                free(d->choices[i].filter);
                d->choices[i].filter = joined;
                if (strlen(joined) > JOINED_FILTER_MAX)
                        return reason_set(d->reason,
                                        KT_E_INVALID_SPEC,
                                        "%s: its filters are longer than %d bytes together",
                                        d->events->names[i],
                                        JOINED_FILTER_MAX);
        }
        return 0;
}

static int collect_events(Decision *d) {
        Grant *grant = d->grant;
        char system[EVENT_NAME_MAX];
        const char *name;
        size_t n = 0;

        for (size_t i = 0; i < d->events->n_names; i++)
                n += d->choices[i].granted;
        grant->events = calloc(n ?: 1, sizeof(*grant->events));
        if (!grant->events)
                return -ENOMEM;
        for (size_t i = 0; i < d->events->n_names; i++) {
                if (!d->choices[i].granted || !split_name(d->events->names[i], system, &name))
                        continue;
                GrantEvent *event = &grant->events[grant->n_events++];
                event->system = strdup(system);
                event->name = strdup(name);
                event->filter = TAKE_PTR(d->choices[i].filter);
                if (!event->system || !event->name)
                        return -ENOMEM;
        }
        return 0;
}

static int find_rule(Decision *d, const Policy *policy, const Spec *spec) {
        if (d->subject->uid == 0)
                return 0;
        if (spec->scope == SCOPE_SYSTEM)
                return reason_set(d->reason,
                                KT_E_ACCESS_DENIED,
                                "scope system: granted to root only");
        d->rule = policy_find_rule(policy, d->subject, spec->scope);
        if (!d->rule)
                return reason_set(d->reason,
                                KT_E_ACCESS_DENIED,
                                "scope %s: no rule grants uid %u anything in it",
                                spec_scope_to_string(spec->scope),
                                d->subject->uid);
        if (d->rule->deny)
                return reason_set(d->reason,
                                KT_E_ACCESS_DENIED,
                                "scope %s: denied by %s",
                                spec_scope_to_string(spec->scope),
                                d->rule->label);
        return 0;
}

int policy_decide(const Policy *policy,
                const Subject *subject,
                const Spec *spec,
                const PolicyEvents *events,
                Grant **ret,
                Reason *reason) {
        _cleanup_(decision_clear)
                        Decision d = { .subject = subject, .events = events, .reason = reason };
        int r;

        r = find_rule(&d, policy, spec);
        if (r != 0)
                return r;
        d.grant = calloc(1, sizeof(*d.grant));
        d.choices = calloc(events->n_names ?: 1, sizeof(*d.choices));
        if (!d.grant || !d.choices)
                return -ENOMEM;
        d.n_choices = events->n_names;
        d.grant->fenced = d.rule != NULL;
        d.grant->polkit_action = d.rule ? d.rule->polkit_action : NULL;
        if (events->limits)
                d.grant->limits = *events->limits;
        d.grant->rule = strdup(d.rule ? d.rule->label : "root");
        d.grant->requests = calloc(spec->n_events ?: 1, sizeof(*d.grant->requests));
        if (!d.grant->rule || !d.grant->requests)
                return -ENOMEM;

        for (size_t i = 0; i < spec->n_events; i++) {
                r = decide_entry(&d, &spec->events[i], &d.grant->requests[d.grant->n_requests++]);
                if (r != 0)
                        return r;
        }
        if (spec->where && d.rule)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "where: filters are granted to root only");
        if (spec->where)
                r = join_where(&d, spec->where);
        if (r == 0)
                r = collect_events(&d);
        if (r != 0)
                return r;
        *ret = TAKE_PTR(d.grant);
        return 0;
}
