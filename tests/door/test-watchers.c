/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who watches gets the notices of its user's sessions, in order, with the number of those that it
 * did not read; no session waits for it. */
#include <glib.h>
#include <string.h>

#include "door/watchers.h"
#include "interfaces/json.h"
#include "session/registry.h"
#include "session/session-state.h"

#define ALICE 1000
#define BOB   1001

typedef struct Fixture {
        sd_event *event;
        Watchers *watchers;
        GString *sent; /* "PEER OBJECT", a line each; without times */
        const char *stalled;
        Session alice, bob;
} Fixture;

static bool on_send(const char *peer, json_object *notice, void *userdata) {
        Fixture *f = userdata;

        if (g_strcmp0(peer, f->stalled) == 0)
                return false;
        g_string_append_printf(f->sent, "%s {", peer);
        json_object_object_foreach(notice, key, value) {
                if (strcmp(key, "monotonic-nsec") != 0 && strcmp(key, "realtime-nsec") != 0)
                        g_string_append_printf(
                                        f->sent, " %s=%s", key, json_object_get_string(value));
        }
        g_string_append(f->sent, " }\n");
        return true;
}

static void set_up_session(Session *session, uid_t uid, const char *id, const char *name) {
        *session = (Session){ .owner.uid = uid, .state = SESSION_RUNNING, .spec = spec_new() };
        g_assert_nonnull(session->spec);
        g_strlcpy(session->id, id, sizeof(session->id));
        session->spec->name = g_strdup(name);
}

static void set_up(Fixture *f, gconstpointer userdata) {
        *f = (Fixture){ .sent = g_string_new("") };
        g_assert_cmpint(sd_event_new(&f->event), >=, 0);
        g_assert_cmpint(watchers_new(&(WatchersOptions){ f->event, on_send, f }, &f->watchers),
                        ==,
                        0);
        set_up_session(&f->alice, ALICE, "000000000000000a", "box");
        set_up_session(&f->bob, BOB, "000000000000000b", "");
}

static void tear_down(Fixture *f, gconstpointer userdata) {
        watchers_free(f->watchers);
        sd_event_unref(f->event);
        g_string_free(f->sent, TRUE);
        spec_free(f->alice.spec);
        spec_free(f->bob.spec);
}

static void add(Fixture *f, const char *peer, uid_t uid, bool is_of_all) {
        Reason reason = {};

        g_assert_cmpint(watchers_add(f->watchers, peer, uid, is_of_all, &reason), ==, 0);
}

static void expect(Fixture *f, const char *sent) {
        g_assert_cmpstr(f->sent->str, ==, sent);
        g_string_truncate(f->sent, 0);
}

static void run_msec(Fixture *f, unsigned msec) {
        gint64 end = g_get_monotonic_time() + msec * 1000;

        while (g_get_monotonic_time() < end)
                g_assert_cmpint(sd_event_run(f->event, 5000), >=, 0);
}

static void lose(Fixture *f, Session *session, int64_t lost, int64_t total) {
        g_autofree char *text = g_strdup_printf(
                        "{\"kind\":\"lost-events\",\"session\":\"%s\","
                        "\"sequence\":1,\"merged\":0,\"cpus\":[{\"cpu\":0}],"
                        "\"lost\":%" G_GINT64_FORMAT ",\"total\":%" G_GINT64_FORMAT "}",
                        session_get_id(session),
                        lost,
                        total);
        _cleanup_json_ json_object *notice = json_tokener_parse(text);

        watchers_take_notice(f->watchers, session, notice);
        /* Subscribers of the session get it unchanged. */
        g_assert_nonnull(json_object_object_get(notice, "cpus"));
        g_assert_cmpint(json_object_get_int64(json_object_object_get(notice, "lost")), ==, lost);
}

static void test_owner(Fixture *f, gconstpointer userdata) {
        watchers_take_state(f->watchers, &f->alice);
        expect(f, "");
        add(f, "a", ALICE, false);
        add(f, "b", BOB, false);
        add(f, "root", 0, true);
        watchers_take_state(f->watchers, &f->alice);
        expect(f,
                        "a { kind=state session=000000000000000a name=box uid=1000 state=running }\n"
                        "root { kind=state session=000000000000000a name=box uid=1000 state=running }\n");
        watchers_take_end(f->watchers, &f->bob, "limit", "too much");
        expect(f,
                        "b { kind=ended session=000000000000000b name= uid=1001 code=limit "
                        "reason=too much }\n"
                        "root { kind=ended session=000000000000000b name= uid=1001 code=limit "
                        "reason=too much }\n");
        /* The second call replaces the first one. */
        add(f, "root", 0, false);
        watchers_remove(f->watchers, "b");
        watchers_remove(f->watchers, "never there");
        watchers_take_state(f->watchers, &f->bob);
        expect(f, "");
}

static void test_limit(Fixture *f, gconstpointer userdata) {
        Reason reason = {};

        for (int i = 0; i < 8; i++) {
                g_autofree char *peer = g_strdup_printf(":1.%d", i);
                add(f, peer, ALICE, false);
                add(f, peer, ALICE, false);
        }
        g_assert_cmpint(watchers_add(f->watchers, ":1.8", ALICE, false, &reason),
                        ==,
                        KT_E_LIMIT_REACHED);
        add(f, ":1.9", BOB, false);
        watchers_remove(f->watchers, ":1.3");
        add(f, ":1.8", ALICE, false);
}

/* Who does not read gets the number of what it has missed, before anything later. */
static void test_stalled(Fixture *f, gconstpointer userdata) {
        add(f, "a", ALICE, false);
        add(f, "b", ALICE, false);
        f->stalled = "a";
        for (int i = 0; i < 3; i++)
                watchers_take_state(f->watchers, &f->alice);
        g_assert_null(strstr(f->sent->str, "a {"));
        g_string_truncate(f->sent, 0);
        f->stalled = NULL;
        /* It has not read all yet. */
        watchers_take_end(f->watchers, &f->alice, "destroyed", "");
        g_assert_null(strstr(f->sent->str, "a {"));
        g_string_truncate(f->sent, 0);
        watchers_resume(f->watchers, "a");
        expect(f, "a { dropped=4 }\n");
        watchers_resume(f->watchers, "a");
        expect(f, "");
        watchers_remove(f->watchers, "b");
        watchers_take_state(f->watchers, &f->alice);
        expect(f, "a { kind=state session=000000000000000a name=box uid=1000 state=running }\n");
}

static unsigned count_lines(const Fixture *f) {
        unsigned n = 0;

        for (const char *at = f->sent->str; (at = strchr(at, '\n')); at++)
                n++;
        return n;
}

/* The bus has no bound that would protect others: what comes too fast is counted. */
static void test_bus(Fixture *f, gconstpointer userdata) {
        add(f, ":1.7", ALICE, false);
        for (int i = 0; i < 5000; i++)
                watchers_take_state(f->watchers, &f->alice);
        unsigned n = count_lines(f);
        g_assert_cmpuint(n, >=, 1024);
        g_assert_cmpuint(n, <, 1200);
        g_string_truncate(f->sent, 0);
        run_msec(f, 250);
        g_autofree char *report = g_strdup_printf(":1.7 { dropped=%u }\n", 5000 - n);
        expect(f, report);
}

static void test_losses(Fixture *f, gconstpointer userdata) {
        add(f, "a", ALICE, false);
        lose(f, &f->alice, 5, 5);
        expect(f,
                        "a { kind=lost-events session=000000000000000a name=box uid=1000 merged=0 "
                        "lost=5 total=5 }\n");
        lose(f, &f->alice, 10, 15);
        lose(f, &f->alice, 20, 35);
        lose(f, &f->bob, 1, 1);
        run_msec(f, 700);
        expect(f, "");
        run_msec(f, 500);
        expect(f,
                        "a { kind=lost-events session=000000000000000a name=box uid=1000 merged=1 "
                        "lost=30 total=35 }\n");
        /* Before the end all is reported. */
        lose(f, &f->alice, 7, 42);
        watchers_take_end(f->watchers, &f->alice, "destroyed", "");
        expect(f,
                        "a { kind=lost-events session=000000000000000a name=box uid=1000 merged=0 "
                        "lost=7 total=42 }\n"
                        "a { kind=ended session=000000000000000a name=box uid=1000 code=destroyed "
                        "reason= }\n");
        lose(f, &f->alice, 1, 43);
        watchers_flush(f->watchers);
        g_assert_cmpuint(count_lines(f), ==, 1);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/watchers/owner", Fixture, NULL, set_up, test_owner, tear_down);
        g_test_add("/watchers/limit", Fixture, NULL, set_up, test_limit, tear_down);
        g_test_add("/watchers/stalled", Fixture, NULL, set_up, test_stalled, tear_down);
        g_test_add("/watchers/bus", Fixture, NULL, set_up, test_bus, tear_down);
        g_test_add("/watchers/losses", Fixture, NULL, set_up, test_losses, tear_down);
        return g_test_run();
}
