/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads rules from a parsed file: ktrace-policy(5) documents the keys. Called by policy.c for each
 * file in order. Refuses unknown keys, with file and place, and contradictions: a rule that
 * restricts less than its author expects grants more. */

#include "policy/rule-read.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "interfaces/array.h"
#include "interfaces/spec-scope.h"
#include "policy/grant-sink.h"
#include "policy/rule-event.h"
#include "policy/rule-probes.h"
#include "policy/rule-subject.h"
#include "policy/rule.h"

#define NAME_LENGTH_MAX 128
#define RULE_LABEL_MAX  (NAME_MAX + 2 + KT_NAME_MAX)

static int rule_read_name(void *target, json_object *o, const Place *place) {
        Rule *rule = target;
        const char *text;

        int r = place_read_string(place, o, KT_NAME_MAX, &text);
        if (r != 0)
                return r;
        if (asprintf(&rule->label, "%s: %s", place->file->name, text) < 0) {
                rule->label = NULL;
                return -ENOMEM;
        }
        return 0;
}

static int rule_read_description(void *target _unused_, json_object *o, const Place *place) {
        const char *text;

        return place_read_string(place, o, JSON_MAX_BYTES, &text);
}

static int read_subjects(void *target, json_object *o, const Place *place) {
        return place_read_list(place, o, RULE_ENTRIES_MAX, rule_read_subject, target);
}

static int rule_read_events(void *target, json_object *o, const Place *place) {
        return place_read_list(place, o, RULE_ENTRIES_MAX, rule_read_event, target);
}

static int read_scope(void *target, json_object *o, const Place *place) {
        Rule *rule = target;
        const char *text;

        int r = place_read_string(place, o, NAME_LENGTH_MAX, &text);
        if (r != 0)
                return r;
        for (int scope = 0; scope < _SCOPE_N; scope++)
                if (strcmp(text, spec_scope_to_string(scope)) == 0) {
                        rule->scopes |= 1U << scope;
                        return 0;
                }
        return place_refuse_value(place, o, "command, own, pids, unit, cgroup or system");
}

static int read_scopes(void *target, json_object *o, const Place *place) {
        return place_read_list(place, o, _SCOPE_N, read_scope, target);
}

static int read_processes(void *target, json_object *o, const Place *place) {
        Rule *rule = target;
        const char *text;

        int r = place_read_string(place, o, NAME_LENGTH_MAX, &text);
        if (r != 0)
                return r;
        rule->processes_any = strcmp(text, "any") == 0;
        return rule->processes_any || strcmp(text, "own") == 0
                               ? 0
                               : place_refuse_value(place, o, "own or any");
}

static int read_addresses(void *target, json_object *o, const Place *place) {
        static const char *const modes[_ADDRESS_MODE_N] = {
                [ADDRESS_ZERO] = "zero",
                [ADDRESS_PSEUDONYM] = "pseudonym",
                [ADDRESS_KEEP] = "keep",
        };
        Rule *rule = target;
        const char *text;

        int r = place_read_string(place, o, NAME_LENGTH_MAX, &text);
        if (r != 0)
                return r;
        for (int mode = 0; mode < _ADDRESS_MODE_N; mode++)
                if (strcmp(text, modes[mode]) == 0) {
                        rule->addresses = mode;
                        return 0;
                }
        return place_refuse_value(place, o, "zero, pseudonym or keep");
}

static int read_sink(void *target, json_object *o, const Place *place) {
        Rule *rule = target;
        const char *text;

        int r = place_read_string(place, o, NAME_LENGTH_MAX, &text);
        if (r != 0)
                return r;
        for (GrantSink sink = 0; sink < _GRANT_SINK_N; sink++)
                if (strcmp(text, grant_sink_to_string(sink)) == 0) {
                        if (rule->sinks & (1U << sink))
                                return place_refuse(place, "%s is in the list already", text);
                        rule->sinks |= 1U << sink;
                        return 0;
                }
        return place_refuse_value(place, o, "records, histogram or count");
}

static int read_sinks(void *target, json_object *o, const Place *place) {
        return place_read_list(place, o, _GRANT_SINK_N, read_sink, target);
}

static int read_allow_setuid(void *target, json_object *o, const Place *place) {
        Rule *rule = target;

        return place_read_boolean(place, o, &rule->allow_setuid);
}

static int rule_read_black_box(void *target, json_object *o, const Place *place) {
        Rule *rule = target;
        const char *text;

        int r = place_read_string(place, o, NAME_LENGTH_MAX, &text);
        if (r != 0)
                return r;
        rule->denies_black_box = strcmp(text, "deny") == 0;
        return rule->denies_black_box || strcmp(text, "own") == 0
                               ? 0
                               : place_refuse_value(place, o, "own or deny");
}

static int read_deny(void *target, json_object *o, const Place *place) {
        Rule *rule = target;

        return place_read_boolean(place, o, &rule->deny);
}

static int read_lifetime(void *target, json_object *o, const Place *place) {
        Rule *rule = target;
        const char *text;

        int r = place_read_string(place, o, NAME_LENGTH_MAX, &text);
        if (r != 0)
                return r;
        if (strcmp(text, "client") == 0)
                rule->lifetimes |= 1U << LIFETIME_CLIENT;
        else if (strcmp(text, "linger") == 0)
                rule->lifetimes |= 1U << LIFETIME_LINGER;
        else if (strcmp(text, "unit") == 0)
                rule->lifetimes |= 1U << LIFETIME_UNIT;
        else
                return place_refuse_value(place, o, "client, linger or unit");
        return 0;
}

static int read_lifetimes(void *target, json_object *o, const Place *place) {
        return place_read_list(place, o, _LIFETIME_N, read_lifetime, target);
}

static int read_max_linger(void *target, json_object *o, const Place *place) {
        const uint64_t usec_per_sec = 1000000;
        Rule *rule = target;
        uint64_t sec = 0;

        int r = place_read_number(place, o, 1, SPEC_LINGER_MAX_USEC / usec_per_sec, &sec);
        rule->max_linger_usec = sec * usec_per_sec;
        return r;
}

/* Globs of "FILE: NAME", as Grant.rule has it. */
static int read_ship(void *target, json_object *o, const Place *place) {
        Rule *rule = target;

        return place_read_strings(place, o, RULE_ENTRIES_MAX, RULE_LABEL_MAX, &rule->ships);
}

static int rule_read_limit(Rule *rule, const char *key, json_object *o, const Place *place) {
        const LimitField *field = limit_fields;
        uint64_t value;

        while (field < limit_fields + n_limit_fields && strcmp(field->name, key) != 0)
                field++;
        if (field == limit_fields + n_limit_fields)
                return place_refuse_key(place, NULL);
        if (!field->is_for_rules)
                return place_refuse(place, "is for all users together: set it in ktraced.json");
        int r = place_read_number(place, o, field->min, field->max, &value);
        r = r ?: array_grow(&rule->limits, rule->n_limits, sizeof(RuleLimit));
        if (r == 0)
                rule->limits[rule->n_limits++] = (RuleLimit){ field, value };
        return r;
}

static int read_limits(void *target, json_object *o, const Place *place) {
        if (!json_object_is_type(o, json_type_object))
                return place_refuse_value(place, o, "an object");
        json_object_object_foreach(o, key, value) {
                Place at = place_of_key(place, key);
                int r = rule_read_limit(target, key, value, &at);

                if (r != 0)
                        return r;
        }
        return 0;
}

/* Reads one of the actions that org.ktrace1.policy defines for traces, by its last word. */
static int rule_read_polkit(void *target, json_object *o, const Place *place) {
        static const char *const actions[] = { KT_BUS_NAME ".trace-own",
                KT_BUS_NAME ".trace-system" };
        Rule *rule = target;
        const char *text;

        int r = place_read_string(place, o, NAME_LENGTH_MAX, &text);
        if (r != 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(actions); i++)
                if (strcmp(text, actions[i] + strlen(KT_BUS_NAME ".")) == 0) {
                        rule->polkit_action = actions[i];
                        return 0;
                }
        return place_refuse_value(place, o, "trace-own or trace-system");
}

static int rule_read_check_events(const Rule *rule, const Place *place) {
        Place events = place_of_key(place, "events");

        for (size_t i = 0; i < rule->n_events; i++) {
                Place entry = place_of_entry(&events, i);

                if (rule->processes_any && rule->events[i].gives.speaks_of_others)
                        return place_refuse(&entry,
                                        "class: not with \"processes\": \"any\"; name the "
                                        "fields in keep or cut");
        }
        return 0;
}

/* Keys that had no effect would make their author expect a limit that does not exist. */
static int check_keys(const Rule *rule, const Place *place) {
        static const char text[] = "only in a rule whose sinks are without records";
        Place events = place_of_key(place, "events"), probes = place_of_key(place, "probes");

        for (size_t i = 0; i < rule->n_events; i++) {
                Place entry = place_of_entry(&events, i), keys = place_of_key(&entry, "keys");

                if (rule->events[i].gives.n_keys > 0 && rule_has_records(rule))
                        return place_refuse(&keys, text);
        }
        Place keys = place_of_key(&probes, "keys");
        return rule->probes && rule->probes->n_keys > 0 && rule_has_records(rule)
                               ? place_refuse(&keys, text)
                               : 0;
}

static int check_deny(const Rule *rule, json_object *o, const Place *place) {
        static const char *const keys[] = { "name", "description", "subjects", "scopes", "deny" };

        json_object_object_foreach(o, key, unused) {
                size_t i = 0;

                (void)unused;
                while (i < ELEMENTSOF(keys) && strcmp(keys[i], key) != 0)
                        i++;
                if (rule->deny && i == ELEMENTSOF(keys)) {
                        Place at = place_of_key(place, key);

                        return place_refuse(&at, "a rule that denies grants nothing, leave it out");
                }
        }
        return 0;
}

/* A service that ships cannot be asked for a password. */
static int check_ship(const Rule *rule, const Place *place) {
        Place ship = place_of_key(place, "ship");

        return rule->ships.n > 0 && rule->polkit_action
                               ? place_refuse(&ship, "not with polkit: a service cannot be asked")
                               : 0;
}

/* A container traces its own processes only, as long as its client is connected. Keys that would
 * give it more are refused, so that their author expects nothing of them. */
static int check_containers(const Rule *rule, const Place *place) {
        static const unsigned scopes = 1U << SCOPE_COMMAND | 1U << SCOPE_OWN | 1U << SCOPE_PIDS;
        const char *what = NULL;

        if (!rule_is_for_containers(rule))
                return 0;
        for (size_t i = 0; i < rule->n_subjects; i++)
                if (!rule->subjects[i].container)
                        what = "subjects: users need a rule of their own";
        if (rule->scopes & ~scopes && !rule->deny)
                what = "scopes: expected command, own or pids";
        else if (rule->processes_any)
                what = "processes: expected own";
        else if (rule->addresses != ADDRESS_ZERO)
                what = "addresses: expected zero";
        else if (rule->lifetimes & ~(1U << LIFETIME_CLIENT))
                what = "lifetimes: expected client";
        else if (rule->allow_setuid)
                what = "allow-setuid: has no effect, leave it out";
        else if (rule->probes)
                what = "probes: leave it out";
        else if (rule->ships.n > 0)
                what = "ship: leave it out";
        else if (rule->polkit_action)
                what = "polkit: no password can be asked for, leave it out";
        return what ? place_refuse(place, "in a rule for containers: %s", what) : 0;
}

static int rule_read_check(const Rule *rule, json_object *o, const Place *place) {
        static const char *const needed[] = { "name", "subjects", "scopes", "events" };

        /* A rule only about probes, or about what may be shipped. */
        bool has_no_traces = (rule->probes || rule->ships.n > 0) && rule->scopes == 0 &&
                             rule->n_events == 0;
        size_t n_needed = ELEMENTSOF(needed) - (has_no_traces ? 2 : rule->deny ? 1 : 0);

        for (size_t i = 0; i < n_needed; i++)
                if (!json_object_object_get_ex(o, needed[i], NULL)) {
                        Place at = place_of_key(place, needed[i]);

                        return place_refuse(&at, "is missing");
                }
        int r = check_deny(rule, o, place);
        r = r ?: check_containers(rule, place);
        r = r ?: check_ship(rule, place);
        r = r ?: check_keys(rule, place);
        if (r != 0 || rule->deny || has_no_traces)
                return r;
        if (rule->scopes & (1U << SCOPE_SYSTEM) && !rule->processes_any)
                return place_refuse(place,
                                "scopes: system includes processes of other users and requires "
                                "\"processes\": \"any\"");
        if (rule->max_linger_usec > 0 && !(rule->lifetimes & (1U << LIFETIME_LINGER)))
                return place_refuse(place, "max-linger-sec: linger is not among lifetimes");
        return rule_read_check_events(rule, place);
}

static int read_rule(void *target, json_object *o, const Place *place) {
        static const PlaceKey keys[] = {
                { "name", rule_read_name },
                { "description", rule_read_description },
                { "subjects", read_subjects },
                { "scopes", read_scopes },
                { "processes", read_processes },
                { "events", rule_read_events },
                { "addresses", read_addresses },
                { "sinks", read_sinks },
                { "allow-setuid", read_allow_setuid },
                { "black-box", rule_read_black_box },
                { "lifetimes", read_lifetimes },
                { "max-linger-sec", read_max_linger },
                { "limits", read_limits },
                { "probes", rule_read_probes },
                { "ship", read_ship },
                { "polkit", rule_read_polkit },
                { "deny", read_deny },
        };
        RuleList *list = target;

        if (list->n_rules == RULES_MAX)
                return place_refuse(place, "there are more than %d rules in all files", RULES_MAX);
        int r = array_grow(&list->rules, list->n_rules, sizeof(Rule));
        if (r < 0)
                return r;
        Rule *rule = &list->rules[list->n_rules++];
        r = place_read_object(place, o, keys, ELEMENTSOF(keys), rule);
        if (r == 0 && rule->lifetimes == 0)
                rule->lifetimes = rule_is_for_containers(rule) ? 1U << LIFETIME_CLIENT : ~0U;
        if (r == 0 && rule->sinks == 0)
                rule->sinks = GRANT_SINKS_ALL;
        return r ?: rule_read_check(rule, o, place);
}

static int read_rules(void *target, json_object *o, const Place *place) {
        if (!json_object_is_type(o, json_type_array))
                return place_refuse_value(place, o, "a list");
        for (size_t i = 0; i < json_object_array_length(o); i++) {
                Place entry = place_of_entry(place, i);
                int r = read_rule(target, json_object_array_get_idx(o, i), &entry);

                if (r != 0)
                        return r;
        }
        return 0;
}

int rule_list_add_json(RuleList *list, const char *file, json_object *o, Reason *reason) {
        static const PlaceKey keys[] = { { "rules", read_rules } };
        PlaceFile source = { .name = file, .page = "ktrace-policy(5)", .reason = reason };
        Place place = place_of_file(&source);

        int r = place_read_object(&place, o, keys, ELEMENTSOF(keys), list);
        if (r == 0 && !json_object_object_get_ex(o, "rules", NULL)) {
                Place at = place_of_key(&place, "rules");

                r = place_refuse(&at, "is missing");
        }
        return r;
}
