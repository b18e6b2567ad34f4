/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The OTLP text of the sample, and which settings are refused. */

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>

#include "exporter/otlp-body.h"
#include "exporter/otlp-push.h"
#include "interfaces/json.h"
#include "sample.h"

#define TIMES \
        "\"startTimeUnixNano\":\"1700000000500000000\",\"timeUnixNano\":\"1700000100000000000\""

static json_object *make_body(void) {
        _cleanup_(metric_snapshot_unref_cleanup) MetricSnapshot *snapshot = sample_make(17, 0);
        json_object *body = NULL;
        TextBlock block = {};

        g_assert_cmpint(otlp_body_print(&block, snapshot, "host\"1"), ==, 0);
        g_assert_cmpint(json_parse_strict("body", block.data, block.used, &body, NULL), ==, 0);
        text_block_clear(&block);
        return body;
}

static json_object *get_first(json_object *object, const char *key) {
        return json_object_array_get_idx(json_object_object_get(object, key), 0);
}

static void check_metric(json_object *metrics, size_t i, const char *expected) {
        json_object *metric = json_object_array_get_idx(metrics, i);
        _cleanup_json_ json_object *parsed = NULL;

        g_assert_cmpint(json_parse_strict("expected", expected, strlen(expected), &parsed, NULL),
                        ==,
                        0);
        if (!json_object_equal(metric, parsed))
                g_error("%s instead of %s", json_object_to_json_string(metric), expected);
}

static void test_resource(void) {
        _cleanup_json_ json_object *body = make_body();
        json_object *resource =
                        json_object_object_get(get_first(body, "resourceMetrics"), "resource");

        g_assert_cmpstr(json_object_to_json_string_ext(resource, JSON_C_TO_STRING_PLAIN),
                        ==,
                        "{\"attributes\":["
                        "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"ktrace-metrics\"}},"
                        "{\"key\":\"service.version\",\"value\":{\"stringValue\":\"" KT_VERSION
                        "\"}},"
                        "{\"key\":\"host.name\",\"value\":{\"stringValue\":\"host\\\"1\"}}]}");
}

static void test_metrics(void) {
        _cleanup_json_ json_object *body = make_body();
        json_object *scope = get_first(get_first(body, "resourceMetrics"), "scopeMetrics");
        json_object *metrics = json_object_object_get(scope, "metrics");

        /* Not the private family. */
        g_assert_cmpuint(json_object_array_length(metrics), ==, 4);
        check_metric(metrics,
                        0,
                        "{\"name\":\"ktrace_calls\","
                        "\"description\":\"Calls with \\\\ and \\\"quotes\\\"\\nin two lines\","
                        "\"unit\":\"\",\"sum\":{\"isMonotonic\":true,\"aggregationTemporality\":2,"
                        "\"dataPoints\":[{\"attributes\":["
                        "{\"key\":\"call\",\"value\":{\"stringValue\":\"read\"}},"
                        "{\"key\":\"error\",\"value\":{\"stringValue\":\"\"}}]," TIMES
                        ",\"asInt\":\"17\"},{\"attributes\":["
                        "{\"key\":\"call\",\"value\":{\"stringValue\":\"a\\\"b\\\\c\xef\xbf\xbd"
                        "d\xef\xbf\xbd\xef\xbf\xbd[2J\"}},"
                        "{\"key\":\"error\",\"value\":{\"stringValue\":\"EPERM\"}}]," TIMES
                        ",\"asDouble\":18446744073709551615}]}}");
        check_metric(metrics,
                        1,
                        "{\"name\":\"ktrace_gap\",\"description\":\"Last gap\",\"unit\":\"s\","
                        "\"gauge\":{\"dataPoints\":[{\"attributes\":[],"
                        "\"timeUnixNano\":\"1700000100000000000\",\"asDouble\":3e-06}]}}");
        check_metric(metrics,
                        3,
                        "{\"name\":\"ktrace_size\",\"description\":\"Size\",\"unit\":\"By\","
                        "\"histogram\":{\"aggregationTemporality\":2,\"dataPoints\":["
                        "{\"attributes\":[],\"timeUnixNano\":\"1700000100000000000\","
                        "\"count\":\"8\",\"sum\":500,\"bucketCounts\":[\"7\",\"1\",\"0\"],"
                        "\"explicitBounds\":[99,199]}]}}");
}

/* The buckets of the kernel, in microseconds. */
static void test_exponential(void) {
        _cleanup_json_ json_object *body = make_body();
        json_object *scope = get_first(get_first(body, "resourceMetrics"), "scopeMetrics");
        json_object *metric =
                        json_object_array_get_idx(json_object_object_get(scope, "metrics"), 2);
        json_object *points = json_object_object_get(
                        json_object_object_get(metric, "exponentialHistogram"), "dataPoints");

        g_assert_cmpstr(json_object_get_string(json_object_object_get(metric, "name")),
                        ==,
                        "ktrace_latency");
        g_assert_cmpstr(json_object_get_string(json_object_object_get(metric, "unit")), ==, "us");
        check_metric(points,
                        0,
                        "{\"attributes\":[{\"key\":\"device\",\"value\":{\"stringValue\":\"sda\"}}]," TIMES
                        ",\"count\":\"6\",\"sum\":16,\"scale\":0,\"zeroCount\":\"0\","
                        "\"positive\":{\"offset\":0,\"bucketCounts\":[\"5\",\"0\",\"1\"]}}");
        json_object *positive =
                        json_object_object_get(json_object_array_get_idx(points, 1), "positive");
        json_object *counts = json_object_object_get(positive, "bucketCounts");
        /* (2^1, 2^2] to (2^63, 2^64] */
        g_assert_cmpint(json_object_get_int(json_object_object_get(positive, "offset")), ==, 1);
        g_assert_cmpuint(json_object_array_length(counts), ==, 63);
}

static int try_settings(const OtlpSettings *settings, Reason *reason) {
        _cleanup_(otlp_push_free_cleanup) OtlpPush *push = NULL;
        _cleanup_(board_free_cleanup) Board *board = board_new();

        return otlp_push_new(settings, board, &push, reason);
}

static void test_settings(void) {
        static const struct {
                const char *endpoint, *headers, *reason;
        } cases[] = {
                { "https://collector:4318", "Authorization: Bearer s3cret\n\nX-Scope: a\n", NULL },
                { "http://127.0.0.1:4318/", "Authorization: Bearer s3cret\n", NULL },
                { "http://collector:4318", NULL, NULL },
                { "ftp://collector", NULL, "expected http:// or https://" },
                { "collector:4318", NULL, "otlp: endpoint" },
                { "https://user:s3cret@collector:x", NULL, "expected a URL" },
                { "https://user:s3cret@collector", NULL, "https://collector: expected no user" },
                { "https://s3cret@collector", NULL, "https://collector: expected no user" },
                { "http://[::1]:4318/?key=s3cret",
                                NULL,
                                "http://[::1]: expected no user and no query" },
                { "ftp://user:s3cret@collector/s3cret", NULL, "ftp://collector: expected http" },
                { "http://collector:4318/s3cret", "A: b\n", "http://collector: headers" },
                { "http://collector:4318", "Authorization: Bearer s3cret\n", "require https://" },
                { "https://collector", "no header\n", "expected a line" },
                { "https://collector", "A: b\n\nno header\n", ":3: expected a line" },
                { "https://collector", ": value\n", "expected a line" },
                { "https://collector", "A b: value\n", "expected a line" },
                { "https://collector", "A: \x01\n", "expected a line" },
        };

        _cleanup_free_ char *path = g_build_filename(g_get_tmp_dir(), "metrics-otlp-XXXXXX", NULL);

        close(g_mkstemp(path));
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                OtlpSettings settings = {
                        .endpoint = cases[i].endpoint,
                        .headers_file = cases[i].headers ? path : NULL,
                        .interval_usec = UINT64_C(3600000000),
                };
                Reason reason = {};

                g_assert_true(g_file_set_contents(path, cases[i].headers ?: "", -1, NULL));
                int r = try_settings(&settings, &reason);
                g_assert_cmpint(r, ==, cases[i].reason ? KT_E_INVALID_SPEC : 0);
                g_assert_true(!cases[i].reason || strstr(reason.text, cases[i].reason));
                /* Not the secret. */
                g_assert_null(strstr(reason.text, "s3cret"));
        }
        (void)g_unlink(path);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/metrics-otlp/resource", test_resource);
        g_test_add_func("/metrics-otlp/metrics", test_metrics);
        g_test_add_func("/metrics-otlp/exponential", test_exponential);
        g_test_add_func("/metrics-otlp/settings", test_settings);
        return g_test_run();
}
