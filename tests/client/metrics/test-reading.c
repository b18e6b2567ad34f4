/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answers of ktraced are taken exactly, and wrong ones are refused. */

#include <string.h>

#include "metrics/reading.h"
#include "sample-set.h"

#define HEAD \
        "{\"name\":\"m\",\"hits\":9,\"entries\":2,\"told\":2,\"dropped\":4,\"counted-by\":\"consumer\",\"lost\":3}"

static Set *set_of(const char *type) {
        return sample_read_metric(type,
                        strcmp(type, "histogram") == 0
                                        ? "\"event\":\"s:e\",\"value\":\"v\",\"buckets\":\"log2\","
                                          "\"labels\":[{\"name\":\"l\",\"field\":\"f\"}]"
                                        : "\"event\":\"s:e\",\"max-sets\":9,"
                                          "\"labels\":[{\"name\":\"l\",\"decode\":\"comm\"}]");
}

/* Takes an answer; returns the count of all points, or the code. */
static int take(const char *type, const char *answer, uint64_t *ret, Reason *reason) {
        _cleanup_(set_free_cleanup) Set *set = set_of(type);
        _cleanup_(totals_free_cleanup) Totals *totals = totals_new(&set->metrics[0]);
        const char *labels[] = { "l" };
        MetricHead head = { .type = set->metrics[0].type,
                .name = "m",
                .help = "h",
                .labels = labels,
                .n_labels = 1 };
        MetricSnapshot *snapshot = metric_snapshot_new(0);
        MetricFamily *family;
        Reading reading;

        totals_begin(totals);
        int r = reading_take(answer, &set->metrics[0], totals, &reading, reason);
        if (r == 0)
                r = totals_commit(totals);
        g_assert_cmpint(metric_snapshot_add(snapshot, &head, &family), ==, 0);
        g_assert_cmpint(totals_fill(totals, family), ==, 0);
        *ret = 0;
        for (size_t i = 0; i < family->n_points; i++)
                *ret += family->points[i].count;
        metric_snapshot_unref(snapshot);
        return r;
}

static void test_good(void) {
        _cleanup_(set_free_cleanup) Set *set = set_of("histogram");
        _cleanup_(totals_free_cleanup) Totals *totals = totals_new(&set->metrics[0]);
        Reason reason = {};
        Reading reading;
        uint64_t count;

        totals_begin(totals);
        g_assert_cmpint(reading_take("[" HEAD "]", &set->metrics[0], totals, &reading, &reason),
                        ==,
                        0);
        g_assert_cmpuint(reading.entries, ==, 2);
        g_assert_cmpuint(reading.dropped, ==, 4);
        g_assert_cmpuint(reading.lost, ==, 3);
        g_assert_true(reading.is_of_consumer);

        g_assert_cmpint(take("histogram",
                                        "[" HEAD
                                        ",{\"keys\":{\"v\":{\"from\":257,\"to\":512},\"f\":-1},"
                                        "\"values\":{\"v\":18446744073709551615},\"hitcount\":7}]",
                                        &count,
                                        &reason),
                        ==,
                        0);
        g_assert_cmpuint(count, ==, 7);
        g_assert_cmpint(take("counter",
                                        "[" HEAD
                                        ",{\"keys\":{\"common_pid\":{\"pid\":5,\"comm\":\"sh\"}},"
                                        "\"values\":{},\"hitcount\":3}]",
                                        &count,
                                        &reason),
                        ==,
                        0);
        g_assert_cmpuint(count, ==, 3);
}

static void test_hostile(void) {
        static const struct {
                const char *type, *answer;
        } cases[] = {
                { "counter", "" },
                { "counter", "[" },
                { "counter", "{}" },
                { "counter", "[]" },
                { "counter", "[null]" },
                { "counter", "[[]]" },
                { "counter", "[{\"entries\":\"2\",\"dropped\":0}]" },
                { "counter", "[{\"entries\":2}]" },
                { "counter", "[" HEAD ",null]" },
                { "counter", "[" HEAD ",5]" },
                { "counter", "[" HEAD ",{}]" },
                { "counter", "[" HEAD ",{\"keys\":5,\"hitcount\":1}]" },
                { "counter", "[" HEAD ",{\"keys\":{\"common_pid\":5},\"hitcount\":1}]" },
                { "counter",
                                "[" HEAD
                                ",{\"keys\":{\"common_pid\":{\"pid\":5,\"comm\":6}},\"hitcount\":1}]" },
                { "counter",
                                "[" HEAD
                                ",{\"keys\":{\"common_pid\":{\"pid\":\"5\",\"comm\":\"x\"}},\"hitcount\":1}]" },
                { "counter",
                                "[" HEAD
                                ",{\"keys\":{\"common_pid\":{\"pid\":5,\"comm\":\"x\"}},\"hitcount\":1.5}]" },
                { "histogram",
                                "[" HEAD
                                ",{\"keys\":{\"f\":1},\"values\":{\"v\":1},\"hitcount\":1}]" },
                { "histogram",
                                "[" HEAD
                                ",{\"keys\":{\"f\":1,\"v\":2},\"values\":{\"v\":1},\"hitcount\":1}]" },
                { "histogram",
                                "[" HEAD
                                ",{\"keys\":{\"f\":1,\"v\":{\"to\":[]}},\"values\":{\"v\":1},\"hitcount\":1}]" },
                { "histogram",
                                "[" HEAD
                                ",{\"keys\":{\"f\":1,\"v\":{\"to\":2}},\"values\":[],\"hitcount\":1}]" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                Reason reason = {};
                uint64_t count;

                g_test_message("%s", cases[i].answer);
                g_assert_cmpint(take(cases[i].type, cases[i].answer, &count, &reason), >, 0);
                g_assert_cmpstr(reason.text, !=, "");
                g_assert_cmpuint(count, ==, 0);
        }
}

/* An answer with more rows than any table has takes no memory. */
static void test_too_many(void) {
        GString *answer = g_string_new("[" HEAD);
        Reason reason = {};
        uint64_t count;

        for (unsigned i = 0; i <= SET_ROWS_MAX; i++)
                g_string_append_printf(answer,
                                ",{\"keys\":{\"common_pid\":{\"pid\":%u,\"comm\":\"x\"}},\"hitcount\":1}",
                                i);
        g_string_append_c(answer, ']');
        g_assert_cmpint(take("counter", answer->str, &count, &reason), ==, KT_E_FAILED);
        g_assert_cmpstr(reason.text,
                        ==,
                        "unexpected answer of ktraced: expected at most 8192 rows");
        g_string_free(answer, TRUE);
}

static void test_status(void) {
        static const char answer[] =
                        "{\"status\":{\"sessions\":5,\"totals\":{\"denied\":7},\"version\":\"x\"}}";
        Reason reason = {};
        uint64_t number;

        g_assert_cmpint(reading_find_status(answer, "sessions", &number, &reason), ==, 0);
        g_assert_cmpuint(number, ==, 5);
        g_assert_cmpint(reading_find_status(answer, "totals.denied", &number, &reason), ==, 0);
        g_assert_cmpuint(number, ==, 7);
        g_assert_cmpint(reading_find_status(answer, "version", &number, &reason), ==, KT_E_FAILED);
        g_assert_cmpint(reading_find_status(answer, "none.x", &number, &reason), ==, KT_E_FAILED);
        g_assert_cmpint(reading_find_status("[]", "x", &number, &reason), ==, KT_E_FAILED);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/reading/good", test_good);
        g_test_add_func("/reading/hostile", test_hostile);
        g_test_add_func("/reading/too-many", test_too_many);
        g_test_add_func("/reading/status", test_status);
        return g_test_run();
}
