/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session that records more than its limit ends, and says what it cost. */
#include <string.h>

#include "session-fixture.h"
#include "session/registry.h"
#include "session/session-state.h"

#define SPEC \
        "{\"scope\":\"system\",\"lifetime\":\"linger\",\"events\":[\"raw_syscalls:sys_enter\"]}"

typedef struct Reported {
        char *text;
} Reported;

static void on_hot(const char *text, void *userdata) {
        Reported *reported = userdata;

        g_assert_null(reported->text);
        reported->text = g_strdup(text);
}

static void set_recorded(const Session *session, uint64_t n) {
        g_autofree char *name = g_strdup_printf("ktrace-%s", session_get_id(session));

        /* Over all CPUs and all that became of them. */
        fake_kernel_set_statistics(name, 0, &(CpuStatistics){ .read = n / 2, .entries = 1 });
        fake_kernel_set_statistics(name, 1, &(CpuStatistics){ .overrun = n - n / 2 - 1 });
}

static Session *make(Fixture *f) {
        Call call;

        fixture_create(f, &call, 0, ":1.5", SPEC);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        return call.session;
}

static void run_msec(Fixture *f, unsigned msec) {
        gint64 end = g_get_monotonic_time() + msec * 1000;

        while (g_get_monotonic_time() < end)
                g_assert_cmpint(sd_event_run(f->event, 10000), >=, 0);
}

static void test_rate(Fixture *f, gconstpointer userdata) {
        Session *session = make(f);
        Reported reported = {};
        Meter *meter;

        (void)userdata;
        set_recorded(session, 5000000); /* before: not counted */
        g_assert_cmpint(meter_new(session->activity,
                                        &session->trace,
                                        10000,
                                        on_hot,
                                        &reported,
                                        &meter),
                        ==,
                        0);
        meter_start(meter);
        run_msec(f, 200);
        set_recorded(session, 5009000);
        run_msec(f, 1300);
        g_assert_null(reported.text);
        /* Nothing for a while is no credit of more than a second. */
        run_msec(f, 1000);
        set_recorded(session, 5009000 + 18000);
        run_msec(f, 1300);
        g_assert_nonnull(reported.text);
        g_assert_nonnull(strstr(reported.text,
                        "more than the 10000 a second that are allowed (max-event-rate)"));
        g_assert_nonnull(strstr(reported.text, "it recorded 27000, which took about 5 ms"));
        /* Once. */
        set_recorded(session, 9000000);
        run_msec(f, 1200);
        meter_free(meter);
        g_free(reported.text);
}

/* Stopped and started before each look: what was recorded until then is not forgotten. */
static void test_evasion(Fixture *f, gconstpointer userdata) {
        Session *session = make(f);
        Reported reported = {};
        Meter *meter;

        (void)userdata;
        g_assert_cmpint(meter_new(session->activity,
                                        &session->trace,
                                        10000,
                                        on_hot,
                                        &reported,
                                        &meter),
                        ==,
                        0);
        for (unsigned i = 1; i <= 6 && !reported.text; i++) {
                meter_start(meter);
                run_msec(f, 100);
                set_recorded(session, i * 10000);
                meter_stop(meter);
        }
        g_assert_null(reported.text);
        meter_start(meter);
        run_msec(f, 1300);
        g_assert_nonnull(reported.text);
        g_assert_nonnull(strstr(reported.text, "it recorded 60000,"));
        meter_free(meter);
        g_free(reported.text);
}

static void test_stopped(Fixture *f, gconstpointer userdata) {
        Session *session = make(f);
        Reported reported = {};
        Meter *meter;

        (void)userdata;
        g_assert_cmpint(meter_new(session->activity,
                                        &session->trace,
                                        10000,
                                        on_hot,
                                        &reported,
                                        &meter),
                        ==,
                        0);
        meter_start(meter);
        meter_stop(meter);
        set_recorded(session, 9000000);
        run_msec(f, 1300);
        g_assert_null(reported.text);
        meter_free(meter);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/meter/rate", Fixture, NULL, fixture_set_up, test_rate, fixture_tear_down);
        g_test_add("/meter/evasion",
                        Fixture,
                        NULL,
                        fixture_set_up,
                        test_evasion,
                        fixture_tear_down);
        g_test_add("/meter/stopped",
                        Fixture,
                        NULL,
                        fixture_set_up,
                        test_stopped,
                        fixture_tear_down);
        return g_test_run();
}
