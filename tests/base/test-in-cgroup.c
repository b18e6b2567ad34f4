/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which tasks count as being in a cgroup, by the text of their /proc/PID/cgroup. */
#include <glib.h>

#include "base/in-cgroup.h"

static void test_in(void) {
        static const char *const texts[] = {
                "0::/a.slice/web.scope\n",
                "0::/a.slice/web.scope",
                "0::/a.slice/web.scope/inner/init.scope\n",
                "0::/a.slice/web.scope/\n",
                "5:memory:/other\n1:name=systemd:/x\n0::/a.slice/web.scope\n",
                "0::/a.slice/web.scope/0::/x\n",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
                g_assert_true(in_cgroup(texts[i], "/a.slice/web.scope"));
}

static void test_outside(void) {
        static const char *const texts[] = {
                "",
                "\n",
                "0::",
                "0::/\n",
                "0::/a.slice\n",
                "0::/a.slice/web.scope2\n",
                "0::/a.slice/web.scop\n",
                "0::/a.slice/web.scope (deleted)\n", /* the kernel's mark of a removed cgroup */
                "0::/../a.slice/web.scope\n",        /* outside of our cgroup namespace */
                "0::/x/a.slice/web.scope\n",
                "1:name=systemd:/a.slice/web.scope\n0::/\n", /* of a v1 hierarchy */
                "10::/a.slice/web.scope\n",
                "0::/x\n0:/a.slice/web.scope\n",
                "0::/x\n0::/a.slice/web.scope\n", /* only the first line counts */
        };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
                g_assert_false(in_cgroup(texts[i], "/a.slice/web.scope"));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/in-cgroup/in", test_in);
        g_test_add_func("/in-cgroup/outside", test_outside);
        return g_test_run();
}
