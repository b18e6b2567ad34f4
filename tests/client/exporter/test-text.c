/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The texts of the sample, byte by byte, and the numbers in them. */

#include <errno.h>
#include <glib.h>
#include <math.h>

#include "exporter/number-text.h"
#include "exporter/text-format.h"
#include "sample.h"

#define VALUE                     \
        "a\\\"b\\\\c\xef\xbf\xbd" \
        "d\xef\xbf\xbd\xef\xbf\xbd[2J" /* of SAMPLE_HOSTILE */

static const char prometheus_text[] =
                "# HELP ktrace_calls_total Calls with \\\\ and \"quotes\"\\nin two lines\n"
                "# TYPE ktrace_calls_total counter\n"
                "ktrace_calls_total{call=\"read\",error=\"\"} 17\n"
                "ktrace_calls_total{call=\"" VALUE "\",error=\"EPERM\"} 18446744073709551615\n"
                "# HELP ktrace_gap_seconds Last gap\n"
                "# TYPE ktrace_gap_seconds gauge\n"
                "ktrace_gap_seconds 3e-06\n"
                "# HELP ktrace_latency_seconds Latency\n"
                "# TYPE ktrace_latency_seconds histogram\n"
                "ktrace_latency_seconds_bucket{device=\"sda\",le=\"2e-06\"} 5\n"
                "ktrace_latency_seconds_bucket{device=\"sda\",le=\"4e-06\"} 5\n"
                "ktrace_latency_seconds_bucket{device=\"sda\",le=\"8e-06\"} 6\n"
                "ktrace_latency_seconds_bucket{device=\"sda\",le=\"+Inf\"} 6\n"
                "ktrace_latency_seconds_sum{device=\"sda\"} 1.6e-05\n"
                "ktrace_latency_seconds_count{device=\"sda\"} 6\n"
                "ktrace_latency_seconds_bucket{device=\"sdb\",le=\"2e-06\"} 0\n"
                "ktrace_latency_seconds_bucket{device=\"sdb\",le=\"4e-06\"} 2\n"
                "ktrace_latency_seconds_bucket{device=\"sdb\",le=\"8e-06\"} 2\n"
                "ktrace_latency_seconds_bucket{device=\"sdb\",le=\"+Inf\"} 3\n"
                "ktrace_latency_seconds_sum{device=\"sdb\"} 9e-06\n"
                "ktrace_latency_seconds_count{device=\"sdb\"} 3\n"
                "# HELP ktrace_size_bytes Size\n"
                "# TYPE ktrace_size_bytes histogram\n"
                "ktrace_size_bytes_bucket{le=\"99\"} 7\n"
                "ktrace_size_bytes_bucket{le=\"199\"} 8\n"
                "ktrace_size_bytes_bucket{le=\"+Inf\"} 8\n"
                "ktrace_size_bytes_sum 500\n"
                "ktrace_size_bytes_count 8\n";

static const char prometheus_private[] = "# HELP ktrace_private_total By name of the task\n"
                                         "# TYPE ktrace_private_total counter\n"
                                         "ktrace_private_total{comm=\"secret\"} 1\n";

static const char openmetrics_text[] =
                "# HELP ktrace_calls Calls with \\\\ and \\\"quotes\\\"\\nin two lines\n"
                "# TYPE ktrace_calls counter\n"
                "ktrace_calls_total{call=\"read\",error=\"\"} 17\n"
                "ktrace_calls_created{call=\"read\",error=\"\"} 1700000000.500000000\n"
                "ktrace_calls_total{call=\"" VALUE "\",error=\"EPERM\"} 18446744073709551615\n"
                "ktrace_calls_created{call=\"" VALUE "\",error=\"EPERM\"} 1700000000.500000000\n"
                "# HELP ktrace_gap_seconds Last gap\n"
                "# TYPE ktrace_gap_seconds gauge\n"
                "# UNIT ktrace_gap_seconds seconds\n"
                "ktrace_gap_seconds 3e-06\n"
                "# HELP ktrace_latency_seconds Latency\n"
                "# TYPE ktrace_latency_seconds histogram\n"
                "# UNIT ktrace_latency_seconds seconds\n"
                "ktrace_latency_seconds_bucket{device=\"sda\",le=\"2e-06\"} 5\n"
                "ktrace_latency_seconds_bucket{device=\"sda\",le=\"4e-06\"} 5\n"
                "ktrace_latency_seconds_bucket{device=\"sda\",le=\"8e-06\"} 6\n"
                "ktrace_latency_seconds_bucket{device=\"sda\",le=\"+Inf\"} 6\n"
                "ktrace_latency_seconds_sum{device=\"sda\"} 1.6e-05\n"
                "ktrace_latency_seconds_count{device=\"sda\"} 6\n"
                "ktrace_latency_seconds_created{device=\"sda\"} 1700000000.500000000\n"
                "ktrace_latency_seconds_bucket{device=\"sdb\",le=\"2e-06\"} 0\n"
                "ktrace_latency_seconds_bucket{device=\"sdb\",le=\"4e-06\"} 2\n"
                "ktrace_latency_seconds_bucket{device=\"sdb\",le=\"8e-06\"} 2\n"
                "ktrace_latency_seconds_bucket{device=\"sdb\",le=\"+Inf\"} 3\n"
                "ktrace_latency_seconds_sum{device=\"sdb\"} 9e-06\n"
                "ktrace_latency_seconds_count{device=\"sdb\"} 3\n"
                "ktrace_latency_seconds_created{device=\"sdb\"} 1700000000.500000000\n"
                "# HELP ktrace_size_bytes Size\n"
                "# TYPE ktrace_size_bytes histogram\n"
                "# UNIT ktrace_size_bytes bytes\n"
                "ktrace_size_bytes_bucket{le=\"99.0\"} 7\n"
                "ktrace_size_bytes_bucket{le=\"199.0\"} 8\n"
                "ktrace_size_bytes_bucket{le=\"+Inf\"} 8\n"
                "ktrace_size_bytes_sum 500\n"
                "ktrace_size_bytes_count 8\n"
                "# EOF\n";

static const char json_text[] =
                "{\"taken\":1700000100,\"families\":["
                "{\"name\":\"ktrace_calls\",\"type\":\"counter\","
                "\"help\":\"Calls with \\\\ and \\\"quotes\\\"\\u000ain two lines\","
                "\"created\":1700000000.500000000,\"points\":["
                "{\"labels\":{\"call\":\"read\",\"error\":\"\"},\"value\":17},"
                "{\"labels\":{\"call\":\"" VALUE "\",\"error\":\"EPERM\"},"
                "\"value\":18446744073709551615}]},"
                "{\"name\":\"ktrace_gap_seconds\",\"type\":\"gauge\",\"help\":\"Last gap\","
                "\"unit\":\"seconds\",\"points\":[{\"labels\":{},\"value\":3e-06}]},"
                "{\"name\":\"ktrace_latency_seconds\",\"type\":\"histogram\","
                "\"help\":\"Latency\",\"unit\":\"seconds\",\"created\":1700000000.500000000,"
                "\"points\":[{\"labels\":{\"device\":\"sda\"},\"buckets\":["
                "{\"le\":2e-06,\"count\":5},{\"le\":4e-06,\"count\":5},{\"le\":8e-06,\"count\":6}],"
                "\"count\":6,\"sum\":1.6e-05},"
                "{\"labels\":{\"device\":\"sdb\"},\"buckets\":["
                "{\"le\":2e-06,\"count\":0},{\"le\":4e-06,\"count\":2},{\"le\":8e-06,\"count\":2}],"
                "\"count\":3,\"sum\":9e-06}]},"
                "{\"name\":\"ktrace_size_bytes\",\"type\":\"histogram\",\"help\":\"Size\","
                "\"unit\":\"bytes\",\"points\":[{\"labels\":{},\"buckets\":["
                "{\"le\":99,\"count\":7},{\"le\":199,\"count\":8}],\"count\":8,\"sum\":500}]}]}\n";

static char *print(const MetricSnapshot *snapshot, TextFormat format, bool has_private) {
        TextBlock block = {};

        g_assert_cmpint(text_format_print(&block, snapshot, format, has_private), ==, 0);
        text_block_add_char(&block, '\0');
        return block.data;
}

static void check(TextFormat format, bool has_private, const char *expected) {
        _cleanup_(metric_snapshot_unref_cleanup) MetricSnapshot *snapshot = sample_make(17, 0);
        _cleanup_free_ char *text = print(snapshot, format, has_private);

        g_assert_cmpstr(text, ==, expected);
}

static void test_prometheus(void) {
        _cleanup_free_ char *both = NULL;

        check(TEXT_PROMETHEUS, false, prometheus_text);
        g_assert_cmpint(asprintf(&both, "%s%s", prometheus_text, prometheus_private), >, 0);
        check(TEXT_PROMETHEUS, true, both);
}

static void test_openmetrics(void) {
        check(TEXT_OPENMETRICS, false, openmetrics_text);
}

static void test_json(void) {
        check(TEXT_JSON, false, json_text);
}

static void test_nothing(void) {
        static const struct {
                TextFormat format;
                const char *text;
        } texts[] = {
                { TEXT_PROMETHEUS, "" },
                { TEXT_OPENMETRICS, "# EOF\n" },
                { TEXT_JSON, "{\"taken\":0,\"families\":[]}\n" },
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                _cleanup_free_ char *text = print(NULL, texts[i].format, true);

                g_assert_cmpstr(text, ==, texts[i].text);
        }
}

static void test_too_long(void) {
        _cleanup_(metric_snapshot_unref_cleanup) MetricSnapshot *snapshot = sample_make(1, 300000);
        TextBlock block = {};

        g_assert_cmpint(text_format_print(&block, snapshot, TEXT_PROMETHEUS, false), ==, -EFBIG);
        text_block_clear(&block);
}

static void check_number(uint64_t number, double scale, const char *expected) {
        TextBlock block = {};

        number_text_add(&block, number, scale);
        text_block_add_char(&block, '\0');
        g_assert_cmpstr(block.data, ==, expected);
        g_assert_true(scale == 1 ||
                        strtod(block.data, NULL) == number_text_get_value(number, scale));
        text_block_clear(&block);
}

static void test_numbers(void) {
        check_number(0, 1, "0");
        check_number(UINT64_MAX, 1, "18446744073709551615");
        check_number((UINT64_C(1) << 53) + 1, 1, "9007199254740993");
        check_number(0, 1e-6, "0");
        check_number(3, 1e-6, "3e-06");
        check_number(1048576, 1e-6, "1.048576");
        check_number(123456789, 1e-9, "0.123456789");
        check_number(7, 0.1, "0.7");
        check_number(1, 1.0 / 3, "0.3333333333333333");
        check_number(3, 512, "1536");
        check_number(UINT64_MAX, 1e-9, "18446744073.709553");
        check_number(UINT64_MAX, 1e10, "1.844674407370955e+29");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/metrics-text/prometheus", test_prometheus);
        g_test_add_func("/metrics-text/openmetrics", test_openmetrics);
        g_test_add_func("/metrics-text/json", test_json);
        g_test_add_func("/metrics-text/nothing", test_nothing);
        g_test_add_func("/metrics-text/too-long", test_too_long);
        g_test_add_func("/metrics-text/numbers", test_numbers);
        return g_test_run();
}
