/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a stream says of who asked for it, by which rules, and by which kernel it was written. */
#include <string.h>

#include "base/describe.h"
#include "interfaces/json-file.h"
#include "interfaces/json.h"
#include "session-fixture.h"
#include "session/registry.h"
#include "session/session-describe.h"

#define SPEC \
        "{\"name\":\"r\",\"scope\":\"own\",\"lifetime\":\"linger\",\"events\":[\"raw_syscalls:sys_enter\"]}"

static json_object *make_metadata(Fixture *f, uid_t uid, const char *spec) {
        Reason reason = { "" };
        json_object *o = NULL;
        int fd = -1;
        Call call;

        fixture_create(f, &call, uid, ":1.5", spec);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        g_assert_cmpint(session_metadata(call.session, &fd), ==, 0);
        g_assert_cmpint(json_load_fd("metadata", fd, &o, &reason), ==, 0);
        close(fd);
        return o;
}

static const char *get(json_object *o, const char *key) {
        return json_object_get_string(json_object_object_get(o, key));
}

static void test_user(Fixture *f, gconstpointer userdata) {
        _cleanup_json_ json_object *metadata = make_metadata(f, 1000, SPEC);
        json_object *receipt = json_object_object_get(metadata, "receipt");
        json_object *spec = json_object_object_get(receipt, "spec");

        (void)userdata;
        g_assert_cmpstr(get(receipt, "uid"), ==, "1000");
        g_assert_cmpstr(get(receipt, "fenced"), ==, "true");
        g_assert_cmpstr(get(receipt, "addresses"), ==, "zero");
        g_assert_nonnull(strstr(get(receipt, "rule"), ".json: "));
        g_assert_cmpstr(get(receipt, "policy-sha256"), ==, policy_get_digest(f->policy));
        g_assert_cmpuint(strlen(get(receipt, "policy-sha256")), ==, 64);
        /* Whole: with what the caller left out. */
        g_assert_cmpstr(get(spec, "scope"), ==, "own");
        g_assert_cmpstr(get(spec, "clock"), ==, "mono");
        /* The kernel that runs, where the rest is not real. */
        g_assert_cmpuint(strlen(get(receipt, "kernel-build-id")), >=, 16);
}

static void test_root(Fixture *f, gconstpointer userdata) {
        _cleanup_json_ json_object *metadata = make_metadata(f, 0, SPEC);
        json_object *receipt = json_object_object_get(metadata, "receipt");

        (void)userdata;
        g_assert_cmpstr(get(receipt, "uid"), ==, "0");
        g_assert_cmpstr(get(receipt, "rule"), ==, "root");
        g_assert_cmpstr(get(receipt, "fenced"), ==, "false");
        g_assert_cmpstr(get(receipt, "addresses"), ==, "keep");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/receipt/user", Fixture, NULL, fixture_set_up, test_user, fixture_tear_down);
        g_test_add("/receipt/root", Fixture, NULL, fixture_set_up, test_root, fixture_tear_down);
        return g_test_run();
}
