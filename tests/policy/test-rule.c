/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What each key of a rule makes of a request. */
#include "policy-fixture.h"

#include "interfaces/spec-json.h"
#include "interfaces/spec-list.h"
#include "policy/cover.h"
#include "policy/grant-field.h"
#include "policy/grant.h"
#include "policy/rule-probes.h"
#include "policy/same.h"

static const char *const names[] = { "a:one", "a:two", "b:one", "sched:sched_switch" };

static int get_format(const char *system, const char *name, const Format **ret, void *userdata) {
        static FormatField fields[] = {
                { .type = (char *)"int",
                                .name = (char *)"common_pid",
                                .offset = 4,
                                .size = 4,
                                .is_signed = true,
                                .is_common = true },
                { .type = (char *)"int",
                                .name = (char *)"shown",
                                .offset = 8,
                                .size = 4,
                                .is_signed = true },
                { .type = (char *)"char[16]",
                                .name = (char *)"comm",
                                .offset = 16,
                                .size = 16,
                                .n_elements = 16,
                                .is_string = true },
                { .type = (char *)"const char *",
                                .name = (char *)"buffer",
                                .offset = 32,
                                .size = 8,
                                .is_pointer = true },
                { .type = (char *)"int",
                                .name = (char *)"hidden",
                                .offset = 12,
                                .size = 4,
                                .is_signed = true },
        };
        static const Format format = {
                .name = (char *)"any", .fields = fields, .n_fields = G_N_ELEMENTS(fields)
        };

        *ret = &format;
        return 0;
}

static const Subject user = { .uid = 1000, .gids = (gid_t[]){ 1000 }, .n_gids = 1 };

/* The decision of one rule with these keys, about a request of these. */
static int decide(const char *rule, const char *request, Grant **ret, Reason *reason) {
        g_autofree char *rules = g_strdup_printf(
                        "{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],%s}]}", rule);
        _cleanup_json_ json_object *object = NULL;
        _cleanup_spec_ Spec *spec = spec_new();
        Limits limits;
        Fixture fixture;

        limits_init(&limits);
        const PolicyEvents kernel = { .names = names,
                .n_names = G_N_ELEMENTS(names),
                .get_format = get_format,
                .limits = &limits };
        fixture_init(&fixture);
        fixture_write(fixture.lib, "10-x.json", rules);
        Policy *policy = fixture_load(&fixture);
        g_assert_cmpint(json_parse_strict("spec", request, strlen(request), &object, reason),
                        ==,
                        0);
        g_assert_cmpint(spec_from_json(spec, object, reason), ==, 0);
        int r = policy_decide(policy, &user, spec, &kernel, ret, reason);
        policy_free(policy);
        fixture_clear(&fixture);
        return r;
}

static Grant *grant_of(const char *rule, const char *request) {
        Reason reason = { "" };
        Grant *grant = NULL;

        int r = decide(rule, request, &grant, &reason);
        g_assert_cmpstr(reason.text, ==, "");
        g_assert_cmpint(r, ==, 0);
        return grant;
}

static void expect_denied(const char *rule, const char *request, const char *text) {
        Reason reason = { "" };
        Grant *grant = NULL;

        g_assert_cmpint(decide(rule, request, &grant, &reason), ==, KT_E_ACCESS_DENIED);
        g_assert_cmpstr(reason.text, ==, text);
}

#define OWN    "\"scopes\":[\"own\"],\"events\":[\"*:*\"]"
#define SYSTEM "\"scopes\":[\"system\"],\"processes\":\"any\",\"events\":[\"*:*\"]"
#define ASK    "{\"scope\":\"own\",\"events\":[\"a:one\"]}"
#define ALL    "{\"scope\":\"system\",\"events\":[\"a:one\"]}"

static void test_processes(void) {
        Grant *own = grant_of(OWN, ASK), *any = grant_of(SYSTEM, ALL);

        g_assert_true(own->fenced);
        g_assert_true(own->redacted);
        g_assert_false(any->fenced);
        g_assert_true(any->redacted);
        grant_free(own);
        grant_free(any);
        expect_denied(OWN, ALL, "scope system: no rule grants uid 1000 anything in it");
}

static void test_addresses(void) {
        Grant *zero = grant_of(SYSTEM, ALL),
              *pseudonym = grant_of(SYSTEM ",\"addresses\":\"pseudonym\"", ALL),
              *keep = grant_of(SYSTEM ",\"addresses\":\"keep\"", ALL);

        g_assert_cmpint(zero->addresses, ==, ADDRESS_ZERO);
        g_assert_cmpint(pseudonym->addresses, ==, ADDRESS_PSEUDONYM);
        g_assert_true(pseudonym->redacted);
        g_assert_cmpint(keep->addresses, ==, ADDRESS_KEEP);
        g_assert_false(keep->redacted);
        g_assert_false(grant_is_same(zero, keep));
        g_assert_cmpint(grant_check_covers(keep, zero, NULL), ==, 0);
        g_assert_cmpint(grant_check_covers(zero, keep, NULL), ==, KT_E_ACCESS_DENIED);
        grant_free(zero);
        grant_free(pseudonym);
        grant_free(keep);
}

/* One of one's own is fenced even where its addresses are kept: then its holes are not. */
static void test_kept_of_own(void) {
        Grant *grant = grant_of(OWN ",\"addresses\":\"keep\"", ASK);

        g_assert_true(grant->fenced);
        g_assert_true(grant->redacted);
        grant_free(grant);
}

static void test_unredacted(void) {
        static const char request[] =
                        "{\"scope\":\"system\",\"events\":[\"a:one\"],\"unredacted\":true}";

        grant_free(grant_of(SYSTEM ",\"addresses\":\"keep\"", request));
        expect_denied(SYSTEM,
                        request,
                        "unredacted, scope system: no rule grants uid 1000 anything in it");
        expect_denied("\"scopes\":[\"system\"],\"processes\":\"any\",\"addresses\":\"keep\","
                      "\"events\":[{\"name\":\"*:*\",\"cut\":[\"hidden\"]}]",
                        request,
                        "unredacted, scope system: no rule grants uid 1000 anything in it");
        expect_denied("\"scopes\":[\"system\"],\"processes\":\"any\",\"addresses\":\"keep\","
                      "\"events\":[{\"name\":\"*:*\",\"filter\":\"shown == 1\"}]",
                        request,
                        "unredacted, scope system: no rule grants uid 1000 anything in it");
        expect_denied("\"scopes\":[\"system\"],\"deny\":true",
                        request,
                        "scope system: denied by 10-x.json: r");
}

/* The first entry that matches counts, as with rules. */
static void test_first_entry(void) {
        Grant *grant = grant_of("\"scopes\":[\"own\"],\"events\":[{\"name\":\"a:one\","
                                "\"cut\":[\"hidden\"]},{\"name\":\"a:*\",\"filter\":\"shown==1\"}]",
                        "{\"scope\":\"own\",\"events\":[\"*\"]}");

        g_assert_cmpuint(grant->n_events, ==, 2);
        g_assert_cmpuint(grant->events[0].n_cut, ==, 1);
        g_assert_null(grant->events[0].policy_filter);
        g_assert_cmpuint(grant->events[1].n_cut, ==, 0);
        g_assert_cmpstr(grant->events[1].policy_filter, ==, "shown == 1");
        g_assert_true(grant_is_same(grant, grant));
        grant_free(grant);
}

/* The rule's filter stays beside the caller's, who is reported nothing of it. */
static void test_policy_filter(void) {
        static const char rule[] =
                        "\"scopes\":[\"own\"],\"events\":[{\"name\":\"a:*\",\"filter\":\"hidden==7\","
                        "\"cut\":[\"hidden\"]}]";
        static const char wrong[] =
                        "\"scopes\":[\"own\"],\"events\":[{\"name\":\"a:*\",\"filter\":\"gone==7\"}]";
        Grant *grant = grant_of(rule,
                        "{\"scope\":\"own\",\"events\":[{\"name\":\"a:one\",\"filter\":\"shown==1\"}]}");

        g_assert_cmpstr(grant->events[0].filter, ==, "shown == 1");
        g_assert_cmpstr(grant->events[0].policy_filter, ==, "hidden == 7");
        grant_free(grant);
        expect_denied(rule,
                        "{\"scope\":\"own\",\"events\":[{\"name\":\"a:one\",\"filter\":\"hidden==7\"}]}",
                        "a:one: filter column 1: policy cuts the field hidden, and a filter "
                        "would reveal its value");
        expect_denied(rule,
                        "{\"scope\":\"own\",\"events\":[\"a:one\"],\"where\":\"shown>1 && hidden>1\"}",
                        "a:one: where column 12: policy cuts the field hidden, and a filter "
                        "would reveal its value");
        expect_denied(wrong,
                        ASK,
                        "a:one: the filter that 10-x.json: r adds does not fit this kernel's "
                        "event: ask the administrator to correct it");
}

/* The event's own field of that name is cut: the other spelling must not bring it back. */
static void test_comm(void) {
        static const char rule[] =
                        "\"scopes\":[\"own\"],\"events\":[{\"name\":\"a:*\",\"cut\":[\"comm\"]}]";
        Grant *grant = grant_of(rule,
                        "{\"scope\":\"own\",\"events\":[{\"name\":\"a:one\",\"filter\":\"COMM=='x'\"}]}");

        g_assert_cmpstr(grant->events[0].filter, ==, "COMM == \"x\"");
        grant_free(grant);
        expect_denied(rule,
                        "{\"scope\":\"own\",\"events\":[{\"name\":\"a:one\",\"filter\":\"comm=='x'\"}]}",
                        "a:one: filter column 1: policy cuts the field comm, and a filter would "
                        "reveal its value");
}

/* What others have in their memory is in no record, whatever a rule keeps. */
static void test_memory_of_others(void) {
        expect_denied(SYSTEM ",\"addresses\":\"keep\"",
                        "{\"scope\":\"system\",\"events\":[{\"name\":\"a:one\",\"filter\":\"buffer.ustring ~ 'p*'\"}]}",
                        "a:one: filter column 1: policy cuts the field buffer, and a filter "
                        "would reveal its value");
        grant_free(grant_of(OWN,
                        "{\"scope\":\"own\",\"events\":[{\"name\":\"a:one\",\"filter\":\"buffer.ustring ~ 'p*'\"}]}"));
}

/* A field that was shown of any task and is now a member's only is less. */
static void test_members_cover(void) {
#define OTHERS(rest)                                                                                     \
        "\"scopes\":[\"own\"],\"events\":[{\"name\":\"a:*\",\"class\":\"others\",\"keep\":[\"h*\"]" rest \
        "}]"
        Grant *then = grant_of(OTHERS(""), ASK),
              *now = grant_of(OTHERS(",\"members\":{\"shown\":[\"h*\"]}"), ASK);

        g_assert_cmpint(grant_check_covers(now, then, NULL), ==, KT_E_ACCESS_DENIED);
        g_assert_cmpint(grant_check_covers(now, now, NULL), ==, 0);
        grant_free(then);
        grant_free(now);
}

/* Records by others that were shown and no longer are is less. An approved question was about one
 * or the other. */
static void test_also_of_cover(void) {
#define SHARED ",\"members\":{\"hidden\":[\"h*\"]}"
        Grant *then = grant_of(OTHERS(SHARED ",\"also-of\":\"hidden\""), ASK),
              *now = grant_of(OTHERS(SHARED), ASK);

        g_assert_cmpstr(then->events[0].also_of, ==, "hidden");
        g_assert_cmpint(grant_check_covers(now, then, NULL), ==, KT_E_ACCESS_DENIED);
        g_assert_cmpint(grant_check_covers(then, now, NULL), ==, 0);
        g_assert_cmpint(grant_check_covers(then, then, NULL), ==, 0);
        g_assert_false(grant_is_same(then, now));
        g_assert_true(grant_is_same(then, then));
        grant_free(then);
        grant_free(now);
}

static void test_members(void) {
        Grant *grant = grant_of(
                        "\"scopes\":[\"own\"],\"events\":[{\"name\":\"sched:*\",\"class\":"
                        "\"others\",\"keep\":[\"shown\"],\"members\":{\"hidden\":[\"h*\"]}}]",
                        "{\"scope\":\"own\",\"events\":[\"sched:*\"]}");
        const GrantEvent *event = &grant->events[0];

        g_assert_true(event->speaks_of_others);
        g_assert_cmpuint(event->n_members, ==, 1);
        g_assert_cmpstr(event->members[0].pid_field, ==, "hidden");
        g_assert_cmpstr(event->members[0].fields[0], ==, "h*");
        grant_free(grant);
}

static void test_limits(void) {
        Limits presets;
        Grant *grant = grant_of(OWN ",\"limits\":{\"max-event-rate\":5,\"max-pids\":2}", ASK);

        limits_init(&presets);
        g_assert_cmpuint(grant->limits.max_event_rate, ==, 5);
        g_assert_cmpuint(grant->limits.max_pids, ==, 2);
        g_assert_cmpuint(grant->limits.max_events, ==, presets.max_events);
        grant_free(grant);
}

static void test_lifetimes(void) {
#define LINGER(time) "{\"scope\":\"own\",\"events\":[\"a:one\"],\"lifetime\":\"linger" time "\"}"
        grant_free(grant_of(OWN, LINGER("")));
        grant_free(grant_of(OWN ",\"max-linger-sec\":60", LINGER(":60s")));
        grant_free(grant_of(OWN ",\"max-linger-sec\":60", ASK));
        /* Without a time it has the longest that the rule grants. */
        Grant *grant = grant_of(OWN ",\"max-linger-sec\":60", LINGER(""));
        g_assert_cmpuint(grant->max_linger_usec, ==, 60 * G_USEC_PER_SEC);
        grant_free(grant);
        expect_denied(OWN ",\"lifetimes\":[\"client\"]",
                        LINGER(":1s"),
                        "lifetime: 10-x.json: r does not grant linger");
        expect_denied(OWN ",\"lifetimes\":[\"linger\"]",
                        ASK,
                        "lifetime: 10-x.json: r does not grant client");
        expect_denied(OWN ",\"max-linger-sec\":60",
                        LINGER(":61s"),
                        "lifetime: 10-x.json: r grants linger:60s at most");
}

/* A unit may live for ever: a rule with a longest time grants it only where it names it. */
static void test_lifetime_unit(void) {
        static const char ask[] =
                        "{\"scope\":\"own\",\"events\":[\"a:one\"],\"lifetime\":\"unit:a.service\"}";

        grant_free(grant_of(OWN, ask));
        grant_free(grant_of(OWN ",\"lifetimes\":[\"linger\",\"unit\"],\"max-linger-sec\":60", ask));
        expect_denied(OWN ",\"max-linger-sec\":60",
                        ask,
                        "lifetime: 10-x.json: r does not grant unit");
        expect_denied(OWN ",\"lifetimes\":[\"client\",\"linger\"]",
                        ask,
                        "lifetime: 10-x.json: r does not grant unit");
}

static void test_allow_setuid(void) {
        Grant *yes = grant_of(OWN ",\"allow-setuid\":true", ASK), *no = grant_of(OWN, ASK);

        g_assert_true(yes->allow_setuid);
        g_assert_false(no->allow_setuid);
        g_assert_cmpint(grant_check_covers(no, yes, NULL), ==, KT_E_ACCESS_DENIED);
        grant_free(yes);
        grant_free(no);
}

static void test_black_box(void) {
        Grant *usual = grant_of(OWN, ASK), *own = grant_of(OWN ",\"black-box\":\"own\"", ASK),
              *denied = grant_of(OWN ",\"black-box\":\"deny\"", ASK);

        g_assert_false(usual->denies_black_box);
        g_assert_false(own->denies_black_box);
        g_assert_true(denied->denies_black_box);
        grant_free(usual);
        grant_free(own);
        grant_free(denied);
}

/* Of the first rule that has any word of probes. */
static int decide_probe(const char *rules, ProbeRequest request, const char **action) {
        Fixture fixture;

        fixture_init(&fixture);
        fixture_write(fixture.lib, "10-x.json", rules);
        Policy *policy = fixture_load(&fixture);
        int r = policy_decide_probe(policy, &user, &request, action, NULL);
        policy_free(policy);
        fixture_clear(&fixture);
        return r;
}

#define VALUES  (1U << PROBE_TAKES_VALUES)
#define MEMBERS (1U << PROBE_TAKES_MEMBERS)
#define RAW     (1U << PROBE_TAKES_RAW)

static void test_probes(void) {
        static const char some[] =
                        "{\"rules\":[{\"name\":\"a\",\"subjects\":[\"any\"]," OWN "},"
                        "{\"name\":\"b\",\"subjects\":[\"any\"],\"probes\":{\"use\":[\"tcp_*\"],"
                        "\"functions\":[\"tcp_*\"],\"except\":[\"*_key\"],\"takes\":[\"values\",\"raw\"],"
                        "\"polkit\":true}},"
                        "{\"name\":\"c\",\"subjects\":[\"any\"],\"probes\":{\"use\":[\"*\"]}}]}";
        static const char none[] =
                        "{\"rules\":[{\"name\":\"a\",\"subjects\":[\"any\"],\"probes\":{}},"
                        "{\"name\":\"b\",\"subjects\":[\"any\"],\"probes\":{\"use\":[\"*\"]}}]}";

        static const char denied[] =
                        "{\"rules\":[{\"name\":\"a\",\"subjects\":[\"any\"],\"deny\":true,\"scopes\":"
                        "[\"command\",\"own\",\"pids\",\"unit\",\"cgroup\",\"system\"]},"
                        "{\"name\":\"b\",\"subjects\":[\"any\"],\"probes\":{\"use\":[\"*\"]}}]}";
        static const char denied_some[] =
                        "{\"rules\":[{\"name\":\"a\",\"subjects\":[\"any\"],\"deny\":true,\"scopes\":"
                        "[\"system\"]},"
                        "{\"name\":\"b\",\"subjects\":[\"any\"],\"probes\":{\"use\":[\"*\"]}}]}";

        static const char all[] = "{\"rules\":[{\"name\":\"a\",\"subjects\":[\"any\"]," OWN
                                  ",\"polkit\":\"trace-own\","
                                  "\"probes\":{\"functions\":[\"*\"],\"takes\":[\"values\"]}}]}";
#define FILES(more, what)                                              \
        "{\"rules\":[{\"name\":\"a\",\"subjects\":[\"any\"]," OWN more \
        ",\"probes\":{\"files\":" what "}}]}"
        static const char own[] = FILES("", "\"own\""), no_files[] = FILES("", "\"none\""),
                          globs[] = FILES("", "[\"/usr/*\"]"),
                          asking[] = FILES(",\"polkit\":\"trace-own\"", "\"own\"");

        static const char derives[] =
                        "{\"rules\":[{\"name\":\"a\",\"subjects\":[\"any\"],"
                        "\"probes\":{\"derive\":true,\"functions\":[\"tcp_*\"],\"takes\":"
                        "[\"values\",\"raw\"],\"polkit\":true}}]}";

        static const struct {
                const char *rules;
                ProbeRequest request;
                int result;
                bool asks;
        } cases[] = {
                { derives, { .is_derived = true, .takes = VALUES }, 0, false },
                { derives, { .is_derived = true, .takes = RAW | VALUES }, 0, true },
                { derives, { .is_derived = true, .takes = MEMBERS }, KT_E_ACCESS_DENIED, false },
                { some, { .is_derived = true, .takes = VALUES }, KT_E_ACCESS_DENIED, false },
                { none, { .is_derived = true }, KT_E_ACCESS_DENIED, false },
                { some, { .entry = "tcp_out" }, 0, false },
                { some, { .entry = "udp_out" }, KT_E_ACCESS_DENIED, false },
                { some, { .function = "tcp_sendmsg", .takes = VALUES }, 0, true },
                { some,
                                { .function = "tcp_sendmsg", .takes = VALUES | MEMBERS },
                                KT_E_ACCESS_DENIED,
                                false },
                { some, { .function = "tcp_md5_key", .takes = VALUES }, KT_E_ACCESS_DENIED, false },
                { some, { .function = "udp_sendmsg", .takes = VALUES }, KT_E_ACCESS_DENIED, false },
                { denied, { .entry = "tcp_out" }, KT_E_ACCESS_DENIED, false },
                { denied_some, { .entry = "tcp_out" }, 0, false },
                /* Somewhere: only by a rule for all functions without exceptions. */
                { some, { .function = "", .takes = VALUES }, KT_E_ACCESS_DENIED, false },
                { all, { .function = "", .takes = VALUES }, 0, true },
                { all, { .function = "vfs_read", .takes = VALUES }, 0, true },
                { all, { .file = "/home/u/prog", .is_own_file = true }, KT_E_ACCESS_DENIED, false },
                { own, { .file = "" }, 0, false },
                { own, { .file = "/home/u/prog", .is_own_file = true }, 0, false },
                { own, { .file = "/usr/bin/su" }, KT_E_ACCESS_DENIED, false },
                { own, { .function = "f", .takes = VALUES }, KT_E_ACCESS_DENIED, false },
                { globs, { .file = "/home/u/prog", .is_own_file = true }, 0, false },
                { globs, { .file = "/usr/bin/su" }, 0, true },
                { globs, { .file = "/opt/x" }, KT_E_ACCESS_DENIED, false },
                { asking, { .file = "/home/u/prog", .is_own_file = true }, 0, true },
                { no_files, { .file = "" }, KT_E_ACCESS_DENIED, false },
                { no_files,
                                { .file = "/home/u/prog", .is_own_file = true },
                                KT_E_ACCESS_DENIED,
                                false },
                { denied, { .file = "" }, KT_E_ACCESS_DENIED, false },
                { none, { .entry = "tcp_out" }, KT_E_ACCESS_DENIED, false },
                { none, { .function = "f", .takes = VALUES }, KT_E_ACCESS_DENIED, false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                const char *action = NULL;

                g_test_message("%zu", i);
                g_assert_cmpint(decide_probe(cases[i].rules, cases[i].request, &action),
                                ==,
                                cases[i].result);
                g_assert_cmpstr(action, ==, cases[i].asks ? "org.ktrace1.define-probe" : NULL);
        }
}

/* An event that a probe is made of is granted or not by itself, and never turned on. */
static void test_sources_of_probes(void) {
        static const char *const events[] = { "a:cut", "a:plain", "a:some", "ktrace_1000:mine" };

        static const struct {
                const char *source;
                int result;
        } cases[] = {
                { "a:cut", 0 },
                { "a:plain", 0 },
                { "a:some", KT_E_ACCESS_DENIED },
                { "b:other", KT_E_ACCESS_DENIED },
                { "a:none", KT_E_ACCESS_DENIED },
        };

        Fixture fixture;

        fixture_init(&fixture);
        fixture_write(fixture.lib,
                        "10-x.json",
                        "{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],\"scopes\":[\"own\"],"
                        "\"events\":[{\"name\":\"a:cut\",\"cut\":[\"x\"]},\"a:plain\","
                        "{\"name\":\"a:some\",\"filter\":\"shown == 1\"}]}]}");
        Policy *policy = fixture_load(&fixture);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                const PolicyEvents kernel_events = {
                        .names = events,
                        .n_names = G_N_ELEMENTS(events),
                        .get_format = get_format,
                        .n_probes = 1,
                        .sources = &cases[i].source,
                        .n_sources = 1,
                };
                _cleanup_spec_ Spec *spec = spec_new();
                _cleanup_(grant_free_cleanup) Grant *grant = NULL;
                Reason reason = { "" };

                g_assert_cmpint(spec_set_string(spec, "scope", "own", &reason), ==, 0);
                g_assert_cmpint(spec_add_event(spec, events[3], NULL, &reason), ==, 0);
                int r = policy_decide(policy, &user, spec, &kernel_events, &grant, &reason);
                g_test_message("%s: %s", cases[i].source, reason.text);
                g_assert_cmpint(r, ==, cases[i].result);
                if (!grant)
                        continue;
                g_assert_cmpuint(grant->n_events, ==, 1);
                g_assert_cmpstr(grant->events[0].name, ==, "mine");
                g_assert_cmpuint(grant->n_sources, ==, 1);
                g_assert_cmpuint(grant->sources[0].n_cut, ==, i == 0 ? 1 : 0);
        }
        policy_free(policy);
        fixture_clear(&fixture);
}

/* What a program has in its memory is no address of the kernel's; its own are cut where it may be
 * somebody else's. */
static void test_fields_of_programs(void) {
        static const char text[] =
                        "name: x\nID: 1\nformat:\n"
                        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
                        "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
                        "\tfield:s64 ret;\toffset:16;\tsize:8;\tsigned:1;\n\nprint fmt: \"\"\n";

        static const struct {
                bool fenced, is_of_program;
                FieldVerdict ip, ret;
        } cases[] = {
                { true, true, VERDICT_KEEP, VERDICT_KEEP },
                { true, false, VERDICT_WORDS, VERDICT_WORDS },
                { false, true, VERDICT_ZERO, VERDICT_KEEP },
                { false, false, VERDICT_ZERO, VERDICT_WORDS },
        };

        Format *format = NULL;
        const char *pid;

        g_assert_cmpint(format_parse(text, strlen(text), &format, NULL), ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                const Grant grant = { .fenced = cases[i].fenced, .redacted = true };
                const GrantEvent event = { .is_of_program = cases[i].is_of_program };
                const FormatField *ip = format_field_find(format, "__probe_ip"),
                                  *ret = format_field_find(format, "ret");

                g_assert_cmpint(grant_judge_field(&grant, &event, format, ip, &pid),
                                ==,
                                cases[i].ip);
                g_assert_cmpint(grant_judge_field(&grant, &event, format, ret, &pid),
                                ==,
                                cases[i].ret);
        }
        format_free(format);
}

/* A probe that may be used is granted by that, and its like is not. */
static void test_events_of_probes(void) {
        static const char *const events[] = { "ktrace_1000:mine", "ktrace_1001:theirs" };
        static const PolicyProbe probes[] = { { .is_of_program = true } };
        const PolicyEvents kernel_events = { .names = events,
                .n_names = 2,
                .get_format = get_format,
                .n_probes = 1,
                .probes = probes };
        Fixture fixture;

        fixture_init(&fixture);
        fixture_write(fixture.lib,
                        "10-x.json",
                        "{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"]," OWN "}]}");
        Policy *policy = fixture_load(&fixture);
        for (int i = 0; i < 2; i++) {
                _cleanup_spec_ Spec *spec = spec_new();
                Reason reason = { "" };
                Grant *grant = NULL;

                g_assert_cmpint(spec_set_string(spec, "scope", "own", &reason), ==, 0);
                g_assert_cmpint(spec_add_event(spec, events[0], "shown == 1", &reason), ==, 0);
                if (i == 1)
                        g_assert_cmpint(spec_add_event(spec, events[1], NULL, &reason), ==, 0);
                int r = policy_decide(policy, &user, spec, &kernel_events, &grant, &reason);
                g_assert_cmpint(r, ==, i == 0 ? 0 : KT_E_ACCESS_DENIED);
                if (grant) {
                        g_assert_cmpuint(grant->n_events, ==, 1);
                        g_assert_true(grant->fenced);
                        g_assert_true(grant->events[0].is_of_program);
                        g_assert_cmpstr(grant->events[0].filter, ==, "shown == 1");
                }
                grant_free(grant);
        }
        policy_free(policy);
        fixture_clear(&fixture);
}

/* Whether recordings may be shipped: by the rule that granted them, for the subjects of another. */
static void test_ship(void) {
        static const char text[] = "{\"rules\":[{\"name\":\"ship\",\"subjects\":[{\"uid\":900}],"
                                   "\"ship\":[\"root\",\"50-x.json: own-*\"]}]}";

        static const struct {
                const char *keys, *text;
        } bad[] = {
                { "\"ship\":\"root\"", "ship" },
                { "\"ship\":[1]", "ship[0]" },
                { "\"ship\":[\"\"]", "ship[0]" },
                { "\"ship\":[\"root\"],\"deny\":true,\"scopes\":[\"own\"]", "ship" },
                { "\"ship\":[\"root\"],\"scopes\":[\"own\"]", "events" },
                { "\"ship\":[\"root\"],\"polkit\":\"trace-own\"", "ship" },
        };

        const Subject service = { .uid = 900 }, root = { .uid = 0 };
        Fixture fixture;

        fixture_init(&fixture);
        fixture_write(fixture.lib, "10-x.json", text);
        Policy *policy = fixture_load(&fixture);
        g_assert_true(policy_may_ship(policy, &service, "root"));
        g_assert_true(policy_may_ship(policy, &service, "50-x.json: own-processes"));
        g_assert_false(policy_may_ship(policy, &service, "50-x.json: system"));
        g_assert_false(policy_may_ship(policy, &user, "root"));
        g_assert_false(policy_may_ship(policy, &root, "root"));
        g_assert_true(policy_is_shipped(policy, "root"));
        g_assert_false(policy_is_shipped(policy, "60-y.json: own-processes"));
        policy_free(policy);
        fixture_clear(&fixture);
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_autofree char *rules = g_strdup_printf(
                                "{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],%s}]}",
                                bad[i].keys);

                fixture_refused(rules, KT_E_INVALID_SPEC, bad[i].text);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/rule/processes", test_processes);
        g_test_add_func("/rule/addresses", test_addresses);
        g_test_add_func("/rule/kept-of-own", test_kept_of_own);
        g_test_add_func("/rule/unredacted", test_unredacted);
        g_test_add_func("/rule/first-entry", test_first_entry);
        g_test_add_func("/rule/policy-filter", test_policy_filter);
        g_test_add_func("/rule/comm", test_comm);
        g_test_add_func("/rule/memory-of-others", test_memory_of_others);
        g_test_add_func("/rule/members-cover", test_members_cover);
        g_test_add_func("/rule/also-of-cover", test_also_of_cover);
        g_test_add_func("/rule/members", test_members);
        g_test_add_func("/rule/limits", test_limits);
        g_test_add_func("/rule/ship", test_ship);
        g_test_add_func("/rule/lifetimes", test_lifetimes);
        g_test_add_func("/rule/lifetime-unit", test_lifetime_unit);
        g_test_add_func("/rule/allow-setuid", test_allow_setuid);
        g_test_add_func("/rule/black-box", test_black_box);
        g_test_add_func("/rule/probes", test_probes);
        g_test_add_func("/rule/events-of-probes", test_events_of_probes);
        g_test_add_func("/policy/sources-of-probes", test_sources_of_probes);
        g_test_add_func("/rule/fields-of-programs", test_fields_of_programs);
        return g_test_run();
}
