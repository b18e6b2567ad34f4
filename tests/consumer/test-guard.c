/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>

#include "consumer/records/guard.h"
#include "interfaces/cleanup.h"

#define HEAD \
        "# event histogram\n#\n# trigger info: hist:keys=common_pid if uid != 1000 [active]\n#\n\n"
#define TOTALS "\nTotals:\n    Hits: 0\n    Entries: 0\n    Dropped: 0\n"

static int make_file(const char *text) {
        int fd = memfd_create("guard", MFD_CLOEXEC);

        g_assert_no_errno(fd);
        g_assert_cmpint(write(fd, text, strlen(text)), ==, strlen(text));
        return fd;
}

static void check_text(const char *tracing_on, const char *hist, int wanted, const char *said) {
        Guard guard = { make_file(tracing_on), hist ? make_file(hist) : -1 };
        char text[256] = "";

        g_assert_cmpint(guard_check(&guard, text, sizeof(text)), ==, wanted);
        g_assert_cmpint(text[0] != '\0', ==, wanted != 0);
        if (said && !g_str_has_prefix(text, said))
                g_error("\"%s\" does not begin with \"%s\"", text, said);
        close_cleanup(&guard.tracing_fd);
        close_cleanup(&guard.hist_fd);
}

static void check(const char *tracing_on, const char *hist, int wanted) {
        check_text(tracing_on, hist, wanted, NULL);
}

static void test_quiet(void) {
        check("1\n", NULL, 0);
        check("1\n", HEAD TOTALS, 0);
        check("1\n", HEAD TOTALS HEAD TOTALS, 0);
}

static void test_latch(void) {
        check("0\n", NULL, -ECANCELED);
        check("0\n", HEAD TOTALS, -ECANCELED);
        check("", HEAD TOTALS, -ECANCELED);
}

static void test_hist(void) {
        static const char hit[] = HEAD "{ common_pid:       1234 } hitcount:          1\n"
                                       "\nTotals:\n    Hits: 1\n    Entries: 1\n    Dropped: 0\n";
        g_autofree char *filler = g_strnfill(100000, 'x');
        g_autofree char *late = g_strconcat(HEAD, filler, TOTALS, NULL);
        g_autofree char *second = g_strconcat(HEAD TOTALS, hit, NULL);

        check("1\n", hit, -ECANCELED);
        check("1\n", second, -ECANCELED);
        check("1\n", late, -ECANCELED); /* it is long only when it has entries */
        check("1\n", "", -ECANCELED);
        /* The guard has switched tracing off, not another program. */
        check_text("0\n", hit, -ECANCELED, "a traced process changed");
        check_text("0\n", HEAD TOTALS, -ECANCELED, "tracing is off");
        check("1\n", HEAD, -ECANCELED); /* the trigger is gone */
        check("1\n", HEAD "\nTotals:\n    Hits: 01\n", -ECANCELED);
}

static void test_unreadable(void) {
        Guard guard = { make_file("1\n"), -1 };
        char text[256];

        close_cleanup(&guard.tracing_fd);
        guard.tracing_fd = 1000; /* nobody's */
        g_assert_cmpint(guard_check(&guard, text, sizeof(text)), ==, -ECANCELED);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/guard/quiet", test_quiet);
        g_test_add_func("/guard/latch", test_latch);
        g_test_add_func("/guard/hist", test_hist);
        g_test_add_func("/guard/unreadable", test_unreadable);
        return g_test_run();
}
