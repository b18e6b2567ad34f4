/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which fields of a granted event are searched for kernel addresses before a reader gets them. */
#include <glib.h>
#include <string.h>

#include "policy.h"

#define COMMON                                                                 \
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
        "\tfield:unsigned long common_wide;\toffset:8;\tsize:8;\tsigned:0;\n\n"

static const char text[] =
                "name: sample\nID: 7\nformat:\n" COMMON
                "\tfield:unsigned long ip;\toffset:16;\tsize:8;\tsigned:0;\n"
                "\tfield:long id;\toffset:24;\tsize:8;\tsigned:1;\n"
                "\tfield:const void * ptr;\toffset:32;\tsize:8;\tsigned:0;\n"
                "\tfield:unsigned long args[6];\toffset:40;\tsize:48;\tsigned:0;\n"
                "\tfield:pid_t pid;\toffset:88;\tsize:4;\tsigned:1;\n"
                "\tfield:char comm[16];\toffset:92;\tsize:16;\tsigned:0;\n"
                "\tfield:__data_loc char[] file;\toffset:108;\tsize:4;\tsigned:0;\n"
                "\tfield:__data_loc unsigned long[] caller;\toffset:112;\tsize:4;\tsigned:0;\n"
                "\tfield:u8 raw[12];\toffset:116;\tsize:12;\tsigned:0;\n"
                "\nprint fmt: \"\"\n";

static void assert_verdict(bool is_fenced, const char *name, FieldVerdict wanted) {
        const Grant grant = { .fenced = is_fenced };
        _cleanup_(format_free_cleanup) Format *format = NULL;

        g_assert_cmpint(format_parse(text, strlen(text), &format, NULL), ==, 0);
        const FormatField *field = format_field_find(format, name);
        g_assert_nonnull(field);
        g_assert_cmpint(grant_judge_field(&grant, field), ==, wanted);
}

/* Whatever its type says: `unsigned long` holds addresses as well as pointers do. */
static void test_words(void) {
        static const char *const names[] = { "ip", "id", "ptr", "args", "caller", "raw" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                assert_verdict(true, names[i], VERDICT_WORDS);
}

static void test_too_small_for_an_address(void) {
        static const char *const names[] = { "pid", "comm", "file", "common_wide" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                assert_verdict(true, names[i], VERDICT_KEEP);
}

static void test_root_sees_all(void) {
        assert_verdict(false, "ip", VERDICT_KEEP);
        assert_verdict(false, "ptr", VERDICT_KEEP);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/grant-field/words", test_words);
        g_test_add_func("/grant-field/too-small-for-an-address", test_too_small_for_an_address);
        g_test_add_func("/grant-field/root-sees-all", test_root_sees_all);
        return g_test_run();
}
