/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The answers of io.systemd.Metrics to well-formed and other calls. */

#include <errno.h>
#include <glib.h>

#include "exporter/report-answer.h"
#include "exporter/report-server.h"
#include "interfaces/json.h"
#include "interfaces/varlink-message.h"
#include "sample.h"

#define MORE(method) "{\"method\":\"io.systemd.Metrics." method "\",\"more\":true}"

/* Returns the answers; the messages are separated by newlines instead of NULs. */
static char *ask_lists(ReportLists *lists, const char *message) {
        TextBlock block = {};

        g_assert_cmpint(report_answer_print(&block, lists, message, strlen(message)), ==, 0);
        for (size_t i = 0; i < block.used; i++)
                if (block.data[i] == '\0')
                        block.data[i] = '\n';
        text_block_add_char(&block, '\0');
        return block.data;
}

static char *ask(MetricSnapshot *snapshot, const char *message) {
        ReportLists lists = {};

        report_lists_set_snapshot(&lists, snapshot ? metric_snapshot_ref(snapshot) : NULL);
        char *text = ask_lists(&lists, message);
        report_lists_clear(&lists);
        return text;
}

static void check(const char *message, const char *expected) {
        _cleanup_(metric_snapshot_unref_cleanup) MetricSnapshot *snapshot = sample_make(17, 0);
        _cleanup_free_ char *text = ask(snapshot, message);

        g_assert_cmpstr(text, ==, expected);
}

static void test_list(void) {
        check(MORE("List"),
                        "{\"parameters\":{\"name\":\"org.ktrace1.Calls\",\"value\":17,"
                        "\"fields\":{\"call\":\"read\",\"error\":\"\"}},\"continues\":true}\n"
                        "{\"parameters\":{\"name\":\"org.ktrace1.Calls\","
                        "\"value\":18446744073709551615,\"fields\":{\"call\":"
                        "\"a\\\"b\\\\c\xef\xbf\xbd"
                        "d\xef\xbf\xbd\xef\xbf\xbd[2J\",\"error\":\"EPERM\"}},\"continues\":true}\n"
                        "{\"parameters\":{\"name\":\"org.ktrace1.GapSeconds\",\"value\":3e-06}}\n");
}

static void test_describe(void) {
        check(MORE("Describe"),
                        "{\"parameters\":{\"name\":\"org.ktrace1.Calls\",\"description\":\"Calls with "
                        "\\\\ and \\\"quotes\\\"\\u000ain two lines\",\"type\":\"counter\"},"
                        "\"continues\":true}\n"
                        "{\"parameters\":{\"name\":\"org.ktrace1.GapSeconds\",\"description\":"
                        "\"Last gap\",\"type\":\"gauge\"}}\n");
}

static void test_empty(void) {
        static const char none[] =
                        "{\"error\":\"io.systemd.Metrics.NoSuchMetric\",\"parameters\":{}}\n";
        _cleanup_free_ char *list = ask(NULL, MORE("List")),
                            *described = ask(NULL, MORE("Describe"));

        g_assert_cmpstr(list, ==, none);
        g_assert_cmpstr(described, ==, none);
}

static size_t count_metrics(size_t n_sets, bool *ret_has_many) {
        _cleanup_(metric_snapshot_unref_cleanup) MetricSnapshot *snapshot = sample_make(1, n_sets);
        _cleanup_free_ char *text = ask(snapshot, MORE("List"));
        size_t n = 0;

        *ret_has_many = strstr(text, "org.ktrace1.Many");
        for (const char *p = text; (p = strchr(p, '\n')); p++)
                n++;
        return n;
}

/* A list is made once for a snapshot, and belongs to it. */
static void test_once(void) {
        ReportLists lists = {};

        for (uint64_t calls = 17; calls < 19; calls++) {
                MetricSnapshot *snapshot = sample_make(calls, 0);
                g_autofree char *number = g_strdup_printf("\"value\":%d,", (int)calls);

                report_lists_set_snapshot(&lists, metric_snapshot_ref(snapshot));
                _cleanup_free_ char *first = ask_lists(&lists, MORE("List"));
                _cleanup_free_ char *described = ask_lists(&lists, MORE("Describe"));
                const char *made = lists.texts[0].data;
                report_lists_set_snapshot(&lists, snapshot);
                _cleanup_free_ char *second = ask_lists(&lists, MORE("List"));
                g_assert_true(lists.texts[0].data == made);
                g_assert_cmpstr(second, ==, first);
                g_assert_nonnull(strstr(first, number));
                g_assert_null(strstr(described, "value"));
        }
        report_lists_clear(&lists);
}

/* A family is listed as a whole or not at all. */
static void test_limit(void) {
        bool has_many;

        g_assert_cmpuint(count_metrics(REPORT_METRICS_MAX - 3, &has_many), ==, REPORT_METRICS_MAX);
        g_assert_true(has_many);
        g_assert_cmpuint(count_metrics(REPORT_METRICS_MAX - 2, &has_many), ==, 3);
        g_assert_false(has_many);
}

static void test_service(void) {
        _cleanup_free_ char *info = ask(NULL, "{\"method\":\"org.varlink.service.GetInfo\"}");
        _cleanup_free_ char *description = ask(NULL,
                        "{\"method\":\"org.varlink.service.GetInterfaceDescription\","
                        "\"parameters\":{\"interface\":\"io.systemd.Metrics\"}}");

        g_assert_nonnull(strstr(info, "\"org.varlink.service\",\"io.systemd.Metrics\""));
        g_assert_nonnull(strstr(description, "interface io.systemd.Metrics\\u000a"));
}

static void test_refused(void) {
        static const struct {
                const char *message, *error, *detail;
        } cases[] = {
                { "{\"method\":\"io.systemd.Metrics.List\"}", "ExpectedMore", "{}" },
                { "{\"method\":\"io.systemd.Metrics.Describe\",\"more\":false}",
                                "ExpectedMore",
                                "{}" },
                { "{\"method\":\"io.systemd.Metrics.List\",\"more\":true,\"parameters\":{\"a\":1}}",
                                "InvalidParameter",
                                "\"parameter\":\"a\"" },
                { "{\"method\":\"io.systemd.Metrics.Set\"}",
                                "MethodNotFound",
                                "\"method\":\"io.systemd.Metrics.Set\"" },
                { "{\"method\":\"org.ktrace1.CreateSession\"}",
                                "InterfaceNotFound",
                                "\"interface\":\"org.ktrace1\"" },
                { "{\"method\":\"org.varlink.service.GetInterfaceDescription\"}",
                                "InvalidParameter",
                                "\"parameter\":\"interface\"" },
                { "{\"method\":\"org.varlink.service.GetInterfaceDescription\","
                  "\"parameters\":{\"interface\":\"org.ktrace1\"}}",
                                "InterfaceNotFound",
                                "\"interface\":\"org.ktrace1\"" },
                { "{\"method\":\"org.varlink.service.GetInfo\",\"parameters\":{\"\\u001b\":1}}",
                                "InvalidParameter",
                                "\\u001b" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *text = ask(NULL, cases[i].message);
                _cleanup_free_ char *error = NULL;

                g_assert_cmpint(asprintf(&error, "\"org.varlink.service.%s\"", cases[i].error),
                                >,
                                0);
                g_assert_nonnull(strstr(text, error));
                g_assert_nonnull(strstr(text, cases[i].detail));
        }
}

static void test_not_answered(void) {
        static const char *const malformed[] = {
                "", "{}", "[]", "x", "{\"method\":\"List\"}", "{\"method\":\"a.B\",\"unknown\":1}"
        };
        ReportLists lists = {};
        TextBlock block = {};

        check("{\"method\":\"io.systemd.Metrics.List\",\"oneway\":true}", "");
        for (size_t i = 0; i < ELEMENTSOF(malformed); i++)
                g_assert_cmpint(report_answer_print(
                                                &block, &lists, malformed[i], strlen(malformed[i])),
                                ==,
                                -EBADMSG);
        g_assert_cmpuint(block.used, ==, 0);
        text_block_clear(&block);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/metrics-report/list", test_list);
        g_test_add_func("/metrics-report/describe", test_describe);
        g_test_add_func("/metrics-report/empty", test_empty);
        g_test_add_func("/metrics-report/once", test_once);
        g_test_add_func("/metrics-report/limit", test_limit);
        g_test_add_func("/metrics-report/service", test_service);
        g_test_add_func("/metrics-report/refused", test_refused);
        g_test_add_func("/metrics-report/not-answered", test_not_answered);
        return g_test_run();
}
