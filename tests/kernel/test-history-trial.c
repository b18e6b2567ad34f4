/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether the probes of the history run, by the text of kprobe_profile. tests/guest/blackbox.sh
 * tries it on a kernel. */

#include <errno.h>
#include <glib.h>

#include "kernel/history-trial.h"

static HistoryHits count(unsigned birth, unsigned caps, unsigned undumpable) {
        g_autofree char *text = g_strdup_printf("  ktrace_history_birth       %u   0\n"
                                                "  ktrace_history_caps        %u   7\n"
                                                "  another                    99   0\n"
                                                "  ktrace_history_undumpable  %u   0\n",
                        birth,
                        caps,
                        undumpable);
        HistoryHits hits;

        history_trial_count(text, &hits);
        return hits;
}

static int judge(unsigned birth, unsigned caps, unsigned undumpable) {
        const HistoryHits before = count(100, 200, 300), after = count(birth, caps, undumpable);

        return history_trial_judge(&before, &after);
}

static void test_judge(void) {
        g_assert_cmpint(judge(101, 216, 332), ==, 0);
        g_assert_cmpint(judge(150, 300, 400), ==, 0);
        /* prctl(2) does not hit the probe, but some exec of another process does. */
        g_assert_cmpint(judge(101, 216, 302), ==, -EOPNOTSUPP);
        g_assert_cmpint(judge(101, 203, 332), ==, -EOPNOTSUPP);
        /* Kprobes are off. */
        g_assert_cmpint(judge(100, 200, 300), ==, -ENODEV);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/history-trial/judge", test_judge);
        return g_test_run();
}
