/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prepared instances: who gets one, how many there are, and that none is left. */

#include <errno.h>
#include <string.h>

#include "session-fixture.h"

#include "session/registry.h"

#define SPEC_OF(more) \
        "{\"scope\":\"system\",\"events\":[\"sched:sched_switch\"],\"lifetime\":\"linger\"" more "}"

static void use_pool(Fixture *f) {
        f->max_prepared_kb = 65536;
        fixture_restart(f);
}

static Session *pool_create(Fixture *f, const char *spec) {
        Call call;

        fixture_create(f, &call, 0, ":1.1", spec);
        fixture_wait(f, &call);
        g_assert_cmpstr(call.reason.text, ==, "");
        g_assert_cmpint(call.result, ==, 0);
        return call.session;
}

static void pool_destroy(Fixture *f, Session *session) {
        Call call;

        fixture_destroy(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
}

static bool has_count(void *userdata) {
        return fake_kernel_n_instances() == *(size_t *)userdata;
}

/* Also waits for three more pauses, in which nothing may change. */
static void wait_instances(Fixture *f, size_t n) {
        fixture_run_until(f, has_count, &n);
        gint64 end = g_get_monotonic_time() + 350000;
        while (g_get_monotonic_time() < end)
                g_assert_cmpint(sd_event_run(f->event, 20000), >=, 0);
        g_assert_cmpuint(fake_kernel_n_instances(), ==, n);
}

static char *describe_without(const char *id) {
        g_autofree char *all = fake_kernel_describe(), *name = g_strdup_printf("ktrace-%s", id);
        char *at = strstr(all, name);

        g_assert_nonnull(at);
        at += strlen(name);
        char *end = strstr(at, "instance ktrace-");
        return g_strndup(at, end ? (size_t)(end - at) : strlen(at));
}

static void test_same(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        use_pool(f);
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 0);
        Session *first = pool_create(f, SPEC_OF(""));
        wait_instances(f, 3);
        fake_kernel_fail_verb(FAKE_CREATE, 1, -EIO); /* nothing is made for the next one */
        fake_kernel_fail_verb(FAKE_CLOCK, 1, -EIO);
        Session *second = pool_create(f, SPEC_OF(""));
        g_autofree char *made = describe_without(first->id), *taken = describe_without(second->id);
        g_assert_cmpstr(made, ==, taken);
        pool_destroy(f, first);
        pool_destroy(f, second);
}

static void test_other_size(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        use_pool(f);
        (void)pool_create(f, SPEC_OF(",\"buffer-kb\":64"));
        wait_instances(f, 3);
        Session *other = pool_create(f, SPEC_OF(",\"buffer-kb\":64"));
        wait_instances(f, 4);
        g_autofree char *text = describe_without(other->id);
        g_assert_nonnull(strstr(text, "64"));
}

/* The limits of the fixture are 5 sessions. */
static void test_sessions_first(Fixture *f, gconstpointer userdata) {
        Session *sessions[5];

        (void)userdata;
        use_pool(f);
        for (size_t i = 0; i < 4; i++)
                sessions[i] = pool_create(f, SPEC_OF(""));
        wait_instances(f, 5);
        sessions[4] = pool_create(f, SPEC_OF(""));
        wait_instances(f, 5);
        for (size_t i = 0; i < 3; i++)
                pool_destroy(f, sessions[i]);
        wait_instances(f, 4);
}

static void test_changed(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        use_pool(f);
        pool_destroy(f, pool_create(f, SPEC_OF("")));
        wait_instances(f, 2);
        g_autofree char *all = fake_kernel_describe();
        for (char *at = all; (at = strstr(at, "ktrace-")); at++) {
                g_autofree char *name = g_strndup(at, strlen("ktrace-") + KT_ID_DIGITS);

                fake_kernel_change_tracing(name, false);
        }
        Session *session = pool_create(f, SPEC_OF(""));
        g_autofree char *text = describe_without(session->id);
        g_assert_null(strstr(text, "tracing_on"));
        pool_destroy(f, session);
}

/* The plan ends before the step that takes the instance. */
static void test_refused(Fixture *f, gconstpointer userdata) {
        Call call;

        (void)userdata;
        use_pool(f);
        pool_destroy(f, pool_create(f, SPEC_OF("")));
        wait_instances(f, 2);
        fixture_create(f,
                        &call,
                        0,
                        ":1.1",
                        "{\"scope\":\"system\",\"events\":[\"sched:sched_switch\"],\"lifetime\":\"unit:no-such.service\"}");
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, !=, 0);
        wait_instances(f, 2);
}

static void test_failure(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        use_pool(f);
        Session *session = pool_create(f, SPEC_OF(""));
        fake_kernel_fail_verb(FAKE_CLOCK, 1, -EIO);
        wait_instances(f, 1);
        pool_destroy(f, session);
}

int main(int argc, char **argv) {
        static const struct {
                const char *path;
                void (*test)(Fixture *f, gconstpointer userdata);
        } tests[] = {
                { "/pool/same", test_same },
                { "/pool/other-size", test_other_size },
                { "/pool/sessions-first", test_sessions_first },
                { "/pool/changed", test_changed },
                { "/pool/refused", test_refused },
                { "/pool/failure", test_failure },
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].path,
                                Fixture,
                                NULL,
                                fixture_set_up,
                                tests[i].test,
                                fixture_tear_down);
        return g_test_run();
}
