/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One rule: its subjects and what it grants. rule-read.c reads it from a file, policy.c searches
 * the rules in order, and grant.c turns the matching rule into a grant. */

#include "policy/rule.h"

#include <string.h>

#include "interfaces/glob.h"
#include "policy/grant-event.h"
#include "policy/rule-probes.h"

static bool has_group(const Subject *subject, gid_t gid) {
        for (size_t i = 0; i < subject->n_gids; i++)
                if (subject->gids[i] == gid)
                        return true;
        return false;
}

/* A rule for users, also one for any, never covers a container: its root is not the host's. */
static bool covers_container(const RuleSubject *who, const Subject *subject) {
        return who->container && subject->container && subject->cgroup &&
               container_has_uid(subject->uid) && strcmp(who->container, subject->container) == 0;
}

static bool covers(const RuleSubject *who, const Subject *subject) {
        if (who->container || subject->container || container_has_uid(subject->uid))
                return covers_container(who, subject);
        return !who->no_user && !who->no_group && (!who->has_uid || who->uid == subject->uid) &&
               (!who->has_gid || has_group(subject, who->gid)) &&
               (!who->needs_seat || subject->is_active) &&
               (!who->unit || (subject->unit && glob_match(who->unit, subject->unit)));
}

bool rule_covers_subject(const Rule *rule, const Subject *subject) {
        for (size_t i = 0; i < rule->n_subjects; i++)
                if (covers(&rule->subjects[i], subject))
                        return true;
        return false;
}

bool rule_is_for_containers(const Rule *rule) {
        for (size_t i = 0; i < rule->n_subjects; i++)
                if (rule->subjects[i].container)
                        return true;
        return false;
}

bool rule_is_of_definers(const char *system) {
        static const char *const systems[] = {
                "kprobes", "uprobes", "eprobes", "fprobes", "synthetic", "probe", "user_events"
        };
        static const char *const prefixes[] = { "ktrace_", "probe_", "sdt_", "user_events_" };

        for (size_t i = 0; i < ELEMENTSOF(systems); i++)
                if (strcmp(system, systems[i]) == 0)
                        return true;
        for (size_t i = 0; i < ELEMENTSOF(prefixes); i++)
                if (strncmp(system, prefixes[i], strlen(prefixes[i])) == 0)
                        return true;
        return false;
}

/* "ktrace_web:*", not "k*:*" */
static bool names_system(const char *pattern) {
        return strcspn(pattern, "*?[") > strcspn(pattern, ":");
}

const RuleEvent *rule_find_event(const Rule *rule, const char *system, const char *name) {
        bool must_be_named = rule_is_of_definers(system);

        for (size_t i = 0; i < rule->n_events; i++) {
                const RuleEvent *event = &rule->events[i];

                if (glob_match_event(event->pattern, system, name) &&
                                (!must_be_named || names_system(event->pattern)))
                        return event;
        }
        return NULL;
}

bool rule_has_records(const Rule *rule) {
        return rule->sinks & (1U << GRANT_SINK_RECORDS);
}

bool rule_is_unredacted(const Rule *rule) {
        if (!rule->processes_any || rule->addresses != ADDRESS_KEEP || !rule_has_records(rule))
                return false;
        for (size_t i = 0; i < rule->n_events; i++)
                if (rule->events[i].gives.n_keep + rule->events[i].gives.n_cut > 0 ||
                                rule->events[i].gives.policy_filter)
                        return false;
        return true;
}

void rule_list_clear(RuleList *list) {
        for (size_t i = 0; i < list->n_rules; i++) {
                Rule *rule = &list->rules[i];

                for (size_t j = 0; j < rule->n_events; j++) {
                        free(rule->events[j].pattern);
                        grant_event_clear(&rule->events[j].gives);
                }
                for (size_t j = 0; j < rule->n_subjects; j++) {
                        free(rule->subjects[j].no_user);
                        free(rule->subjects[j].no_group);
                        free(rule->subjects[j].unit);
                        free(rule->subjects[j].container);
                }
                place_strings_clear(&rule->ships);
                rule_probes_free(rule->probes);
                free(rule->events);
                free(rule->subjects);
                free(rule->limits);
                free(rule->label);
        }
        free(list->rules);
        *list = (RuleList){ 0 };
}
