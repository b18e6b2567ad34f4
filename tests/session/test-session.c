/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sessions on a fake kernel: states, Busy, the undo of every step, ends by destroy, by a creator
 * that left and by time, limits, strangers. Each test ends with the kernel as it was
 * (session-fixture.c). */

#include <errno.h>

#include "session-fixture.h"

#include "session/quota.h"
#include "session/registry-idle.h"
#include "session/registry.h"
#include "session/session-end.h"
#include "session/session-snapshot.h"
#include "session/session-state.h"
#include "session/session-stream.h"

static Session *create_root(Fixture *f) {
        Call call;

        fixture_create(f, &call, 0, ":1.1", SPEC_ROOT);
        fixture_wait(f, &call);
        g_assert_cmpstr(call.reason.text, ==, "");
        g_assert_cmpint(call.result, ==, 0);
        return call.session;
}

static bool is_empty(void *userdata) {
        Fixture *f = userdata;

        return fake_kernel_n_instances() == 0 && registry_is_idle(f->registry);
}

static void test_life(Fixture *f, gconstpointer userdata) {
        Session *session = create_root(f);
        Call call;

        (void)userdata;
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        g_autofree char *running = fake_kernel_describe();
        g_assert_nonnull(strstr(running, "sched:sched_switch on"));
        fixture_stop(f, &call, session);
        fixture_wait(f, &call);
        g_autofree char *stopped = fake_kernel_describe();
        g_assert_null(strstr(stopped, " on filter"));
        g_assert_null(strstr(stopped, "sched_switch on"));
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        g_autofree char *again = fake_kernel_describe();
        g_assert_cmpstr(again, ==, running);
        fixture_destroy(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        fixture_run_until(f, is_empty, f);
        g_assert_cmpstr(f->reported->str,
                        ==,
                        "state configured\nstate starting\nstate running\nstate stopping\nstate stopped\n"
                        "state starting\nstate running\nstate gone\n");
}

static void test_wrong_states(Fixture *f, gconstpointer userdata) {
        Session *session = create_root(f);
        Call call;

        (void)userdata;
        fixture_stop(f, &call, session);
        g_assert_cmpint(call.result, ==, KT_E_WRONG_STATE);
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        fixture_start(f, &call, session);
        g_assert_cmpint(call.result, ==, KT_E_WRONG_STATE);
}

/* Every operation of create fails once: nothing is left, and the next create works. */
static void test_create_undone(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        for (unsigned nth = 1;; nth++) {
                Call call;

                fake_kernel_fail(nth, -EIO);
                fixture_create(f, &call, 0, NULL, SPEC_ROOT);
                fixture_wait(f, &call);
                if (!fake_kernel_has_failed()) {
                        fake_kernel_fail(0, 0);
                        g_assert_cmpuint(nth, >, 5);
                        return;
                }
                g_assert_cmpint(call.result, <, 0);
                g_autofree char *now = fake_kernel_describe();
                g_assert_cmpstr(now, ==, f->baseline);
        }
}

/* Every operation of start fails once: events off, pids and filters as before the start. */
static void test_start_undone(Fixture *f, gconstpointer userdata) {
        Call call;

        (void)userdata;
        for (unsigned nth = 1; nth < 100; nth++) {
                fixture_create(f,
                                &call,
                                0,
                                NULL,
                                "{\"scope\":\"system\",\"events\":[{\"name\":\"sched:sched_switch\",\"filter\":\"pid==1\"},"
                                "\"raw_syscalls:sys_enter\"],\"lifetime\":\"linger\"}");
                fixture_wait(f, &call);
                g_assert_cmpint(call.result, ==, 0);
                Session *session = call.session;
                g_autofree char *before = fake_kernel_describe();

                fake_kernel_fail(nth, KT_E_KERNEL_REFUSED);
                fixture_start(f, &call, session);
                fixture_wait(f, &call);
                bool has_failed = fake_kernel_has_failed();
                if (has_failed) {
                        g_autofree char *after = fake_kernel_describe();
                        g_assert_cmpint(call.result, ==, KT_E_KERNEL_REFUSED);
                        g_assert_cmpstr(after, ==, before);
                        g_assert_cmpint(session_get_state(session), ==, SESSION_CONFIGURED);
                }
                fake_kernel_fail(0, 0);
                fixture_destroy(f, &call, session);
                fixture_wait(f, &call);
                if (!has_failed) {
                        g_assert_cmpuint(nth, >, 2);
                        return;
                }
        }
        g_assert_not_reached();
}

static void test_our_failure_is_failed(Fixture *f, gconstpointer userdata) {
        Session *session = create_root(f);
        Call call;

        (void)userdata;
        fake_kernel_fail_verb(FAKE_ENABLE, 1, -EIO);
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, -EIO);
        g_assert_cmpint(session_get_state(session), ==, SESSION_FAILED);
        fixture_start(f, &call, session);
        g_assert_cmpint(call.result, ==, KT_E_WRONG_STATE);
}

static void count(Session *session, void *userdata) {
        (void)session;
        (*(unsigned *)userdata)++;
}

/* While one session waits for the kernel, other calls are answered; the same session answers Busy.
 */
static void test_loop_goes_on(Fixture *f, gconstpointer userdata) {
        Session *session = create_root(f);
        Subject root = fixture_subject(0);
        json_object *limits = NULL;
        Call start, other;
        unsigned n = 0;

        (void)userdata;
        fake_kernel_hold(FAKE_ENABLE);
        fixture_start(f, &start, session);
        fixture_wait_held(f);
        fixture_stop(f, &other, session);
        g_assert_cmpint(other.result, ==, KT_E_BUSY);
        fixture_start(f, &other, session);
        g_assert_cmpint(other.result, ==, KT_E_BUSY);
        g_assert_cmpint(registry_describe_limits(f->registry, 0, &limits), ==, 0);
        json_object_put(limits);
        registry_visit(f->registry, &root, REACH_OWN, count, &n);
        g_assert_cmpuint(n, ==, 1);
        g_assert_false(start.is_answered);
        fake_kernel_release();
        fixture_wait(f, &start);
        g_assert_cmpint(start.result, ==, 0);
}

static void test_destroy_cancels_start(Fixture *f, gconstpointer userdata) {
        Session *session = create_root(f);
        Subject root = fixture_subject(0);
        Call start, destroy;
        g_autofree char *id = g_strdup(session_get_id(session));

        (void)userdata;
        fake_kernel_hold(FAKE_ENABLE);
        fixture_start(f, &start, session);
        fixture_wait_held(f);
        fixture_destroy(f, &destroy, session);
        g_assert_null(registry_find(f->registry, &root, REACH_OWN, id));
        fake_kernel_release();
        fixture_wait(f, &destroy);
        g_assert_true(start.is_answered);
        g_assert_cmpint(start.result, ==, KT_E_CANCELLED);
        g_assert_cmpint(destroy.result, ==, 0);
        fixture_run_until(f, is_empty, f);
}

static void test_creator_leaves(Fixture *f, gconstpointer userdata) {
        Call call;

        (void)userdata;
        fixture_create(f,
                        &call,
                        0,
                        ":1.7",
                        "{\"scope\":\"system\",\"events\":[\"sched:sched_switch\"]}");
        fixture_wait(f, &call);
        fixture_start(f, &call, call.session);
        fixture_wait(f, &call);
        registry_peer_gone(f->registry, ":1.8");
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 1);
        registry_peer_gone(f->registry, ":1.7");
        fixture_run_until(f, is_empty, f);
        g_assert_nonnull(strstr(f->reported->str, "ended client-gone\n"));
}

static void test_creator_leaves_while_creating(Fixture *f, gconstpointer userdata) {
        Call call;

        (void)userdata;
        fake_kernel_hold(FAKE_BUFFER);
        fixture_create(f,
                        &call,
                        0,
                        ":1.7",
                        "{\"scope\":\"system\",\"events\":[\"sched:sched_switch\"]}");
        fixture_wait_held(f);
        registry_peer_gone(f->registry, ":1.7");
        fake_kernel_release();
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_CANCELLED);
        fixture_run_until(f, is_empty, f);
}

static void test_setup_timeout(Fixture *f, gconstpointer userdata) {
        Limits limits;
        Call call;

        (void)userdata;
        limits_init(&limits);
        limits.setup_timeout_usec = 300000;
        limits.max_prepared_kb = 0;
        fixture_set_rules(f, NULL, &limits);
        fixture_create(f,
                        &call,
                        0,
                        ":1.7",
                        "{\"scope\":\"system\",\"events\":[\"sched:sched_switch\"]}");
        fixture_wait(f, &call);
        fixture_run_until(f, is_empty, f);
        g_assert_nonnull(strstr(f->reported->str, "ended setup-timeout\n"));
}

static void test_linger(Fixture *f, gconstpointer userdata) {
        Call call;

        (void)userdata;
        fixture_create(f,
                        &call,
                        0,
                        ":1.7",
                        "{\"scope\":\"system\",\"events\":[\"sched:sched_switch\"],\"lifetime\":\"linger:200ms\"}");
        fixture_wait(f, &call);
        (void)sd_event_run(f->event, 400000);
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 1); /* its creator is there */
        registry_peer_gone(f->registry, ":1.7");
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 1);
        fixture_run_until(f, is_empty, f);
        g_assert_nonnull(strstr(f->reported->str, "ended linger-timeout\n"));
}

/* A client that starts again goes on with the session of its predecessor. */
static void test_linger_taken_over(Fixture *f, gconstpointer userdata) {
        Call call;

        (void)userdata;
        fixture_create(f,
                        &call,
                        0,
                        ":1.7",
                        "{\"scope\":\"system\",\"events\":[\"sched:sched_switch\"],\"lifetime\":\"linger:200ms\"}");
        fixture_wait(f, &call);
        g_assert_cmpint(session_peer_back(call.session, ":1.8"), ==, -ENOENT);
        registry_peer_gone(f->registry, ":1.7");
        g_assert_cmpint(session_peer_back(call.session, ":1.8"), ==, 0);
        g_assert_cmpint(session_peer_back(call.session, ":1.9"), ==, -ENOENT);
        (void)sd_event_run(f->event, 400000);
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 1);
        registry_peer_gone(f->registry, ":1.8"); /* the time begins again */
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 1);
        fixture_run_until(f, is_empty, f);
        g_assert_nonnull(strstr(f->reported->str, "ended linger-timeout\n"));
}

static void test_strangers(Fixture *f, gconstpointer userdata) {
        Session *session = create_root(f);
        Subject stranger = fixture_subject(1234), root = fixture_subject(0);
        unsigned n = 0;

        (void)userdata;
        g_assert_null(registry_find(f->registry, &stranger, REACH_OWN, session_get_id(session)));
        registry_visit(f->registry, &stranger, REACH_OWN, count, &n);
        g_assert_cmpuint(n, ==, 0);
        g_assert_true(registry_find(f->registry, &root, REACH_OWN, session_get_id(session)) ==
                        session);
        /* Who may manage them sees all. */
        g_assert_true(registry_find(f->registry, &stranger, REACH_ALL, session_get_id(session)) ==
                        session);
        registry_visit(f->registry, &stranger, REACH_ALL, count, &n);
        g_assert_cmpuint(n, ==, 1);
}

static void test_limits(Fixture *f, gconstpointer userdata) {
        static const char spec[] =
                        "{\"scope\":\"own\",\"events\":[\"raw_syscalls:sys_enter\"],\"lifetime\":\"linger\"}";
        Call call;

        (void)userdata;
        for (unsigned i = 0; i < 3; i++) {
                fixture_create(f, &call, 1000, NULL, spec);
                fixture_wait(f, &call);
                g_assert_cmpint(call.result, ==, 0);
        }
        fixture_create(f, &call, 1000, NULL, spec);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_LIMIT_REACHED);
        g_assert_nonnull(strstr(call.reason.text, "max-sessions-per-uid"));
        fixture_create(f, &call, 1001, NULL, spec); /* another user's limit is another's */
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        fixture_create(f,
                        &call,
                        1001,
                        NULL,
                        "{\"scope\":\"own\",\"events\":[\"raw_syscalls:sys_enter\"],\"buffer-kb\":1000000}");
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_LIMIT_REACHED);
        g_assert_nonnull(strstr(call.reason.text, "buffer-kb"));
        fixture_create(f, &call, 1001, NULL, spec);
        fixture_wait(f, &call);
        fixture_create(f, &call, 0, NULL, SPEC_ROOT); /* the total binds root too */
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_LIMIT_REACHED);
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 5);
}

static void test_names(Fixture *f, gconstpointer userdata) {
        static const char spec[] =
                        "{\"name\":\"x\",\"scope\":\"own\",\"events\":[\"raw_syscalls:sys_enter\"],\"lifetime\":\"linger\"}";
        Call call;

        (void)userdata;
        fixture_create(f, &call, 1000, NULL, spec);
        fixture_wait(f, &call);
        fixture_create(f, &call, 1000, NULL, spec);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_NAME_TAKEN);
        fixture_create(f, &call, 1001, NULL, spec); /* unique per owner; tells nothing of others' */
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
}

static uint64_t count_sessions(Fixture *f, uid_t uid) {
        Usage usage;

        registry_get_usage(f->registry, uid, &usage);
        return usage.n_sessions_uid;
}

/* A user fills the limit, destroys a session and creates one while rmdir has not ended. */
static void test_destroy_before_removal(Fixture *f, gconstpointer userdata) {
        static const char spec[] =
                        "{\"name\":\"x\",\"scope\":\"own\",\"events\":[\"raw_syscalls:sys_enter\"],\"lifetime\":\"linger\"}";
        static const char other[] =
                        "{\"scope\":\"own\",\"events\":[\"raw_syscalls:sys_enter\"],\"lifetime\":\"linger\"}";
        Call call, again, third;

        (void)userdata;
        for (unsigned i = 0; i < 2; i++) {
                fixture_create(f, &call, 1000, NULL, other);
                fixture_wait(f, &call);
        }
        fixture_create(f, &call, 1000, NULL, spec);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        fake_kernel_hold(FAKE_REMOVE);
        fixture_destroy(f, &call, call.session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        fixture_wait_report(f, "state gone");
        fixture_wait_held(f);
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 3);
        g_assert_cmpuint(count_sessions(f, 1000), ==, 3);
        g_assert_false(registry_is_idle(f->registry));

        fixture_create(f, &again, 1000, NULL, spec); /* the name is free, the room is not */
        fixture_create(f, &third, 1000, NULL, other);
        for (unsigned i = 0; i < 20; i++)
                (void)sd_event_run(f->event, 10000);
        g_assert_false(again.is_answered);
        g_assert_false(third.is_answered);
        g_assert_cmpuint(count_sessions(f, 1000), ==, 3);
        fake_kernel_release();
        fixture_wait(f, &again);
        g_assert_cmpint(again.result, ==, 0);
        fixture_wait(f, &third);
        g_assert_cmpint(third.result, ==, KT_E_LIMIT_REACHED);
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 3);
}

/* Events that cannot be turned off may still record. */
static void test_destroy_not_quiet(Fixture *f, gconstpointer userdata) {
        Session *session = create_root(f);
        Call call;

        (void)userdata;
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        fake_kernel_fail_verb(FAKE_DISABLE_ALL, 1, -EIO);
        fake_kernel_hold(FAKE_REMOVE);
        fixture_destroy(f, &call, session);
        fixture_wait_held(f);
        for (unsigned i = 0; i < 20; i++)
                (void)sd_event_run(f->event, 10000);
        g_assert_false(call.is_answered);
        fake_kernel_release();
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 0);
}

/* The daemon ends while rmdir runs: the fixture finds the kernel as it was. */
static void test_end_during_removal(Fixture *f, gconstpointer userdata) {
        Session *session = create_root(f);
        Call call;

        (void)userdata;
        fake_kernel_delay(FAKE_REMOVE, 200);
        fixture_destroy(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 1);
}

static void test_held_instance(Fixture *f, gconstpointer userdata) {
        Session *session = create_root(f);
        g_autofree char *name = g_strdup_printf("ktrace-%s", session_get_id(session));
        Tracefs *tracefs = NULL;
        Instance *instance = NULL;
        Call call;

        (void)userdata;
        g_assert_cmpint(tracefs_open("/fake", &tracefs, NULL), ==, 0);
        g_assert_cmpint(instance_open(tracefs, name, &instance), ==, 0);
        int fd = instance_open_file(instance, "per_cpu/cpu0/trace_pipe_raw", 0);
        g_assert_cmpint(fd, >=, 0);
        fixture_destroy(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        for (unsigned i = 0; i < 20; i++)
                (void)sd_event_run(f->event, 10000);
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 1);
        g_assert_false(registry_is_idle(f->registry));
        g_assert_cmpuint(count_sessions(f, 0), ==, 1);
        close(fd);
        fixture_run_until(f, is_empty, f);
        instance_free(instance);
        tracefs_free(tracefs);
}

static void test_no_consumer(Fixture *f, gconstpointer userdata) {
        Session *session = create_root(f);
        Subject root = fixture_subject(0);
        Reason reason = {};

        (void)userdata;
        Request *request = request_new(&root, NULL);
        g_assert_cmpint(session_open_stream(session, CONTROL_SINK_PIPE, request, &reason),
                        ==,
                        KT_E_NO_CONSUMER);
        g_assert_cmpstr(reason.text, !=, "");
        request_free(request);
}

static void test_flight(Fixture *f, gconstpointer userdata) {
        static const char spec[] =
                        "{\"mode\":\"flight\",\"scope\":\"%s\",\"events\":[\"raw_syscalls:sys_enter\"],\"lifetime\":\"linger\"}";
        g_autofree char *system = g_strdup_printf(spec, "system");
        g_autofree char *own = g_strdup_printf(spec, "own");
        Session *stream = create_root(f);
        Subject root = fixture_subject(0);
        Reason reason = {};
        Call call;

        (void)userdata;
        fixture_create(f, &call, 0, NULL, system);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        g_autofree char *kernel = fake_kernel_describe();
        g_assert_nonnull(strstr(kernel, " overwrite"));
        Request *request = request_new(&root, NULL);
        g_assert_cmpint(session_open_stream(call.session, CONTROL_SINK_PIPE, request, &reason),
                        ==,
                        KT_E_WRONG_MODE);
        g_assert_cmpint(session_snapshot(stream, CONTROL_SINK_PIPE, NULL, request, &reason),
                        ==,
                        KT_E_WRONG_MODE);
        g_assert_cmpint(session_snapshot(call.session, CONTROL_SINK_PIPE, NULL, request, &reason),
                        ==,
                        KT_E_NO_CONSUMER);
        request_free(request);
        /* Of one's own processes: not before there is anything. */
        fixture_create(f, &call, 1000, NULL, own);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        Subject user = fixture_subject(1000);
        request = request_new(&user, NULL);
        g_assert_cmpint(session_snapshot(call.session, CONTROL_SINK_PIPE, NULL, request, &reason),
                        ==,
                        KT_E_WRONG_STATE);
        g_assert_nonnull(strstr(reason.text, "not been started"));
        request_free(request);
}

/* Left by a daemon that was killed: removed before the first session; others' instances are not
 * ours. */
static void test_orphans(void) {
        Fixture f;
        Subject root = fixture_subject(0);
        unsigned n = 0;

        fixture_set_up(&f, NULL);
        registry_free(f.registry);
        fake_kernel_add_instance("ktrace-0123456789abcdef");
        fake_kernel_add_instance("ktrace-somebody");
        RegistryOptions options = { .event = f.event,
                .launcher = { .event = f.event },
                .tracefs_path = "/fake",
                .policy = f.policy };
        limits_init(&options.limits);
        g_assert_cmpint(registry_new(&options, &f.registry), ==, 0);
        registry_open(f.registry);
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 1);
        g_assert_true(fake_kernel_has_instance("ktrace-somebody"));
        fake_kernel_reset();
        registry_visit(f.registry, &root, REACH_OWN, count, &n);
        g_assert_cmpuint(n, ==, 0);
        fixture_tear_down(&f, NULL);
}

#define ADD(path, function) \
        g_test_add("/session/" path, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        ADD("create-start-stop-start-destroy", test_life);
        ADD("verbs-in-the-wrong-state", test_wrong_states);
        ADD("every-step-of-create-is-undone", test_create_undone);
        ADD("every-step-of-start-is-undone", test_start_undone);
        ADD("our-own-failure-leaves-it-failed", test_our_failure_is_failed);
        ADD("the-loop-goes-on-while-the-kernel-waits", test_loop_goes_on);
        ADD("destroy-cancels-a-start", test_destroy_cancels_start);
        ADD("destroy-is-answered-before-rmdir", test_destroy_before_removal);
        ADD("destroy-waits-for-rmdir-if-events-stay-on", test_destroy_not_quiet);
        ADD("daemon-ends-during-rmdir", test_end_during_removal);
        ADD("gone-with-its-creator", test_creator_leaves);
        ADD("gone-with-its-creator-while-being-created", test_creator_leaves_while_creating);
        ADD("never-started", test_setup_timeout);
        ADD("lingers-for-a-time", test_linger);
        ADD("linger-is-taken-over", test_linger_taken_over);
        ADD("does-not-exist-for-strangers", test_strangers);
        ADD("limits-per-uid-and-in-total", test_limits);
        ADD("names-are-unique-per-owner", test_names);
        ADD("removed-when-nobody-holds-it-any-more", test_held_instance);
        ADD("a-stream-without-a-consumer-is-refused", test_no_consumer);
        ADD("flight-recorders-and-streams", test_flight);
        g_test_add_func("/session/orphans-of-a-killed-daemon", test_orphans);
        return g_test_run();
}
