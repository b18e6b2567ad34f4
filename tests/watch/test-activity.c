/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Timers of a session rest while it records nothing, and no longer. */
#include "session-fixture.h"
#include "session/registry.h"
#include "session/session-state.h"
#include "watch/activity.h"
#include "watch/meter.h"

#define STREAM \
        "{\"scope\":\"system\",\"lifetime\":\"linger\",\"events\":[\"raw_syscalls:sys_enter\"]}"
#define FLIGHT \
        "{\"scope\":\"system\",\"lifetime\":\"linger\",\"mode\":\"flight\",\"events\":[\"raw_syscalls:sys_enter\"]}"

static Session *activity_make(Fixture *f, const char *spec) {
        Call call;

        fixture_create(f, &call, 0, ":1.5", spec);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        g_assert_nonnull(call.session->activity);
        return call.session;
}

static void activity_set(const Session *session, uint64_t n_read, uint64_t n_entries) {
        g_autofree char *name = g_strdup_printf("ktrace-%s", session_get_id(session));

        fake_kernel_set_statistics(
                        name, 1, &(CpuStatistics){ .read = n_read, .entries = n_entries });
}

static void activity_run(Fixture *f, unsigned msec) {
        gint64 end = g_get_monotonic_time() + msec * 1000;

        while (g_get_monotonic_time() < end)
                g_assert_cmpint(sd_event_run(f->event, 10000), >=, 0);
}

static void on_record(void *userdata) {
        ++*(unsigned *)userdata;
}

static void test_record(Fixture *f, gconstpointer userdata) {
        unsigned n_early = 0, n_late = 0;
        ActivityWaiter early = { .handler = on_record, .userdata = &n_early },
                       late = { .handler = on_record, .userdata = &n_late };
        Session *session = activity_make(f, STREAM);
        Activity *activity = session->activity;

        (void)userdata;
        g_assert_true(activity_rest(activity, &early));
        activity_run(f, 50);
        g_assert_cmpuint(n_early, ==, 0);
        activity_set(session, 1, 0);
        /* It was not woken yet, so it cannot miss that record. */
        g_assert_true(activity_rest(activity, &late));
        activity_run(f, 50);
        g_assert_cmpuint(n_early, ==, 1);
        g_assert_cmpuint(n_late, ==, 0);
        activity_set(session, 2, 0);
        activity_run(f, 50);
        g_assert_cmpuint(n_early, ==, 1); /* once for each rest */
        g_assert_cmpuint(n_late, ==, 1);
        g_assert_false(activity_rest(activity, &early)); /* a record since the last call */
        g_assert_true(activity_rest(activity, &early));
        activity_forget(activity, &early);
        activity_set(session, 3, 0);
        activity_run(f, 50);
        g_assert_cmpuint(n_early, ==, 1);
}

/* A full ring drops events without a wake-up. */
static void test_unread(Fixture *f, gconstpointer userdata) {
        unsigned n = 0;
        ActivityWaiter waiter = { .handler = on_record, .userdata = &n };
        bool is_flight = userdata != NULL;
        Session *session = activity_make(f, is_flight ? FLIGHT : STREAM);

        activity_set(session, 0, 100);
        g_assert_true(activity_rest(session->activity, &waiter) == is_flight);
        g_assert_true(activity_rest(session->activity, &waiter) == is_flight);
        activity_run(f, 50);
        g_assert_cmpuint(n, ==, 0);
        activity_set(session, 0, 101);
        activity_run(f, 50);
        g_assert_cmpuint(n, ==, is_flight);
        activity_close(session->activity);
        g_assert_false(activity_rest(session->activity, &waiter));
}

/* After a swap the poll begins again, so a record that came before that is not missed. */
static void test_swap(Fixture *f, gconstpointer userdata) {
        unsigned n = 0;
        ActivityWaiter waiter = { .handler = on_record, .userdata = &n };
        Session *session = activity_make(f, FLIGHT);

        (void)userdata;
        g_assert_true(activity_rest(session->activity, &waiter));
        activity_follow_swap(session->activity);
        g_assert_cmpuint(n, ==, 0);
        activity_set(session, 0, 1);
        activity_follow_swap(session->activity);
        g_assert_cmpuint(n, ==, 1);
}

static void on_hot(const char *text, void *userdata) {
        (void)text;
        ++*(unsigned *)userdata;
}

/* A quiet session earns no tokens for more than a second, and its limit holds from the next record
 * on. */
static void test_meter(Fixture *f, gconstpointer userdata) {
        Session *session = activity_make(f, STREAM);
        unsigned n = 0;
        Meter *meter;

        (void)userdata;
        g_assert_cmpint(meter_new(session->activity, &session->trace, 10000, on_hot, &n, &meter),
                        ==,
                        0);
        meter_start(meter);
        activity_run(f, 3500);
        activity_set(session, 1, 0);
        activity_run(f, 20);
        activity_set(session, 25000, 0);
        activity_run(f, 1300);
        g_assert_cmpuint(n, ==, 1);
        meter_free(meter);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/activity/record",
                        Fixture,
                        NULL,
                        fixture_set_up,
                        test_record,
                        fixture_tear_down);
        g_test_add("/activity/unread/stream",
                        Fixture,
                        NULL,
                        fixture_set_up,
                        test_unread,
                        fixture_tear_down);
        g_test_add("/activity/unread/flight",
                        Fixture,
                        "flight",
                        fixture_set_up,
                        test_unread,
                        fixture_tear_down);
        g_test_add("/activity/swap", Fixture, NULL, fixture_set_up, test_swap, fixture_tear_down);
        g_test_add("/activity/meter", Fixture, NULL, fixture_set_up, test_meter, fixture_tear_down);
        return g_test_run();
}
