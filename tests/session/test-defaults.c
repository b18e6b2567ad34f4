/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a spec leaves out is never refused for a limit: the default becomes what the limit allows. A
 * value that is given is refused. */
#include <string.h>

#include "session-fixture.h"

#include "session/registry.h"
#include "session/session-describe.h"

#define SPEC(more)                                                                                \
        "{\"scope\":\"own\",\"lifetime\":\"linger\",\"events\":[\"raw_syscalls:sys_enter\"]" more \
        "}"
#define HIST \
        ",\"triggers\":[{\"when\":\"raw_syscalls:sys_enter\",\"do\":\"hist\",\"keys\":[\"id\"]}]"

static void set_rule(Fixture *f, const char *more, const Limits *limits) {
        g_autofree char *rules = g_strdup_printf(
                        "{\"rules\":[{\"name\":\"new\",\"subjects\":[\"any\"],\"scopes\":[\"own\"],"
                        "\"events\":[\"raw_syscalls:*\"]%s}]}",
                        more);

        fixture_set_rules(f, rules, limits);
}

/* What the session has by its own description; NULL: it was refused with these words. */
static json_object *make(Fixture *f, uid_t uid, const char *spec, const char *refused) {
        json_object *description = NULL;
        Call call, end;

        fixture_create(f, &call, uid, ":1.5", spec);
        fixture_wait(f, &call);
        if (refused) {
                g_assert_cmpint(call.result, !=, 0);
                if (!strstr(call.reason.text, refused))
                        g_error("\"%s\" is not in \"%s\"", refused, call.reason.text);
                return NULL;
        }
        g_assert_cmpstr(call.reason.text, ==, "");
        g_assert_cmpint(call.result, ==, 0);
        g_assert_cmpint(session_describe(call.session, &description), ==, 0);
        fixture_destroy(f, &end, call.session);
        fixture_wait(f, &end);
        fixture_wait_removed(f);
        json_object *has = json_object_get(json_object_object_get(description, "spec"));
        json_object_put(description);
        return has;
}

static uint64_t make_kb(Fixture *f, uid_t uid, const char *spec) {
        _cleanup_json_ json_object *has = make(f, uid, spec, NULL);

        return json_object_get_uint64(json_object_object_get(has, "buffer-kb"));
}

static void test_buffer(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        set_rule(f, "", NULL);
        g_assert_cmpuint(make_kb(f, FIXTURE_USER, SPEC("")), ==, 1024);
        set_rule(f, ",\"limits\":{\"max-buffer-kb\":256}", NULL);
        g_assert_cmpuint(make_kb(f, FIXTURE_USER, SPEC("")), ==, 256);
        g_assert_cmpuint(make_kb(f, FIXTURE_USER, SPEC(",\"buffer-kb\":64")), ==, 64);
        make(f, FIXTURE_USER, SPEC(",\"buffer-kb\":257"), "buffer-kb: 257 is over");
        /* root has the machine's limits only. */
        g_assert_cmpuint(make_kb(f, 0, SPEC("")), ==, 1024);
}

/* A flight recorder counts three times, each CPU counts. */
static void test_buffer_of_user(Fixture *f, gconstpointer userdata) {
        uint64_t n_cpus = (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
        g_autofree char *rule = g_strdup_printf(
                        ",\"limits\":{\"max-buffer-kb-per-uid\":%" PRIu64 "}", 300 * n_cpus);

        (void)userdata;
        set_rule(f, rule, NULL);
        g_assert_cmpuint(make_kb(f, FIXTURE_USER, SPEC("")), ==, 300);
        g_assert_cmpuint(make_kb(f, FIXTURE_USER, SPEC(",\"mode\":\"flight\"")), ==, 100);
}

static void test_buffer_of_all(Fixture *f, gconstpointer userdata) {
        Limits limits = *registry_get_limits(f->registry);

        (void)userdata;
        limits.max_buffer_kb_total = 200 * (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
        fixture_set_rules(f, NULL, &limits);
        g_assert_cmpuint(make_kb(f, 0, SPEC("")), ==, 200);
        g_assert_cmpuint(make_kb(f, FIXTURE_USER, SPEC("")), ==, 200);
        make(f, 0, SPEC(",\"buffer-kb\":400"), "max-buffer-kb-total");
}

/* The rows and the buffer of a session have room in the limit together. */
static void test_hist(Fixture *f, gconstpointer userdata) {
        _cleanup_json_ json_object *has = NULL;

        (void)userdata;
        fake_kernel_set_kprobes(true);
        set_rule(f, ",\"limits\":{\"max-buffer-kb-per-uid\":128}", NULL);
        has = make(f, FIXTURE_USER, SPEC(HIST), NULL);
        json_object *triggers = json_object_object_get(has, "triggers");
        uint64_t rows = json_object_get_uint64(
                        json_object_object_get(json_object_array_get_idx(triggers, 0), "size"));
        g_assert_cmpuint(rows, >=, 128);
        g_assert_cmpuint(rows, <, 2048);
}

static const char *get_lifetime(json_object *has) {
        return json_object_get_string(json_object_object_get(has, "lifetime"));
}

static void test_linger(Fixture *f, gconstpointer userdata) {
        _cleanup_json_ json_object *has = NULL, *root = NULL;

        (void)userdata;
        set_rule(f, ",\"max-linger-sec\":60", NULL);
        has = make(f, FIXTURE_USER, SPEC(""), NULL);
        g_assert_cmpstr(get_lifetime(has), ==, "linger:1min");
        root = make(f, 0, SPEC(""), NULL);
        g_assert_cmpstr(get_lifetime(root), ==, "linger");
        make(f,
                        FIXTURE_USER,
                        "{\"scope\":\"own\",\"lifetime\":\"linger:61s\",\"events\":[\"raw_syscalls:*\"]}",
                        "grants linger:60s at most");
}

/* One that was made to stay for ever does not stay by a rule that now sets a time. */
static void test_linger_by_new_rule(Fixture *f, gconstpointer userdata) {
        Call call;

        (void)userdata;
        set_rule(f, "", NULL);
        fixture_create(f, &call, FIXTURE_USER, ":1.5", SPEC(""));
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        set_rule(f, ",\"max-linger-sec\":60", NULL);
        fixture_wait_report(f, "ended policy\n");
        fixture_wait_report(f, "state gone\n");
}

int main(int argc, char **argv) {
        static const struct {
                const char *path;
                void (*test)(Fixture *f, gconstpointer userdata);
        } tests[] = {
                { "/defaults/buffer", test_buffer },
                { "/defaults/buffer-of-user", test_buffer_of_user },
                { "/defaults/buffer-of-all", test_buffer_of_all },
                { "/defaults/hist", test_hist },
                { "/defaults/linger", test_linger },
                { "/defaults/linger-by-new-rule", test_linger_by_new_rule },
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
