/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of containers: which are refused before an engine gets them. */

#include <glib.h>
#include <string.h>

#include "container/container.h"

static void test_names(void) {
        static const char *const good[] = { "web", "a", "0", "web-1", "a.b_c-d", "machine-1" };

        static const struct {
                const char *name, *words;
        } bad[] = {
                { "", "got \"\"" },
                { "-oX", "character 1" },
                { "--help", "character 1" },
                { ".hidden", "character 1" },
                { "../x", "character 1" },
                { "a/b", "character 2" },
                { "a b", "character 2" },
                { "a\nb", "character 2" },
                { "a\x1b[m", "character 2" },
                { "a;b", "character 2" },
                { "{{.Id}}", "character 1" },
                { "m\xc3\xbcnchen", "character 2" },
        };

        char *cgroup = NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(good); i++)
                g_assert_cmpint(container_check_name("-M", good[i], NULL), ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                Reason reason = {};

                g_assert_cmpint(container_find(bad[i].name, &cgroup, &reason),
                                ==,
                                KT_E_INVALID_SPEC);
                if (!strstr(reason.text, bad[i].words))
                        g_error("%s: %s", bad[i].name, reason.text);
                g_assert_null(strpbrk(reason.text, "\n\x1b"));
        }
}

static void test_long(void) {
        char name[2 * CONTAINER_NAME_MAX] = "";
        Reason reason = {};

        memset(name, 'a', CONTAINER_NAME_MAX);
        g_assert_cmpint(container_check_name("-M", name, NULL), ==, 0);
        memset(name, 'a', sizeof(name) - 1);
        g_assert_cmpint(container_check_name("-M", name, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "at most 128"));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/container/names", test_names);
        g_test_add_func("/container/long", test_long);
        return g_test_run();
}
