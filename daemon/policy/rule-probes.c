/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the probe permissions of a rule from a file, and decides what they grant. The subject's
 * first rule with the key "probes" applies, whatever its scopes, because a probe is defined for the
 * kernel and not for a session. An empty object grants nothing; an earlier rule that denies every
 * scope also denies probes. */

#include "policy/rule-probes.h"

#include <errno.h>
#include <string.h>

#include "interfaces/array.h"
#include "interfaces/glob.h"
#include "interfaces/quote.h"
#include "policy/rule.h"

#define GLOB_MAX 128
#define FILE_MAX 1024

static int read_use(void *target, json_object *o, const Place *place) {
        RuleProbes *probes = target;

        return place_read_strings(place, o, RULE_ENTRIES_MAX, GLOB_MAX, &probes->uses);
}

static int read_functions(void *target, json_object *o, const Place *place) {
        RuleProbes *probes = target;

        return place_read_strings(place, o, RULE_ENTRIES_MAX, GLOB_MAX, &probes->functions);
}

static int read_except(void *target, json_object *o, const Place *place) {
        RuleProbes *probes = target;

        return place_read_strings(place, o, RULE_ENTRIES_MAX, GLOB_MAX, &probes->except);
}

static const char *const takes_names[_PROBE_TAKES_N] = {
        [PROBE_TAKES_VALUES] = "values",
        [PROBE_TAKES_MEMBERS] = "members",
        [PROBE_TAKES_STRINGS] = "strings",
        [PROBE_TAKES_RAW] = "raw",
};

static int read_take(void *target, json_object *o, const Place *place) {
        RuleProbes *probes = target;
        const char *text;

        int r = place_read_string(place, o, GLOB_MAX, &text);
        if (r != 0)
                return r;
        for (int i = 0; i < _PROBE_TAKES_N; i++)
                if (strcmp(text, takes_names[i]) == 0) {
                        probes->takes |= 1U << i;
                        return 0;
                }
        return place_refuse_value(place, o, "values, members, strings or raw");
}

static int read_takes(void *target, json_object *o, const Place *place) {
        return place_read_list(place, o, _PROBE_TAKES_N, read_take, target);
}

static int rule_probes_read_polkit(void *target, json_object *o, const Place *place) {
        RuleProbes *probes = target;

        return place_read_boolean(place, o, &probes->asks_polkit);
}

static int read_derive(void *target, json_object *o, const Place *place) {
        RuleProbes *probes = target;

        return place_read_boolean(place, o, &probes->derives);
}

/* "own", "none", or globs in addition to the subject's own programs. */
static int read_files(void *target, json_object *o, const Place *place) {
        RuleProbes *probes = target;
        const char *text;

        probes->own_files = true;
        if (json_object_is_type(o, json_type_array))
                return place_read_strings(place, o, RULE_ENTRIES_MAX, FILE_MAX, &probes->files);
        if (!json_object_is_type(o, json_type_string))
                return place_refuse_value(place, o, "own, none or a list of globs");
        int r = place_read_string(place, o, GLOB_MAX, &text);
        if (r != 0)
                return r;
        probes->own_files = strcmp(text, "own") == 0;
        return probes->own_files || strcmp(text, "none") == 0
                               ? 0
                               : place_refuse_value(place, o, "own, none or a list of globs");
}

/* {"block_*": ["latency", "dev"]} */
static int rule_probes_read_keys(void *target, json_object *o, const Place *place) {
        RuleProbes *probes = target;
        int r = 0;

        if (!json_object_is_type(o, json_type_object) || json_object_object_length(o) == 0 ||
                        json_object_object_length(o) > RULE_ENTRIES_MAX)
                return place_refuse_value(place,
                                o,
                                "an object of 1 to %d globs of the catalogue's entries, each with "
                                "a list of fields",
                                RULE_ENTRIES_MAX);
        json_object_object_foreach(o, key, value) {
                Place at = place_of_key(place, key);

                r = r ?: array_grow(&probes->keys, probes->n_keys, sizeof(RuleProbeKeys));
                if (r != 0)
                        return r;
                RuleProbeKeys *keys = &probes->keys[probes->n_keys++];
                keys->entry = strdup(key);
                r = keys->entry ? 0 : -ENOMEM;
                r = r ?: place_read_strings(&at, value, RULE_FIELDS_MAX, GLOB_MAX, &keys->fields);
        }
        return r;
}

int rule_read_probes(void *target, json_object *o, const Place *place) {
        static const PlaceKey keys[] = {
                { "use", read_use },
                { "functions", read_functions },
                { "except", read_except },
                { "takes", read_takes },
                { "polkit", rule_probes_read_polkit },
                { "derive", read_derive },
                { "files", read_files },
                { "keys", rule_probes_read_keys },
        };
        Rule *rule = target;

        rule->probes = calloc(1, sizeof(*rule->probes));
        if (!rule->probes)
                return -ENOMEM;
        RuleProbes *probes = rule->probes;
        int r = place_read_object(place, o, keys, ELEMENTSOF(keys), probes);
        bool defines = probes->functions.n > 0;
        if (r == 0 && defines && probes->takes == 0)
                r = place_refuse(place, "takes: missing, and functions require it");
        if (r == 0 && !defines && (probes->takes != 0 || probes->asks_polkit))
                r = place_refuse(place, "takes and polkit require functions, add these");
        if (r == 0 && probes->except.n > 0 && probes->functions.n == 0)
                r = place_refuse(place, "except: requires functions, add these");
        return r;
}

RuleProbes *rule_probes_free(RuleProbes *probes) {
        if (!probes)
                return NULL;
        place_strings_clear(&probes->uses);
        place_strings_clear(&probes->functions);
        place_strings_clear(&probes->except);
        place_strings_clear(&probes->files);
        for (size_t i = 0; i < probes->n_keys; i++) {
                free(probes->keys[i].entry);
                place_strings_clear(&probes->keys[i].fields);
        }
        free(probes->keys);
        free(probes);
        return NULL;
}

static bool rule_probes_has(const PlaceStrings *globs, const char *name) {
        for (size_t i = 0; i < globs->n; i++)
                if (glob_match(globs->strings[i], name))
                        return true;
        return false;
}

const PlaceStrings *rule_probes_find_keys(const RuleProbes *probes, const char *entry) {
        for (size_t i = 0; probes && i < probes->n_keys; i++)
                if (glob_match(probes->keys[i].entry, entry))
                        return &probes->keys[i].fields;
        return NULL;
}

/* A rule that denies every scope also denies probes, which would be useless. */
static bool speaks_of_probes(const Rule *rule) {
        return rule->probes || (rule->deny && rule->scopes == (1U << _SCOPE_N) - 1);
}

static const Rule *rule_probes_find_rule(const Policy *policy, const Subject *subject) {
        for (size_t i = 0; i < policy->list.n_rules; i++) {
                const Rule *rule = &policy->list.rules[i];

                if (speaks_of_probes(rule) && rule_covers_subject(rule, subject))
                        return rule;
        }
        return NULL;
}

static int rule_probes_refuse(const Rule *rule, const char *what, Reason *reason) {
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "probes: %s: not granted by %s; an administrator may change its rules",
                        what,
                        rule->label);
}

static bool is_everything(const PlaceStrings *globs) {
        for (size_t i = 0; i < globs->n; i++)
                if (strcmp(globs->strings[i], "*") == 0)
                        return true;
        return false;
}

static int check_takes(const Rule *rule, unsigned takes, Reason *reason) {
        for (int i = 0; i < _PROBE_TAKES_N; i++)
                if (takes & ~rule->probes->takes & (1U << i))
                        return rule_probes_refuse(rule, takes_names[i], reason);
        return 0;
}

/* Definitions in the subject's own programs need no polkit; those in other programs always do,
 * because a mistake there affects all users of the program. */
static int rule_probes_check_file(const Rule *rule,
                const ProbeRequest *request,
                const char **ret_action,
                Reason *reason) {
        const RuleProbes *probes = rule->probes;

        bool is_free = request->is_own_file || !*request->file; /* may change below */

        if (!probes->own_files)
                return rule_probes_refuse(rule, "places in programs", reason);
        if (!is_free && !rule_probes_has(&probes->files, request->file))
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "probes: users other than you can write to %s, and %s does not "
                                "grant that; an administrator may change its rules",
                                quote(request->file).text,
                                rule->label);
        if (!is_free || rule->polkit_action)
                *ret_action = KT_BUS_NAME ".define-probe";
        return 0;
}

int policy_decide_probe(const Policy *policy,
                const Subject *subject,
                const ProbeRequest *request,
                const char **ret_action,
                Reason *reason) {
        *ret_action = NULL;
        if (subject->uid == 0)
                return 0;
        const Rule *rule = rule_probes_find_rule(policy, subject);
        if (!rule)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "probes: no rule grants uid %u any",
                                subject->uid);
        if (rule->deny)
                return reason_set(reason, KT_E_ACCESS_DENIED, "probes: denied by %s", rule->label);
        const RuleProbes *probes = rule->probes;
        if (request->entry)
                return rule_probes_has(&probes->uses, request->entry)
                                       ? 0
                                       : rule_probes_refuse(rule, request->entry, reason);
        /* Fields of an event need no permission besides that of the event, which is checked
         * separately: only additional reads count. */
        if (request->is_derived) {
                unsigned takes = request->takes & ~(1U << PROBE_TAKES_VALUES);

                if (!probes->derives)
                        return rule_probes_refuse(rule, "those on events", reason);
                int r = check_takes(rule, takes, reason);
                if (r == 0 && takes != 0 && (probes->asks_polkit || rule->polkit_action))
                        *ret_action = KT_BUS_NAME ".define-probe";
                return r;
        }
        if (request->file)
                return rule_probes_check_file(rule, request, ret_action, reason);
        /* A probe at an arbitrary address requires permission for all functions. */
        if (request->function && !*request->function &&
                        (!is_everything(&probes->functions) || probes->except.n > 0))
                return rule_probes_refuse(rule, "a place without the name of a function", reason);
        if (request->function &&
                        (!rule_probes_has(&probes->functions, request->function) ||
                                        rule_probes_has(&probes->except, request->function)))
                return rule_probes_refuse(rule, request->function, reason);
        int r = check_takes(rule, request->takes, reason);
        if (r == 0 && (probes->asks_polkit || rule->polkit_action))
                *ret_action = KT_BUS_NAME ".define-probe";
        return r;
}
