/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules without records: each way to a single record is refused, and histograms count by what the
 * rule lists. */
#include "policy-fixture.h"

#include <string.h>

#include "interfaces/spec-json.h"
#include "policy/cover.h"
#include "policy/grant.h"
#include "policy/same.h"

static const char format_text[] =
                "name: one\nID: 7\nformat:\n"
                "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
                "\tfield:int size;\toffset:16;\tsize:4;\tsigned:1;\n"
                "\tfield:char rwbs[8];\toffset:20;\tsize:8;\tsigned:0;\n"
                "\tfield:void * where;\toffset:32;\tsize:8;\tsigned:0;\n"
                "\tfield:unsigned long shown;\toffset:40;\tsize:8;\tsigned:0;\n"
                "\tfield:pid_t prev;\toffset:48;\tsize:4;\tsigned:1;\n"
                "\tfield:int next_pid;\toffset:52;\tsize:4;\tsigned:1;\n"
                "\nprint fmt: \"%p\", REC->shown\n";
static const char *const names[] = { "a:one",
        "a:ruled",
        "a:two",
        "b:bare",
        "b:everything",
        "ktrace:entry",
        "ktrace:made",
        "ktrace_1000:derived",
        "ktrace_1000:own" };
static const PolicyProbe probes[] = { { .is_of_catalogue = true },
        { .is_of_catalogue = true, .is_derived = true },
        { .is_derived = true },
        { .is_derived = false } };
static Format *format;

static int get_format(const char *system, const char *name, const Format **ret, void *userdata) {
        *ret = format;
        return 0;
}

static const char rule[] =
                "\"scopes\":[\"system\"],\"processes\":\"any\",\"sinks\":[\"histogram\",\"count\"],"
                "\"events\":["
                "{\"name\":\"a:one\",\"keys\":[\"id\",\"common_pid\",\"common_cpu\",\"rwbs\"]},"
                "{\"name\":\"a:ruled\",\"keys\":[\"size\"],\"filter\":\"size < 0\"},"
                "\"b:bare\",{\"name\":\"b:everything\",\"keys\":[\"*\"]}],"
                "\"probes\":{\"use\":[\"*\"],\"keys\":{\"ent*\":[\"size\"]}}";

static int decide(const char *keys,
                const char *text,
                size_t n_probes,
                Grant **ret,
                Reason *reason) {
        const Subject user = { .uid = 1000, .gids = (gid_t[]){ 1000 }, .n_gids = 1 };
        g_autofree char *rules = g_strdup_printf(
                        "{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],%s}]}", keys);
        _cleanup_json_ json_object *object = NULL;
        _cleanup_spec_ Spec *spec = spec_new();
        Fixture fixture;

        const PolicyEvents kernel = { .names = names,
                .n_names = G_N_ELEMENTS(names),
                .get_format = get_format,
                .n_probes = n_probes,
                .probes = probes };
        fixture_init(&fixture);
        fixture_write(fixture.lib, "10-x.json", rules);
        Policy *policy = fixture_load(&fixture);
        int r = json_parse_strict("spec", text, strlen(text), &object, reason);
        r = r ?: spec_from_json(spec, object, reason);
        g_assert_cmpstr(reason->text, ==, "");
        g_assert_cmpint(r, ==, 0);
        r = policy_decide(policy, &user, spec, &kernel, ret, reason);
        policy_free(policy);
        fixture_clear(&fixture);
        return r;
}

static Grant *expect_by(const char *keys, const char *text, size_t n_probes) {
        Reason reason = { "" };
        Grant *grant = NULL;

        int r = decide(keys, text, n_probes, &grant, &reason);
        if (r != 0)
                g_error("%s: %d %s", text, r, reason.text);
        return grant;
}

static void expect_denied_by(const char *keys, const char *text, size_t n, const char *part) {
        Reason reason = { "" };
        Grant *grant = NULL;

        int r = decide(keys, text, n, &grant, &reason);
        if (r != KT_E_ACCESS_DENIED || !strstr(reason.text, part))
                g_error("%s: %d %s", text, r, reason.text);
        g_assert_null(grant);
}

#define SYSTEM(rest) "{\"scope\":\"system\"," rest "}"
#define HIST(event, keys) \
        SYSTEM("\"triggers\":[{\"when\":\"" event "\",\"do\":\"hist\",\"keys\":[" keys "]}]")
#define OFF(event) SYSTEM("\"events\":[{\"name\":\"" event "\",\"enabled\":false}]")
/* Nothing is cut, and addresses are shown. */
#define KEEP(sinks)                                                                   \
        "\"scopes\":[\"system\"],\"processes\":\"any\",\"addresses\":\"keep\"," sinks \
        "\"events\":[\"*:*\"]"
#define NO_RECORDS "10-x.json: r grants no records, only counts"

/* All of them are possible by the same rule with records. */
static void test_records(void) {
        static const struct {
                const char *spec, *part;
        } cases[] = {
                { SYSTEM("\"events\":[\"a:one\"]"), "a:one: " NO_RECORDS ": add" },
                { SYSTEM("\"events\":[\"a:*\"]"), "a:*: " NO_RECORDS },
                { SYSTEM("\"events\":[{\"name\":\"a:one\",\"enabled\":false},\"a:one\"]"),
                                "a:one: " NO_RECORDS },
                { SYSTEM("\"events\":[\"a:one\"],\"mode\":\"flight\""), "mode: " NO_RECORDS },
                { SYSTEM("\"events\":[\"a:one\"],\"spool\":{}"), "spool: " NO_RECORDS },
                { SYSTEM("\"events\":[\"a:one\"],\"stacktrace\":true"), "stacktrace: " NO_RECORDS },
                { SYSTEM("\"tracer\":\"function\",\"functions\":[\"x\"]"), "tracer: " NO_RECORDS },
                { SYSTEM("\"instance\":\"x\""), "instance: " NO_RECORDS },
                { SYSTEM("\"events\":[\"a:one\"],\"cpus\":\"0\""), "cpus: " NO_RECORDS },
                { SYSTEM("\"events\":[\"a:one\"],\"unredacted\":true"), "no rule grants" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                expect_denied_by(rule, cases[i].spec, 0, cases[i].part);
                expect_denied_by(KEEP("\"sinks\":[\"histogram\"],"),
                                cases[i].spec,
                                0,
                                cases[i].part);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                grant_free(expect_by(KEEP(""), cases[i].spec, 0));
}

/* What an entry that is off grants is never turned on. */
static void test_off(void) {
        _cleanup_(grant_free_cleanup) Grant *grant = expect_by(rule, OFF("a:one"), 0);

        g_assert_cmpuint(grant->n_events, ==, 1);
        g_assert_true(grant->events[0].is_unrecorded);
        g_assert_true(grant->events[0].is_off);
        g_assert_cmpuint(grant->sinks, ==, 1U << GRANT_SINK_HISTOGRAM | 1U << GRANT_SINK_COUNT);
}

static void test_actions(void) {
        static const char *const actions[] = {
                "start", "stop", "snapshot", "notify", "stacktrace", "enable", "disable"
        };

        for (size_t i = 0; i < G_N_ELEMENTS(actions); i++) {
                bool has_target = strcmp(actions[i], "enable") == 0 ||
                                  strcmp(actions[i], "disable") == 0;
                g_autofree char *text = g_strdup_printf(
                                SYSTEM("\"events\":[{\"name\":\"a:two\",\"enabled\":false}],"
                                       "\"triggers\":[{\"when\":\"a:one\",\"do\":\"%s\"%s}]"),
                                actions[i],
                                has_target ? ",\"event\":\"a:two\"" : "");
                g_autofree char *part =
                                g_strdup_printf("triggers[0].do: %s: " NO_RECORDS, actions[i]);

                expect_denied_by("\"scopes\":[\"system\"],\"processes\":\"any\","
                                 "\"sinks\":[\"histogram\"],\"events\":[\"a:*\"]",
                                text,
                                0,
                                part);
        }
        expect_denied_by("\"scopes\":[\"system\"],\"processes\":\"any\",\"sinks\":[\"records\"],"
                         "\"events\":[\"a:*\"]",
                        HIST("a:one", "\"id\""),
                        0,
                        "triggers[0].do: hist: 10-x.json: r grants records, and no histograms");
}

static void test_keys(void) {
        _cleanup_(grant_free_cleanup) Grant *grant = expect_by(rule,
                        HIST("a:one if id == 3 && common_pid != 1 && cpu == 0 && rwbs == 'W'",
                                        "\"id\",\"common_pid.execname\",\"common_cpu\""),
                        0);

        /* Kernel addresses are not counted, as elsewhere. */
        g_assert_nonnull(strstr(grant->triggers[0].filter, "id < -72057594037927936"));
        grant_free(expect_by(rule, HIST("b:everything", "\"id\",\"size\""), 0));
        grant_free(expect_by(rule,
                        SYSTEM("\"triggers\":[{\"when\":\"b:everything\",\"do\":\"hist\","
                               "\"keys\":[\"id\"],\"values\":[\"size\"]}]"),
                        0));
}

static void test_keys_denied(void) {
        static const struct {
                const char *event, *keys;
        } keys[] = {
                { "a:one", "\"size\"" }, /* not in the list */
                { "a:one", "\"rwbs\"" }, /* in the list, and a text */
                { "b:bare", "\"id\"" },
                { "b:bare", "\"common_cpu\"" },
                { "b:everything", "\"rwbs\"" },
                { "b:everything", "\"where\"" },
                { "b:everything", "\"where.hex\"" },
                { "b:everything", "\"shown\"" }, /* printed as a pointer */
                { "b:everything", "\"prev\"" },
                { "b:everything", "\"next_pid\"" },
                { "b:everything", "\"common_pid\"" },
                { "b:everything", "\"common_pid.execname\"" },
                { "b:everything", "\"common_cpu\"" },
        };

        static const char *const filters[] = {
                "a:one if size == 1",
                "b:everything if where == 0",
                "b:everything if rwbs ~ '*W*'",
                "b:everything if common_pid == 1",
                "b:everything if pid == 1",
                "b:everything if cpu == 1",
                "b:everything if COMM == 'bash'",
                "a:one if comm == 'bash'",
        };

        g_autofree char *keep = g_strdup_printf("%s,\"addresses\":\"keep\"", rule);

        for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
                g_autofree char *text =
                                g_strdup_printf(HIST("%s", "%s"), keys[i].event, keys[i].keys);

                expect_denied_by(rule, text, 0, "triggers[0].keys[0]: ");
                expect_denied_by(rule, text, 0, "not among the keys that 10-x.json: r lists");
                expect_denied_by(keep, text, 0, "not among the keys that 10-x.json: r lists");
        }
        expect_denied_by(keep, HIST("b:everything", "\"stacktrace\""), 0, "keys[0]: ");
        expect_denied_by(keep, HIST("b:everything", "\"id.sym\""), 0, "keys[0]: ");
        expect_denied_by(rule,
                        SYSTEM("\"triggers\":[{\"when\":\"a:one\",\"do\":\"hist\","
                               "\"keys\":[\"id\"],\"values\":[\"size\"]}]"),
                        0,
                        "triggers[0].values[0]: ");
        for (size_t i = 0; i < G_N_ELEMENTS(filters); i++) {
                g_autofree char *text = g_strdup_printf(HIST("%s", "\"id\""), filters[i]);

                expect_denied_by(rule, text, 0, "among the keys of this event");
        }
        expect_denied_by(rule,
                        SYSTEM("\"events\":[{\"name\":\"a:one\",\"enabled\":false,"
                               "\"filter\":\"size == 1\"}]"),
                        0,
                        "policy does not list size");
}

/* The condition of the trigger has it (trace_join_condition). */
static void test_filter_of_rule(void) {
        _cleanup_(grant_free_cleanup) Grant *grant =
                        expect_by(rule, HIST("a:ruled if size > -9", "\"size\""), 0);

        g_assert_cmpstr(grant->events[grant->triggers[0].event].policy_filter, ==, "size < 0");
        g_assert_cmpstr(grant->triggers[0].filter, ==, "size > -9");
}

/* The spec lists the probes up to this one. */
static char *count_probe(size_t n, const char *key) {
        static const char *const events[] = {
                "ktrace:entry", "ktrace:made", "ktrace_1000:derived", "ktrace_1000:own"
        };
        g_autoptr(GString) list = g_string_new(NULL);

        for (size_t i = 0; i < n; i++)
                g_string_append_printf(list,
                                "%s{\"name\":\"%s\",\"enabled\":false}",
                                i > 0 ? "," : "",
                                events[i]);
        return g_strdup_printf(SYSTEM("\"events\":[%s],\"triggers\":[{\"when\":\"%s\","
                                      "\"do\":\"hist\",\"keys\":[\"%s\"]}]"),
                        list->str,
                        events[n - 1],
                        key);
}

static void test_probes(void) {
        static const struct {
                size_t n; /* the last one is counted */
                const char *key;
                bool is_granted;
        } cases[] = {
                { 1, "size.log2", true }, /* of the catalogue: in its list */
                { 1, "id", false },
                { 2, "size", false }, /* without a list, also if it is made of events */
                /* A user's own: one on events is judged by those of the events, elsewhere. */
                { 3, "id", true },
                { 3, "rwbs", false },
                { 3, "common_pid", false },
                { 4, "size", false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = count_probe(cases[i].n, cases[i].key);

                if (cases[i].is_granted)
                        grant_free(expect_by(rule, text, cases[i].n));
                else
                        expect_denied_by(rule, text, cases[i].n, "triggers[0].keys[0]: ");
        }
        expect_denied_by(rule, SYSTEM("\"events\":[\"ktrace:entry\"]"), 1, NO_RECORDS);
}

#define RULE(sinks, keys)                                                               \
        "\"scopes\":[\"system\"],\"processes\":\"any\"," sinks "\"events\":[{\"name\":" \
        "\"a:*\"" keys "}]"
#define COUNTS "\"sinks\":[\"histogram\",\"count\"],"

/* After new rules a session may have no less. */
static void test_cover(void) {
        const char *spec = HIST("a:one", "\"id\"");
        _cleanup_(grant_free_cleanup)
                        Grant *all = expect_by(RULE("", ""), spec, 0),
                              *counts = expect_by(RULE(COUNTS, ",\"keys\":[\"id\"]"), spec, 0),
                              *more = expect_by(
                                              RULE(COUNTS, ",\"keys\":[\"id\",\"size\"]"), spec, 0),
                              *kernel = expect_by(RULE("\"sinks\":[\"histogram\"],",
                                                                  ",\"keys\":[\"id\"]"),
                                              spec,
                                              0);

        g_assert_cmpint(grant_check_covers(counts, all, NULL), ==, KT_E_ACCESS_DENIED);
        g_assert_cmpint(grant_check_covers(all, counts, NULL), ==, 0);
        g_assert_cmpint(grant_check_covers(more, counts, NULL), ==, 0);
        g_assert_cmpint(grant_check_covers(counts, more, NULL), ==, KT_E_ACCESS_DENIED);
        g_assert_cmpint(grant_check_covers(kernel, counts, NULL), ==, KT_E_ACCESS_DENIED);
        g_assert_cmpint(grant_check_covers(counts, kernel, NULL), ==, 0);
        g_assert_false(grant_is_same(counts, kernel));
        g_assert_false(grant_is_same(counts, more));
        g_assert_true(grant_is_same(counts, counts));
}

#define FILE_OF(keys) "{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"]," keys "}]}"

static void test_files(void) {
        fixture_refused(FILE_OF(RULE("\"sinks\":[],", "")), KT_E_INVALID_SPEC, "rules[0].sinks: ");
        fixture_refused(FILE_OF(RULE("\"sinks\":\"count\",", "")),
                        KT_E_INVALID_SPEC,
                        "rules[0].sinks: ");
        fixture_refused(FILE_OF(RULE("\"sinks\":[\"disk\"],", "")),
                        KT_E_INVALID_SPEC,
                        "rules[0].sinks[0]: expected records, histogram or count, got \"disk\"");
        fixture_refused(FILE_OF(RULE("\"sinks\":[\"count\",\"count\"],", "")),
                        KT_E_INVALID_SPEC,
                        "rules[0].sinks[1]: count is in the list already");
        fixture_refused(FILE_OF(RULE("", ",\"keys\":[\"id\"]")),
                        KT_E_INVALID_SPEC,
                        "rules[0].events[0].keys: only in a rule whose sinks are without records");
        fixture_refused(FILE_OF(RULE("",
                                        "") ",\"probes\":{\"use\":[\"*\"],\"keys\":{\"x\":[\"y\"]}}"),
                        KT_E_INVALID_SPEC,
                        "rules[0].probes.keys: only in a rule whose sinks are without records");
        fixture_refused(FILE_OF(RULE(COUNTS, "") ",\"probes\":{\"use\":[\"*\"],\"keys\":{}}"),
                        KT_E_INVALID_SPEC,
                        "rules[0].probes.keys: expected an object");
        fixture_refused(FILE_OF("\"scopes\":[\"own\"],\"deny\":true,\"sinks\":[\"count\"]"),
                        KT_E_INVALID_SPEC,
                        "rules[0].sinks: a rule that denies");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_assert_cmpint(format_parse(format_text, strlen(format_text), &format, NULL), ==, 0);
        g_test_add_func("/policy/sinks/records", test_records);
        g_test_add_func("/policy/sinks/off", test_off);
        g_test_add_func("/policy/sinks/actions", test_actions);
        g_test_add_func("/policy/sinks/keys", test_keys);
        g_test_add_func("/policy/sinks/keys-denied", test_keys_denied);
        g_test_add_func("/policy/sinks/filter-of-rule", test_filter_of_rule);
        g_test_add_func("/policy/sinks/probes", test_probes);
        g_test_add_func("/policy/sinks/cover", test_cover);
        g_test_add_func("/policy/sinks/files", test_files);
        int r = g_test_run();
        format_free(format);
        return r;
}
