/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How long a client waits for the next daemon: on an idle machine, on a loaded one, on a kernel
 * that does not tell. */

#include <glib.h>

#include "recording/absence.h"

#define SEC UINT64_C(1000000)

/* Seconds until it is over, where so much of each second goes by without a CPU for somebody. */
static unsigned wait_for(uint64_t pressure_usec) {
        Absence absence = {};

        for (unsigned i = 1; i < 1000; i++)
                if (absence_add(&absence, i * SEC, i * pressure_usec))
                        return i;
        return 0;
}

static void test_idle(void) {
        g_assert_cmpuint(wait_for(0), ==, 20);
}

static void test_loaded(void) {
        g_assert_cmpuint(wait_for(SEC / 2), ==, 40);
        g_assert_cmpuint(wait_for(SEC * 3 / 4), ==, 80);
}

static void test_most(void) {
        g_assert_cmpuint(wait_for(SEC), ==, 200);
        g_assert_cmpuint(wait_for(2 * SEC), ==, 200);
}

static void test_pressure(void) {
        g_assert_cmpuint(
                        absence_parse_pressure(
                                        "some avg10=95.97 avg60=69.86 avg300=73.05 total=2341548707\n"
                                        "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"),
                        ==,
                        2341548707);
        g_assert_cmpuint(absence_parse_pressure(""), ==, 0);
        g_assert_cmpuint(absence_parse_pressure("full avg10=0.00 total=7\n"), ==, 0);
}

static void test_running_kernel(void) {
        Absence absence;

        absence_begin(&absence);
        g_assert_false(absence_is_over(&absence));
        g_assert_cmpuint(absence.last_usec, >=, absence.begin_usec);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/away/idle", test_idle);
        g_test_add_func("/away/loaded", test_loaded);
        g_test_add_func("/away/most", test_most);
        g_test_add_func("/away/pressure", test_pressure);
        g_test_add_func("/away/running-kernel", test_running_kernel);
        return g_test_run();
}
