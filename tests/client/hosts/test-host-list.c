/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists of machines: each has a file name of its own, which stays in the directory. */

#include <glib.h>
#include <string.h>

#include "hosts/host-list.h"

static void test_files(void) {
        static const char *const names[][2] = { { "web1", "web1" },
                { "root@web1.example", "root@web1.example" },
                { "web1:22", "web1%3A22" },
                { "web1%22", "web1%2522" },
                { "..", "%2E." },
                { ".hidden", "%2Ehidden" },
                { "../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd" },
                { "\xc3\xa4", "%C3%A4" },
                { "a\nb\033", "a%0Ab%1B" } };

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *file = host_list_make_file(names[i][0]);

                g_assert_cmpstr(file, ==, names[i][1]);
        }
}

static void test_bad(void) {
        g_autofree char *many = g_strnfill(HOST_LIST_MAX, ',');
        const char *const bad[] = { ",", "a,", ",a", "a,,b", "a,b,a", "a,-oX", "a,b c", "@", many };

        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                HostList *list = NULL;
                Reason reason = {};

                g_assert_cmpint(host_list_parse(bad[i], &list, &reason), >, 0);
                g_assert_cmpstr(reason.text, !=, "");
                g_assert_null(list);
        }
}

/* What stops the reading of a file is named. */
static void test_directory(void) {
        HostList *list = NULL;
        Reason reason = {};

        g_assert_cmpint(host_list_parse("@/", &list, &reason), ==, KT_E_FAILED);
        g_assert_nonnull(strstr(reason.text, "Is a directory"));
}

static void test_limit(void) {
        g_autoptr(GString) text = g_string_new("m0");
        HostList *list = NULL;
        Reason reason = {};

        for (int i = 1; i < HOST_LIST_MAX; i++)
                g_string_append_printf(text, ",m%d", i);
        g_assert_cmpint(host_list_parse(text->str, &list, &reason), ==, 0);
        g_assert_cmpuint(list->n, ==, HOST_LIST_MAX);
        list = host_list_free(list);
        g_string_append(text, ",one-more");
        g_assert_cmpint(host_list_parse(text->str, &list, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "at most 1024"));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/host-list/files", test_files);
        g_test_add_func("/host-list/bad", test_bad);
        g_test_add_func("/host-list/directory", test_directory);
        g_test_add_func("/host-list/limit", test_limit);
        return g_test_run();
}
