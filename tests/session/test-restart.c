/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the next daemon takes over of the last one's sessions, and what it does not. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "session-fixture.h"
#include "session/quota.h"
#include "session/registry-idle.h"
#include "session/registry.h"
#include "session/session-state.h"

#define SPEC_FLIGHT \
        "{\"scope\":\"system\",\"mode\":\"flight\",\"name\":\"box\",\"lifetime\":\"linger\",\"events\":[\"sched:sched_switch\",{\"name\":\"raw_syscalls:sys_enter\",\"filter\":\"id == 3\"}]}"

static Session *make(Fixture *f, uid_t uid, const char *peer, const char *spec) {
        Call call;

        fixture_create(f, &call, uid, peer, spec);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        return call.session;
}

static void start(Fixture *f, Session *session) {
        Call call;

        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpstr(call.reason.text, ==, "");
        g_assert_cmpint(call.result, ==, 0);
}

static void stop(Fixture *f, Session *session) {
        Call call;

        fixture_stop(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
}

static Session *find(const Fixture *f, const char *id) {
        const Subject root = {};

        return registry_find(f->registry, &root, REACH_ALL, id);
}

static char *read_state(const Fixture *f, const char *id) {
        g_autofree char *path = g_strdup_printf("%s/%s.json", f->state_dir, id);
        char *text;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        return text;
}

/* As where the last daemon was killed when the kernel was changed and nobody had been reported. */
static void restart_amid(Fixture *f, const char *id, const char *state) {
        g_autofree char *path = g_strdup_printf("%s/%s.json", f->state_dir, id);

        g_assert_true(g_file_set_contents(path, state, -1, NULL));
        fixture_restart(f);
}

static void same_kernel(const char *before) {
        g_autofree char *now = fake_kernel_describe();

        g_assert_cmpstr(now, ==, before);
}

static void test_goes_on(Fixture *f, gconstpointer userdata) {
        char ids[3][KT_ID_DIGITS + 1];
        Session *session;

        (void)userdata;
        session = make(f, 0, ":1.5", SPEC_ROOT);
        g_strlcpy(ids[0], session_get_id(session), sizeof(ids[0]));
        session = make(f, 0, ":1.5", SPEC_FLIGHT);
        start(f, session);
        g_strlcpy(ids[1], session_get_id(session), sizeof(ids[1]));
        session = make(f, 0, ":1.5", SPEC_ROOT);
        start(f, session);
        stop(f, session);
        g_strlcpy(ids[2], session_get_id(session), sizeof(ids[2]));

        g_autofree char *before = fake_kernel_describe();
        fixture_restart(f);
        same_kernel(before);
        g_assert_null(strstr(f->reported->str, "ended"));
        g_assert_cmpint(session_get_state(find(f, ids[0])), ==, SESSION_CONFIGURED);
        g_assert_cmpint(session_get_state(find(f, ids[1])), ==, SESSION_RUNNING);
        g_assert_cmpint(session_get_state(find(f, ids[2])), ==, SESSION_STOPPED);
        g_assert_cmpstr(session_get_name(find(f, ids[1])), ==, "box");

        /* And so does its life. */
        start(f, find(f, ids[0]));
        start(f, find(f, ids[2]));
        stop(f, find(f, ids[1]));
        fixture_restart(f);
        g_assert_cmpint(session_get_state(find(f, ids[0])), ==, SESSION_RUNNING);
        g_assert_cmpint(session_get_state(find(f, ids[1])), ==, SESSION_STOPPED);
}

static void test_off_stays_off(Fixture *f, gconstpointer userdata) {
        Session *session = make(f, 0, ":1.5", SPEC_FLIGHT);
        char id[KT_ID_DIGITS + 1];
        Call call;

        (void)userdata;
        start(f, session);
        g_strlcpy(id, session_get_id(session), sizeof(id));
        fixture_switch(f, &call, session, "sched:*", false);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        g_autofree char *before = fake_kernel_describe();
        fixture_restart(f);
        same_kernel(before);
        stop(f, find(f, id));
        start(f, find(f, id));
        same_kernel(before);
}

/* Switches, is killed, and finds all as it was. */
static void switch_amid(Fixture *f, const char *id, const char *pattern, bool on) {
        g_autofree char *before = fake_kernel_describe();
        Call call;

        fixture_switch(f, &call, find(f, id), pattern, on);
        g_autofree char *state = read_state(f, id);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        g_autofree char *switched = fake_kernel_describe();
        g_assert_cmpstr(switched, !=, before);
        restart_amid(f, id, state);
        same_kernel(before);
        g_assert_cmpint(session_get_state(find(f, id)), ==, SESSION_RUNNING);
        g_assert_null(strstr(f->reported->str, "ended"));
}

/* Neither what goes off nor what comes on stands otherwise than the session says. */
static void check_switching(Fixture *f, Session *session) {
        char id[KT_ID_DIGITS + 1];
        Call call;

        start(f, session);
        g_strlcpy(id, session_get_id(session), sizeof(id));
        switch_amid(f, id, "raw_syscalls:sys_enter", false);
        fixture_switch(f, &call, find(f, id), "raw_syscalls:*", false);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        switch_amid(f, id, "raw_syscalls:sys_enter", true);
}

static void test_switching(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        check_switching(f, make(f, 0, ":1.5", SPEC_FLIGHT));
}

static void test_switching_judged(Fixture *f, gconstpointer userdata) {
        pid_t pid = fixture_spawn("--no-new-privs");
        g_autofree char *spec = g_strdup_printf(
                        "{\"scope\":\"pids:%d\",\"lifetime\":\"linger\",\"events\":[\"raw_syscalls:*\"]}",
                        (int)pid);

        (void)userdata;
        check_switching(f, make(f, FIXTURE_USER, ":1.5", spec));
        fixture_kill(pid);
}

static uint64_t get_used_kb(const Fixture *f) {
        _cleanup_json_ json_object *limits = NULL;

        g_assert_cmpint(registry_describe_limits(f->registry, FIXTURE_USER, &limits), ==, 0);
        return json_object_get_uint64(json_object_object_get(limits, "buffer-kb"));
}

/* As long as the kernel may have the other size, the larger one counts. */
static void check_used(Fixture *f, const char *id, const char *state, uint64_t used_kb) {
        g_autofree char *path = g_strdup_printf("%s/%s.json", f->state_dir, id);

        g_assert_true(g_file_set_contents(path, state, -1, NULL));
        fixture_begin_restart(f);
        g_assert_cmpuint(get_used_kb(f), ==, MAX(used_kb, 2 * 2048)); /* of two CPUs */
        fixture_end_restart(f);
        g_assert_cmpuint(get_used_kb(f), ==, used_kb);
        g_autofree char *kept = read_state(f, id);
        g_assert_null(strstr(kept, "wants-kb"));
}

/* What a session is granted is what it has, also where it is not started yet. */
static void test_resizing(Fixture *f, gconstpointer userdata) {
        g_autofree char *before = NULL, *state = NULL;
        char id[KT_ID_DIGITS + 1];
        Call call;

        (void)userdata;
        Session *session = make(f,
                        FIXTURE_USER,
                        ":1.5",
                        "{\"scope\":\"own\",\"lifetime\":\"linger\",\"events\":[\"raw_syscalls:*\"]}");
        g_strlcpy(id, session_get_id(session), sizeof(id));
        before = fake_kernel_describe();
        uint64_t used_kb = get_used_kb(f);
        fixture_resize(f, &call, session, 2048);
        state = read_state(f, id);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        g_assert_cmpuint(get_used_kb(f), ==, 2 * 2048);
        check_used(f, id, state, used_kb);
        same_kernel(before);
        /* A buffer that becomes smaller counts with the size that it had. */
        fixture_resize(f, &call, find(f, id), 4096);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        fixture_resize(f, &call, find(f, id), 512);
        g_autofree char *shrinking = read_state(f, id);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        check_used(f, id, shrinking, 2 * 4096);
        fixture_resize(f, &call, find(f, id), used_kb / 2);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        fixture_restart(f);
        same_kernel(before);
        g_assert_cmpint(session_get_state(find(f, id)), ==, SESSION_CONFIGURED);
}

/* It is ended in the last daemon's place, and its owner has been told of it already. */
static void test_ending(Fixture *f, gconstpointer userdata) {
        static const char *const ends[] = {
                "\"state\":\"ending\",\"end-code\":\"destroyed\",\"end-reason\":\"why\"",
                "\"state\":\"ending\"", /* nobody's */
        };

        (void)userdata;
        for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
                Session *session = make(f, 0, ":1.5", SPEC_FLIGHT);
                char id[KT_ID_DIGITS + 1];

                start(f, session);
                g_strlcpy(id, session_get_id(session), sizeof(id));
                g_autofree char *running = read_state(f, id);
                g_auto(GStrv) parts = g_strsplit(running, "\"state\":\"running\"", 2);
                g_autofree char *ending = g_strjoinv(ends[i], parts);
                g_string_truncate(f->reported, 0);
                restart_amid(f, id, ending);
                if (i == 0)
                        fixture_wait_report(f, "state gone\n");
                g_assert_null(find(f, id));
                g_assert_null(strstr(f->reported->str, "ended"));
                g_assert_null(strstr(f->reported->str, "running"));
                fixture_wait_removed(f);
                g_autofree char *path = g_strdup_printf("%s/%s.json", f->state_dir, id);
                while (g_file_test(path, G_FILE_TEST_EXISTS))
                        (void)sd_event_run(f->event, 10000);
        }
}

static void test_rules_changed(Fixture *f, gconstpointer userdata) {
        char id[KT_ID_DIGITS + 1];

        (void)userdata;
        Session *session = make(f,
                        FIXTURE_USER,
                        ":1.5",
                        "{\"scope\":\"own\",\"lifetime\":\"linger\",\"events\":[\"raw_syscalls:*\"]}");
        g_strlcpy(id, session_get_id(session), sizeof(id));
        fixture_restart(f);
        g_assert_nonnull(find(f, id));
        /* No less than it has, and so no reason to end it; but it is another rule's word. */
        fixture_set_rules(f,
                        "{\"rules\":[{\"name\":\"new\",\"subjects\":[\"any\"],\"scopes\":[\"own\"],"
                        "\"events\":[\"raw_syscalls:*\"]}]}",
                        NULL);
        g_assert_nonnull(find(f, id));
        fixture_restart(f);
        g_assert_null(find(f, id));
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 0);
}

static void test_instance_gone(Fixture *f, gconstpointer userdata) {
        char id[KT_ID_DIGITS + 1];

        (void)userdata;
        Session *session = make(f, 0, ":1.5", SPEC_FLIGHT);
        start(f, session);
        g_strlcpy(id, session_get_id(session), sizeof(id));
        fake_kernel_fail_verb(FAKE_OPEN, 1, -ENOENT);
        fixture_restart(f);
        g_assert_null(find(f, id));
        fixture_wait_report(f, "state gone\n");
        fixture_wait_removed(f);
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 0);
}

/* The reader and the worker still have the layout of before. */
static void test_registered_again(Fixture *f, gconstpointer userdata) {
        static const char changed[] =
                        "name: sched_switch\nID: 7777\nformat:\n"
                        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
                        "\tfield:int other;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";

        char id[KT_ID_DIGITS + 1];

        (void)userdata;
        Session *session = make(f, 0, ":1.5", SPEC_ROOT);
        g_strlcpy(id, session_get_id(session), sizeof(id));
        start(f, session);
        fixture_restart(f);
        g_assert_nonnull(find(f, id));
        fake_kernel_add_event("sched", "sched_switch", changed);
        fixture_restart(f);
        g_assert_null(find(f, id));
        fixture_wait_removed(f);
}

static void test_peers(Fixture *f, gconstpointer userdata) {
        char id[KT_ID_DIGITS + 1];

        (void)userdata;
        Session *session = make(
                        f, 0, ":1.5", "{\"scope\":\"system\",\"events\":[\"sched:sched_switch\"]}");
        start(f, session);
        g_strlcpy(id, session_get_id(session), sizeof(id));
        fixture_restart(f);
        g_assert_nonnull(find(f, id));
        registry_peer_gone(f->registry, ":1.6");
        g_assert_null(strstr(f->reported->str, "ended"));
        registry_peer_gone(f->registry, ":1.5");
        fixture_wait_report(f, "ended client-gone\n");
        fixture_wait_report(f, "state gone\n");
        /* It is not there once more. */
        fixture_restart(f);
        g_assert_null(find(f, id));
}

/* A connection to a socket ends with the daemon; a new one that has its name is another's. */
static void test_connection(Fixture *f, gconstpointer userdata) {
        char id[KT_ID_DIGITS + 1], kept[KT_ID_DIGITS + 1];

        (void)userdata;
        Session *session = make(f,
                        0,
                        "varlink:1",
                        "{\"scope\":\"system\",\"events\":[\"sched:sched_switch\"]}");
        start(f, session);
        g_strlcpy(id, session_get_id(session), sizeof(id));
        session = make(f, 0, "varlink:1", SPEC_FLIGHT);
        start(f, session);
        g_strlcpy(kept, session_get_id(session), sizeof(kept));
        fixture_restart(f);
        fixture_wait_report(f, "ended client-gone\n");
        fixture_wait_report(f, "state gone\n");
        g_assert_null(find(f, id));
        g_assert_nonnull(find(f, kept));
        registry_peer_gone(f->registry, "varlink:1");
        g_assert_nonnull(find(f, kept));
}

/* The bus comes late: who was known on it is judged then, also over several restarts. */
static void test_late_bus(Fixture *f, gconstpointer userdata) {
        char id[KT_ID_DIGITS + 1];

        (void)userdata;
        Session *session = make(
                        f, 0, ":1.5", "{\"scope\":\"system\",\"events\":[\"sched:sched_switch\"]}");
        start(f, session);
        g_strlcpy(id, session_get_id(session), sizeof(id));
        fixture_restart_on_bus(f, NULL);
        fixture_restart_on_bus(f, NULL);
        g_assert_nonnull(find(f, id));
        registry_join_bus(f->registry, FIXTURE_BUS);
        g_assert_nonnull(find(f, id));
        g_assert_null(strstr(f->reported->str, "ended"));
        fixture_restart_on_bus(f, NULL);
        registry_join_bus(f->registry, "4567");
        fixture_wait_report(f, "ended client-gone\n");
        fixture_wait_report(f, "state gone\n");
}

/* Its last step is over when the daemon ends, and nobody has said so yet. */
static void test_starting(Fixture *f, gconstpointer userdata) {
        Session *session = make(f, 0, ":1.5", SPEC_ROOT);
        Call call;

        (void)userdata;
        fixture_start(f, &call, session);
        g_usleep(300000);
        fixture_restart(f);
        g_assert_true(call.is_answered);
        g_assert_cmpint(call.result, ==, KT_E_CANCELLED);
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 0);
}

static bool has_no_instance(void *userdata _unused_) {
        return fake_kernel_n_instances() == 0;
}

static bool is_idle(void *userdata) {
        const Fixture *f = userdata;

        return registry_is_idle(f->registry);
}

/* What cannot be removed yet records nothing any more, and is removed when nobody holds it. Until
 * then the daemon stays. */
static void test_held_orphan(Fixture *f, gconstpointer userdata) {
        g_autofree char *held = NULL;

        start(f, make(f, 0, ":1.5", SPEC_FLIGHT));
        fake_kernel_fail_verb(FAKE_REMOVE, GPOINTER_TO_UINT(userdata), -EBUSY);
        g_autofree char *command = g_strdup_printf("rm '%s'/*", f->state_dir);
        g_assert_cmpint(system(command), ==, 0);
        fixture_restart(f);
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 1);
        held = fake_kernel_describe();
        g_assert_nonnull(strstr(held, "tracing off"));
        g_assert_null(strstr(held, "event sched:sched_switch on"));
        g_assert_false(registry_is_idle(f->registry));
        fixture_run_until(f, has_no_instance, NULL);
        fixture_run_until(f, is_idle, f);
}

/* The next daemon's, when this one ends before. */
static void test_held_orphan_left(Fixture *f, gconstpointer userdata) {
        start(f, make(f, 0, ":1.5", SPEC_FLIGHT));
        fake_kernel_fail_verb(FAKE_REMOVE, 3, -EBUSY);
        g_autofree char *command = g_strdup_printf("rm '%s'/*", f->state_dir);
        g_assert_cmpint(system(command), ==, 0);
        fixture_restart(f);
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 1);
        fixture_restart(f);
        fixture_run_until(f, has_no_instance, NULL);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        log_open(LOG_TARGET_NULL);
#define ADD(name, function) \
        g_test_add("/restart/" name, Fixture, NULL, fixture_set_up, function, fixture_tear_down)
        ADD("goes-on", test_goes_on);
        ADD("off-stays-off", test_off_stays_off);
        ADD("an-event-is-registered-again", test_registered_again);
        ADD("switching", test_switching);
        ADD("switching-judged", test_switching_judged);
        ADD("resizing", test_resizing);
        ADD("ending", test_ending);
        ADD("rules-changed", test_rules_changed);
        ADD("instance-gone", test_instance_gone);
        ADD("peers", test_peers);
        ADD("connection", test_connection);
        ADD("late-bus", test_late_bus);
        ADD("starting", test_starting);
        g_test_add("/restart/held-orphan",
                        Fixture,
                        GUINT_TO_POINTER(3),
                        fixture_set_up,
                        test_held_orphan,
                        fixture_tear_down);
        g_test_add("/restart/long-held-orphan",
                        Fixture,
                        GUINT_TO_POINTER(22),
                        fixture_set_up,
                        test_held_orphan,
                        fixture_tear_down);
        ADD("held-orphan-left", test_held_orphan_left);
        return g_test_run();
}
