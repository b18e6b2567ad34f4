/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The set of all rules: reads them from two directories at start and finds the rule that applies to
 * a request. grant.c decides what the rule grants. Called by the manager (load) and by the session
 * floor (decide, may see), never by a door. Owns the rules; immutable after loading, so that a
 * reload creates a new set.
 *
 * Deny by default: without a file, a rule or a match the request is denied. root needs no rule.
 *
 * Rules are searched in two ways: a spec with `unredacted` skips rules that cut data, so that a
 * user who gets less without a password can still request everything with an administrator's
 * password. ListEvents does not list events that only a rule with polkit grants. */
#include "policy/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "interfaces/glob.h"
#include "interfaces/json-file.h"
#include "interfaces/override.h"
#include "interfaces/quote.h"
#include "policy/rule-read.h"
#include "policy/rule.h"

/* Writes one line in the format of sha256sum. */
static int list_digest(FILE *listing, const char *name, const char *text, size_t size) {
        char digest[DIGEST_DIGITS + 1];

        int r = digest_make(text, size, digest);
        if (r < 0)
                return r;
        return fprintf(listing, "%s  %s\n", digest, name) < 0 ? -ENOMEM : 0;
}

typedef struct Loading {
        RuleList *list;
        FILE *listing;
} Loading;

static int policy_load_rules(const OverrideFile *file, void *userdata, Reason *reason) {
        Loading *loading = userdata;
        _cleanup_json_ json_object *o = NULL;
        _cleanup_free_ char *text = NULL;
        size_t size = 0;

        int r = override_read(file, &text, &size, reason);
        if (r != 0 || size == 0) /* an empty file masks the one of the same name in the other
                                    directory */
                return r;
        r = json_parse_strict(file->source, text, size, &o, reason);
        r = r ?: list_digest(loading->listing, file->name, text, size);
        return r ?: rule_list_add_json(loading->list, file->name, o, reason);
}

int policy_load(const char *lib_dir, const char *config_dir, Policy **ret, Reason *reason) {
        _cleanup_(policy_free_cleanup) Policy *policy = calloc(1, sizeof(*policy));
        _cleanup_free_ char *text = NULL;
        Loading loading;
        size_t size = 0;

        if (!policy)
                return -ENOMEM;
        loading = (Loading){ &policy->list, open_memstream(&text, &size) };
        if (!loading.listing)
                return -ENOMEM;
        int r = override_visit(
                        lib_dir, config_dir, KT_POLICY_SUBDIR, policy_load_rules, &loading, reason);
        if (fclose(loading.listing) != 0 && r == 0)
                r = -ENOMEM;
        r = r ?: digest_make(text, size, policy->digest);
        if (r == 0)
                *ret = TAKE_PTR(policy);
        return r;
}

int policy_load_file(const char *path, Policy **ret, Reason *reason) {
        _cleanup_(policy_free_cleanup) Policy *policy = calloc(1, sizeof(*policy));
        _cleanup_json_ json_object *o = NULL;
        _cleanup_close_ int fd = -1;

        if (!policy)
                return -ENOMEM;
        fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
                return reason_set(reason, KT_E_FAILED, "%s: %s", path, strerror(errno));
        int r = json_load_fd(path, fd, &o, reason);
        r = r ?: rule_list_add_json(&policy->list, path, o, reason);
        if (r == 0)
                *ret = TAKE_PTR(policy);
        return r;
}

size_t policy_get_n_rules(const Policy *policy) {
        return policy->list.n_rules;
}

static void warn_absent(const Rule *rule,
                const char *kind,
                const char *name,
                void (*visit)(const char *text, void *userdata),
                void *userdata) {
        Reason text = {};

        if (!name)
                return;
        reason_set(&text,
                        0,
                        "%s: subjects: there is no %s %s: this subject matches no user until the %s "
                        "exists and the rules are read again",
                        rule->label,
                        kind,
                        quote(name).text,
                        kind);
        visit(text.text, userdata);
}

void policy_visit_warnings(const Policy *policy,
                void (*visit)(const char *text, void *userdata),
                void *userdata) {
        for (size_t i = 0; i < policy->list.n_rules; i++) {
                const Rule *rule = &policy->list.rules[i];

                for (size_t j = 0; j < rule->n_subjects; j++) {
                        const RuleSubject *subject = &rule->subjects[j];

                        warn_absent(rule, "user", subject->no_user, visit, userdata);
                        warn_absent(rule, "group", subject->no_group, visit, userdata);
                }
        }
}

const char *policy_get_digest(const Policy *policy) {
        return policy->digest;
}

Policy *policy_free(Policy *policy) {
        if (!policy)
                return NULL;
        rule_list_clear(&policy->list);
        free(policy);
        return NULL;
}

const Rule *policy_find_rule(const Policy *policy,
                const Subject *subject,
                SpecScope scope,
                bool is_unredacted) {
        for (size_t i = 0; i < policy->list.n_rules; i++) {
                const Rule *rule = &policy->list.rules[i];

                if (!(rule->scopes & (1U << scope)) ||
                                (is_unredacted && !rule->deny && !rule_is_unredacted(rule)))
                        continue;
                if (rule_covers_subject(rule, subject))
                        return rule;
        }
        return NULL;
}

static void view_add(PolicyView *view, const Rule *rule) {
        if (!rule || rule->deny || rule->polkit_action)
                return;
        for (size_t i = 0; i < view->n_rules; i++)
                if (view->rules[i] == rule)
                        return;
        view->rules[view->n_rules++] = rule;
}

static bool may_all(const Policy *policy, const Subject *subject, unsigned sinks) {
        const Rule *rule = policy_find_rule(policy, subject, SCOPE_SYSTEM, false);

        return subject->uid == 0 ||
               (rule && !rule->deny && !rule->polkit_action && rule->sinks & sinks);
}

bool policy_may_trace_all(const Policy *policy, const Subject *subject) {
        return may_all(policy, subject, 1U << GRANT_SINK_RECORDS);
}

bool policy_may_count_all(const Policy *policy, const Subject *subject) {
        return may_all(policy, subject, GRANT_SINKS_ALL);
}

static bool rule_ships(const Rule *rule, const char *label) {
        for (size_t i = 0; i < rule->ships.n; i++)
                if (glob_match(rule->ships.strings[i], label))
                        return true;
        return false;
}

bool policy_may_ship(const Policy *policy, const Subject *subject, const char *label) {
        for (size_t i = 0; i < policy->list.n_rules; i++)
                if (rule_ships(&policy->list.rules[i], label) &&
                                rule_covers_subject(&policy->list.rules[i], subject))
                        return true;
        return false;
}

bool policy_is_shipped(const Policy *policy, const char *label) {
        for (size_t i = 0; i < policy->list.n_rules; i++)
                if (rule_ships(&policy->list.rules[i], label))
                        return true;
        return false;
}

PolicyView policy_get_view(const Policy *policy, const Subject *subject) {
        PolicyView view = { .is_root = subject->uid == 0 };

        for (int scope = 0; !view.is_root && scope < _SCOPE_N; scope++) {
                view_add(&view, policy_find_rule(policy, subject, scope, false));
                view_add(&view, policy_find_rule(policy, subject, scope, true));
        }
        return view;
}

bool policy_view_has(const PolicyView *view, const char *system, const char *name) {
        for (size_t i = 0; i < view->n_rules; i++)
                if (rule_find_event(view->rules[i], system, name))
                        return true;
        return view->is_root;
}

bool container_has_uid(uid_t uid) {
        return uid >= CONTAINER_UID_FIRST && uid - CONTAINER_UID_FIRST < CONTAINERS_MAX;
}

static int policy_copy_text(const char *text, char **ret) {
        *ret = text ? strdup(text) : NULL;
        return !text || *ret ? 0 : -ENOMEM;
}

int subject_copy(Subject *dest, const Subject *source) {
        _cleanup_free_ char *unit = NULL, *container = NULL, *cgroup = NULL;
        gid_t *gids = NULL;

        int r = policy_copy_text(source->unit, &unit);
        r = r ?: policy_copy_text(source->container, &container);
        r = r ?: policy_copy_text(source->cgroup, &cgroup);
        if (r < 0)
                return r;
        if (source->n_gids > 0) {
                gids = reallocarray(NULL, source->n_gids, sizeof(*gids));
                if (!gids)
                        return -ENOMEM;
                memcpy(gids, source->gids, source->n_gids * sizeof(*gids));
        }
        *dest = (Subject){
                .uid = source->uid,
                .gids = gids,
                .n_gids = source->n_gids,
                .is_active = source->is_active,
                .unit = TAKE_PTR(unit),
                .container = TAKE_PTR(container),
                .cgroup = TAKE_PTR(cgroup),
        };
        memcpy(dest->command, source->command, sizeof(dest->command));
        return 0;
}

void subject_clear(Subject *subject) {
        free(subject->gids);
        free(subject->unit);
        free(subject->container);
        free(subject->cgroup);
        *subject = (Subject){ .uid = (uid_t)-1 };
}
