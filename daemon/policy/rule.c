/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One rule of a policy file: who, in which scopes, which events. policy.c reads the files and asks
 * the rules in order; this file only knows what a rule is and refuses whatever it does not know by
 * file and path, since a key that is skipped could be the one that forbids.
 *
 * {"rules": [{"name": "own", "description": "…", "subjects": ["any", {"uid": 1000},
 *   {"group": "ktrace"}], "scopes": ["command", "own", "pids"], "events": ["raw_syscalls:*"]}]}
 *
 * A rule with "deny": true has no events and refuses its subjects in its scopes. Scope "system" and
 * event fields cannot be granted by a rule: records of others and kernel addresses would have to be
 * cut out first. Group names are looked up when the file is read; a group that does not exist
 * matches nobody. */
#include "rule.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <string.h>

#include "glob.h"

#define NAME_LENGTH_MAX 128

typedef struct Place {
        const char *file;
        size_t rule;
        Reason *reason;
} Place;

#define refuse(place, key, format, ...)                \
        reason_set((place)->reason,                    \
                        KT_E_INVALID_SPEC,             \
                        "%s: rules[%zu]%s%s: " format, \
                        (place)->file,                 \
                        (place)->rule,                 \
                        *(key) ? "." : "",             \
                        key,                           \
                        ##__VA_ARGS__)

static const char *const scope_refusal =
                "scope system is root's alone: this version does not redact what others' events "
                "hold";

static int read_string(json_object *o, size_t max, const char **ret) {
        if (!json_object_is_type(o, json_type_string))
                return -EINVAL;
        const char *text = json_object_get_string(o);
        size_t length = strlen(text);
        if (length == 0 || length > max || length != (size_t)json_object_get_string_len(o))
                return -EINVAL;
        *ret = text;
        return 0;
}

static int add_uid(Rule *rule, uid_t uid) {
        uid_t *uids = reallocarray(rule->uids, rule->n_uids + 1, sizeof(*uids));
        if (!uids)
                return -ENOMEM;
        rule->uids = uids;
        rule->uids[rule->n_uids++] = uid;
        return 0;
}

static int add_group(Rule *rule, const char *name) {
        /* Not the reentrant one: files are read by the event loop's thread alone. */
        const struct group *group = getgrnam(name);
        if (!group)
                return 0;
        gid_t *gids = reallocarray(rule->gids, rule->n_gids + 1, sizeof(*gids));
        if (!gids)
                return -ENOMEM;
        rule->gids = gids;
        rule->gids[rule->n_gids++] = group->gr_gid;
        return 0;
}

static int read_subject(Rule *rule, json_object *o, const Place *place) {
        const char *text;
        json_object *value;

        if (read_string(o, NAME_LENGTH_MAX, &text) == 0 && strcmp(text, "any") == 0) {
                rule->any = true;
                return 0;
        }
        if (json_object_is_type(o, json_type_object) && json_object_object_length(o) == 1) {
                if (json_object_object_get_ex(o, "uid", &value) &&
                                json_object_is_type(value, json_type_int)) {
                        int64_t uid = json_object_get_int64(value);
                        /* The last one means "none" to the kernel. */
                        if (uid >= 0 && uid < UINT32_MAX)
                                return add_uid(rule, (uid_t)uid);
                }
                if (json_object_object_get_ex(o, "group", &value) &&
                                read_string(value, NAME_LENGTH_MAX, &text) == 0)
                        return add_group(rule, text);
        }
        return refuse(place,
                        "subjects",
                        "each is \"any\", {\"uid\": NUMBER} or {\"group\": \"NAME\"}");
}

static int read_scope(Rule *rule, json_object *o, const Place *place) {
        const char *text;

        if (read_string(o, NAME_LENGTH_MAX, &text) == 0) {
                if (strcmp(text, spec_scope_to_string(SCOPE_SYSTEM)) == 0)
                        return refuse(place, "scopes", "%s", scope_refusal);
                for (int scope = 0; scope < _SCOPE_N; scope++)
                        if (strcmp(text, spec_scope_to_string(scope)) == 0) {
                                rule->scopes |= 1U << scope;
                                return 0;
                        }
        }
        return refuse(place, "scopes", "each is \"command\", \"own\" or \"pids\"");
}

static int read_event(Rule *rule, json_object *o, const Place *place) {
        const char *text;

        if (read_string(o, NAME_LENGTH_MAX, &text) != 0 || !strchr(text, ':'))
                return refuse(place, "events", "each is \"SYSTEM:EVENT\", globs allowed");
        char **events = reallocarray(rule->events, rule->n_events + 1, sizeof(*events));
        if (!events)
                return -ENOMEM;
        rule->events = events;
        rule->events[rule->n_events] = strdup(text);
        if (!rule->events[rule->n_events])
                return -ENOMEM;
        rule->n_events++;
        return 0;
}

static int read_list(Rule *rule,
                const char *key,
                json_object *o,
                int (*read)(Rule *rule, json_object *o, const Place *place),
                const Place *place) {
        size_t n = json_object_is_type(o, json_type_array) ? json_object_array_length(o) : 0;
        if (n == 0 || n > RULE_ENTRIES_MAX)
                return refuse(place, key, "a list of 1 to %d entries is wanted", RULE_ENTRIES_MAX);

        for (size_t i = 0; i < n; i++) {
                int r = read(rule, json_object_array_get_idx(o, i), place);
                if (r != 0)
                        return r;
        }
        return 0;
}

static int read_label(Rule *rule, json_object *o, const Place *place) {
        const char *text;

        if (read_string(o, KT_NAME_MAX, &text) != 0)
                return refuse(place, "name", "a string of 1 to %d bytes is wanted", KT_NAME_MAX);
        if (asprintf(&rule->label, "%s: %s", place->file, text) < 0) {
                rule->label = NULL;
                return -ENOMEM;
        }
        return 0;
}

/* One of the actions that org.ktrace1.policy defines for traces, by its last word. */
static int read_polkit(Rule *rule, json_object *o, const Place *place) {
        static const char *const actions[] = {
                KT_BUS_NAME ".trace-own", KT_BUS_NAME ".trace-system", KT_BUS_NAME ".define-probe"
        };
        const char *text;

        if (read_string(o, NAME_LENGTH_MAX, &text) == 0)
                for (size_t i = 0; i < ELEMENTSOF(actions); i++)
                        if (strcmp(text, actions[i] + strlen(KT_BUS_NAME ".")) == 0) {
                                rule->polkit_action = actions[i];
                                return 0;
                        }
        return refuse(place, "polkit", "trace-own, trace-system or define-probe is wanted");
}

static int read_key(Rule *rule, const char *key, json_object *value, const Place *place) {
        if (strcmp(key, "name") == 0)
                return read_label(rule, value, place);
        if (strcmp(key, "subjects") == 0)
                return read_list(rule, key, value, read_subject, place);
        if (strcmp(key, "scopes") == 0)
                return read_list(rule, key, value, read_scope, place);
        if (strcmp(key, "events") == 0)
                return read_list(rule, key, value, read_event, place);
        if (strcmp(key, "polkit") == 0)
                return read_polkit(rule, value, place);
        if (strcmp(key, "deny") == 0) {
                if (!json_object_is_type(value, json_type_boolean))
                        return refuse(place, key, "true or false is wanted");
                rule->deny = json_object_get_boolean(value);
                return 0;
        }
        if (strcmp(key, "description") == 0)
                return json_object_is_type(value, json_type_string)
                                       ? 0
                                       : refuse(place, key, "a string is wanted");
        return reason_set(place->reason,
                        KT_E_UNKNOWN_KEY,
                        "%s: rules[%zu].%s: no such key",
                        place->file,
                        place->rule,
                        key);
}

static int read_rule(Rule *rule, json_object *o, const Place *place) {
        if (!json_object_is_type(o, json_type_object))
                return refuse(place, "", "an object is wanted");
        json_object_object_foreach(o, key, value) {
                int r = read_key(rule, key, value, place);
                if (r != 0)
                        return r;
        }

        if (!rule->label)
                return refuse(place, "name", "is missing");
        if (!json_object_object_get(o, "subjects"))
                return refuse(place, "subjects", "is missing");
        if (rule->scopes == 0)
                return refuse(place, "scopes", "is missing");
        if (rule->deny && rule->n_events > 0)
                return refuse(place, "events", "a rule that denies names no events");
        if (!rule->deny && rule->n_events == 0)
                return refuse(place, "events", "is missing");
        return 0;
}

int rule_list_add_json(RuleList *list, const char *file, json_object *o, Reason *reason) {
        if (!json_object_is_type(o, json_type_object))
                return reason_set(reason, KT_E_INVALID_SPEC, "%s: an object is wanted", file);
        json_object_object_foreach(o, key, unused) {
                (void)unused;
                if (strcmp(key, "rules") != 0)
                        return reason_set(
                                        reason, KT_E_UNKNOWN_KEY, "%s: %s: no such key", file, key);
        }
        json_object *rules = json_object_object_get(o, "rules");
        if (!json_object_is_type(rules, json_type_array))
                return reason_set(reason, KT_E_INVALID_SPEC, "%s: rules: a list is wanted", file);
        size_t n = json_object_array_length(rules);
        if (n > RULES_MAX - list->n_rules)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: rules: more than %d in all files",
                                file,
                                RULES_MAX);

        for (size_t i = 0; i < n; i++) {
                Rule *grown = reallocarray(list->rules, list->n_rules + 1, sizeof(*grown));
                if (!grown)
                        return -ENOMEM;
                list->rules = grown;
                list->rules[list->n_rules] = (Rule){ 0 };
                Rule *rule = &list->rules[list->n_rules++];
                int r = read_rule(rule,
                                json_object_array_get_idx(rules, i),
                                &(Place){ file, i, reason });
                if (r != 0)
                        return r;
        }
        return 0;
}

void rule_list_clear(RuleList *list) {
        for (size_t i = 0; i < list->n_rules; i++) {
                Rule *rule = &list->rules[i];
                for (size_t j = 0; j < rule->n_events; j++)
                        free(rule->events[j]);
                free(rule->events);
                free(rule->uids);
                free(rule->gids);
                free(rule->label);
        }
        free(list->rules);
        *list = (RuleList){ 0 };
}

bool rule_covers_subject(const Rule *rule, const Subject *subject) {
        if (rule->any)
                return true;
        for (size_t i = 0; i < rule->n_uids; i++)
                if (rule->uids[i] == subject->uid)
                        return true;
        for (size_t i = 0; i < rule->n_gids; i++)
                for (size_t j = 0; j < subject->n_gids; j++)
                        if (rule->gids[i] == subject->gids[j])
                                return true;
        return false;
}

bool rule_grants_event(const Rule *rule, const char *system, const char *name) {
        for (size_t i = 0; i < rule->n_events; i++)
                if (glob_match_event(rule->events[i], system, name))
                        return true;
        return false;
}
