/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What holds of every decision, tried on random rules, subjects and requests. A failure is had
 * again with the --seed that the test prints. */
#include <string.h>

#include "interfaces/spec-list.h"
#include "policy-fixture.h"
#include "policy/cover.h"
#include "policy/grant-field.h"
#include "policy/grant.h"
#include "policy/policy.h"
#include "policy/rule-read.h"
#include "policy/rule.h"
#include "policy/same.h"

#define ROUNDS 3000

static const char *const names[] = { "a:one",
        "a:two",
        "b:one",
        "kprobes:mine",
        "ktrace_x:one",
        "sched:sched_switch" };
static const char *const globs[] = { "*:*",
        "a:*",
        "*:one",
        "b:one",
        "k*:*",
        "kprobes:*",
        "ktrace_x:one",
        "sched:*",
        "?:[to]*" };
static const char *const fields[] = { "number", "wide", "where", "next_pid", "next_comm" };
static const char *const field_globs[] = { "*", "number", "w*", "next_*", "none" };
/* Each is to be found in no text that a caller gets. */
static const char *const secrets[] = { "number == 4711", "wide > 4711", "gone == 4711" };

static int get_format(const char *system, const char *name, const Format **ret, void *userdata) {
        static FormatField all[] = {
                { .type = (char *)"int",
                                .name = (char *)"common_pid",
                                .offset = 4,
                                .size = 4,
                                .is_signed = true,
                                .is_common = true },
                { .type = (char *)"int",
                                .name = (char *)"number",
                                .offset = 8,
                                .size = 4,
                                .is_signed = true },
                { .type = (char *)"unsigned long",
                                .name = (char *)"wide",
                                .offset = 16,
                                .size = 8 },
                { .type = (char *)"void *",
                                .name = (char *)"where",
                                .offset = 24,
                                .size = 8,
                                .is_pointer = true },
                { .type = (char *)"pid_t",
                                .name = (char *)"next_pid",
                                .offset = 32,
                                .size = 4,
                                .is_signed = true },
                { .type = (char *)"char[16]",
                                .name = (char *)"next_comm",
                                .offset = 36,
                                .size = 16,
                                .n_elements = 16,
                                .is_string = true },
        };
        static const Format format = {
                .name = (char *)"any", .fields = all, .n_fields = G_N_ELEMENTS(all)
        };

        *ret = &format;
        return 0;
}

static const PolicyEvents kernel = { .names = names,
        .n_names = G_N_ELEMENTS(names),
        .get_format = get_format };

#define PICK(list) (list)[g_test_rand_int_range(0, G_N_ELEMENTS(list))]

static bool one_in(int n) {
        return g_test_rand_int_range(0, n) == 0;
}

/* Text of rules */

static void add_event(GString *text, bool is_own) {
        bool is_of_others = is_own && one_in(4);

        g_string_append_printf(text, "{\"name\":\"%s\"", PICK(globs));
        if (is_of_others)
                g_string_append(text, ",\"class\":\"others\"");
        if (is_of_others && one_in(2))
                g_string_append_printf(
                                text, ",\"members\":{\"next_pid\":[\"%s\"]}", PICK(field_globs));
        if (one_in(3))
                g_string_append_printf(text, ",\"keep\":[\"%s\"]", PICK(field_globs));
        if (one_in(3))
                g_string_append_printf(text, ",\"cut\":[\"%s\"]", PICK(field_globs));
        if (one_in(4))
                g_string_append_printf(text, ",\"filter\":\"%s\"", PICK(secrets));
        g_string_append_c(text, '}');
}

static void add_scopes(GString *text, bool is_own) {
        static const char *const scopes[] = { "\"own\"", "\"pids\"", "\"own\",\"pids\"" };

        g_string_append_printf(
                        text, "\"scopes\":[%s%s]", PICK(scopes), is_own ? "" : ",\"system\"");
}

static void add_rule(GString *text, unsigned n) {
        static const char *const subjects[] = { "\"any\"",
                "{\"uid\":1000}",
                "{\"uid\":1001}",
                "{\"seat\":\"active\"}",
                "{\"uid\":1000,\"unit\":\"a*\"}" };
        static const char *const addresses[] = { "zero", "pseudonym", "keep" };
        bool is_own = one_in(2);

        g_string_append_printf(text, "{\"name\":\"r%u\",\"subjects\":[%s],", n, PICK(subjects));
        add_scopes(text, is_own);
        if (one_in(8)) {
                g_string_append(text, ",\"deny\":true}");
                return;
        }
        g_string_append_printf(text,
                        ",\"processes\":\"%s\",\"addresses\":\"%s\",\"events\":[",
                        is_own ? "own" : "any",
                        PICK(addresses));
        for (int i = g_test_rand_int_range(0, 3); i >= 0; i--) {
                add_event(text, is_own);
                g_string_append(text, i > 0 ? "," : "]");
        }
        if (one_in(4))
                g_string_append(text, ",\"lifetimes\":[\"client\"]");
        if (one_in(4))
                g_string_append(text, ",\"polkit\":\"trace-own\"");
        g_string_append_c(text, '}');
}

static void load(Policy *policy, const char *rules) {
        g_autofree char *text = g_strdup_printf("{\"rules\":[%s]}", rules);
        _cleanup_json_ json_object *object = NULL;
        Reason reason = { "" };

        int r = json_parse_strict("x.json", text, strlen(text), &object, &reason);
        r = r ?: rule_list_add_json(&policy->list, "x.json", object, &reason);
        g_assert_cmpstr(reason.text, ==, "");
        g_assert_cmpint(r, ==, 0);
}

/* Requests */

typedef struct Case {
        GPtrArray *rules; /* texts */
        Policy policy;
        Subject subject;
        Spec *spec;
        Grant *grant; /* NULL: refused */
        int result;
        Reason reason;
} Case;

static void add_filter(Spec *spec, const char *name) {
        g_autofree char *filter = one_in(2) ? g_strdup_printf("%s == 1", PICK(fields)) : NULL;

        g_assert_cmpint(spec_add_event(spec, name, filter, NULL), ==, 0);
}

static Spec *make_spec(void) {
        static const char *const scopes[] = { "own", "pids:7", "system" };
        Spec *spec = spec_new();

        g_assert_cmpint(spec_set_string(spec, "scope", PICK(scopes), NULL), ==, 0);
        for (int i = g_test_rand_int_range(0, 3); i >= 0; i--)
                add_filter(spec, one_in(2) ? PICK(names) : PICK(globs));
        if (one_in(4))
                g_assert_cmpint(spec_set_string(spec, "where", "number != 2", NULL), ==, 0);
        if (one_in(4))
                g_assert_cmpint(spec_set_boolean(spec, "unredacted", true, NULL), ==, 0);
        if (one_in(4))
                g_assert_cmpint(spec_set_string(spec, "lifetime", "linger", NULL), ==, 0);
        return spec;
}

static int decide(const char *rules, const Case *c, Grant **ret, Reason *reason) {
        Policy policy = {};

        load(&policy, rules);
        *ret = NULL;
        *reason = (Reason){ "" };
        int r = policy_decide(&policy, &c->subject, c->spec, &kernel, ret, reason);
        rule_list_clear(&policy.list);
        return r;
}

static char *join(GPtrArray *rules) {
        g_ptr_array_add(rules, NULL);
        char *joined = g_strjoinv(",", (char **)rules->pdata);
        g_ptr_array_remove_index(rules, rules->len - 1);
        return joined;
}

static void case_init(Case *c) {
        *c = (Case){ .rules = g_ptr_array_new_with_free_func(g_free), .spec = make_spec() };
        c->subject = (Subject){ .uid = 1000 + (uid_t)g_test_rand_int_range(0, 2),
                .is_active = one_in(2),
                .unit = one_in(2) ? (char *)"a.service" : NULL };
        for (int i = g_test_rand_int_range(0, 5); i >= 0; i--) {
                GString *text = g_string_new(NULL);

                add_rule(text, c->rules->len);
                g_ptr_array_add(c->rules, g_string_free(text, FALSE));
        }
        g_autofree char *joined = join(c->rules);
        load(&c->policy, joined);
        c->result = policy_decide(&c->policy, &c->subject, c->spec, &kernel, &c->grant, &c->reason);
}

static void case_clear(Case *c) {
        rule_list_clear(&c->policy.list);
        g_ptr_array_unref(c->rules);
        spec_free(c->spec);
        grant_free(c->grant);
}

/* The first that would count if it were alone: not in the order in which the code asks them. */
static const Rule *case_get_rule(const Case *c) {
        for (size_t i = 0; i < c->policy.list.n_rules; i++) {
                const Policy alone = { .list = { &c->policy.list.rules[i], 1 } };
                const Rule *rule = policy_find_rule(
                                &alone, &c->subject, c->spec->scope, c->spec->unredacted);

                if (rule)
                        return rule;
        }
        return NULL;
}

static void expect_as_before(const Case *c, const char *rules) {
        Grant *grant;
        Reason reason;

        int r = decide(rules, c, &grant, &reason);
        g_assert_cmpint(r, ==, c->result);
        g_assert_cmpint(!grant, ==, !c->grant);
        if (grant)
                g_assert_true(grant_is_same(grant, c->grant));
        grant_free(grant);
}

/* Properties */

static void test_first_match(void) {
        for (int i = 0; i < ROUNDS; i++) {
                Case c;

                case_init(&c);
                const Rule *rule = case_get_rule(&c);
                if (rule) {
                        size_t n = (size_t)(rule - c.policy.list.rules);
                        expect_as_before(&c, g_ptr_array_index(c.rules, n));
                        g_ptr_array_set_size(c.rules, (int)n + 1);
                        g_autofree char *rest = join(c.rules);
                        expect_as_before(&c, rest);
                } else {
                        g_assert_cmpint(c.result, ==, KT_E_ACCESS_DENIED);
                }
                case_clear(&c);
        }
}

static bool names_its_system(const char *pattern, const char *system) {
        size_t n = strlen(system);

        return strncmp(pattern, system, n) == 0 && pattern[n] == ':';
}

static void expect_entry(const Rule *rule, const GrantEvent *event) {
        const RuleEvent *entry = rule_find_event(rule, event->system, event->name);

        g_assert_nonnull(entry);
        if (event->system[0] == 'k')
                g_assert_true(names_its_system(entry->pattern, event->system));
        g_assert_cmpint(event->n_cut, ==, entry->gives.n_cut);
        g_assert_cmpint(event->n_keep, ==, entry->gives.n_keep);
        g_assert_cmpint(event->speaks_of_others, ==, entry->gives.speaks_of_others);
        g_assert_cmpint(!event->policy_filter, ==, !entry->gives.policy_filter);
}

static void test_never_more_than_the_rule(void) {
        size_t n_granted = 0;

        for (int i = 0; i < ROUNDS; i++) {
                Case c;

                case_init(&c);
                const Rule *rule = case_get_rule(&c);
                if (c.grant) {
                        n_granted++;
                        g_assert_false(rule->deny);
                        g_assert_cmpint(c.grant->fenced, ==, !rule->processes_any);
                        g_assert_cmpint(c.grant->addresses, ==, rule->addresses);
                        g_assert_cmpstr(c.grant->polkit_action, ==, rule->polkit_action);
                        g_assert_true(c.grant->redacted || rule_is_unredacted(rule));
                        g_assert_true(!c.spec->unredacted || !c.grant->redacted);
                        for (size_t k = 0; k < c.grant->n_events; k++)
                                expect_entry(rule, &c.grant->events[k]);
                }
                case_clear(&c);
        }
        g_assert_cmpuint(n_granted, >, ROUNDS / 40); /* often about ROUNDS / 16 */
}

static bool reaches_reader(FieldVerdict verdict) {
        return verdict == VERDICT_KEEP || verdict == VERDICT_WORDS ||
               verdict == VERDICT_WORDS_PSEUDONYM;
}

/* What does not reach the reader is in no filter. */
static void expect_no_filter_on_cut(const Grant *grant, const GrantEvent *event) {
        const Format *format = NULL;

        (void)get_format(NULL, NULL, &format, NULL);
        for (size_t i = 0; event->filter && i < format->n_fields; i++) {
                const FormatField *field = &format->fields[i];
                const char *pid;
                FieldVerdict verdict = grant_judge_field(grant, event, format, field, &pid);

                if (reaches_reader(verdict))
                        continue;
                g_assert_null(strstr(event->filter, field->name));
        }
}

static void test_filters_tell_nothing_cut(void) {
        size_t n_filters = 0;

        for (int i = 0; i < ROUNDS; i++) {
                Case c;

                case_init(&c);
                for (size_t k = 0; c.grant && k < c.grant->n_events; k++) {
                        const GrantEvent *event = &c.grant->events[k];

                        n_filters += event->filter != NULL;
                        expect_no_filter_on_cut(c.grant, event);
                        if (event->speaks_of_others)
                                g_assert_null(event->filter);
                }
                case_clear(&c);
        }
        g_assert_cmpuint(n_filters, >, ROUNDS / 50);
}

/* Asks for this event again, by a filter on one field. */
static int ask_by_filter(const Case *c, const GrantEvent *event, const FormatField *field) {
        g_autofree char *name = g_strdup_printf("%s:%s", event->system, event->name),
                        *filter = g_strdup_printf(
                                        field->is_string ? "%s == \"x\"" : "%s == 1", field->name);
        Spec *spec = spec_new();
        Grant *grant = NULL;
        Reason reason;

        spec->scope = c->spec->scope;
        g_assert_cmpint(spec_add_event(spec, name, filter, NULL), ==, 0);
        g_assert_cmpint(spec_set_boolean(spec, "unredacted", c->spec->unredacted, NULL), ==, 0);
        int r = policy_decide(&c->policy, &c->subject, spec, &kernel, &grant, &reason);
        g_assert_cmpint(r == 0, ==, grant != NULL);
        grant_free(grant);
        spec_free(spec);
        return r;
}

/* A filter on a field is taken where the field reaches the reader, and nowhere else. */
static bool expect_by_verdict(const Case *c,
                const GrantEvent *event,
                const Format *format,
                const FormatField *field) {
        const char *pid;
        FieldVerdict verdict = grant_judge_field(c->grant, event, format, field, &pid);
        bool is_taken = ask_by_filter(c, event, field) == 0;

        g_assert_cmpint(is_taken, ==, reaches_reader(verdict) && !event->speaks_of_others);
        return is_taken;
}

static void test_each_field_by_filter(void) {
        size_t n_taken = 0, n_tried = 0;
        const Format *format = NULL;

        (void)get_format(NULL, NULL, &format, NULL);
        for (int i = 0; i < ROUNDS / 3; i++) {
                Case c;

                case_init(&c);
                for (size_t k = 0; c.grant && k < c.grant->n_events; k++)
                        for (size_t f = 0; f < format->n_fields; f++, n_tried++)
                                n_taken += expect_by_verdict(&c,
                                                &c.grant->events[k],
                                                format,
                                                &format->fields[f]);
                case_clear(&c);
        }
        g_assert_cmpuint(n_taken, >, ROUNDS / 50);
        g_assert_cmpuint(n_tried - n_taken, >, ROUNDS / 50);
}

static void test_denials_never_widen(void) {
        for (int i = 0; i < ROUNDS; i++) {
                GString *text = g_string_new("{\"name\":\"no\",\"deny\":true,\"subjects\":[");
                bool is_for_all = one_in(2), is_of_system = one_in(2);
                Grant *grant;
                Reason reason;
                Case c;

                case_init(&c);
                g_string_append(text, is_for_all ? "\"any\"]," : "{\"uid\":1000}],");
                g_string_append_printf(text,
                                "\"scopes\":[\"own\",\"pids\"%s]}",
                                is_of_system ? ",\"system\"" : "");
                int at = g_test_rand_int_range(0, (int)c.rules->len + 1);
                g_ptr_array_insert(c.rules, at, g_string_free(text, FALSE));
                g_autofree char *rules = join(c.rules);
                int r = decide(rules, &c, &grant, &reason);
                if (at == 0 && (is_for_all || c.subject.uid == 1000) &&
                                (is_of_system || c.spec->scope != SCOPE_SYSTEM))
                        g_assert_cmpint(r, ==, KT_E_ACCESS_DENIED);
                if (grant) {
                        g_assert_nonnull(c.grant);
                        g_assert_true(grant_is_same(grant, c.grant));
                } else {
                        g_assert_true(r == KT_E_ACCESS_DENIED || r == c.result);
                }
                grant_free(grant);
                case_clear(&c);
        }
}

static void test_reasons_keep_secrets(void) {
        size_t n_refused = 0;

        for (int i = 0; i < ROUNDS; i++) {
                Case c;

                case_init(&c);
                n_refused += !c.grant;
                g_assert_null(strstr(c.reason.text, "4711"));
                g_assert_null(strstr(c.reason.text, "gone"));
                if (!c.grant)
                        g_assert_cmpstr(c.reason.text, !=, "");
                case_clear(&c);
        }
        g_assert_cmpuint(n_refused, >, ROUNDS / 20);
}

static void test_grants_cover_themselves(void) {
        for (int i = 0; i < ROUNDS; i++) {
                Case c;

                case_init(&c);
                if (c.grant) {
                        g_autofree char *rules = join(c.rules);
                        expect_as_before(&c, rules);
                        g_assert_cmpint(grant_check_covers(c.grant, c.grant, NULL), ==, 0);
                }
                case_clear(&c);
        }
}

/* A rule of up to three entries, of which one may get a field cut and the last may go. */
static char *make_rule(const char *const *patterns, size_t n, size_t cut_at, const char *cut) {
        GString *text = g_string_new("{\"name\":\"r\",\"subjects\":[\"any\"],\"processes\":\"any\","
                                     "\"scopes\":[\"own\",\"pids\",\"system\"],\"events\":[");

        for (size_t i = 0; i < n; i++) {
                g_string_append_printf(text, "%s{\"name\":\"%s\"", i ? "," : "", patterns[i]);
                if (i == cut_at)
                        g_string_append_printf(text, ",\"cut\":[\"%s\"]", cut);
                g_string_append_c(text, '}');
        }
        g_string_append(text, "]}");
        return g_string_free(text, FALSE);
}

/* Events of `less` that are cut as those of `more` are. */
static size_t count_whole(const Grant *less, const Grant *more) {
        size_t n = 0;

        for (size_t i = 0; i < more->n_events; i++)
                for (size_t k = 0; k < less->n_events; k++)
                        n += strcmp(less->events[k].system, more->events[i].system) == 0 &&
                             strcmp(less->events[k].name, more->events[i].name) == 0 &&
                             less->events[k].n_cut == more->events[i].n_cut;
        return n;
}

/* Fields cut or events gone, and a session that had them no longer fits; the other way round it
 * does. */
static void test_less_does_not_cover(void) {
        size_t n_less = 0, n_fewer = 0;

        for (int i = 0; i < ROUNDS; i++) {
                const char *patterns[] = { PICK(globs), PICK(globs), PICK(globs) };
                bool is_cut = one_in(2);
                g_autofree char *before = make_rule(patterns, 3, 3, NULL),
                                *after = make_rule(patterns,
                                                is_cut ? 3 : 2,
                                                is_cut ? (size_t)g_test_rand_int_range(0, 3) : 3,
                                                PICK(field_globs));
                Grant *more, *less;
                Reason reason;
                Case c;

                case_init(&c);
                (void)decide(before, &c, &more, &reason);
                (void)decide(after, &c, &less, &reason);
                g_assert_true(more || !less);
                if (less) {
                        bool is_less = count_whole(less, more) < more->n_events;

                        n_less += is_less;
                        n_fewer += less->n_events < more->n_events;
                        g_assert_cmpint(grant_check_covers(less, more, NULL),
                                        ==,
                                        is_less ? KT_E_ACCESS_DENIED : 0);
                        g_assert_cmpint(grant_check_covers(more, less, NULL), ==, 0);
                }
                grant_free(more);
                grant_free(less);
                case_clear(&c);
        }
        g_assert_cmpuint(n_less, >, ROUNDS / 50);
        g_assert_cmpuint(n_fewer, >, 0);
}

static void test_root_needs_no_rule(void) {
        for (int i = 0; i < ROUNDS; i++) {
                Case c;
                Grant *grant;
                Reason reason;

                case_init(&c);
                c.subject.uid = 0;
                g_autofree char *rules = join(c.rules);
                g_assert_cmpint(decide(rules, &c, &grant, &reason), !=, KT_E_ACCESS_DENIED);
                g_assert_true(!grant || (!grant->fenced && !grant->redacted));
                grant_free(grant);
                case_clear(&c);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/property/first-match", test_first_match);
        g_test_add_func("/property/never-more-than-the-rule", test_never_more_than_the_rule);
        g_test_add_func("/property/filters-tell-nothing-cut", test_filters_tell_nothing_cut);
        g_test_add_func("/property/each-field-by-filter", test_each_field_by_filter);
        g_test_add_func("/property/denials-never-widen", test_denials_never_widen);
        g_test_add_func("/property/reasons-keep-secrets", test_reasons_keep_secrets);
        g_test_add_func("/property/grants-cover-themselves", test_grants_cover_themselves);
        g_test_add_func("/property/less-does-not-cover", test_less_does_not_cover);
        g_test_add_func("/property/root-needs-no-rule", test_root_needs_no_rule);
        return g_test_run();
}
