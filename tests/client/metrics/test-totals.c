/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Totals are exact, bounded, and never decrease. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "metrics/totals.h"
#include "sample-set.h"

#define LABEL_F "\"event\":\"s:e\",\"labels\":[{\"name\":\"l\",\"field\":\"f\"}]"

typedef struct Fixture {
        Set *set;
        Totals *totals;
} Fixture;

static Fixture fixture_new(const char *type, const char *rest) {
        Fixture fixture = { .set = sample_read_metric(type, rest) };

        fixture.totals = totals_new(&fixture.set->metrics[0]);
        g_assert_nonnull(fixture.totals);
        return fixture;
}

static void fixture_clear(Fixture *fixture) {
        totals_free(fixture->totals);
        set_free(fixture->set);
}

static void add(Fixture *fixture, uint64_t key, uint64_t last, uint64_t count, uint64_t sum) {
        TotalsRow row = { .keys = { { .number = key } }, .last = last, .count = count, .sum = sum };

        g_assert_cmpint(totals_add(fixture->totals, &row), ==, 0);
}

static void begin(Fixture *fixture) {
        totals_begin(fixture->totals);
}

static void commit(Fixture *fixture) {
        g_assert_cmpint(totals_commit(fixture->totals), ==, 0);
}

/* "a=5 b=7" in the order of the points; of histograms also count, sum and buckets. */
static char *show(Fixture *fixture) {
        const char *labels[] = { "l" };
        const SetMetric *metric = &fixture->set->metrics[0];
        MetricHead head = { .type = metric->type,
                .name = "m",
                .help = "h",
                .labels = labels,
                .n_labels = metric->n_labels };
        MetricSnapshot *snapshot = metric_snapshot_new(0);
        GString *text = g_string_new("");
        MetricFamily *family;

        g_assert_cmpint(metric_snapshot_add(snapshot, &head, &family), ==, 0);
        g_assert_cmpint(totals_fill(fixture->totals, family), ==, 0);
        for (size_t i = 0; i < family->n_points; i++) {
                const MetricPoint *point = &family->points[i];

                g_string_append_printf(text,
                                "%s%s=%" PRIu64,
                                i > 0 ? " " : "",
                                point->labels[0] ?: "",
                                point->number);
                if (metric->type == METRIC_HISTOGRAM)
                        g_string_append_printf(text, "/%" PRIu64, point->sum);
                for (size_t j = 0; j < point->n_buckets; j++)
                        g_string_append_printf(text,
                                        ",%" PRIu64 ":%" PRIu64,
                                        point->buckets[j].last,
                                        point->buckets[j].count);
        }
        metric_snapshot_unref(snapshot);
        return g_string_free(text, FALSE);
}

static void expect(Fixture *fixture, const char *text) {
        g_autofree char *shown = show(fixture);

        g_assert_cmpstr(shown, ==, text);
}

/* Several readings, and rows with equal keys in one of them. */
static void test_counter(void) {
        Fixture f = fixture_new("counter", LABEL_F);

        expect(&f, "");
        begin(&f);
        add(&f, 7, 0, 5, 0);
        add(&f, 3, 0, 1, 0);
        add(&f, 7, 0, 2, 0);
        commit(&f);
        expect(&f, "7=7 3=1");
        begin(&f);
        add(&f, 1, 0, 4, 0);
        add(&f, 3, 0, 6, 0);
        add(&f, 7, 0, 7, 0);
        commit(&f);
        expect(&f, "7=7 3=6 1=4");
        begin(&f); /* a row that is missing keeps its count */
        add(&f, 3, 0, 8, 0);
        commit(&f);
        begin(&f);
        add(&f, 7, 0, 9, 0);
        commit(&f);
        expect(&f, "7=9 3=8 1=4");
        fixture_clear(&f);
}

/* A reading that fails in the middle counts nothing, and the next one counts all. */
static void test_half(void) {
        Fixture f = fixture_new("counter", LABEL_F);

        begin(&f);
        add(&f, 7, 0, 5, 0);
        begin(&f);
        add(&f, 7, 0, 6, 0);
        commit(&f);
        expect(&f, "7=6");
        fixture_clear(&f);
}

static void test_restart(void) {
        Fixture f = fixture_new("counter", LABEL_F);

        begin(&f);
        add(&f, 7, 0, 5, 0);
        commit(&f);
        totals_restart(f.totals);
        begin(&f);
        add(&f, 7, 0, 5, 0); /* the same number, of the new session */
        commit(&f);
        expect(&f, "7=10");
        begin(&f);
        add(&f, 7, 0, 2, 0); /* the table was cleared by another program */
        commit(&f);
        expect(&f, "7=12");
        fixture_clear(&f);
}

/* What a predecessor has reported is not counted again. */
static void test_skip(void) {
        Fixture f = fixture_new("counter", LABEL_F);

        begin(&f);
        add(&f, 7, 0, 500, 0);
        totals_skip(f.totals);
        begin(&f);
        add(&f, 7, 0, 503, 0);
        commit(&f);
        expect(&f, "7=3");
        fixture_clear(&f);
}

static void test_other(void) {
        Fixture f = fixture_new("counter", LABEL_F ",\"max-sets\":2");

        begin(&f);
        for (uint64_t i = 0; i < 5; i++)
                add(&f, i, 0, 10 + i, 0);
        commit(&f);
        expect(&f, "0=10 1=11 other=39");
        g_assert_cmpuint(totals_get_other(f.totals), ==, 39);
        begin(&f);
        add(&f, 1, 0, 12, 0);
        add(&f, 4, 0, 15, 0);
        commit(&f);
        expect(&f, "0=10 1=12 other=40");
        fixture_clear(&f);
}

static void test_sum(void) {
        Fixture f = fixture_new("counter", LABEL_F ",\"value\":\"bytes\"");

        begin(&f);
        add(&f, 1, 0, 2, 1000);
        commit(&f);
        begin(&f);
        add(&f, 1, 0, 3, 1500);
        commit(&f);
        expect(&f, "1=1500");
        fixture_clear(&f);
}

static void test_without_labels(void) {
        Fixture f = fixture_new("counter", "\"event\":\"s:e\"");

        begin(&f);
        commit(&f);
        expect(&f, "=0");
        begin(&f);
        add(&f, 0, 0, 2, 0); /* a row for each CPU */
        add(&f, 0, 0, 3, 0);
        commit(&f);
        expect(&f, "=5");
        fixture_clear(&f);
}

static void test_log2(void) {
        Fixture f = fixture_new("histogram", LABEL_F ",\"value\":\"v\",\"buckets\":\"log2\"");

        begin(&f);
        add(&f, 1, 512, 2, 800);
        add(&f, 1, 4, 1, 3);
        add(&f, 1, 0, 1, 0);
        add(&f, 1, 1, 1, 1);
        add(&f, 1, UINT64_MAX, 1, 7);
        commit(&f);
        expect(&f, "1=6/811,1:2,4:1,512:2,18446744073709551615:1");
        begin(&f);
        add(&f, 1, 64, 1, 60);
        add(&f, 1, 512, 3, 1200);
        commit(&f);
        expect(&f, "1=8/1271,1:2,4:1,64:1,512:3,18446744073709551615:1");
        fixture_clear(&f);
}

/* The number of buckets is bounded. */
static void test_linear(void) {
        Fixture f = fixture_new(
                        "histogram", LABEL_F ",\"value\":\"v\",\"buckets\":{\"linear\":100}");

        begin(&f);
        add(&f, 1, 99, 1, 5);
        add(&f, 1, 199, 2, 300);
        for (uint64_t i = 0; i < 1000; i++)
                add(&f, 1, 100 * (SET_LINEAR_MAX + i) - 1, 1, 1);
        commit(&f);
        expect(&f, "1=1003/1305,99:1,199:2,18446744073709551615:1000");
        fixture_clear(&f);
}

/* More rows than a table can have are refused, and numbers do not wrap. */
static void test_hostile(void) {
        Fixture f = fixture_new("counter", LABEL_F ",\"max-sets\":8192");
        TotalsRow row = { .count = 1 };

        begin(&f);
        for (uint64_t i = 0; i < SET_ROWS_MAX; i++) {
                row.keys[0].number = i;
                g_assert_cmpint(totals_add(f.totals, &row), ==, 0);
        }
        row.keys[0].number = SET_ROWS_MAX;
        g_assert_cmpint(totals_add(f.totals, &row), ==, -E2BIG);
        commit(&f);
        fixture_clear(&f);

        f = fixture_new("counter", LABEL_F);
        begin(&f);
        add(&f, 1, 0, UINT64_MAX, 0);
        add(&f, 1, 0, UINT64_MAX, 0);
        commit(&f);
        totals_restart(f.totals);
        begin(&f);
        add(&f, 1, 0, 5, 0);
        commit(&f);
        expect(&f, "1=18446744073709551615");
        fixture_clear(&f);
}

/* A step of FNV-1a, of which only the bits matter that choose one of 16384 slots. */
static uint32_t hash_byte(uint32_t hash, uint64_t byte) {
        return ((hash ^ (uint32_t)(byte & 0xff)) * 435) % 16384;
}

/* Numbers that all have one slot if the hash of a row begins with 0 and its lower bits choose: the
 * last two bytes lead from the place where the others end to the same one. */
static void choose_numbers(uint64_t numbers[static SET_ROWS_MAX]) {
        static uint16_t ends[16384];

        for (uint32_t from = 0; from < 16384; from++)
                for (uint32_t i = 0; i <= UINT16_MAX; i++)
                        if (hash_byte(hash_byte(from, i), i >> 8) == 0) {
                                ends[from] = (uint16_t)i;
                                break;
                        }
        for (uint64_t i = 0; i < SET_ROWS_MAX; i++) {
                uint32_t hash = 0;

                for (unsigned byte = 0; byte < 6; byte++)
                        hash = hash_byte(hash, i >> 8 * byte);
                numbers[i] = i | (uint64_t)ends[hash] << 48;
        }
}

/* CPU time to add rows with these numbers. */
static clock_t measure(const uint64_t numbers[static SET_ROWS_MAX]) {
        Fixture f = fixture_new("counter", LABEL_F ",\"max-sets\":8192");
        clock_t before = clock();

        begin(&f);
        for (size_t i = 0; i < SET_ROWS_MAX; i++)
                add(&f, numbers[i], 0, 1, 0);
        clock_t spent = clock() - before;
        fixture_clear(&f);
        return spent;
}

/* No program can choose keys for which the index becomes a list: that takes 15 times as long. */
static void test_collisions(void) {
        static uint64_t chosen[SET_ROWS_MAX], others[SET_ROWS_MAX];

        choose_numbers(chosen);
        for (size_t i = 0; i < SET_ROWS_MAX; i++)
                others[i] = chosen[i] ^ UINT64_C(0x5a0000);
        clock_t of_chosen = measure(chosen), of_others = measure(others);
        g_test_message("%ld and %ld us", of_chosen, of_others);
        g_assert_cmpint(of_chosen, <, 5 * of_others);
}

/* What was counted for a unit stays counted for it when its task has ended. */
static void test_volatile(void) {
        Fixture f = fixture_new("counter",
                        "\"event\":\"s:e\",\"max-sets\":5,\"labels\":[{\"name\":\"l\",\"field\":"
                        "\"common_pid\",\"decode\":\"unit\"}]");
        uint64_t gone = UINT32_MAX;

        begin(&f);
        add(&f, 0, 0, 5, 0);
        add(&f, gone, 0, 2, 0);
        commit(&f);
        expect(&f, "-.slice=5 unknown=2");
        begin(&f);
        add(&f, 0, 0, 6, 0);
        add(&f, gone, 0, 3, 0);
        commit(&f);
        expect(&f, "-.slice=6 unknown=3");
        fixture_clear(&f);
}

/* A reload goes on with the counts; a lower max-sets holds for new label sets. */
static void test_move(void) {
        Fixture f = fixture_new("counter", LABEL_F);
        _cleanup_(set_free_cleanup) Set *next =
                        sample_read_metric("counter", LABEL_F ",\"max-sets\":1");

        begin(&f);
        add(&f, 1, 0, 1, 0);
        add(&f, 2, 0, 2, 0);
        commit(&f);
        totals_move(f.totals, &next->metrics[0]);
        totals_restart(f.totals);
        begin(&f);
        add(&f, 2, 0, 2, 0);
        add(&f, 3, 0, 3, 0);
        commit(&f);
        expect(&f, "1=1 2=4 other=3");
        fixture_clear(&f);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/totals/counter", test_counter);
        g_test_add_func("/totals/half", test_half);
        g_test_add_func("/totals/restart", test_restart);
        g_test_add_func("/totals/skip", test_skip);
        g_test_add_func("/totals/other", test_other);
        g_test_add_func("/totals/sum", test_sum);
        g_test_add_func("/totals/without-labels", test_without_labels);
        g_test_add_func("/totals/log2", test_log2);
        g_test_add_func("/totals/linear", test_linear);
        g_test_add_func("/totals/hostile", test_hostile);
        g_test_add_func("/totals/collisions", test_collisions);
        g_test_add_func("/totals/volatile", test_volatile);
        g_test_add_func("/totals/move", test_move);
        return g_test_run();
}
