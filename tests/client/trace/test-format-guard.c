/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "stream-fixture.h"
#include "trace/format-guard.h"

/* The text that libtraceevent would get for this print format. */
static char *guarded(const char *print) {
        g_autofree char *head = g_strdup(fixture_hello_format), *text = NULL;
        char *safe = NULL;
        int id;

        *strstr(head, "print fmt:") = '\0';
        text = g_strconcat(head, "print fmt: ", print, "\n", NULL);
        g_assert_cmpint(format_guard_make_safe(text, strlen(text), &safe, &id), ==, 0);
        g_assert_cmpint(id, ==, FIXTURE_HELLO_ID);
        return safe;
}

static void test_kept(void) {
        static const char *const prints[] = {
                "\"number=%d\", REC->number",
                "\"a\" \"b %s\", __print_symbolic(REC->number, { 0, \"x\" }, { (1 << 2) | 1, \"y\" })",
                "\"%s\", REC->number & 1 ? __print_flags(REC->number, \"|\", { 1UL, \"a\" }) : \"none\"",
                "\"%p\", (void *)((u64)REC->args[0] + ~-1)",
                "\"%s\", __print_symbolic(REC->number, { })",
                "\"%d\", REC->number / 8 % sizeof(long)",
                "\"\"",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(prints); i++) {
                char *safe = guarded(prints[i]);

                if (!strstr(safe, prints[i]))
                        g_test_fail_printf("%s was dropped", prints[i]);
                free(safe);
        }
}

static void test_dropped(void) {
        g_autofree char *deep_brackets = g_strnfill(1000, '('), *many = g_strnfill(1000, '!');
        g_autofree char *deep = g_strdup_printf("\"%%d\", %s1", deep_brackets);
        g_autofree char *unary = g_strdup_printf("\"%%d\", %s1", many);
        const char *const prints[] = {
                "",
                "number",
                "\"open",
                "\"%d\" REC",
                "\"%d\", ",
                "\"%d\", (1",
                "\"%d\", 1)",
                "\"%d\", {1]",
                "\"%d\", 1 / 0x0",
                "\"%d\", 1 % name",
                "\"%d\", 1 / (0)",
                "\"%d\", 1 +",
                "\"%d\", * / 2",
                "\"%d\", ,",
                "\"%d\", f(,)",
                "\"%d\", a; b",
                "\"%s\", __print_flags(REC->unknown, \"|\", { 1, \"a\" })",
                "\"%d\", REC->args[1]->number",
                "\"%d\", REC->args[1][2]",
                "\"%d\", REC->number ? 1 : REC->args[1]",
                deep,
                unary,
        };

        for (size_t i = 0; i < G_N_ELEMENTS(prints); i++) {
                char *safe = guarded(prints[i]);

                if (!g_str_has_suffix(safe, "\nprint fmt: unreadable\n"))
                        g_test_fail_printf("%.40s was kept", prints[i]);
                free(safe);
        }
}

static void test_refused(void) {
        static const char *const texts[] = {
                "",
                "name: x\n",
                "name: x\nID: 70000\nformat:\n\nprint fmt: \"\"\n",
                "name: x\nID: 7\nformat:\n\tfield:int $;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n",
                "name: \"\nID: 7\nformat:\n\nprint fmt: \"\"\n",
        };
        g_autofree char *long_text = g_strnfill(100000, ' ');
        char *safe;
        int id;

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
                g_assert_cmpint(format_guard_make_safe(texts[i], strlen(texts[i]), &safe, &id),
                                ==,
                                -EBADMSG);
        g_assert_cmpint(format_guard_make_safe(long_text, 100000, &safe, &id), ==, -EBADMSG);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/format-guard/kept", test_kept);
        g_test_add_func("/format-guard/dropped", test_dropped);
        g_test_add_func("/format-guard/refused", test_refused);
        return g_test_run();
}
