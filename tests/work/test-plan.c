/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Plans: a step that fails anywhere is undone with all before it, in reverse. */

#include <errno.h>
#include <glib.h>

#include "work/plan.h"

typedef struct Log {
        GString *text;
        const char *fails;
        int again; /* times that step b asks for more */
} Log;

static int apply(Log *log, const char *name, Reason *reason) {
        g_string_append(log->text, name);
        if (g_strcmp0(log->fails, name) == 0)
                return reason_set(reason, KT_E_KERNEL_REFUSED, "no %s", name);
        return 0;
}

static int apply_a(void *context, Reason *reason) {
        return apply(context, "a", reason);
}

static int apply_b(void *context, Reason *reason) {
        Log *log = context;

        if (log->again-- > 0) {
                g_string_append(log->text, "+");
                return PLAN_AGAIN;
        }
        return apply(context, "b", reason);
}

static int apply_c(void *context, Reason *reason) {
        return apply(context, "c", reason);
}

static void undo_a(void *context) {
        g_string_append(((Log *)context)->text, "A");
}

static void undo_b(void *context) {
        g_string_append(((Log *)context)->text, "B");
}

static const PlanStep steps[] = {
        { "a", apply_a, undo_a },
        { "b", apply_b, undo_b },
        { "c", apply_c, NULL },
};

static char *run(const char *fails, int again, int cancel_before, int *ret) {
        Log log = { .text = g_string_new(NULL), .fails = fails, .again = again };
        Plan plan = { .context = &log };

        plan_init(&plan, steps, G_N_ELEMENTS(steps), NULL);
        for (int i = 0;; i++) {
                if (i == cancel_before)
                        plan_cancel(&plan);
                if (plan_advance(&plan))
                        break;
        }
        *ret = plan.result;
        return g_string_free(log.text, FALSE);
}

static void test_order(void) {
        static const struct {
                const char *fails;
                int again, cancel_before, result;
                const char *expected;
        } cases[] = {
                { NULL, 0, -1, 0, "abc" },
                { NULL, 2, -1, 0, "a++bc" },
                { "a", 0, -1, KT_E_KERNEL_REFUSED, "aA" },
                { "b", 0, -1, KT_E_KERNEL_REFUSED, "abBA" },
                { "c", 0, -1, KT_E_KERNEL_REFUSED, "abcBA" },
                { NULL, 0, 0, KT_E_CANCELLED, "" },
                { NULL, 0, 1, KT_E_CANCELLED, "aA" },
                { NULL, 3, 2, KT_E_CANCELLED, "a+BA" },
                { NULL, 0, 2, KT_E_CANCELLED, "abBA" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                int result;
                g_autofree char *text = run(
                                cases[i].fails, cases[i].again, cases[i].cancel_before, &result);

                g_assert_cmpstr(text, ==, cases[i].expected);
                g_assert_cmpint(result, ==, cases[i].result);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/plan/undone-in-reverse-from-the-step-that-failed", test_order);
        return g_test_run();
}
