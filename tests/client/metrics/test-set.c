/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A set is read completely or refused with the place of the mistake. */

#include <string.h>

#include "sample-set.h"

static const char good[] =
                "{\n"
                "  \"description\": \"d\", \"interval\": \"1min\",\n"
                "  \"metrics\": [\n"
                "    {\"name\": \"a_seconds\", \"help\": \"h\", \"type\": \"histogram\",\n"
                "     \"pair\": {\"from\": \"s:one\", \"to\": \"s:two\", \"key\": [\"pid = next_pid\"]},\n"
                "     \"filter\": \"latency > 5\", \"value\": \"latency\",\n"
                "     \"buckets\": {\"linear\": 100}, \"scale\": 1e-9, \"unit\": \"seconds\",\n"
                "     \"labels\": [\n"
                "       {\"name\": \"unit\", \"field\": \"from.common_pid\", \"decode\": \"unit\"},\n"
                "       {\"name\": \"kind\", \"field\": \"to.vec\", \"decode\": \"bits\",\n"
                "        \"bits\": {\"0x1\": \"one\", \"2\": \"two\"}}],\n"
                "     \"max-sets\": 20},\n"
                "    {\"name\": \"b\", \"help\": \"h\", \"type\": \"counter\", \"event\": \"s:e\"},\n"
                "    {\"name\": \"c\", \"help\": \"h\", \"type\": \"gauge\", \"status\": \"sessions\"}\n"
                "  ]\n"
                "}\n";

static void test_good(void) {
        _cleanup_(set_free_cleanup) Set *set = sample_read(good);
        const SetMetric *metric = &set->metrics[0];

        g_assert_cmpstr(set->name, ==, "sample");
        g_assert_cmpstr(set->description, ==, "d");
        g_assert_cmpuint(set->interval_usec, ==, 60000000);
        g_assert_cmpuint(set->n_metrics, ==, 3);
        g_assert_cmpstr(metric->name, ==, "a_seconds");
        g_assert_cmpint(metric->type, ==, METRIC_HISTOGRAM);
        g_assert_cmpint(metric->source, ==, SOURCE_PAIR);
        g_assert_cmpstr(metric->event, ==, "s:one");
        g_assert_cmpstr(metric->to, ==, "s:two");
        g_assert_cmpstr(metric->keys[0], ==, "pid = next_pid");
        g_assert_cmpstr(metric->filter, ==, "latency > 5");
        g_assert_cmpuint(metric->width, ==, 100);
        g_assert_cmpfloat(metric->scale, ==, 1e-9);
        g_assert_cmpuint(metric->max_sets, ==, 20);
        g_assert_cmpuint(metric->n_labels, ==, 2);
        g_assert_cmpint(metric->labels[0].decoder, ==, DECODER_UNIT);
        g_assert_cmpint(metric->labels[1].names[0].number, ==, 1);
        g_assert_cmpstr(metric->labels[1].names[1].text, ==, "two");
        g_assert_true(set_metric_is_private(metric));
        g_assert_true(set_metric_has_tasks(metric));
        g_assert_cmpuint(set->metrics[1].max_sets, ==, SET_MAX_SETS);
        g_assert_false(set_metric_is_private(&set->metrics[1]));
        g_assert_cmpint(set->metrics[2].source, ==, SOURCE_STATUS);
}

/* Room for every label set and bucket, as far as ktraced returns them. */
static void test_rows(void) {
        static const struct {
                const char *type, *rest;
                uint64_t rows;
        } cases[] = {
                { "counter", "\"event\":\"s:e\"", 128 },
                { "counter",
                                "\"event\":\"s:e\",\"labels\":[{\"name\":\"l\",\"field\":\"f\"}],\"max-sets\":600",
                                1024 },
                { "counter",
                                "\"event\":\"s:e\",\"labels\":[{\"name\":\"l\",\"field\":\"f\"}],\"max-sets\":8192",
                                8192 },
                { "histogram", "\"event\":\"s:e\",\"value\":\"v\",\"buckets\":\"log2\"", 128 },
                { "histogram",
                                "\"event\":\"s:e\",\"value\":\"v\",\"buckets\":{\"linear\":5}",
                                256 },
                { "histogram",
                                "\"event\":\"s:e\",\"value\":\"v\",\"buckets\":\"log2\","
                                "\"labels\":[{\"name\":\"l\",\"field\":\"f\"}]",
                                8192 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_(set_free_cleanup) Set *set =
                                sample_read_metric(cases[i].type, cases[i].rest);

                g_assert_cmpuint(set_metric_count_rows(&set->metrics[0]), ==, cases[i].rows);
        }
}

static void test_private(void) {
        static const struct {
                const char *label;
                bool is_private, is_task;
        } cases[] = {
                { "\"field\":\"id\"", false, false },
                { "\"field\":\"common_cpu\"", false, false },
                { "\"field\":\"common_pid\"", true, true },
                { "\"field\":\"next_pid\"", true, true },
                { "\"field\":\"tgid\"", true, true },
                { "\"field\":\"upid\"", true, false },
                { "\"field\":\"child_tidptr\"", true, false },
                { "\"field\":\"uid\"", true, false },
                { "\"field\":\"fsuid\"", true, false },
                { "\"field\":\"loginuid\"", true, false },
                { "\"field\":\"rgid\"", true, false },
                { "\"field\":\"old_sgid\"", true, false },
                { "\"field\":\"common_uid\"", true, false },
                { "\"field\":\"UID\"", true, false },
                { "\"field\":\"user\"", true, false },
                { "\"field\":\"group\"", true, false },
                { "\"field\":\"cgrp_id\"", true, false },
                { "\"field\":\"memcg_id\"", true, false },
                { "\"field\":\"cgroup_ino\"", true, false },
                { "\"field\":\"uid\",\"decode\":\"table\",\"table\":{\"0\":\"root\"}",
                                true,
                                false },
                { "\"field\":\"rapid\"", true, false },
                { "\"decode\":\"comm\"", true, true },
                { "\"decode\":\"cpu\"", false, false },
                { "\"field\":\"cgroup_id\",\"decode\":\"cgroup\"", true, false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *rest = g_strdup_printf("\"event\":\"s:e\",\"max-sets\":5,"
                                                        "\"labels\":[{\"name\":\"l\",%s}]",
                                cases[i].label);
                _cleanup_(set_free_cleanup) Set *set = sample_read_metric("counter", rest);

                g_test_message("%s", cases[i].label);
                g_assert_true(set_metric_is_private(&set->metrics[0]) == cases[i].is_private);
                g_assert_true(set_metric_has_tasks(&set->metrics[0]) == cases[i].is_task);
        }
}

/* Without a label, too. */
static void test_private_metric(void) {
        static const struct {
                const char *rest;
                bool is_private;
        } cases[] = {
                { "\"event\":\"s:e\",\"filter\":\"ret < 0 && common_cpu == 1\"", false },
                { "\"event\":\"s:e\",\"filter\":\"uid == 1000\"", true },
                { "\"event\":\"s:e\",\"filter\":\"ret < 0 && common_pid == 1\"", true },
                { "\"event\":\"s:e\",\"filter\":\"COMM ~ \\\"*a*\\\"\"", true },
                { "\"event\":\"s:e\",\"value\":\"bytes\"", false },
                { "\"event\":\"s:e\",\"value\":\"euid\"", true },
                { "\"pair\":{\"from\":\"s:a\",\"to\":\"s:b\",\"key\":[\"pid = next_pid\"]},"
                  "\"value\":\"latency\"",
                                false },
                { "\"event\":\"cgroup:cgroup_mkdir\",\"labels\":[{\"name\":\"l\",\"field\":\"id\"}]",
                                true },
                { "\"pair\":{\"from\":\"s:a\",\"to\":\"cgroup:b\",\"key\":[\"id\"]},"
                  "\"value\":\"latency\"",
                                true },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_(set_free_cleanup) Set *set = sample_read_metric("counter", cases[i].rest);

                g_test_message("%s", cases[i].rest);
                g_assert_true(set_metric_is_private(&set->metrics[0]) == cases[i].is_private);
        }
}

static void expect_refused(const char *text, const char *message) {
        SetText input = { "x.json", "x", text, strlen(text) };
        Reason reason = {};
        Set *set = NULL;

        int r = set_read(&input, &set, &reason);
        g_assert_cmpstr(reason.text, ==, message);
        g_assert_cmpint(r, >, 0);
        g_assert_null(set);
}

/* The whole message, with line and column. */
static void test_refused(void) {
        static const struct {
                const char *text, *message;
        } cases[] = {
                { "{\n  \"metrics\": [\n", "x.json:3:1: expected a JSON value, got the end" },
                { "[]", "x.json:1:1: expected an object, got a list of 0" },
                { "{\"interval\": \"2h\", \"metrics\": []}",
                                "x.json:1:14: interval: expected a time from 1s to 1h, such as \"10s\" or \"2min\", got \"2h\"" },
                { "{}", "x.json:1:1: metrics: is missing" },
                { "{\"metrics\": []}",
                                "x.json:1:13: metrics: expected a list of 1 to 64 entries, got a list of 0" },
                { "{\n \"metric\": []}",
                                "x.json:2:2: metric: no such key: did you mean \"metrics\"?" },
                { "{\"metrics\": [\n  {\"nam\": 1}]}",
                                "x.json:2:4: metrics[0].nam: no such key: did you mean \"name\"?" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                expect_refused(cases[i].text, cases[i].message);
}

/* Each case is the rest of a metric after its name, help and type, from column 10 of line 2. */
static void test_refused_metrics(void) {

        static const struct {
                const char *type, *rest, *message;
        } cases[] = {
                { "counter",
                                "\"scale\":1",
                                "x.json:2:1: metrics[0]: expected one of event, probe, pair and status, got none" },
                { "counter",
                                "\"event\":\"s:e\",\"probe\":\"p\"",
                                "x.json:3:23: metrics[0].probe: expected only one of event, probe, pair and status" },
                { "counter",
                                "\"event\":\"s:*\"",
                                "x.json:3:9: metrics[0].event: expected SYSTEM:EVENT, got \"s:*\"" },
                { "gauge",
                                "\"event\":\"s:e\"",
                                "x.json:2:31: metrics[0].type: expected counter or histogram, got gauge: only a status can be one" },
                { "histogram",
                                "\"event\":\"s:e\"",
                                "x.json:2:1: metrics[0].value: is missing: the field that the histogram is of" },
                { "histogram",
                                "\"event\":\"s:e\",\"value\":\"v\"",
                                "x.json:2:1: metrics[0].buckets: is missing: \"log2\" or {\"linear\": WIDTH}" },
                { "histogram",
                                "\"event\":\"s:e\",\"value\":\"v\",\"buckets\":\"log10\"",
                                "x.json:3:37: metrics[0].buckets: expected \"log2\" or {\"linear\": WIDTH}, got \"log10\"" },
                { "histogram",
                                "\"event\":\"s:e\",\"value\":\"v\",\"buckets\":{\"linear\":0}",
                                "x.json:3:47: metrics[0].buckets.linear: expected a whole number from 1 to 36028797018963967, got 0" },
                { "counter",
                                "\"event\":\"s:e\",\"buckets\":\"log2\"",
                                "x.json:3:25: metrics[0].buckets: requires \"type\": \"histogram\"" },
                { "counter",
                                "\"status\":\"sessions\",\"filter\":\"x\"",
                                "x.json:3:30: metrics[0].filter: is not for status, which is one number" },
                { "counter",
                                "\"event\":\"s:e\",\"unit\":\"seconds\"",
                                "x.json:2:9: metrics[0].name: \"m\": expected a name that ends with the unit: m_seconds" },
                { "counter",
                                "\"event\":\"s:e\",\"scale\":0",
                                "x.json:3:23: metrics[0].scale: expected a number above 0 such as 1e-6, got 0" },
                { "counter",
                                "\"event\":\"s:e\",\"max-sets\":5",
                                "x.json:3:26: metrics[0].max-sets: requires labels" },
                { "counter",
                                "\"event\":\"s:e\",\"labels\":[{\"name\":\"le\",\"field\":\"f\"}]",
                                "x.json:3:33: metrics[0].labels[0].name: expected another name: Prometheus uses \"le\" and \"__*\", "
                                "got \"le\"" },
                { "counter",
                                "\"event\":\"s:e\",\"labels\":[{\"name\":\"l-l\",\"field\":\"f\"}]",
                                "x.json:3:33: metrics[0].labels[0].name: expected letters, digits and '_', beginning with a letter, "
                                "got \"l-l\"" },
                { "counter",
                                "\"event\":\"s:e\",\"labels\":[{\"name\":\"l\"}]",
                                "x.json:3:25: metrics[0].labels[0].field: is missing: the field to count by" },
                { "counter",
                                "\"event\":\"s:e\",\"labels\":[{\"name\":\"l\",\"field\":\"f\",\"decode\":\"table\"}]",
                                "x.json:3:25: metrics[0].labels[0].table: is missing: the names of the numbers" },
                { "counter",
                                "\"event\":\"s:e\",\"labels\":[{\"name\":\"l\",\"field\":\"f\",\"table\":{\"1\":\"a\"}}]",
                                "x.json:3:57: metrics[0].labels[0].table: requires \"decode\": \"table\"" },
                { "counter",
                                "\"event\":\"s:e\",\"labels\":[{\"name\":\"l\",\"field\":\"f\",\"decode\":\"bits\",\"bits\":{\"x\":\"a\"}}]",
                                "x.json:3:77: metrics[0].labels[0].bits.x: expected a number such as \"5\" or \"0x10\", got \"x\"" },
                { "counter",
                                "\"event\":\"s:e\",\"labels\":[{\"name\":\"l\",\"field\":\"from.f\"}]",
                                "x.json:3:45: metrics[0].labels[0].field: expected \"f\", got \"from.f\": from. and to. are for pairs" },
                { "counter",
                                "\"event\":\"s:e\",\"labels\":[{\"name\":\"l\",\"field\":\"f\"},{\"name\":\"l\",\"field\":\"g\"}]",
                                "x.json:3:58: metrics[0].labels[1].name: \"l\" is already the name of a label" },
                { "counter",
                                "\"event\":\"s:e\",\"labels\":[{\"name\":\"l\",\"field\":\"f\"},{\"name\":\"k\",\"field\":\"f\"}]",
                                "x.json:3:70: metrics[0].labels[1].field: \"f\" already has a label: use each field once" },
                { "counter",
                                "\"event\":\"s:e\",\"labels\":[{\"name\":\"l\",\"decode\":\"comm\"}]",
                                "x.json:2:1: metrics[0].max-sets: is missing, such as 1000: the label \"l\" identifies tasks, users or units, which have no bound" },
                { "counter",
                                "\"event\":\"s:e\",\"labels\":[{\"name\":\"l\",\"field\":\"uid\"}]",
                                "x.json:2:1: metrics[0].max-sets: is missing, such as 1000: the label \"l\" identifies tasks, users or units, which have no bound" },
                { "histogram",
                                "\"event\":\"s:e\",\"value\":\"v\",\"buckets\":\"log2\",\"labels\":[{\"name\":\"a\",\"field\":\"a\"},"
                                "{\"name\":\"b\",\"field\":\"b\"},{\"name\":\"c\",\"field\":\"c\"}]",
                                "x.json:3:53: metrics[0].labels: expected at most 2 for a histogram, got 3" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = g_strdup_printf(
                                "{\"metrics\":[\n{\"name\":\"m\",\"help\":\"h\",\"type\":\"%s\",\n%s}]}",
                                cases[i].type,
                                cases[i].rest);

                expect_refused(text, cases[i].message);
        }
}

static void test_refused_names(void) {
        static const struct {
                const char *name, *expected;
        } cases[] = {
                { "9m", "letters, digits, '_' and ':', beginning with no digit" },
                { "a.b", "letters, digits, '_' and ':', beginning with no digit" },
                { "a_total", "a name without _total at its end" },
                { "a_bucket", "a name without _bucket at its end" },
                { "ktrace_metrics_up",
                                "another name: those of the service begin with ktrace_metrics_" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = g_strdup_printf(
                                "{\"metrics\":[{\"name\":\"%s\",\"help\":\"h\",\"type\":\"counter\","
                                "\"event\":\"s:e\"}]}",
                                cases[i].name);
                g_autofree char *message = g_strdup_printf(
                                "x.json:1:21: metrics[0].name: expected %s, got \"%s\"",
                                cases[i].expected,
                                cases[i].name);

                expect_refused(text, message);
        }
}

#define TWICE "{\"name\":\"m\",\"help\":\"h\",\"type\":\"counter\",\"event\":\"s:e\"}"

/* A metric belongs to one set. */
static void test_twice(void) {
        _cleanup_(set_free_cleanup) Set *other = sample_read("{\"metrics\":[" TWICE "]}");
        static const char text[] = "{\"metrics\":[\n" TWICE "]}";
        SetText input = { "x.json", "x", text, strlen(text), &other, 1 };
        Reason reason = {};
        Set *set = NULL;

        expect_refused("{\"metrics\":[" TWICE ",\n" TWICE "]}",
                        "x.json:2:9: metrics[1].name: \"m\" is already the name of a metric of this set");
        g_assert_cmpint(set_read(&input, &set, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text,
                        ==,
                        "x.json:2:9: metrics[0].name: \"m\" is already the name of a metric of the set sample");
}

#define TABLE(name, rest) \
        "{\"name\":\"" name "\",\"help\":\"h\",\"type\":\"counter\",\"event\":\"s:e\"" rest "}"
#define BY(decoder) \
        ",\"labels\":[{\"name\":\"l\",\"field\":\"f\",\"decode\":\"" decoder "\"}],\"max-sets\":5"

/* ktraced would refuse the second one. */
static void test_same_table(void) {
        static const char *const others[] = {
                TABLE("b", ",\"filter\":\"x == 1\""),
                TABLE("b", ",\"value\":\"bytes\""),
                TABLE("b", BY("number")),
        };

        expect_refused("{\"metrics\":[" TABLE("a", "") ",\n" TABLE("b", "") "]}",
                        "x.json:2:1: metrics[1]: a already counts this event by these fields: leave one "
                        "out, or give it another filter");
        expect_refused("{\"metrics\":[" TABLE("a", BY("unit")) ",\n" TABLE("b", BY("cgroup")) "]}",
                        "x.json:2:1: metrics[1]: a already counts this event by these fields: leave one "
                        "out, or give it another filter");
        for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
                g_autofree char *text =
                                g_strdup_printf("{\"metrics\":[" TABLE("a", "") ",%s]}", others[i]);
                _cleanup_(set_free_cleanup) Set *set = sample_read(text);

                g_assert_cmpuint(set->n_metrics, ==, 2);
        }
}

static void test_same(void) {
        _cleanup_(set_free_cleanup) Set *a = sample_read(good), *b = sample_read(good);

        g_assert_true(set_is_same(a, b));
        b->metrics[0].max_sets++;
        g_assert_false(set_is_same(a, b));
        g_assert_true(set_metric_counts_alike(&a->metrics[0], &b->metrics[0]));
        b->metrics[0].labels[1].names[0].number++;
        g_assert_false(set_metric_counts_alike(&a->metrics[0], &b->metrics[0]));
}

/* Every shipped set is right, and they can all be on. */
static void test_shipped(void) {
        g_autofree char *dir = g_test_build_filename(G_TEST_DIST, "policy", "metrics.d", NULL);
        g_autoptr(GDir) files = g_dir_open(dir, 0, NULL);
        Set *sets[SET_SETS_MAX];
        size_t n = 0;
        const char *name;

        g_assert_nonnull(files);
        while ((name = g_dir_read_name(files))) {
                g_autofree char *path = g_build_filename(dir, name, NULL), *text = NULL;
                SetText input = { name, name, .others = sets, .n_others = n };
                Reason reason = {};
                gsize size;

                g_assert_true(g_file_get_contents(path, &text, &size, NULL));
                input.text = text;
                input.size = size;
                if (set_read(&input, &sets[n], &reason) != 0)
                        g_error("%s", reason.text);
                for (size_t i = 0; i < sets[n]->n_metrics; i++) {
                        g_assert_true(g_str_has_prefix(sets[n]->metrics[i].name, "ktrace_"));
                        g_assert_false(set_metric_is_private(&sets[n]->metrics[i]));
                }
                n++;
        }
        g_assert_cmpuint(n, >=, 7);
        while (n > 0)
                set_free(sets[--n]);
}

/* The examples of ktrace-metrics.d(5) are good sets. */
static void test_examples(void) {
        g_autofree char *path =
                        g_test_build_filename(G_TEST_DIST, "man", "ktrace-metrics.d.5", NULL);
        g_autofree char *page = NULL;
        unsigned n = 0;

        g_assert_true(g_file_get_contents(path, &page, NULL, NULL));
        for (char *p = page; (p = strstr(p, ".EX\n{\n"));) {
                g_auto(GStrv) parts = NULL;
                char *end = strstr(p, "\n.EE");

                g_assert_nonnull(end);
                *end = '\0';
                parts = g_strsplit(p + strlen(".EX\n"), "\\-", -1);
                g_autofree char *text = g_strjoinv("-", parts);
                set_free(sample_read(text));
                p = end + 1;
                n++;
        }
        g_assert_cmpuint(n, >=, 2);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/set/good", test_good);
        g_test_add_func("/set/rows", test_rows);
        g_test_add_func("/set/private", test_private);
        g_test_add_func("/set/private-metric", test_private_metric);
        g_test_add_func("/set/refused", test_refused);
        g_test_add_func("/set/refused-metrics", test_refused_metrics);
        g_test_add_func("/set/refused-names", test_refused_names);
        g_test_add_func("/set/twice", test_twice);
        g_test_add_func("/set/same-table", test_same_table);
        g_test_add_func("/set/same", test_same);
        g_test_add_func("/set/shipped", test_shipped);
        g_test_add_func("/set/examples", test_examples);
        return g_test_run();
}
