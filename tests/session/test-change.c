/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is changed of a session while it goes on, on the fake kernel. */

#include <errno.h>

#include "session-fixture.h"

#include "session/session-describe.h"
#include "session/session-state.h"

static Session *make(Fixture *f, bool started) {
        Call call;

        fixture_create(f, &call, 0, ":1.5", SPEC_ROOT);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        Session *session = call.session;
        if (started) {
                fixture_start(f, &call, session);
                fixture_wait(f, &call);
                g_assert_cmpint(call.result, ==, 0);
        }
        return session;
}

static int get_kb(Session *session) {
        _cleanup_json_ json_object *o = NULL;

        g_assert_cmpint(session_describe(session, &o), ==, 0);
        return json_object_get_int(
                        json_object_object_get(json_object_object_get(o, "spec"), "buffer-kb"));
}

static void test_grow(Fixture *f, gconstpointer userdata) {
        Session *session = make(f, true);
        Call call;

        (void)userdata;
        fixture_resize(f, &call, session, 4096);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        g_autofree char *kernel = fake_kernel_describe();
        g_assert_nonnull(strstr(kernel, "buffer-kb 4096"));
        g_assert_nonnull(strstr(kernel, "sched:sched_switch on"));
        g_assert_cmpint(get_kb(session), ==, 4096);
        g_assert_cmpint(session_get_state(session), ==, SESSION_RUNNING);
}

/* The kernel has no memory: nothing has changed, and the session goes on. */
static void test_no_memory(Fixture *f, gconstpointer userdata) {
        Session *session = make(f, true);
        Call call;

        (void)userdata;
        fake_kernel_fail_verb(FAKE_BUFFER, 1, -ENOMEM);
        fixture_resize(f, &call, session, 4096);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_LIMIT_REACHED);
        g_assert_nonnull(strstr(call.reason.text, "no memory for 4096 kB"));
        g_autofree char *kernel = fake_kernel_describe();
        g_assert_nonnull(strstr(kernel, "buffer-kb 1024"));
        g_assert_cmpint(get_kb(session), ==, 1024);
        g_assert_cmpint(session_get_state(session), ==, SESSION_RUNNING);
        /* It is granted no quota that it has not got. */
        fixture_resize(f, &call, session, 2048);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
}

static void test_bounds(Fixture *f, gconstpointer userdata) {
        static const uint64_t bad[] = { 0, 1, 127, SPEC_BUFFER_KB_MAX + 1, UINT64_MAX };
        Session *session = make(f, false);
        Call call;

        (void)userdata;
        /* 64 kB sub-buffers: the kernel has two at least. */
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                fixture_resize(f, &call, session, bad[i]);
                g_assert_cmpint(call.result, ==, KT_E_INVALID_SPEC);
        }
        g_assert_cmpint(get_kb(session), ==, 1024);
}

static void test_quota(Fixture *f, gconstpointer userdata) {
        Limits limits;
        Call call;

        (void)userdata;
        limits_init(&limits);
        limits.max_buffer_kb_total = 8 * 1024;
        fixture_set_rules(f, NULL, &limits);
        Session *first = make(f, false), *second = make(f, false);
        fixture_resize(f, &call, first, 2 * 1024); /* two CPUs: 4 MB, and 2 of the other */
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        fixture_resize(f, &call, second, 2 * 1024 + 1);
        g_assert_cmpint(call.result, ==, KT_E_LIMIT_REACHED);
        fixture_resize(f, &call, second, 2 * 1024);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        fixture_resize(f, &call, first, 512);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        fixture_resize(f, &call, second, 3 * 1024);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
}

/* No event at all: a tracer's functions are patched while it runs. */
static void test_tracer(Fixture *f, gconstpointer userdata) {
        Call call;

        (void)userdata;
        fixture_create(f,
                        &call,
                        0,
                        ":1.5",
                        "{\"scope\":\"system\",\"tracer\":\"function\",\"functions\":[\"vfs_*\"]}");
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        Session *session = call.session;
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        g_autofree char *running = fake_kernel_describe();
        g_assert_nonnull(strstr(running, "function-tracer functions-patched"));
        fixture_stop(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        g_autofree char *stopped = fake_kernel_describe();
        g_assert_nonnull(strstr(stopped, "-functions-patched"));
}

#define FORMAT(id, fields) "name: sched_switch\nID: " id "\nformat:\n" fields "\nprint fmt: \"\"\n"
#define COMMON             "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"

/* The kernel has removed the event of a stopped session and registered it again. Another layout or
 * id does not fit the metadata; another print format does. */
static void test_registered_again(Fixture *f, gconstpointer userdata) {
        static const char *const changed[] = {
                FORMAT("7", COMMON "\tfield:int b;\toffset:8;\tsize:4;\tsigned:1;\n"),
                FORMAT("8", COMMON "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n"),
        };
        static const char same[] =
                        FORMAT("7", COMMON "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n");
        Call call;

        (void)userdata;
        fake_kernel_add_event("sched", "sched_switch", same);
        Session *session = make(f, true);
        fixture_stop(f, &call, session);
        fixture_wait(f, &call);
        for (size_t i = 0; i < G_N_ELEMENTS(changed); i++) {
                fake_kernel_add_event("sched", "sched_switch", changed[i]);
                fixture_start(f, &call, session);
                fixture_wait(f, &call);
                g_assert_cmpint(call.result, ==, KT_E_NO_SUCH_EVENT);
                g_assert_nonnull(
                                strstr(call.reason.text, "sched:sched_switch has been registered"));
                g_assert_cmpint(session_get_state(session), ==, SESSION_STOPPED);
        }
        g_autofree char *printed = g_strdup_printf("%s\tand more", same);
        fake_kernel_add_event("sched", "sched_switch", printed);
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        fixture_switch(f, &call, session, "sched:sched_switch", false);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        fake_kernel_add_event("sched", "sched_switch", changed[0]);
        fixture_switch(f, &call, session, "sched:sched_switch", true);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_NO_SUCH_EVENT);
        g_assert_cmpint(session_get_state(session), ==, SESSION_RUNNING);
}

#define ADD(path, function) \
        g_test_add("/change/" path, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        ADD("the-buffer-grows-while-it-runs", test_grow);
        ADD("without-memory-all-is-as-it-was", test_no_memory);
        ADD("sizes-that-cannot-be", test_bounds);
        ADD("the-size-counts", test_quota);
        ADD("a-tracer-runs-from-start-to-stop", test_tracer);
        ADD("an-event-is-registered-again", test_registered_again);
        return g_test_run();
}
