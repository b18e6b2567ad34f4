/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is told of a session on its own: at once, then put together and counted, a few at a time. */
#include <string.h>

#include "session-fixture.h"
#include "session/registry.h"
#include "session/session-notice.h"
#include "session/session-state.h"
#include "work/notice.h"

#define ID "0123456789abcdef"

typedef struct Teller {
        sd_event *event;
        Notices *notices;
        GPtrArray *reported; /* json_object */
        size_t n_busy;
} Teller;

static void on_tell(json_object *notice, void *userdata) {
        g_ptr_array_add(((Teller *)userdata)->reported, json_object_get(notice));
}

static size_t on_count_busy(void *userdata) {
        return ((Teller *)userdata)->n_busy;
}

static void put(gpointer object) {
        json_object_put(object);
}

static void set_up(Teller *t, gconstpointer userdata) {
        (void)userdata;
        *t = (Teller){ .reported = g_ptr_array_new_with_free_func(put), .n_busy = 1 };
        g_assert_cmpint(sd_event_new(&t->event), >=, 0);
        g_assert_cmpint(notices_new(&(NoticesOptions){ t->event, ID, 2, on_tell, on_count_busy, t },
                                        &t->notices),
                        ==,
                        0);
}

static void tear_down(Teller *t, gconstpointer userdata) {
        (void)userdata;
        notices_free(t->notices);
        sd_event_unref(t->event);
        g_ptr_array_unref(t->reported);
}

static void run_msec(sd_event *event, unsigned msec) {
        gint64 end = g_get_monotonic_time() + msec * 1000;

        while (g_get_monotonic_time() < end)
                g_assert_cmpint(sd_event_run(event, 5000), >=, 0);
}

static json_object *get(const Teller *t, unsigned i, const char *kind) {
        g_assert_cmpuint(i, <, t->reported->len);
        json_object *notice = g_ptr_array_index(t->reported, i);

        g_assert_cmpstr(json_object_get_string(json_object_object_get(notice, "kind")), ==, kind);
        g_assert_cmpstr(json_object_get_string(json_object_object_get(notice, "session")), ==, ID);
        g_assert_cmpint(json_object_get_int64(json_object_object_get(notice, "sequence")),
                        ==,
                        i + 1);
        return notice;
}

static void assert_number(json_object *notice, const char *key, int64_t value) {
        json_object *number = json_object_object_get(notice, key);

        g_assert_nonnull(number);
        g_assert_cmpint(json_object_get_int64(number), ==, value);
}

static void test_losses(Teller *t, gconstpointer userdata) {
        json_object *notice, *cpus;

        (void)userdata;
        notices_take_losses(t->notices, (uint64_t[]){ 0, 0 });
        g_assert_cmpuint(t->reported->len, ==, 0);
        notices_take_losses(t->notices, (uint64_t[]){ 0, 7 });
        notice = get(t, 0, "lost-events");
        assert_number(notice, "lost", 7);
        assert_number(notice, "merged", 0);
        /* Of the rest of the 100 ms one notice, with the sum. */
        notices_take_losses(t->notices, (uint64_t[]){ 1, 8 });
        notices_take_losses(t->notices, (uint64_t[]){ 1, 8 });
        notices_take_losses(t->notices, (uint64_t[]){ 5, 10 });
        g_assert_cmpuint(t->reported->len, ==, 1);
        run_msec(t->event, 200);
        g_assert_cmpuint(t->reported->len, ==, 2);
        notice = get(t, 1, "lost-events");
        assert_number(notice, "lost", 8);
        assert_number(notice, "total", 15);
        assert_number(notice, "merged", 1);
        cpus = json_object_object_get(notice, "cpus");
        g_assert_cmpuint(json_object_array_length(cpus), ==, 2);
        assert_number(json_object_array_get_idx(cpus, 0), "lost", 5);
        assert_number(json_object_array_get_idx(cpus, 1), "total", 10);
        /* Counters that began anew. */
        notices_take_losses(t->notices, (uint64_t[]){ 0, 0 });
        notices_take_losses(t->notices, (uint64_t[]){ 3, 0 });
        run_msec(t->event, 200);
        notice = get(t, 2, "lost-events");
        assert_number(notice, "lost", 3);
        cpus = json_object_object_get(notice, "cpus");
        g_assert_cmpuint(json_object_array_length(cpus), ==, 1);
}

/* A million hits a second are ten notices, and none is forgotten. */
static void test_flood(Teller *t, gconstpointer userdata) {
        gint64 end = g_get_monotonic_time() + 500000;
        uint64_t n = 0, reported = 0;

        (void)userdata;
        while (g_get_monotonic_time() < end) {
                for (unsigned i = 0; i < 1000; i++)
                        notices_take_hits(t->notices, 0, "sched:sched_switch", 1, 42);
                n += 1000;
                g_assert_cmpint(sd_event_run(t->event, 0), >=, 0);
        }
        g_assert_cmpuint(n, >, 100000);
        run_msec(t->event, 150);
        g_assert_cmpuint(t->reported->len, >=, 2);
        g_assert_cmpuint(t->reported->len, <=, 8);
        for (unsigned i = 0; i < t->reported->len; i++) {
                json_object *notice = get(t, i, "notify");

                reported += json_object_get_uint64(json_object_object_get(notice, "count"));
                assert_number(notice, "total", (int64_t)reported);
                assert_number(notice, "pid", 42);
        }
        g_assert_cmpuint(reported, ==, n);
}

/* Many triggers at once are reported in turn: none waits for ever behind a fast one. */
static void test_turns(Teller *t, gconstpointer userdata) {
        gint64 begin = g_get_monotonic_time();
        unsigned seen[12] = { 0 };

        (void)userdata;
        for (unsigned round = 0; round < 40; round++) {
                for (unsigned trigger = 0; trigger < ELEMENTSOF(seen); trigger++)
                        notices_take_hits(t->notices, trigger, "a:b", 1, 1);
                run_msec(t->event, 20);
        }
        /* The first at once, then four in 100 ms; a busy machine takes longer. */
        g_assert_cmpuint(t->reported->len,
                        <=,
                        1 + 4 * (unsigned)((g_get_monotonic_time() - begin) / 100000 + 1));
        for (unsigned i = 0; i < t->reported->len; i++)
                seen[json_object_get_int64(
                                json_object_object_get(get(t, i, "notify"), "trigger"))]++;
        for (unsigned trigger = 0; trigger < ELEMENTSOF(seen); trigger++)
                g_assert_cmpuint(seen[trigger], >=, 2);
}

/* One user's many sessions share a pace. */
static void test_busy(Teller *t, gconstpointer userdata) {
        (void)userdata;
        t->n_busy = 24;
        notices_take_snapshot(t->notices);
        g_assert_true(notices_are_busy(t->notices));
        notices_take_snapshot(t->notices);
        gint64 begin = g_get_monotonic_time();
        run_msec(t->event, 200);
        /* A busy machine may take longer than the pause. */
        if (g_get_monotonic_time() - begin < 240000)
                g_assert_cmpuint(t->reported->len, ==, 1);
        run_msec(t->event, 200);
        g_assert_cmpuint(t->reported->len, ==, 2);
        assert_number(get(t, 1, "snapshot-taken"), "total", 2);
}

/* Why it ends comes last and at once. */
static void test_end(Teller *t, gconstpointer userdata) {
        json_object *notice;

        (void)userdata;
        notices_take_losses(t->notices, (uint64_t[]){ 1, 0 });
        notices_take_losses(t->notices, (uint64_t[]){ 2, 0 });
        notices_take_reason(t->notices, NOTICE_LIMIT_HIT, "too hot", "max-event-rate", 10000);
        g_assert_cmpuint(t->reported->len, ==, 3);
        get(t, 1, "lost-events");
        notice = get(t, 2, "limit-hit");
        g_assert_cmpstr(json_object_get_string(json_object_object_get(notice, "limit")),
                        ==,
                        "max-event-rate");
        assert_number(notice, "value", 10000);
        notices_take_reason(t->notices, NOTICE_GUARD_FIRED, "fired", NULL, 0);
        get(t, 3, "guard-fired");
}

static Session *make_running(Fixture *f) {
        Call call;

        fixture_create(f, &call, 0, ":1.5", SPEC_ROOT);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        Session *session = call.session;
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        return session;
}

static void destroy(Fixture *f, Session *session) {
        Call call;

        fixture_destroy(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
}

static void lose(const Session *session, uint64_t n) {
        g_autofree char *name = g_strdup_printf("ktrace-%s", session_get_id(session));

        fake_kernel_set_statistics(name, 1, &(CpuStatistics){ .dropped = n });
}

/* Lost events are reported while the session runs, and those lost before it stopped are reported
 * too. */
static void test_session_loses(Fixture *f, gconstpointer userdata) {
        Session *session = make_running(f);
        Call call;

        (void)userdata;
        lose(session, 3);
        fixture_wait_report(f, "notice lost-events\n");
        lose(session, 4);
        g_string_truncate(f->reported, 0);
        fixture_stop(f, &call, session);
        fixture_wait(f, &call);
        g_assert_nonnull(strstr(f->reported->str, "notice lost-events\n"));
        destroy(f, session);
}

static void count_peer(const char *peer, void *userdata) {
        g_string_append_printf(userdata, "%s ", peer);
}

/* To its creator and to those who asked, once each, until they leave. */
static void test_subscribers(Fixture *f, gconstpointer userdata) {
        Session *session = make_running(f);
        g_autoptr(GString) peers = g_string_new(NULL);
        char name[16];
        Reason reason;

        (void)userdata;
        g_assert_cmpint(session_subscribe(session, ":1.5", &reason), ==, 0);
        for (unsigned i = 0; i < 2 * SUBSCRIBERS_MAX; i++) {
                g_snprintf(name, sizeof(name), ":1.1%02u", i / 2);
                g_assert_cmpint(session_subscribe(session, name, &reason), ==, 0);
        }
        g_assert_cmpint(session_subscribe(session, ":1.200", &reason), ==, KT_E_LIMIT_REACHED);
        for (unsigned i = 0; i < SUBSCRIBERS_MAX - 1; i++) {
                g_snprintf(name, sizeof(name), ":1.1%02u", i);
                registry_peer_gone(f->registry, name);
        }
        session_visit_peers(session, count_peer, peers);
        g_assert_cmpstr(peers->str, ==, ":1.5 :1.115 ");
        registry_peer_gone(f->registry, ":1.5");
        g_string_truncate(peers, 0);
        session_visit_peers(session, count_peer, peers);
        g_assert_cmpstr(peers->str, ==, ":1.115 ");
        destroy(f, session);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/notice/losses", Teller, NULL, set_up, test_losses, tear_down);
        g_test_add("/notice/flood", Teller, NULL, set_up, test_flood, tear_down);
        g_test_add("/notice/turns", Teller, NULL, set_up, test_turns, tear_down);
        g_test_add("/notice/busy", Teller, NULL, set_up, test_busy, tear_down);
        g_test_add("/notice/end", Teller, NULL, set_up, test_end, tear_down);
        g_test_add("/notice/session",
                        Fixture,
                        NULL,
                        fixture_set_up,
                        test_session_loses,
                        fixture_tear_down);
        g_test_add("/notice/subscribers",
                        Fixture,
                        NULL,
                        fixture_set_up,
                        test_subscribers,
                        fixture_tear_down);
        return g_test_run();
}
