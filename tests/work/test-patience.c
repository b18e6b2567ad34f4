/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What counts of a worker's time: samples as a loaded and as an idle machine give them, and the
 * kernel's own files of this process. */

#include <errno.h>
#include <glib.h>
#include <unistd.h>

#include "interfaces/cleanup.h"
#include "work/patience.h"

#define MSEC     UINT64_C(1000000)
#define LIMIT    (2000 * MSEC)
#define RUNNABLE true
#define SLEEPS   false

/* One look, so many milliseconds after the last one. */
typedef struct Look {
        unsigned wall, cpu, delay;
        bool is_runnable;
} Look;

static uint64_t use(PatienceKind kind, const Look *looks, size_t n, unsigned n_times) {
        Patience patience = { .kind = kind, .limit_nsec = LIMIT };
        TaskTimes times = {};

        for (unsigned k = 0; k < n_times; k++)
                for (size_t i = 0; i < n; i++) {
                        times.now_nsec += looks[i].wall * MSEC;
                        times.cpu_nsec += looks[i].cpu * MSEC;
                        times.delay_nsec += looks[i].delay * MSEC;
                        times.is_runnable = looks[i].is_runnable;
                        patience_add(&patience, &times);
                }
        return patience.used_nsec;
}

#define LOOKS(...) ((const Look[]){ __VA_ARGS__ }), ELEMENTSOF(((const Look[]){ __VA_ARGS__ }))
/* What counts where only the sink's call does, and where work does too. */
#define USE(n_times, ...)  use(PATIENCE_WITH_CALL, LOOKS(__VA_ARGS__), n_times)
#define WORK(n_times, ...) use(PATIENCE_WITH_WORK, LOOKS(__VA_ARGS__), n_times)

/* It sleeps in the sink's call: refused after two seconds by the clock. */
static void test_hangs(void) {
        g_assert_cmpuint(USE(19, { 100, 0, 0, SLEEPS }), <, LIMIT);
        g_assert_cmpuint(USE(20, { 100, 0, 0, SLEEPS }), >=, LIMIT);
        /* Also on a machine where the look itself comes late. */
        g_assert_cmpuint(USE(1, { 2000, 0, 0, SLEEPS }), >=, LIMIT);
}

/* Half a minute without a CPU, in which the kernel adds nothing to its wait. */
static void test_waits_for_cpu(void) {
        g_assert_cmpuint(USE(300, { 100, 0, 0, RUNNABLE }), ==, 0);
        /* The wait is added when it ends, in one piece. */
        g_assert_cmpuint(USE(1,
                                         { 10000, 0, 0, RUNNABLE },
                                         { 10000, 0, 0, RUNNABLE },
                                         { 100, 1, 20090, SLEEPS }),
                        <,
                        200 * MSEC);
}

/* It gets a CPU now and then: what it computes counts, what it waits does not. */
static void test_shares_cpu(void) {
        g_assert_cmpuint(WORK(100, { 100, 5, 95, RUNNABLE }), ==, 500 * MSEC);
        g_assert_cmpuint(WORK(100, { 100, 5, 90, SLEEPS }), ==, 1000 * MSEC);
        g_assert_cmpuint(USE(100, { 100, 5, 95, RUNNABLE }), ==, 0);
        g_assert_cmpuint(USE(100, { 100, 5, 90, SLEEPS }), ==, 500 * MSEC);
}

static void test_computes(void) {
        g_assert_cmpuint(WORK(20, { 100, 100, 0, RUNNABLE }), ==, LIMIT);
        g_assert_cmpuint(WORK(20, { 100, 60, 0, SLEEPS }), ==, LIMIT);
        g_assert_cmpuint(USE(20, { 100, 100, 0, RUNNABLE }), ==, 0);
        g_assert_cmpuint(USE(20, { 100, 60, 0, SLEEPS }), ==, 800 * MSEC);
}

/* A sink that hangs is seen on a loaded machine as well. */
static void test_hangs_under_load(void) {
        g_assert_cmpuint(USE(1, { 5000, 0, 0, RUNNABLE }, { 2100, 1, 5050, SLEEPS }), <, LIMIT);
        g_assert_cmpuint(USE(1,
                                         { 5000, 0, 0, RUNNABLE },
                                         { 100, 1, 5050, SLEEPS },
                                         { 2000, 0, 0, SLEEPS }),
                        >=,
                        LIMIT);
}

/* Another process has the number: counters that fall count as none. */
static void test_counters_fall(void) {
        Patience patience = { .limit_nsec = LIMIT,
                .last = { .now_nsec = 1000 * MSEC, .cpu_nsec = 900, .delay_nsec = 900 } };

        patience_add(&patience, &(TaskTimes){ .now_nsec = 1500 * MSEC, .cpu_nsec = 1 });
        g_assert_cmpuint(patience.used_nsec, ==, 500 * MSEC);
}

static void test_parse(void) {
        static const struct {
                const char *state;
                bool is_runnable;
        } states[] = {
                { "R", true }, { "S", false }, { "D", false }, { "T", false }, { "Z", false }
        };

        TaskTimes times;

        for (size_t i = 0; i < ELEMENTSOF(states); i++) {
                g_autofree char *stat = g_strdup_printf("7 (a) R (b) %s 1 2 3", states[i].state);

                g_assert_cmpint(task_times_parse(stat, "12345 678 9\n", &times), ==, 0);
                g_assert_cmpuint(times.cpu_nsec, ==, 12345);
                g_assert_cmpuint(times.delay_nsec, ==, 678);
                g_assert_cmpint(times.is_runnable, ==, states[i].is_runnable);
        }
        g_assert_cmpint(task_times_parse("", "1 2 3", &times), ==, -EBADMSG);
        g_assert_cmpint(task_times_parse("7 (a)", "1 2 3", &times), ==, -EBADMSG);
        g_assert_cmpint(task_times_parse("7 (a) S", "", &times), ==, -EBADMSG);
}

/* This process computes: only its own time counts. One that is not there counts by the clock. */
static void test_kernel_files(void) {
        Patience mine, unknown;

        patience_begin(&mine, PATIENCE_WITH_WORK, getpid(), 1);
        patience_begin(&unknown, PATIENCE_WITH_CALL, 0, 1);
        g_assert_true(mine.last.is_runnable);
        g_assert_cmpuint(mine.last.cpu_nsec, >, 0);
        while (!patience_is_over(&unknown))
                ;
        while (!patience_is_over(&mine))
                ;
        g_assert_cmpuint(mine.used_nsec, >=, 1000);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/patience/hangs", test_hangs);
        g_test_add_func("/patience/waits-for-cpu", test_waits_for_cpu);
        g_test_add_func("/patience/shares-cpu", test_shares_cpu);
        g_test_add_func("/patience/computes", test_computes);
        g_test_add_func("/patience/hangs-under-load", test_hangs_under_load);
        g_test_add_func("/patience/counters-fall", test_counters_fall);
        g_test_add_func("/patience/parse", test_parse);
        g_test_add_func("/patience/kernel-files", test_kernel_files);
        return g_test_run();
}
