/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Policy files: each is taken or refused with its name in the reason. Of one that is taken some
 * requests are decided: what is granted stands in the rule that counts, its filters name nothing
 * that is cut, nothing is recorded without records, histograms count by keys only, and behind a
 * denial of everything nothing is granted. */

#include <string.h>

#include "fuzz.h"
#include "interfaces/glob.h"
#include "interfaces/spec-json.h"
#include "policy/cover.h"
#include "policy/grant-field.h"
#include "policy/grant.h"
#include "policy/policy.h"
#include "policy/rule-probes.h"
#include "policy/rule-read.h"
#include "policy/rule.h"
#include "policy/same.h"

const char *const fuzz_words[] = { "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "null",
        "true",
        "-1",
        "4294967295",
        "\\u0000",
        "\"rules\"",
        "\"name\"",
        "\"description\"",
        "\"subjects\"",
        "\"any\"",
        "\"uid\"",
        "\"user\"",
        "\"group\"",
        "\"active\"",
        "\"unit\"",
        "\"scopes\"",
        "\"command\"",
        "\"own\"",
        "\"pids\"",
        "\"system\"",
        "\"events\"",
        "\"deny\"",
        "\"seat\"",
        "\"processes\"",
        "\"class\"",
        "\"others\"",
        "\"zero\"",
        "\"lifetimes\"",
        "\"max-linger-sec\"",
        "\"max-event-rate\"",
        "\"allow-setuid\"",
        "\"keep\"",
        "\"cut\"",
        "\"filter\"",
        "\"limits\"",
        "\"polkit\"",
        "\"addresses\"",
        "\"members\"",
        "\"sched:*\"",
        "\"*\"",
        "\"*:*\"",
        "\"kprobes:*\"",
        "\"ktrace_web:one\"",
        "\"raw_syscalls:sys_?n*\"",
        "\"next_*\"",
        "\"next_pid\"",
        "\"number == 1\"",
        "\"client\"",
        "\"linger\"",
        "\"pseudonym\"",
        "\"trace-own\"",
        "\"trace-system\"",
        "\"max-sessions-per-uid\"",
        "\"max-sessions\"",
        "\"probes\"",
        "\"use\"",
        "\"functions\"",
        "\"except\"",
        "\"takes\"",
        "\"values\"",
        "\"raw\"",
        "\"sinks\"",
        "\"records\"",
        "\"histogram\"",
        "\"count\"",
        "\"keys\"",
        "\"number\"",
        "\"common_pid\"",
        "{\"rules\":[]}",
        NULL };

static const char description[] =
                "name: any\nID: 1\nformat:\n"
                "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                "\tfield:int number;\toffset:8;\tsize:4;\tsigned:1;\n"
                "\tfield:unsigned long wide;\toffset:16;\tsize:8;\tsigned:0;\n"
                "\tfield:void * where;\toffset:24;\tsize:8;\tsigned:0;\n"
                "\tfield:pid_t next_pid;\toffset:32;\tsize:4;\tsigned:1;\n"
                "\tfield:char next_comm[16];\toffset:36;\tsize:16;\tsigned:0;\n"
                "\nprint fmt: \"%d\", REC->number\n";
static Format *format;

static int get_format(const char *system, const char *name, const Format **ret, void *userdata) {
        (void)system;
        (void)name;
        (void)userdata;
        *ret = format;
        return 0;
}

/* In the order of their names. */
static const char *const names[] = { "kprobes:mine",
        "ktrace_web:one",
        "raw_syscalls:sys_enter",
        "raw_syscalls:sys_exit",
        "sched:sched_switch" };
static const PolicyEvents kernel = { .names = names,
        .n_names = ELEMENTSOF(names),
        .get_format = get_format,
        .n_cpus = 4 };
static const Subject subject = { .uid = 1000,
        .gids = (gid_t[]){ 1000, 0 },
        .n_gids = 2,
        .is_active = true,
        .unit = (char *)"a.service" };

static int decide(const Policy *policy, const char *request, Grant **ret, Reason *reason) {
        _cleanup_json_ json_object *object = NULL;
        _cleanup_spec_ Spec *spec = spec_new();

        *ret = NULL;
        *reason = (Reason){};
        fuzz_check(spec);
        fuzz_check(json_parse_strict("spec", request, strlen(request), &object, reason) == 0);
        fuzz_check(spec_from_json(spec, object, reason) == 0);
        return policy_decide(policy, &subject, spec, &kernel, ret, reason);
}

/* Systems of definers only by their name. */
static void check_entry(const Rule *rule, const GrantEvent *event) {
        const RuleEvent *entry = rule_find_event(rule, event->system, event->name);
        size_t length = strlen(event->system);

        fuzz_check(entry);
        if (event->system[0] == 'k')
                fuzz_check(strncmp(entry->pattern, event->system, length) == 0 &&
                                entry->pattern[length] == ':');
        fuzz_check(event->n_cut == entry->gives.n_cut && event->n_keep == entry->gives.n_keep &&
                        event->n_members == entry->gives.n_members &&
                        event->n_keys == entry->gives.n_keys &&
                        event->speaks_of_others == entry->gives.speaks_of_others &&
                        !event->policy_filter == !entry->gives.policy_filter);
}

static void check_filter(const Grant *grant, const GrantEvent *event) {
        for (size_t i = 0; event->filter && i < format->n_fields; i++) {
                const FormatField *field = &format->fields[i];
                const char *pid;
                FieldVerdict verdict = grant_judge_field(grant, event, format, field, &pid);

                if (verdict != VERDICT_KEEP && verdict != VERDICT_WORDS &&
                                verdict != VERDICT_WORDS_PSEUDONYM)
                        fuzz_check(!strstr(event->filter, field->name));
        }
        fuzz_check(!event->filter || !event->speaks_of_others);
}

/* Without records, each column is a number that the entry lists: common fields by their names. */
static void check_column(const GrantEvent *event, const HistColumn *column) {
        const FormatField *field = format_field_find(format, column->name);
        bool is_listed = false;

        fuzz_check(field && !field->is_string && !field->is_pointer);
        for (size_t i = 0; i < event->n_keys; i++)
                is_listed = is_listed ||
                            (field->is_common ? strcmp(event->keys[i], field->name) == 0
                                              : glob_match(event->keys[i], field->name));
        fuzz_check(is_listed);
}

static void check_counts(const Grant *grant) {
        for (size_t i = 0; i < grant->n_events; i++)
                fuzz_check(grant->events[i].is_unrecorded);
        for (size_t i = 0; i < grant->n_triggers; i++) {
                const GrantTrigger *trigger = &grant->triggers[i];

                fuzz_check(trigger->hist.command);
                for (unsigned k = 0; k < trigger->hist.layout.n_keys; k++)
                        check_column(&grant->events[trigger->event], &trigger->hist.layout.keys[k]);
                for (unsigned k = 0; k < trigger->hist.layout.n_values; k++)
                        check_column(&grant->events[trigger->event],
                                        &trigger->hist.layout.values[k]);
        }
}

static void check_grant(const Rule *rule, const Grant *grant) {
        fuzz_check(rule && !rule->deny && strcmp(grant->rule, rule->label) == 0);
        fuzz_check(grant->fenced == !rule->processes_any);
        fuzz_check(grant->redacted == !rule_is_unredacted(rule));
        fuzz_check(grant->polkit_action == rule->polkit_action);
        for (size_t i = 0; i < grant->n_events; i++) {
                check_entry(rule, &grant->events[i]);
                check_filter(grant, &grant->events[i]);
        }
        fuzz_check(grant->sinks == rule->sinks);
        if (!rule_has_records(rule))
                check_counts(grant);
        fuzz_check(grant_is_same(grant, grant));
        fuzz_check(grant_check_covers(grant, grant, NULL) == 0);
}

/* The same rules behind one that denies everything. */
static void check_denied(const Policy *policy, const char *request) {
        RuleSubject anybody = {};
        Rule *rules = calloc(policy->list.n_rules + 1, sizeof(Rule));
        const Policy denying = { .list = { rules, policy->list.n_rules + 1 } };
        Reason reason;
        Grant *grant;

        fuzz_check(rules);
        rules[0] = (Rule){ .label = (char *)"no",
                .subjects = &anybody,
                .n_subjects = 1,
                .scopes = ~0U,
                .deny = true };
        for (size_t i = 0; i < policy->list.n_rules; i++)
                rules[i + 1] = policy->list.rules[i];
        fuzz_check(decide(&denying, request, &grant, &reason) == KT_E_ACCESS_DENIED && !grant);
        free(rules);
}

static void check_decision(const Policy *policy,
                SpecScope scope,
                bool is_unredacted,
                const char *request) {
        const Rule *rule = policy_find_rule(policy, &subject, scope, is_unredacted);
        Reason reason;
        Grant *grant;

        int r = decide(policy, request, &grant, &reason);
        fuzz_check(r == 0 || r == KT_E_ACCESS_DENIED || r == KT_E_INVALID_SPEC);
        fuzz_check((r == 0) == (grant != NULL));
        fuzz_check(r == 0 || reason.text[0]);
        if (!rule || rule->deny)
                fuzz_check(r == KT_E_ACCESS_DENIED);
        if (grant)
                check_grant(rule, grant);
        grant_free(grant);
        check_denied(policy, request);
}

static void check_probes(const Policy *policy) {
        const ProbeRequest use = { .entry = "exec" },
                           raw = { .function = "tcp_connect", .takes = 1U << PROBE_TAKES_RAW };
        bool has_rule = false;
        const char *action;

        for (size_t i = 0; i < policy->list.n_rules; i++)
                has_rule = has_rule || policy->list.rules[i].probes;
        int r = policy_decide_probe(policy, &subject, &use, &action, NULL);
        fuzz_check((r == 0 && has_rule && !action) || r == KT_E_ACCESS_DENIED);
        r = policy_decide_probe(policy, &subject, &raw, &action, NULL);
        fuzz_check((r == 0 && has_rule) || r == KT_E_ACCESS_DENIED);
}

static void check_policy(const Policy *policy) {
        check_decision(policy, SCOPE_OWN, false, "{\"scope\":\"own\",\"events\":[\"*:*\"]}");
        check_decision(policy,
                        SCOPE_OWN,
                        false,
                        "{\"scope\":\"own\",\"events\":[\"kprobes:mine\",\"sched:sched_switch\"]}");
        check_decision(policy,
                        SCOPE_OWN,
                        false,
                        "{\"scope\":\"own\",\"events\":[\"*:*\"],\"where\":\"common_pid == 1\"}");
        check_decision(policy,
                        SCOPE_SYSTEM,
                        false,
                        "{\"scope\":\"system\",\"events\":[\"*:*\"],\"lifetime\":\"linger:1min\","
                        "\"where\":\"number == 1 && wide > 2\"}");
        check_decision(policy,
                        SCOPE_SYSTEM,
                        true,
                        "{\"scope\":\"system\",\"events\":[\"raw_syscalls:*\"],\"unredacted\":true,"
                        "\"where\":\"where == 0\"}");
        for (size_t i = 0; i < format->n_fields; i++) {
                char request[256];

                (void)snprintf(request,
                                sizeof(request),
                                "{\"scope\":\"system\",\"triggers\":[{\"when\":\"raw_syscalls:"
                                "sys_enter\",\"do\":\"hist\",\"keys\":[\"%s\"],\"values\":"
                                "[\"wide\"]}]}",
                                format->fields[i].name);
                check_decision(policy, SCOPE_SYSTEM, false, request);
        }
        check_probes(policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_json_ json_object *object = NULL;
        Policy policy = {};
        Reason reason = {};
        int r = json_parse_strict("file.json", (const char *)data, size, &object, &reason);

        if (!format)
                fuzz_check(format_parse(description, strlen(description), &format, NULL) == 0);
        if (r == 0)
                r = rule_list_add_json(&policy.list, "file.json", object, &reason);
        fuzz_check(r >= 0);
        if (r != 0)
                fuzz_check(strncmp(reason.text, "file.json", strlen("file.json")) == 0);
        else
                check_policy(&policy);
        rule_list_clear(&policy.list);
        return 0;
}
