/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The spec of a set's session is exact, valid, and found again. */

#include <string.h>

#include "interfaces/json.h"
#include "interfaces/spec-json.h"
#include "interfaces/spec.h"
#include "metrics/source.h"
#include "sample-set.h"

static char *show(const Set *set, bool is_whole) {
        _cleanup_json_ json_object *spec = NULL;

        SourceSession session = { .set = set, .uid = 990, .is_whole = is_whole };

        g_assert_cmpint(source_make_spec(&session, &spec), ==, 0);
        return g_strdup(json_object_to_json_string_ext(spec, JSON_C_TO_STRING_PLAIN));
}

static void test_event(void) {
        _cleanup_(set_free_cleanup) Set *set = sample_read(
                        "{\"metrics\":[{\"name\":\"a:b\",\"help\":\"h\",\"type\":\"counter\","
                        "\"event\":\"s:e\",\"filter\":\"x > 1\",\"max-sets\":200,\"labels\":["
                        "{\"name\":\"l\",\"field\":\"id\"},{\"name\":\"k\",\"field\":\"k\"}]},"
                        "{\"name\":\"c\",\"help\":\"h\",\"type\":\"counter\",\"event\":\"s:e\"},"
                        "{\"name\":\"d\",\"help\":\"h\",\"type\":\"gauge\",\"status\":\"x\"}]}");
        g_autofree char *text = show(set, true), *next = show(set, false);

        g_assert_true(source_has_session(set));
        g_assert_cmpstr(text,
                        ==,
                        "{\"triggers\":[{\"keys\":[\"id\",\"k\"],\"when\":\"s:e if x > 1\",\"do\":"
                        "\"hist\",\"size\":256,\"name\":\"a.b\"},{\"keys\":[\"common_cpu\"],"
                        "\"when\":\"s:e\",\"do\":\"hist\",\"size\":128,\"name\":\"c\"}],"
                        "\"name\":\"metrics-sample\",\"scope\":\"system\","
                        "\"lifetime\":\"linger:60s\"}");
        g_assert_nonnull(strstr(next, "\"name\":\"a.b-2\""));
}

static void test_histogram(void) {
        _cleanup_(set_free_cleanup) Set *set = sample_read_metric("histogram",
                        "\"probe\":\"block_io_latency\",\"value\":\"latency\",\"buckets\":"
                        "{\"linear\":50},\"labels\":[{\"name\":\"l\",\"field\":\"dev\"}],"
                        "\"max-sets\":2");
        g_autofree char *text = show(set, true);

        g_assert_cmpstr(text,
                        ==,
                        "{\"triggers\":[{\"keys\":[\"latency.buckets=50\",\"dev\"],\"when\":"
                        "\"ktrace_catalogue:block_io_latency\",\"do\":\"hist\",\"values\":"
                        "[\"latency\"],\"size\":512,\"name\":\"m\"}],\"probes\":[{\"name\":"
                        "\"block_io_latency\",\"enabled\":false}],\"name\":\"metrics-sample\","
                        "\"scope\":\"system\",\"lifetime\":\"linger:60s\"}");
}

#define PAIR                                                                               \
        "\"pair\":{\"from\":\"s:a\",\"to\":\"s:b\",\"key\":[\"pid = next_pid\",\"x\"]},"   \
        "\"value\":\"latency\",\"buckets\":\"log2\",\"max-sets\":9,\"labels\":[{\"name\":" \
        "\"l\",\"field\":\"from.prio\"},{\"name\":\"t\",\"decode\":\"comm\"}]"

static void test_pair(void) {
        _cleanup_(set_free_cleanup) Set *set = sample_read_metric("histogram", PAIR);
        _cleanup_json_ json_object *probe = NULL;
        g_autofree char *text = show(set, true);

        g_assert_cmpint(source_make_probe(&set->metrics[0], &probe), ==, 0);
        const char *name = json_object_get_string(json_object_object_get(probe, "name"));
        g_autofree char *expected = g_strdup_printf(
                        "{\"key\":[\"pid = next_pid\",\"x\"],\"args\":[\"$latency\","
                        "\"prio = from.prio\"],\"from\":\"s:a\",\"to\":\"s:b\",\"name\":\"%s\"}",
                        name);
        g_assert_cmpstr(json_object_to_json_string_ext(probe, JSON_C_TO_STRING_PLAIN),
                        ==,
                        expected);
        g_assert_true(g_str_has_prefix(name, "metrics_"));
        g_assert_cmpuint(strlen(name), ==, strlen("metrics_") + 8);
        g_autofree char *when = g_strdup_printf("\"when\":\"ktrace_u990:%s\"", name);
        g_assert_nonnull(strstr(text, when));
        g_assert_nonnull(strstr(
                        text, "\"keys\":[\"latency.log2\",\"prio\",\"common_pid.execname\"]"));
        /* Its table is cleared when it is full, so it never has all counts. */
        g_assert_nonnull(strstr(text, "\"name\":\"m-2\""));
}

/* ktraced requires the probes of the catalogue that the pair is made of, each once. */
static void test_pair_of_probes(void) {
        _cleanup_(set_free_cleanup) Set *set = sample_read_metric("histogram",
                        "\"pair\":{\"from\":\"ktrace_catalogue:one\",\"to\":\"ktrace_catalogue:one\","
                        "\"key\":[\"common_pid\"]},\"value\":\"latency\",\"buckets\":\"log2\"");
        g_autofree char *text = show(set, true);

        g_assert_nonnull(strstr(text,
                        "\"probes\":[{\"name\":\"one\",\"enabled\":false},"
                        "{\"name\":\"metrics_"));
}

static char *read_file(const char *folder, const char *name) {
        g_autofree char *path = g_test_build_filename(G_TEST_DIST, folder, name, NULL);
        char *text = NULL;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        return text;
}

/* The shipped set jvm counts by probes that the example for the catalogue has. */
static void test_jvm(void) {
        g_autofree char *file = read_file("policy", "metrics.d/jvm.json"),
                        *catalogue = read_file("units", "jvm-probes.json");
        _cleanup_(set_free_cleanup) Set *set = sample_read(file);
        g_autofree char *text = show(set, true);

        for (size_t i = 0; i < set->n_metrics; i++) {
                g_autofree char *name = g_strdup_printf("\"name\": \"%s\"", set->metrics[i].event);

                g_assert_cmpint(set->metrics[i].source, ==, SOURCE_PROBE);
                g_assert_false(set_metric_is_private(&set->metrics[i]));
                g_assert_nonnull(strstr(catalogue, name));
        }
        g_assert_nonnull(strstr(text,
                        "{\"keys\":[\"latency.log2\",\"full\"],\"when\":"
                        "\"ktrace_catalogue:jvm_gc\",\"do\":\"hist\",\"values\":[\"latency\"],"));
        g_assert_nonnull(strstr(text,
                        "\"probes\":[{\"name\":\"jvm_gc_begin\",\"enabled\":false},"
                        "{\"name\":\"jvm_gc\",\"enabled\":false},"
                        "{\"name\":\"jvm_safepoint\",\"enabled\":false}]"));
}

/* Another definition has another name. */
static void test_pair_name(void) {
        _cleanup_(set_free_cleanup) Set *a = sample_read_metric("histogram", PAIR),
                                        *b = sample_read_metric("histogram", PAIR);
        _cleanup_json_ json_object *first = NULL, *second = NULL, *third = NULL;

        g_assert_cmpint(source_make_probe(&a->metrics[0], &first), ==, 0);
        g_assert_cmpint(source_make_probe(&b->metrics[0], &second), ==, 0);
        g_assert_true(json_object_equal(first, second));
        b->metrics[0].to[2] = 'c';
        g_assert_cmpint(source_make_probe(&b->metrics[0], &third), ==, 0);
        g_assert_cmpstr(json_object_get_string(json_object_object_get(first, "name")),
                        !=,
                        json_object_get_string(json_object_object_get(third, "name")));
}

/* ktraced adds what it has chosen. */
static void test_same(void) {
        _cleanup_(set_free_cleanup) Set *set = sample_read_metric("histogram", PAIR);
        _cleanup_json_ json_object *wanted = NULL, *described = NULL;
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason = {};

        SourceSession session = { .set = set, .uid = 990, .is_whole = true };
        g_assert_cmpint(source_make_spec(&session, &wanted), ==, 0);
        if (spec_from_json(spec, wanted, &reason) != 0 || spec_complete(spec, &reason) != 0)
                g_error("%s", reason.text);
        spec_settle_buffer(spec, 64);
        g_assert_cmpint(spec_to_json(spec, &described), ==, 0);
        g_assert_true(source_is_same(described, wanted));
        json_object_object_add(described, "triggers", json_object_new_array());
        g_assert_false(source_is_same(described, wanted));
        g_assert_false(source_is_same(NULL, wanted));
}

#define METRIC(name, rest) "{\"name\":\"" name "\",\"help\":\"h\",\"type\":\"counter\"," rest "}"

/* The metric of a refusal is found, also when others are left out before it. */
static void test_refused(void) {
        _cleanup_(set_free_cleanup) Set *set = sample_read("{\"metrics\":[" METRIC("a",
                        "\"status\":\"x\"") "," METRIC("b", "\"event\":\"s:e\"") "," METRIC("c",
                        "\"probe\":\"p\"") "," METRIC("d", "\"event\":\"s:f\"") "]}");
        bool left_out[4] = { false };
        SourceSession session = { .set = set, .left_out = left_out, .uid = 990 };
        _cleanup_json_ json_object *spec = NULL;
        size_t metric = 9;

        g_assert_true(source_find_refused(&session, "triggers[0].keys[0]: no", &metric));
        g_assert_cmpuint(metric, ==, 1);
        g_assert_true(source_find_refused(&session, "triggers[2]: no", &metric));
        g_assert_cmpuint(metric, ==, 3);
        g_assert_true(source_find_refused(&session, "probe p: no", &metric));
        g_assert_cmpuint(metric, ==, 2);
        g_assert_true(source_find_refused(&session, "\"p\": no such probe; 'k' ...", &metric));
        g_assert_cmpuint(metric, ==, 2);
        left_out[1] = true;
        g_assert_true(source_find_refused(&session, "triggers[0]: no", &metric));
        g_assert_cmpuint(metric, ==, 2);
        g_assert_false(source_find_refused(&session, "triggers[2]: no", &metric));
        g_assert_false(source_find_refused(&session, "probe pp: no", &metric));
        g_assert_false(source_find_refused(&session, "limit reached", &metric));
        g_assert_false(source_find_refused(&session, "", &metric));
        g_assert_cmpint(source_make_spec(&session, &spec), ==, 0);
        g_assert_cmpuint(json_object_array_length(json_object_object_get(spec, "triggers")), ==, 2);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/source/event", test_event);
        g_test_add_func("/source/histogram", test_histogram);
        g_test_add_func("/source/jvm", test_jvm);
        g_test_add_func("/source/pair", test_pair);
        g_test_add_func("/source/pair-name", test_pair_name);
        g_test_add_func("/source/pair-of-probes", test_pair_of_probes);
        g_test_add_func("/source/refused", test_refused);
        g_test_add_func("/source/same", test_same);
        return g_test_run();
}
