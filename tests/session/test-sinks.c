/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sessions whose rule grants no records: what they refuse after their creation, what new rules and
 * another daemon make of them, and that nothing in them happens between two seconds. */
#include <string.h>

#include "session-fixture.h"
#include "session/registry-status.h"
#include "session/registry.h"
#include "session/session-control.h"
#include "session/session-describe.h"
#include "session/session-run.h"
#include "session/session-snapshot.h"
#include "session/session-state.h"
#include "session/session-stream.h"

#define RULE(sinks, keys)                                                                    \
        "{\"rules\":[{\"name\":\"new\",\"subjects\":[\"any\"],\"scopes\":[\"system\"],"      \
        "\"processes\":\"any\"," sinks "\"events\":[{\"name\":\"raw_syscalls:*\"" keys "}]}" \
        "]}"
#define COUNTS RULE("\"sinks\":[\"histogram\",\"count\"],", ",\"keys\":[\"id\"]")
#define SPEC                                                                      \
        "{\"scope\":\"system\",\"lifetime\":\"linger\",\"events\":[{\"name\":"    \
        "\"raw_syscalls:sys_enter\",\"enabled\":false}],\"triggers\":[{\"when\":" \
        "\"raw_syscalls:sys_enter\",\"do\":\"hist\",\"keys\":[\"id\"]}]}"
#define SPEC_RECORDED \
        "{\"scope\":\"system\",\"lifetime\":\"linger\",\"events\":[\"raw_syscalls:sys_enter\"]}"

static Session *make(Fixture *f, const char *spec) {
        Call call;

        fixture_create(f, &call, FIXTURE_USER, ":1.5", spec);
        fixture_wait(f, &call);
        g_assert_cmpstr(call.reason.text, ==, "");
        g_assert_cmpint(call.result, ==, 0);
        return call.session;
}

static void set_up(Fixture *f, gconstpointer userdata) {
        fixture_set_up(f, userdata);
        fake_kernel_set_kprobes(true); /* and histograms */
}

static Session *make_counting(Fixture *f) {
        fixture_set_rules(f, COUNTS, NULL);
        return make(f, SPEC);
}

static uint64_t get_usec(void) {
        return (uint64_t)g_get_monotonic_time();
}

/* Behind the time in which calls begin, and long before it. */
static void wait_for_the_middle(void) {
        while (get_usec() % G_USEC_PER_SEC < 300000 || get_usec() % G_USEC_PER_SEC > 700000)
                g_usleep(10000);
}

static void run(Fixture *f, Call *call) {
        fixture_wait(f, call);
        g_assert_cmpstr(call->reason.text, ==, "");
        g_assert_cmpint(call->result, ==, 0);
}

static int get_created(json_object *status) {
        json_object *totals = json_object_object_get(status, "totals");

        g_assert_nonnull(totals);
        return json_object_get_int(json_object_object_get(totals, "sessions-created"));
}

static void test_refused(Fixture *f, gconstpointer userdata) {
        Session *session = make_counting(f);
        Request *request = request_new(&(Subject){ .uid = FIXTURE_USER }, NULL);
        Reason reasons[6] = {};
        Call call;
        int fd;

        (void)userdata;
        fixture_start(f, &call, session);
        run(f, &call);
        g_assert_cmpint(session_open_stream(session, CONTROL_SINK_PIPE, request, &reasons[0]),
                        ==,
                        KT_E_ACCESS_DENIED);
        g_assert_cmpint(session_open_stream(session, CONTROL_SINK_SOCKET, request, &reasons[1]),
                        ==,
                        KT_E_ACCESS_DENIED);
        g_assert_cmpint(session_snapshot(session, CONTROL_SINK_PIPE, NULL, request, &reasons[2]),
                        ==,
                        KT_E_ACCESS_DENIED);
        g_assert_cmpint(session_mark(session, "x", &reasons[3]), ==, KT_E_ACCESS_DENIED);
        g_assert_cmpint(session_open_marker(session, &fd, &reasons[4]), ==, KT_E_ACCESS_DENIED);
        g_assert_cmpint(session_clear(session, request, &reasons[5]), ==, KT_E_ACCESS_DENIED);
        for (size_t i = 0; i < G_N_ELEMENTS(reasons); i++)
                if (!strstr(reasons[i].text, ": 50-test.json: new grants no records, only counts"))
                        g_error("%zu: %s", i, reasons[i].text);
        fixture_switch(f, &call, session, "raw_syscalls:*", true);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_ACCESS_DENIED);
        g_autofree char *kernel = fake_kernel_describe();
        g_assert_null(strstr(kernel, "sys_enter on"));
        fixture_resize(f, &call, session, 128);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_ACCESS_DENIED);
        request_free(request);
}

/* The rule names who counts: the kernel, if it can, or else the worker. */
static void test_who_counts(Fixture *f, gconstpointer userdata) {
        Call call;

        (void)userdata;
        for (int has_hist = false; has_hist <= true; has_hist++)
                for (int by_kernel = false; by_kernel <= true; by_kernel++) {
                        fake_kernel_set_kprobes(has_hist);
                        fixture_restart(f);
                        fixture_set_rules(f,
                                        by_kernel ? RULE("\"sinks\":[\"histogram\"],",
                                                                    ",\"keys\":[\"id\"]")
                                                  : RULE("\"sinks\":[\"count\"],",
                                                                    ",\"keys\":[\"id\"]"),
                                        NULL);
                        fixture_create(f, &call, FIXTURE_USER, ":1.5", SPEC);
                        fixture_wait(f, &call);
                        if (call.result != (by_kernel == has_hist ? 0 : KT_E_ACCESS_DENIED))
                                g_error("%d %d: %s", has_hist, by_kernel, call.reason.text);
                }
}

/* Users without records get totals that change once a second; others get them at once. */
static void test_totals(Fixture *f, gconstpointer userdata) {
        const Subject user = { .uid = FIXTURE_USER }, root = {};
        _cleanup_json_ json_object *before = NULL, *same = NULL, *now = NULL, *later = NULL;

        (void)userdata;
        fixture_set_rules(f, COUNTS, NULL);
        while (get_usec() % G_USEC_PER_SEC > 500000)
                g_usleep(10000);
        g_assert_cmpint(registry_describe_status(f->registry, &user, &before), ==, 0);
        make(f, SPEC);
        g_assert_cmpint(registry_describe_status(f->registry, &user, &same), ==, 0);
        g_assert_cmpint(registry_describe_status(f->registry, &root, &now), ==, 0);
        g_assert_cmpint(get_created(same), ==, get_created(before));
        g_assert_cmpint(get_created(now), ==, get_created(before) + 1);
        g_usleep(G_USEC_PER_SEC);
        g_assert_cmpint(registry_describe_status(f->registry, &user, &later), ==, 0);
        g_assert_cmpint(get_created(later), ==, get_created(now));
}

/* Counters that can be polled would show when something happens. */
static void test_statistics(Fixture *f, gconstpointer userdata) {
        _cleanup_json_ json_object *object = NULL, *whole = NULL;

        (void)userdata;
        g_assert_cmpint(session_statistics(make_counting(f), &object), ==, 0);
        g_assert_cmpuint(json_object_array_length(json_object_object_get(object, "cpus")), ==, 0);
        g_assert_null(json_object_object_get(object, "worker-cpu-usec"));
        fixture_set_rules(f, RULE("", ""), NULL);
        g_assert_cmpint(session_statistics(make(f, SPEC_RECORDED), &whole), ==, 0);
        g_assert_cmpuint(json_object_array_length(json_object_object_get(whole, "cpus")), >, 0);
}

static void test_described(Fixture *f, gconstpointer userdata) {
        _cleanup_json_ json_object *object = NULL;

        (void)userdata;
        g_assert_cmpint(session_describe(make_counting(f), &object), ==, 0);
        g_assert_cmpstr(json_object_to_json_string_ext(json_object_object_get(object, "sinks"), 0),
                        ==,
                        "[\"histogram\",\"count\"]");
}

static void expect_end(Fixture *f, const char *spec, const char *before, const char *after) {
        fixture_set_rules(f, before, NULL);
        make(f, spec);
        fixture_set_rules(f, after, NULL);
        fixture_wait_report(f, "state gone\n");
        g_assert_nonnull(strstr(f->reported->str, "ended policy\n"));
        g_string_set_size(f->reported, 0);
}

/* More keys and records are more. The session that is there stays without records. */
static void test_reload(Fixture *f, gconstpointer userdata) {
        Session *session = make_counting(f);
        Reason reason = {};

        (void)userdata;
        fixture_set_rules(f,
                        RULE("\"sinks\":[\"histogram\",\"count\"],", ",\"keys\":[\"*\",\"id\"]"),
                        NULL);
        fixture_set_rules(f, RULE("", ""), NULL);
        g_assert_null(strstr(f->reported->str, "ended"));
        g_assert_cmpint(session_open_stream(session, CONTROL_SINK_PIPE, NULL, &reason),
                        ==,
                        KT_E_ACCESS_DENIED);
        expect_end(f, SPEC_RECORDED, RULE("", ""), COUNTS);
        expect_end(f, SPEC, RULE("", ""), COUNTS);
        expect_end(f, SPEC, COUNTS, RULE("\"sinks\":[\"histogram\"],", ",\"keys\":[\"id\"]"));
        expect_end(f, SPEC, COUNTS, RULE("\"sinks\":[\"histogram\",\"count\"],", ""));
}

/* The rules are others when the next daemon begins. */
static void restart_by(Fixture *f, const char *rules) {
        g_autofree char *file = g_build_filename(f->dir, "policy.d", "50-test.json", NULL);
        Policy *policy = f->policy;
        Reason reason = {};

        g_assert_true(g_file_set_contents_full(
                        file, rules, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0644, NULL));
        g_assert_cmpint(policy_load(f->dir, "/nonexistent", &f->policy, &reason), ==, 0);
        fixture_restart(f);
        policy_free(policy);
}

static size_t count_sessions(const Fixture *f) {
        size_t n_sessions, n_streams;

        registry_count(f->registry, &n_sessions, &n_streams);
        return n_sessions;
}

static void test_restart(Fixture *f, gconstpointer userdata) {
        const Subject root = {};
        char id[KT_ID_DIGITS + 1];
        Reason reason = {};

        (void)userdata;
        g_strlcpy(id, session_get_id(make_counting(f)), sizeof(id));
        restart_by(f, COUNTS);
        Session *session = registry_find(f->registry, &root, REACH_ALL, id);
        g_assert_nonnull(session);
        g_assert_cmpint(session_open_stream(session, CONTROL_SINK_PIPE, NULL, &reason),
                        ==,
                        KT_E_ACCESS_DENIED);
        restart_by(f, RULE("\"sinks\":[\"histogram\",\"count\"],", ",\"keys\":[\"id\",\"args\"]"));
        g_assert_cmpuint(count_sessions(f), ==, 0);
        fixture_set_rules(f, COUNTS, NULL);
        make(f, SPEC);
        restart_by(f, RULE("\"sinks\":[\"histogram\"],", ",\"keys\":[\"id\"]"));
        g_assert_cmpuint(count_sessions(f), ==, 0);
        fixture_set_rules(f, RULE("", ""), NULL);
        make(f, SPEC);
        restart_by(f, COUNTS);
        g_assert_cmpuint(count_sessions(f), ==, 0);
        fixture_set_rules(f, RULE("", ""), NULL);
        make(f, SPEC_RECORDED);
        restart_by(f, COUNTS);
        g_assert_cmpuint(count_sessions(f), ==, 0);
}

/* In the middle of a second the call waits, and the next one is refused until it is over. */
static void expect_late(Fixture *f,
                Session *session,
                void (*begin)(Fixture *f, Call *call, Session *session),
                SessionState before) {
        Call call, other;

        wait_for_the_middle();
        uint64_t second = get_usec() / G_USEC_PER_SEC;
        begin(f, &call, session);
        g_assert_false(call.is_answered);
        g_assert_cmpint(session_get_state(session), ==, before);
        begin(f, &other, session);
        g_assert_true(other.is_answered);
        g_assert_cmpint(other.result, ==, KT_E_BUSY);
        run(f, &call);
        g_assert_cmpuint(get_usec() / G_USEC_PER_SEC, >, second);
}

static void test_late(Fixture *f, gconstpointer userdata) {
        static const char *const verbs[] = { "hist-pause", "hist-continue", "hist-clear" };
        Session *session = make_counting(f);
        Call call;

        (void)userdata;
        expect_late(f, session, fixture_start, SESSION_CONFIGURED);
        g_assert_cmpint(session_get_state(session), ==, SESSION_RUNNING);
        for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++) {
                wait_for_the_middle();
                uint64_t second = get_usec() / G_USEC_PER_SEC;
                fixture_change_histogram(f, &call, session, verbs[i]);
                run(f, &call);
                g_assert_cmpuint(get_usec() / G_USEC_PER_SEC, >, second);
        }
        expect_late(f, session, fixture_stop, SESSION_RUNNING);
        g_assert_cmpint(session_get_state(session), ==, SESSION_STOPPED);
}

/* One with records does not wait. */
static void test_not_late(Fixture *f, gconstpointer userdata) {
        Call call;

        (void)userdata;
        fixture_set_rules(f, RULE("", ""), NULL);
        Session *session = make(f, SPEC);
        wait_for_the_middle();
        fixture_start(f, &call, session);
        g_assert_cmpint(session_get_state(session), ==, SESSION_STARTING);
        run(f, &call);
}

/* The session ends before the second does. */
static void test_end_while_late(Fixture *f, gconstpointer userdata) {
        Session *session = make_counting(f);
        Call call, hist, end;

        (void)userdata;
        fixture_start(f, &call, session);
        run(f, &call);
        wait_for_the_middle();
        fixture_stop(f, &call, session);
        fixture_change_histogram(f, &hist, session, "hist-clear");
        g_assert_cmpint(hist.result, ==, KT_E_BUSY);
        fixture_destroy(f, &end, session);
        run(f, &end);
        g_assert_cmpint(call.result, ==, KT_E_CANCELLED);
        session = make(f, SPEC);
        fixture_start(f, &call, session);
        run(f, &call);
        wait_for_the_middle();
        fixture_change_histogram(f, &hist, session, "hist-clear");
        fixture_restart(f);
        g_assert_cmpint(hist.result, ==, KT_E_CANCELLED);
        g_assert_cmpuint(count_sessions(f), ==, 1);
}

int main(int argc, char **argv) {
        static const struct {
                const char *path;
                void (*test)(Fixture *f, gconstpointer userdata);
        } tests[] = {
                { "/sinks/refused", test_refused },
                { "/sinks/who-counts", test_who_counts },
                { "/sinks/totals", test_totals },
                { "/sinks/statistics", test_statistics },
                { "/sinks/described", test_described },
                { "/sinks/reload", test_reload },
                { "/sinks/restart", test_restart },
                { "/sinks/late", test_late },
                { "/sinks/not-late", test_not_late },
                { "/sinks/end-while-late", test_end_while_late },
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].path, Fixture, NULL, set_up, tests[i].test, fixture_tear_down);
        return g_test_run();
}
