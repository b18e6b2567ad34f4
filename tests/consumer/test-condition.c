/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Random conditions on random records, against an evaluation that follows the tree. Whether the
 * single comparisons agree with the kernel is tested by test-condition-native.c. */

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <string.h>

#include "consumer/records/condition.h"

#define CPU 3

static const char format_text[] =
                "name: try\nID: 300\nformat:\n"
                "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                "\tfield:u64 whole;\toffset:8;\tsize:8;\tsigned:0;\n"
                "\tfield:s64 turned;\toffset:16;\tsize:8;\tsigned:1;\n"
                "\tfield:s32 half;\toffset:24;\tsize:4;\tsigned:1;\n"
                "\tfield:u8 small;\toffset:28;\tsize:1;\tsigned:0;\n"
                "\tfield:char text[3];\toffset:29;\tsize:3;\tsigned:0;\n\n"
                "print fmt: \"\"\n";

typedef struct Record {
        uint64_t common, whole;
        int64_t turned;
        int32_t half;
        uint8_t small;
        char text[3];
} Record;

static int pick(int n) {
        return g_test_rand_int_range(0, n);
}

static int64_t pick_number(void) {
        static const int64_t numbers[] = {
                0, 1, 2, -1, -2, 255, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN
        };

        return numbers[pick(G_N_ELEMENTS(numbers))];
}

static const char *pick_text(void) {
        static const char *const texts[] = { "", "a", "ab", "b" };

        return texts[pick(G_N_ELEMENTS(texts))];
}

static Record make_record(void) {
        Record record = { .whole = (uint64_t)pick_number(),
                .turned = pick_number(),
                .half = (int32_t)pick_number(),
                .small = (uint8_t)pick_number() };

        strcpy(record.text, pick_text());
        return record;
}

/* Writes a comparison, and returns whether it holds. */
static bool add_comparison(GString *out, const Record *record) {
        static const char *const fields[] = { "whole", "turned", "half", "small", "common_cpu" };
        static const char *const operators[] = { "==", "<", "<=", ">", ">=", "&" };
        int field = pick(G_N_ELEMENTS(fields)), op = pick(G_N_ELEMENTS(operators));
        const int64_t values[] = {
                (int64_t)record->whole, record->turned, record->half, record->small, CPU
        };
        int64_t value = values[field], number = pick(3) == 0 ? value : pick_number();
        bool is_unsigned = field == 0 || field == 3;
        bool is_less = is_unsigned ? (uint64_t)value < (uint64_t)number : value < number;

        if (pick(6) == 0) {
                const char *text = pick_text();

                g_string_append_printf(
                                out, "\"field\":\"text\",\"op\":\"==\",\"text\":\"%s\"", text);
                return strcmp(record->text, text) == 0;
        }
        g_string_append_printf(out,
                        "\"field\":\"%s\",\"op\":\"%s\",\"number\":",
                        fields[field],
                        operators[op]);
        if (is_unsigned)
                g_string_append_printf(out, "%" PRIu64, (uint64_t)number);
        else
                g_string_append_printf(out, "%" PRId64, number);
        const bool results[] = { value == number,
                is_less,
                is_less || value == number,
                !is_less && value != number,
                !is_less,
                (value & number) != 0 };
        return results[op];
}

/* Writes a condition, and returns whether it holds. */
static bool add_condition(GString *out, const Record *record, unsigned depth) {
        bool is_and = pick(2), is_negated = pick(3) == 0, holds;

        g_string_append(out, is_negated ? "{\"not\":true," : "{");
        if (depth == 0 || pick(3) == 0)
                holds = add_comparison(out, record);
        else {
                g_string_append(out, is_and ? "\"and\":[" : "\"or\":[");
                holds = is_and;
                for (int i = 0, n = 1 + pick(4); i < n; i++) {
                        g_string_append(out, i > 0 ? "," : "");
                        bool part = add_condition(out, record, depth - 1);
                        holds = is_and ? holds && part : holds || part;
                }
                g_string_append(out, "]");
        }
        g_string_append(out, "}");
        return holds != is_negated;
}

static int parse(const char *text, Condition **ret) {
        _cleanup_json_ json_object *object = json_tokener_parse(text);
        _cleanup_(format_free_cleanup) Format *format = NULL;

        g_assert_cmpint(format_parse(format_text, strlen(format_text), &format, NULL), ==, 0);
        return condition_new(object, format, ret);
}

static void test_random(void) {
        unsigned n_held = 0;

        for (unsigned round = 0; round < 20000; round++) {
                _cleanup_(condition_free_cleanup) Condition *condition = NULL;
                g_autoptr(GString) text = g_string_new(NULL);
                const Record record = make_record();
                bool holds = add_condition(text, &record, 3);

                g_assert_cmpint(parse(text->str, &condition), ==, 0);
                if (condition_holds(condition, (const uint8_t *)&record, sizeof(record), CPU) !=
                                holds)
                        g_error("%s: expected %d", text->str, holds);
                n_held += holds;
        }
        g_assert_cmpuint(n_held, >, 4000);
        g_assert_cmpuint(n_held, <, 16000);
}

/* Also a condition that would hold without the field. */
static void test_short(void) {
        _cleanup_(condition_free_cleanup) Condition *condition = NULL;
        const Record record = {};
        const uint8_t *bytes = (const uint8_t *)&record;

        g_assert_cmpint(parse("{\"or\":[{\"field\":\"whole\",\"op\":\"==\",\"number\":0},"
                              "{\"field\":\"half\",\"op\":\"==\",\"number\":1}]}",
                                        &condition),
                        ==,
                        0);
        g_assert_true(condition_holds(condition, bytes, 28, CPU));
        g_assert_false(condition_holds(condition, bytes, 27, CPU));
        g_assert_true(condition_holds(NULL, bytes, 0, CPU));
}

static void test_malformed(void) {
        static const char *const texts[] = { "1",
                "{}",
                "[]",
                "{\"and\":[]}",
                "{\"and\":1}",
                "{\"or\":[1]}",
                "{\"and\":[{\"or\":[]}]}",
                "{\"and\":[{\"field\":\"half\",\"op\":\"==\",\"number\":1},{}]}",
                "{\"field\":\"half\",\"op\":\"==\"}",
                "{\"field\":\"half\",\"op\":\"~\",\"number\":1}",
                "{\"field\":\"half\",\"op\":\"=\",\"number\":1}",
                "{\"field\":\"half\",\"number\":1}",
                "{\"field\":\"none\",\"op\":\"==\",\"number\":1}",
                "{\"field\":\"text\",\"op\":\"<\",\"text\":\"a\"}" };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                Condition *condition = NULL;

                g_assert_cmpint(parse(texts[i], &condition), ==, -EBADMSG);
                g_assert_null(condition);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/condition/random", test_random);
        g_test_add_func("/condition/short", test_short);
        g_test_add_func("/condition/malformed", test_malformed);
        return g_test_run();
}
