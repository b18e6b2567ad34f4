/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "interfaces/user-args.h"
#include "interfaces/user-place.h"

typedef struct Case {
        const char *text;
        bool is_arm;
        UserArg want;
} Case;

static void test_operands(void) {
        static const Case cases[] = {
                { "-4@%edi", false, { .kind = USER_ARG_REGISTER, .reg = 5, .size = -4 } },
                { "8@%rax", false, { .kind = USER_ARG_REGISTER, .reg = 0, .size = 8 } },
                { "2@%ax", false, { .kind = USER_ARG_REGISTER, .reg = 0, .size = 2 } },
                { "1@%cl", false, { .kind = USER_ARG_REGISTER, .reg = 2, .size = 1 } },
                { "1@%sil", false, { .kind = USER_ARG_REGISTER, .reg = 4, .size = 1 } },
                { "8@%rsp", false, { .kind = USER_ARG_REGISTER, .reg = 7, .size = 8 } },
                { "-1@%r8b", false, { .kind = USER_ARG_REGISTER, .reg = 8, .size = -1 } },
                { "-4@%r15d", false, { .kind = USER_ARG_REGISTER, .reg = 15, .size = -4 } },
                { "8@-8(%rbp)",
                                false,
                                { .kind = USER_ARG_MEMORY, .reg = 6, .size = 8, .value = -8 } },
                { "4@(%rbx)", false, { .kind = USER_ARG_MEMORY, .reg = 3, .size = 4 } },
                { "4@0x10(%r12)",
                                false,
                                { .kind = USER_ARG_MEMORY, .reg = 12, .size = 4, .value = 16 } },
                { "4@$5", false, { .kind = USER_ARG_CONSTANT, .size = 4, .value = 5 } },
                { "-8@$-1", false, { .kind = USER_ARG_CONSTANT, .size = -8, .value = -1 } },
                { "8@x0", true, { .kind = USER_ARG_REGISTER, .reg = 0, .size = 8 } },
                { "-4@w29", true, { .kind = USER_ARG_REGISTER, .reg = 29, .size = -4 } },
                { "8@sp", true, { .kind = USER_ARG_REGISTER, .reg = 31, .size = 8 } },
                { "4@[sp, 8]",
                                true,
                                { .kind = USER_ARG_MEMORY, .reg = 31, .size = 4, .value = 8 } },
                { "4@[x19, #-16]",
                                true,
                                { .kind = USER_ARG_MEMORY, .reg = 19, .size = 4, .value = -16 } },
                { "8@[x3]", true, { .kind = USER_ARG_MEMORY, .reg = 3, .size = 8 } },
                { "4@7", true, { .kind = USER_ARG_CONSTANT, .size = 4, .value = 7 } },
                { "8@xzr", true, { .kind = USER_ARG_CONSTANT, .size = 8 } },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                UserArg args[USER_ARGS_MAX];
                size_t n = 0;

                g_test_message("%s", cases[i].text);
                g_assert_cmpint(user_args_parse(cases[i].text, cases[i].is_arm, args, &n), ==, 0);
                g_assert_cmpuint(n, ==, 1);
                g_assert_cmpmem(args, sizeof(args[0]), &cases[i].want, sizeof(args[0]));
        }
}

/* Told as what cannot be fetched, so that the others keep their numbers. */
static void test_others(void) {
        static const char *const x86[] = { "8f@%xmm0",
                "8@%xmm0",
                "1@%ah",
                "4@counter(%rip)",
                "4@16+counter(%rip)",
                "8@(%rax,%rcx,8)",
                "8@%fs:0x28",
                "8@$counter",
                "8@counter",
                "%rdi",
                "3@%edi",
                "16@%rdi",
                "@%rdi",
                "8@",
                "8@%r7",
                "8@%r16",
                "8@%r08",
                "8@%rip",
                "8@%eaxx",
                "8@%raxl",
                "8@%",
                "8@$",
                "8@$1x",
                "8@9999999999(%rax)",
                "8@$99999999999999999999",
                "8@-8(%rbp)x",
                "8@(%rbp",
                "8@-8()",
                "8@x0",
                "8@[sp, 8]",
                "8@ $5" };
        static const char *const arm[] = { "8@%rdi",
                "8@x31",
                "8@[x0, x1]",
                "8@[x0, 8]!",
                "8@[]",
                "8@[",
                "8@]",
                "8@d0",
                "8@$5",
                "8@x",
                "8@[x0, ]",
                "8@" };
        UserArg args[USER_ARGS_MAX];
        size_t n;

        for (size_t i = 0; i < ELEMENTSOF(x86) + ELEMENTSOF(arm); i++) {
                bool is_arm = i >= ELEMENTSOF(x86);
                const char *text = is_arm ? arm[i - ELEMENTSOF(x86)] : x86[i];

                g_test_message("%s", text);
                g_assert_cmpint(user_args_parse(text, is_arm, args, &n), ==, 0);
                g_assert_cmpuint(n, >=, 1);
                g_assert_cmpuint(args[0].kind, ==, USER_ARG_OTHER);
                g_assert_cmpint(args[0].size, ==, 0);
        }
}

static void test_many(void) {
        UserArg args[USER_ARGS_MAX];
        char text[256];
        size_t n = 7;

        g_assert_cmpint(user_args_parse("", false, args, &n), ==, 0);
        g_assert_cmpuint(n, ==, 0);
        g_assert_cmpint(user_args_parse(" 8@%rdi  4@x(%rip) -4@$5 ", false, args, &n), ==, 0);
        g_assert_cmpuint(n, ==, 3);
        g_assert_cmpuint(args[0].kind, ==, USER_ARG_REGISTER);
        g_assert_cmpuint(args[1].kind, ==, USER_ARG_OTHER);
        g_assert_cmpint(args[2].value, ==, 5);
        g_assert_cmpint(user_args_parse("4@[sp, 8] 8@x1", true, args, &n), ==, 0);
        g_assert_cmpuint(n, ==, 2);
        g_assert_cmpuint(args[1].reg, ==, 1);

        text[0] = '\0';
        for (size_t i = 0; i < USER_ARGS_MAX; i++)
                strcat(text, "8@%rdi ");
        g_assert_cmpint(user_args_parse(text, false, args, &n), ==, 0);
        g_assert_cmpuint(n, ==, USER_ARGS_MAX);
        strcat(text, "8@%rdi");
        g_assert_cmpint(user_args_parse(text, false, args, &n), ==, -EBADMSG);
}

/* Every register that is parsed has a name for the kernel. */
static void test_names(void) {
        g_assert_null(user_register_name(32));
        g_assert_null(user_register_name(UINT_MAX));
#ifdef __x86_64__
        g_assert_cmpstr(user_register_name(5), ==, "di");
        g_assert_cmpstr(user_register_name(8), ==, "r8");
        g_assert_cmpstr(user_register_name(15), ==, "r15");
        g_assert_null(user_register_name(16));
#endif
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/interfaces/user-args/operands", test_operands);
        g_test_add_func("/interfaces/user-args/others", test_others);
        g_test_add_func("/interfaces/user-args/many", test_many);
        g_test_add_func("/interfaces/user-args/names", test_names);
        return g_test_run();
}
