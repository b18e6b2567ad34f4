/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Histograms for a reader: ranges in their order, those that nothing fell into, bars, groups. */

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "terminal/hist-table.h"

static const HistTableOptions bars = { .has_bars = true, .legend = true, .width = 60 };
static const HistTableOptions bare = { .width = 80 };

static int print(const char *rows, const HistTableOptions *options, char **ret) {
        _cleanup_json_ json_object *object = json_tokener_parse(rows);
        size_t size;
        FILE *file = open_memstream(ret, &size);

        int r = hist_table_print(file, object, options);
        g_assert_cmpint(fclose(file), ==, 0);
        return r;
}

static void expect(const char *rows, const HistTableOptions *options, const char *wanted) {
        _cleanup_free_ char *text = NULL;

        g_assert_cmpint(print(rows, options, &text), ==, 0);
        g_assert_cmpstr(text, ==, wanted);
}

#define HEAD(keys, values)                                                                      \
        "[{\"name\":\"x\",\"keys\":[" keys "],\"values\":[" values "],\"sort\":[],\"hits\":50," \
        "\"entries\":2,\"told\":2,\"dropped\":0,\"paused\":false}"

static void test_ranges(void) {
        expect(HEAD("\"count.log2\"",
                               "") ",{\"keys\":{\"count\":{\"from\":1025,\"to\":2048}},\"hitcount\":40}"
                                   ",{\"keys\":{\"count\":{\"from\":257,\"to\":512}},\"hitcount\":10}]",
                        &bars,
                        "       count  hits\n"
                        "  257 .. 512    10  ##########\n"
                        " 513 .. 1024     0  \n"
                        "1025 .. 2048    40  ########################################\n"
                        "\nx: 50 hits in 2 rows\n");
        expect("[{\"name\":\"x\",\"keys\":[\"id\"],\"values\":[],\"sort\":[],\"hits\":1,\"entries\":1,"
               "\"told\":1,\"dropped\":0,\"paused\":false},{\"keys\":{\"id\":7},\"hitcount\":1}]",
                        &bars,
                        "id  hits\n"
                        " 7     1  ##################################################\n"
                        "\nx: 1 hit in 1 row\n");
        expect(HEAD("\"n_us.buckets=10\"",
                               "") ",{\"keys\":{\"n_us\":{\"from\":30,\"to\":39}},\"hitcount\":1}"
                                   ",{\"keys\":{\"n_us\":{\"from\":10,\"to\":19}},\"hitcount\":2}]",
                        &bare,
                        "10 .. 19 us  2\n"
                        "20 .. 29 us  0\n"
                        "30 .. 39 us  1\n");
}

/* The group with more hits first. */
static void test_groups(void) {
        expect(HEAD("\"n.log2\",\"who\"",
                               "") ",{\"keys\":{\"n\":{\"from\":0,\"to\":1},\"who\":\"a\"},\"hitcount\":9}"
                                   ",{\"keys\":{\"n\":{\"from\":3,\"to\":4},\"who\":\"b\"},\"hitcount\":8}"
                                   ",{\"keys\":{\"n\":{\"from\":0,\"to\":1},\"who\":\"b\"},\"hitcount\":7}]",
                        &bare,
                        "0 .. 1  b  7\n"
                        "2 .. 2  b  0\n"
                        "3 .. 4  b  8\n"
                        "\n"
                        "0 .. 1  a  9\n");
}

/* Groups of as many hits stay apart. */
static void test_equal_groups(void) {
        expect(HEAD("\"n.log2\",\"who\"",
                               "") ",{\"keys\":{\"n\":{\"from\":0,\"to\":1},\"who\":\"a\"},\"hitcount\":2}"
                                   ",{\"keys\":{\"n\":{\"from\":0,\"to\":1},\"who\":\"b\"},\"hitcount\":3}"
                                   ",{\"keys\":{\"n\":{\"from\":2,\"to\":2},\"who\":\"a\"},\"hitcount\":3}"
                                   ",{\"keys\":{\"n\":{\"from\":2,\"to\":2},\"who\":\"b\"},\"hitcount\":2}]",
                        &bare,
                        "0 .. 1  a  2\n"
                        "2 .. 2  a  3\n"
                        "\n"
                        "0 .. 1  b  3\n"
                        "2 .. 2  b  2\n");
}

/* The group with the largest sum of a value first, whatever it has of hits. */
static void test_weights(void) {
        static const char rows[] = HEAD("\"us.log2\",\"who\"",
                        "\"us\"") ",{\"keys\":{\"us\":{\"from\":0,\"to\":1},\"who\":\"a\"},"
                                  "\"hitcount\":9,\"values\":{\"us\":9}}"
                                  ",{\"keys\":{\"us\":{\"from\":3,\"to\":4},\"who\":\"b\"},"
                                  "\"hitcount\":4,\"values\":{\"us\":14}}]";
        HistTableOptions options = { .width = 80, .weight = "us", .hides_weight = true };

        expect(rows, &options, "3 .. 4  b  4\n\n0 .. 1  a  9\n");
        options.hides_weight = false;
        expect(rows, &options, "3 .. 4  b  4  14\n\n0 .. 1  a  9   9\n");
        /* The histogram does not have it. */
        options.weight = "other";
        expect(rows, &options, "0 .. 1  a  9   9\n\n3 .. 4  b  4  14\n");
}

static void test_other_keys(void) {
        expect(HEAD("\"id.syscall\",\"common_pid.execname\",\"x.hex\"",
                               "\"len\"") ",{\"keys\":{\"id\":{\"nr\":1,\"name\":\"write\"},"
                                          "\"common_pid\":{\"pid\":7,\"comm\":\"dd\"},\"x\":255},\"hitcount\":1234,"
                                          "\"values\":{\"len\":-5}}]",
                        &bare,
                        "write  dd (7)  0xff  1,234  -5\n");
        expect(HEAD("\"stacktrace\"",
                               "") ",{\"keys\":{\"stacktrace\":[\"a+0x1\",\"b+0x2\"]},\"hitcount\":3}]",
                        &bare,
                        "  3\n      a+0x1\n      b+0x2\n");
}

static void test_listed(void) {
        _cleanup_free_ char *text = NULL;

        g_assert_cmpint(print("[{\"name\":\"x\",\"keys\":[\"id\"],\"values\":[],\"hits\":9,\"entries\":4,"
                              "\"told\":2,\"dropped\":3,\"paused\":true}]",
                                        &bars,
                                        &text),
                        ==,
                        0);
        g_assert_cmpstr(text,
                        ==,
                        "\nx: 9 hits in 4 rows, the first 2 are shown; 3 hits found no room: a larger size "
                        "counts them (paused)\n");
}

/* The counts of the worker miss what was lost. */
static void test_counted_by(void) {
        static const char *const lines[][2] = {
                { "kernel", "\nx: 9 hits in 1 row\n" },
                { "consumer", "\nx: 9 hits in 1 row\nCounted by the stream worker.\n" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
                g_autofree char *rows = g_strdup_printf(
                                "[{\"name\":\"x\",\"keys\":[\"id\"],\"values\":[],\"hits\":9,"
                                "\"entries\":1,\"told\":1,\"counted-by\":\"%s\"}]",
                                lines[i][0]);
                _cleanup_free_ char *text = NULL;

                g_assert_cmpint(print(rows, &bars, &text), ==, 0);
                g_assert_cmpstr(text, ==, lines[i][1]);
        }
}

/* Text that steers a terminal, and answers that are none. */
static void test_hostile(void) {
        static const char *const none[] = { "[]",
                "{}",
                "[1]",
                "[{}]",
                "[{\"keys\":[]}]",
                "[{\"keys\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\"]}]" };

        for (size_t i = 0; i < G_N_ELEMENTS(none); i++) {
                _cleanup_free_ char *text = NULL;

                g_assert_cmpint(print(none[i], &bars, &text), ==, -EBADMSG);
        }
        expect(HEAD("\"c\"", "") ",{\"keys\":{\"c\":\"a\\u001b[2Jb\"},\"hitcount\":1}]",
                        &bare,
                        "a?[2Jb  1\n");
        expect(HEAD("\"c\"", "") ",{\"keys\":{},\"hitcount\":1},{}]", &bare, "  1\n  0\n");
}

static void test_json(void) {
        _cleanup_json_ json_object *rows = json_tokener_parse(HEAD("\"id\"",
                                                   "") ",{\"hitcount\":1},{\"hitcount\":2}]"),
                                   *object = NULL;

        g_assert_cmpint(hist_table_to_json(rows, &object), ==, 0);
        g_assert_cmpuint(json_object_array_length(json_object_object_get(object, "rows")), ==, 2);
        g_assert_cmpuint(json_object_get_uint64(json_object_object_get(object, "hits")), ==, 50);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/client/hist-table/ranges", test_ranges);
        g_test_add_func("/client/hist-table/groups", test_groups);
        g_test_add_func("/client/hist-table/equal-groups", test_equal_groups);
        g_test_add_func("/client/hist-table/weights", test_weights);
        g_test_add_func("/client/hist-table/other-keys", test_other_keys);
        g_test_add_func("/client/hist-table/listed", test_listed);
        g_test_add_func("/client/hist-table/counted-by", test_counted_by);
        g_test_add_func("/client/hist-table/hostile", test_hostile);
        g_test_add_func("/client/hist-table/json", test_json);
        return g_test_run();
}
