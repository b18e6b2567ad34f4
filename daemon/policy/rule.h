/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "digest.h"
#include "policy.h"

/* One entry of a rules file. */
typedef struct Rule {
        char *label; /* "50-default.json: own-processes" */
        bool any;
        uid_t *uids;
        size_t n_uids;
        gid_t *gids;
        size_t n_gids;
        unsigned scopes; /* bits 1 << SpecScope */
        char **events;   /* globs of "system:event" */
        size_t n_events;
        bool deny;                 /* has no events then */
        const char *polkit_action; /* static; must allow it as well; NULL: the rule is enough */
} Rule;

typedef struct RuleList {
        Rule *rules;
        size_t n_rules;
} RuleList;

#define RULES_MAX        1024 /* in all files */
#define RULE_ENTRIES_MAX 4096 /* subjects or events of one rule */

/* Appends the rules of one parsed file; `file` is its name without directory. The list may hold
 * some of them when it fails. KT_E_INVALID_SPEC or KT_E_UNKNOWN_KEY with file and path in reason.
 */
int rule_list_add_json(RuleList *list, const char *file, json_object *o, Reason *reason);
void rule_list_clear(RuleList *list);

/* What policy.h hides: the rules of all files in order. */
struct Policy {
        RuleList list;
        char digest[DIGEST_DIGITS + 1]; /* "": of a draft */
};

/* The first rule for this subject in this scope, or NULL. */
const Rule *policy_find_rule(const Policy *policy, const Subject *subject, SpecScope scope);
bool rule_covers_subject(const Rule *rule, const Subject *subject);
bool rule_grants_event(const Rule *rule, const char *system, const char *name);
