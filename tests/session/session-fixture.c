/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "session-fixture.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "interfaces/spec-json.h"
#include "probes/probe-list.h"
#include "session/create.h"
#include "session/registry-status.h"
#include "session/registry.h"
#include "session/reload.h"
#include "session/session-control.h"
#include "session/session-end.h"
#include "session/session-histogram.h"
#include "session/session-run.h"
#include "session/session-state.h"
#include "session/window-look.h"

static const char policy_text[] =
                "{\"rules\":[{\"name\":\"asks\",\"subjects\":[{\"uid\":4242}],\"scopes\":[\"own\"],"
                "\"polkit\":\"trace-own\",\"events\":[\"sched:sched_process_*\"]},"
                "{\"name\":\"own\",\"subjects\":[\"any\"],\"scopes\":[\"command\",\"own\",\"pids\"],"
                "\"events\":[\"raw_syscalls:*\",\"sched:sched_process_*\"]}]}";

static void on_state(Session *session, void *userdata) {
        Fixture *f = userdata;

        g_string_append_printf(f->reported,
                        "state %s\n",
                        session_state_to_string(session_get_state(session)));
}

static void on_ended(Session *session,
                const char *code,
                const char *reason,
                bool by_owner,
                void *userdata) {
        Fixture *f = userdata;

        g_assert_nonnull(session);
        g_assert_cmpstr(reason, !=, "");
        if (!by_owner)
                g_string_append_printf(f->reported, "ended %s\n", code);
}

static void on_notice(Session *session, json_object *notice, void *userdata) {
        Fixture *f = userdata;

        g_assert_nonnull(session);
        g_string_append_printf(f->reported,
                        "notice %s\n",
                        json_object_get_string(json_object_object_get(notice, "kind")));
}

static void on_idle_changed(Registry *registry, void *userdata) {
        (void)registry;
        (void)userdata;
}

static void write_policy(Fixture *f, const char *text) {
        g_autofree char *dir = g_build_filename(f->dir, "policy.d", NULL);
        g_autofree char *file = g_build_filename(dir, "50-test.json", NULL);

        g_assert_no_errno(g_mkdir_with_parents(dir, 0755));
        g_assert_true(g_file_set_contents_full(
                        file, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0644, NULL));
}

static void on_rules_set(int result, void *userdata) {
        Fixture *f = userdata;

        g_assert_true(result == 0 || result == KT_E_CANCELLED);
        f->n_reloads--;
}

void fixture_begin_rules(Fixture *f, const char *text, const Limits *limits) {
        Limits same = *registry_get_limits(f->registry);
        Policy *policy = NULL;
        Reason reason = {};

        write_policy(f, text ?: policy_text);
        if (policy_load(f->dir, "/nonexistent", &policy, &reason) != 0)
                g_error("%s", reason.text);
        g_assert_cmpint(registry_set_rules(f->registry, policy, limits ?: &same, on_rules_set, f),
                        ==,
                        0);
        f->n_reloads++;
        policy_free(f->policy);
        f->policy = policy;
}

static bool are_rules_set(void *userdata) {
        return ((const Fixture *)userdata)->n_reloads == 0;
}

void fixture_set_rules(Fixture *f, const char *text, const Limits *limits) {
        fixture_begin_rules(f, text, limits);
        fixture_run_until(f, are_rules_set, f);
}

uid_t fixture_user(void) {
        static uid_t user;

        if (user == 0) /* not asked by a child first: set_up does */
                user = 1000000 + (uid_t)getpid();
        return user;
}

static void open_registry(Fixture *f, const char *bus_id) {
        RegistryOptions options = {
                .event = f->event,
                .tracefs_path = "/fake",
                .launcher = { .event = f->event,
                                .binary = "/nonexistent",
                                .user = "nobody",
                                .socket_path = f->worker_path },
                .policy = f->policy,
                .state_dir = f->state_dir,
                .bus_id = bus_id,
                .handlers = { on_state, on_ended, on_notice, on_idle_changed },
                .userdata = f,
        };

        limits_init(&options.limits);
        options.limits.max_sessions_per_uid = 3;
        options.limits.max_sessions = 5;
        options.limits.max_prepared_kb = f->max_prepared_kb;
        g_assert_cmpint(registry_new(&options, &f->registry), ==, 0);
        registry_open(f->registry);
}

static bool has_adopted(void *userdata) {
        const Fixture *f = userdata;

        return !registry_is_adopting(f->registry);
}

void fixture_restart(Fixture *f) {
        fixture_restart_on_bus(f, FIXTURE_BUS);
}

void fixture_begin_restart(Fixture *f) {
        registry_leave(f->registry);
        open_registry(f, FIXTURE_BUS);
}

void fixture_end_restart(Fixture *f) {
        fixture_run_until(f, has_adopted, f);
}

void fixture_restart_on_bus(Fixture *f, const char *bus_id) {
        registry_leave(f->registry);
        open_registry(f, bus_id);
        fixture_run_until(f, has_adopted, f);
}

void fixture_set_up(Fixture *f, gconstpointer userdata) {
        Reason reason = {};

        (void)userdata;
        *f = (Fixture){ .reported = g_string_new(NULL),
                .dir = g_dir_make_tmp("ktrace-test-XXXXXX", NULL) };
        (void)fixture_user();
        fake_kernel_reset();
        f->baseline = fake_kernel_describe();
        write_policy(f, policy_text);
        g_assert_cmpint(sd_event_new(&f->event), >=, 0);
        g_assert_cmpint(policy_load(f->dir, "/nonexistent", &f->policy, &reason), ==, 0);
        f->state_dir = g_build_filename(f->dir, "state", NULL);
        g_assert_no_errno(g_mkdir(f->state_dir, 0700));
        f->worker_path = g_build_filename(f->dir, "worker", NULL);
        open_registry(f, FIXTURE_BUS);
}

void fixture_tear_down(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        registry_free(f->registry);
        g_assert_cmpuint(f->n_reloads, ==, 0); /* each was answered */
        g_autofree char *now = fake_kernel_describe();
        g_assert_cmpstr(now, ==, f->baseline);
        policy_free(f->policy);
        sd_event_unref(f->event);
        g_autofree char *command = g_strdup_printf("rm -r '%s'", f->dir);
        g_assert_cmpint(system(command), ==, 0);
        g_string_free(f->reported, TRUE);
        g_free(f->baseline);
        g_free(f->state_dir);
        g_free(f->worker_path);
        g_free(f->dir);
}

void fixture_run_until(Fixture *f, bool (*done)(void *userdata), void *userdata) {
        gint64 end = g_get_monotonic_time() + 5 * G_USEC_PER_SEC;

        while (!done(userdata)) {
                g_assert_cmpint(g_get_monotonic_time(), <, end);
                g_assert_cmpint(sd_event_run(f->event, 20000), >=, 0);
        }
}

static bool has_no_session(void *userdata) {
        const Fixture *f = userdata;
        size_t n_sessions, n_streams;

        registry_count(f->registry, &n_sessions, &n_streams);
        return n_sessions == 0;
}

void fixture_wait_removed(Fixture *f) {
        fixture_run_until(f, has_no_session, f);
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 0);
}

Subject fixture_subject(uid_t uid) {
        static gid_t gid;

        gid = uid;
        return (Subject){ .uid = uid, .gids = &gid, .n_gids = 1 };
}

static void on_done(Request *request, int result, const Reason *reason) {
        Call *call = request->userdata;

        g_assert_false(call->is_answered);
        call->is_answered = true;
        call->result = result;
        call->reason = *reason;
        call->session = request->session;
        request_free(request);
}

static Request *make_request(Call *call, uid_t uid, const char *peer) {
        Subject subject = fixture_subject(uid);

        *call = (Call){ .request = request_new(&subject, peer) };
        g_assert_nonnull(call->request);
        call->request->done = on_done;
        call->request->userdata = call;
        return call->request;
}

static void refused(Call *call, int result) {
        if (result == 0)
                return;
        call->is_answered = true;
        call->result = result;
        request_free(call->request);
}

void fixture_create(Fixture *f, Call *call, uid_t uid, const char *peer, const char *spec_json) {
        _cleanup_json_ json_object *object = json_tokener_parse(spec_json);
        Spec *spec = spec_new();

        make_request(call, uid, peer);
        int r = spec_from_json(spec, object, &call->reason);
        r = r ?: session_create(f->registry, call->request, spec, &call->reason);
        if (r != 0)
                spec_free(spec);
        refused(call, r);
}

void fixture_start(Fixture *f, Call *call, Session *session) {
        (void)f;
        make_request(call, session_get_uid(session), NULL);
        refused(call, session_start(session, call->request, &call->reason));
}

void fixture_stop(Fixture *f, Call *call, Session *session) {
        (void)f;
        make_request(call, session_get_uid(session), NULL);
        refused(call, session_stop(session, call->request, &call->reason));
}

void fixture_destroy(Fixture *f, Call *call, Session *session) {
        (void)f;
        make_request(call, session_get_uid(session), NULL);
        refused(call, session_destroy(session, call->request, &call->reason));
}

void fixture_switch(Fixture *f, Call *call, Session *session, const char *pattern, bool on) {
        char *const patterns[] = { (char *)pattern, NULL };

        (void)f;
        make_request(call, session_get_uid(session), NULL);
        refused(call, session_switch_events(session, patterns, on, call->request, &call->reason));
}

void fixture_resize(Fixture *f, Call *call, Session *session, uint64_t kb) {
        (void)f;
        make_request(call, session_get_uid(session), NULL);
        refused(call, session_resize(session, kb, call->request, &call->reason));
}

void fixture_change_histogram(Fixture *f, Call *call, Session *session, const char *verb) {
        (void)f;
        make_request(call, session_get_uid(session), NULL);
        refused(call, session_change_histogram(session, "", verb, call->request, &call->reason));
}

void fixture_look(Fixture *f, Call *call, Session *session) {
        (void)f;
        make_request(call, session_get_uid(session), NULL);
        refused(call, session_look(session, call->request, &call->reason));
}

static bool call_is_answered(void *userdata) {
        return ((Call *)userdata)->is_answered;
}

void fixture_wait(Fixture *f, Call *call) {
        fixture_run_until(f, call_is_answered, call);
}

static void on_listed(Request *request, int result, const Reason *reason) {
        json_object **list = request->userdata;

        if (result != 0)
                g_error("%d %s", result, reason->text);
        *list = json_object_get(request->list);
        request_free(request);
}

static bool is_listed(void *userdata) {
        return *(json_object **)userdata;
}

json_object *fixture_list_probes(Fixture *f, uid_t uid) {
        Subject subject = fixture_subject(uid);
        Request *request = request_new(&subject, NULL);
        json_object *list = NULL;

        request->done = on_listed;
        request->userdata = &list;
        g_assert_cmpint(probe_list_all(registry_get_probes(f->registry), request, NULL), ==, 0);
        fixture_run_until(f, is_listed, &list);
        return list;
}

static bool is_held(void *userdata) {
        (void)userdata;
        return fake_kernel_wait_held(0);
}

void fixture_wait_held(Fixture *f) {
        fixture_run_until(f, is_held, NULL);
}

typedef struct Reported {
        Fixture *fixture;
        const char *line;
} Reported;

static bool is_reported(void *userdata) {
        Reported *reported = userdata;

        return strstr(reported->fixture->reported->str, reported->line);
}

void fixture_wait_report(Fixture *f, const char *line) {
        fixture_run_until(f, is_reported, &(Reported){ f, line });
}

bool fixture_find_member(Fixture *f, Session *session, pid_t tid, uint64_t *ret_nsec) {
        g_autofree char *path =
                        g_strdup_printf("%s/%s.json", f->state_dir, session_get_id(session));
        json_object *object = json_object_from_file(path), *members;
        bool is_found = false;

        g_assert_true(json_object_object_get_ex(object, "members", &members));
        for (size_t i = 0; i < json_object_array_length(members); i++) {
                json_object *member = json_object_array_get_idx(members, i);

                if (json_object_get_int(json_object_array_get_idx(member, 0)) != tid)
                        continue;
                *ret_nsec = json_object_get_uint64(json_object_array_get_idx(member, 1));
                is_found = true;
        }
        json_object_put(object);
        return is_found;
}

pid_t fixture_spawn(const char *no_new_privs) {
        g_autofree char *user = g_strdup_printf("%u", FIXTURE_USER);
        const char *argv[] = { "setpriv",
                "--reuid",
                user,
                "--regid",
                user,
                "--clear-groups",
                no_new_privs ?: "sleep",
                no_new_privs ? "sleep" : "60",
                no_new_privs ? "60" : NULL,
                NULL };
        g_autoptr(GError) error = NULL;
        GPid pid;

        g_assert_true(g_spawn_async(NULL,
                        (char **)argv,
                        NULL,
                        G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD,
                        NULL,
                        NULL,
                        &pid,
                        &error));
        g_assert_no_error(error);
        g_autofree char *path = g_strdup_printf("/proc/%d/comm", pid);
        for (unsigned i = 0; i < 500; i++) {
                g_autofree char *comm = NULL;

                if (g_file_get_contents(path, &comm, NULL, NULL) && g_str_equal(comm, "sleep\n"))
                        return pid;
                g_usleep(10000);
        }
        g_assert_not_reached();
}

void fixture_kill(pid_t pid) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
}
