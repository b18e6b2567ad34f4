/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Who defines probes, who holds them, and when they leave the kernel. */

#include <errno.h>
#include <string.h>

#include "interfaces/spec-json.h"
#include "kernel/probe.h"
#include "probes/probe-batch.h"
#include "probes/probe-list.h"
#include "probes/probe-verbs.h"
#include "session-fixture.h"
#include "session/check.h"
#include "session/create.h"
#include "session/registry-idle.h"
#include "session/registry.h"
#include "session/session-state.h"

#define SPEC_MINE "{\"scope\":\"system\",\"probes\":[\"mine\"],\"lifetime\":\"linger\"}"

typedef struct Answer {
        Request *request; /* of AddProbe, until it is taken */
        Definition *definition;
        Session *session; /* of CreateSession */
        int result;
        bool is_answered;
        char text[128];
        Reason reason;
} Answer;

static void on_done(Request *request, int result, const Reason *reason) {
        Answer *answer = request->userdata;

        answer->result = result;
        answer->is_answered = true;
        answer->session = request->session;
        answer->reason = *reason;
        g_strlcpy(answer->text, request->text ?: "", sizeof(answer->text));
        request_free(request);
}

static bool is_answered(void *userdata) {
        return ((Answer *)userdata)->is_answered;
}

static Request *make_request(uid_t uid, Answer *answer) {
        Subject subject = fixture_subject(uid);
        Request *request = request_new(&subject, NULL);

        *answer = (Answer){ 0 };
        request->done = on_done;
        request->userdata = answer;
        return request;
}

static int finish(Fixture *f, int r, Request *request, Answer *answer) {
        if (r != 0) {
                request_free(request);
                return r;
        }
        fixture_run_until(f, is_answered, answer);
        return answer->result;
}

/* On a refusal both are still the caller's. */
static void on_taken(int result, const Reason *reason, void *userdata) {
        Answer *answer = userdata;

        if (result == 0)
                return;
        definition_free(answer->definition);
        answer->request->done(answer->request, result, reason);
}

/* AddProbe; the answer comes later. */
static void begin_add(Fixture *f,
                uid_t uid,
                const char *name,
                const char *key,
                const char *value,
                Answer *answer) {
        Request *request = make_request(uid, answer);
        Definition *definition = definition_new();

        g_assert_cmpint(definition_set_string(definition, "name", name, NULL), ==, 0);
        g_assert_cmpint(definition_set_string(definition, key, value, NULL), ==, 0);
        answer->request = request;
        answer->definition = definition;
        g_assert_cmpint(probe_set_define(registry_get_probes(f->registry),
                                        request,
                                        definition,
                                        on_taken,
                                        answer),
                        ==,
                        0);
}

static int add(Fixture *f, uid_t uid, const char *name, const char *raw, Answer *answer) {
        begin_add(f, uid, name, "raw", raw, answer);
        fixture_run_until(f, is_answered, answer);
        return answer->result;
}

static int add_on_event(Fixture *f, uid_t uid, const char *event, const char *arg, Answer *answer) {
        begin_add(f, uid, "mine", "event", event, answer);
        g_assert_cmpint(definition_add_arg(answer->definition, arg, NULL), ==, 0);
        fixture_run_until(f, is_answered, answer);
        return answer->result;
}

static int take_away(Fixture *f, uid_t uid, const char *name, Answer *answer) {
        Request *request = make_request(uid, answer);

        int r = probe_set_undefine(
                        registry_get_probes(f->registry), request, name, &answer->reason);
        return finish(f, r, request, answer);
}

static bool stands(const char *line) {
        g_autofree char *now = fake_kernel_describe();

        return strstr(now, line) != NULL;
}

static void set_up(Fixture *f, gconstpointer userdata) {
        fixture_set_up(f, userdata);
        fake_kernel_set_kprobes(true);
        fake_kernel_set_file("kprobe_events", "");
        fake_kernel_set_file("uprobe_events", "");
        fake_kernel_set_file("dynamic_events", "");
        fake_kernel_set_file("available_filter_functions", "vfs_read\nvfs_write\n");
}

static bool has_interference(void *userdata) {
        const Session *session = userdata;

        return session->n_interferences > 0;
}

/* The kernel lists the event of an event probe as enabled. It records nothing there, so it is left
 * alone and not reported; an event that another program has enabled is disabled. */
static void test_event_of_probe_listed(Fixture *f, gconstpointer userdata) {
        Answer answer;
        Call call;

        (void)userdata;
        g_assert_cmpint(add_on_event(f, 0, "sched:sched_switch", "pid", &answer), ==, 0);
        fixture_create(f, &call, 0, NULL, SPEC_MINE);
        fixture_wait(f, &call);
        g_assert_cmpstr(call.reason.text, ==, "");
        Session *session = call.session;
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpstr(call.reason.text, ==, "");
        for (gint64 end = g_get_monotonic_time() + G_USEC_PER_SEC / 2;
                        g_get_monotonic_time() < end;)
                g_assert_cmpint(sd_event_run(f->event, 20000), >=, 0);
        g_assert_cmpuint(session->n_interferences, ==, 0);

        g_autofree char *name = g_strdup_printf("ktrace-%s", session_get_id(session));
        fake_kernel_write(name, "events/raw_syscalls/sys_exit/enable", "1");
        fake_kernel_write(name, "tracing_on", "1"); /* a file that is watched: it looks now */
        fixture_run_until(f, has_interference, session);
        g_assert_cmpuint(session->n_interferences, ==, 1);
        g_assert_cmpint(fake_kernel_find("enable * raw_syscalls:sys_exit off", 0), >=, 0);
        g_assert_cmpint(fake_kernel_find("enable * sched:sched_switch off", 0), ==, -1);
        fixture_destroy(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(take_away(f, 0, "mine", &answer), ==, 0);
}

static void test_life(Fixture *f, gconstpointer userdata) {
        Answer answer;
        Call call;

        (void)userdata;
        g_assert_true(registry_is_idle(f->registry));
        g_assert_cmpint(add(f, 0, "mine", "p:x vfs_read a=$arg1:x64", &answer), ==, 0);
        g_assert_cmpstr(answer.text, ==, "ktrace_u0:mine");
        g_assert_true(stands("p:ktrace_u0/mine vfs_read a=$arg1:x64"));
        /* Else the definition would be gone with the daemon. */
        g_assert_false(registry_is_idle(f->registry));
        g_assert_cmpint(add(f, 0, "mine", "p:x vfs_read a=$arg1:x64", &answer), ==, 0);
        g_assert_cmpint(add(f, 0, "mine", "p:x vfs_write", &answer), ==, KT_E_NAME_TAKEN);

        fixture_create(f, &call, 0, NULL, SPEC_MINE);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        Session *session = call.session;
        g_assert_cmpint(take_away(f, 0, "mine", &answer), ==, KT_E_BUSY);
        g_assert_nonnull(strstr(answer.reason.text, "1 session has it"));
        fixture_destroy(f, &call, session);
        fixture_wait(f, &call);
        g_assert_true(stands("ktrace_u0/mine"));
        g_assert_cmpint(take_away(f, 0, "mine", &answer), ==, 0);
        g_assert_false(stands("ktrace_u0/mine"));
        g_assert_cmpint(take_away(f, 0, "mine", &answer), ==, KT_E_NO_SUCH_PROBE);
        g_assert_true(registry_is_idle(f->registry));
}

static void test_strangers(Fixture *f, gconstpointer userdata) {
        json_object *list;
        Answer answer;
        Call call;

        (void)userdata;
        g_assert_cmpint(add(f, FIXTURE_USER, "theirs", "p:x vfs_read", &answer),
                        ==,
                        KT_E_ACCESS_DENIED);
        g_assert_cmpint(add(f, 0, "mine", "p:x vfs_read", &answer), ==, 0);
        g_assert_cmpint(take_away(f, FIXTURE_USER, "mine", &answer), ==, KT_E_NO_SUCH_PROBE);
        g_assert_cmpint(take_away(f, FIXTURE_USER, "ktrace_u0:mine", &answer),
                        ==,
                        KT_E_NO_SUCH_PROBE);
        list = fixture_list_probes(f, FIXTURE_USER);
        g_assert_cmpuint(json_object_array_length(list), ==, 0);
        json_object_put(list);
        fixture_create(f,
                        &call,
                        FIXTURE_USER,
                        NULL,
                        "{\"scope\":\"own\",\"probes\":[\"ktrace_u0:mine\"],\"lifetime\":\"linger\"}");
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_NO_SUCH_PROBE);
        g_assert_cmpint(take_away(f, 0, "ktrace_u0:mine", &answer), ==, 0);
}

/* The kernel complains about this column of its line. */
static void complain(const char *line, size_t column) {
        g_autofree char *log = g_strdup_printf(
                        "[    1.5] trace_kprobe: error: Unknown type is specified\n  Command: %s\n%*s\n",
                        line,
                        (int)(strlen("  Command: ") + column),
                        "^");

        fake_kernel_set_file("error_log", log);
        fake_kernel_fail_verb(FAKE_WRITE, 1, -EINVAL);
}

static void check_place(Fixture *f,
                const char *raw,
                const char *line,
                size_t column,
                size_t reported) {
        g_autofree char *expected = g_strdup_printf(
                        "probe mine: raw column %zu: the kernel refuses the probe: Unknown type is "
                        "specified",
                        reported);
        Answer answer;

        complain(line, column);
        g_assert_cmpint(add(f, 0, "mine", raw, &answer), ==, KT_E_KERNEL_REFUSED);
        g_assert_cmpstr(answer.reason.text, ==, expected);
        fake_kernel_set_file("error_log", "");
}

/* Where the kernel has found a mistake is where the caller has written it. */
static void test_place(Fixture *f, gconstpointer userdata) {
        static const char line[] = "p:ktrace_u0/mine vfs_read a=$arg1:u7";
        const size_t column = (size_t)(strstr(line, "u7") - line) + 1;

        (void)userdata;
        check_place(f, "p vfs_read a=$arg1:u7", line, column, 20);
        check_place(f, "p:x vfs_read a=$arg1:u7", line, column, 22);
        check_place(f, "p:grp/x  vfs_read   a=$arg1:u7", line, column, 29);
        check_place(f, "p:x vfs_read a=$arg1:u7", line, 18, 5);
        check_place(f, "p:x vfs_read a=$arg1:u7", line, 3, 1);
}

/* Names that we replace and the kernel would refuse. */
static void test_raw_names(Fixture *f, gconstpointer userdata) {
        static const struct {
                const char *raw;
                size_t column; /* 0: taken */
        } cases[] = {
                { "p:/bar vfs_read", 3 },
                { "p: vfs_read", 3 },
                { "p:foo/1bar vfs_read", 7 },
                { "p:1foo/bar vfs_read", 3 },
                { "p:foo/ba-r vfs_read", 7 },
                { "p:foo/bar.boo vfs_read", 7 },
                { "p:a23456789012345678901234567890123456789012345678901234567890123/b vfs_read",
                                0 },
                { "p:a234567890123456789012345678901234567890123456789012345678901234/b vfs_read",
                                3 },
                { "p:fo-o/bar vfs_read", 0 },
                { "p:foo/ vfs_read", 0 },
                { "r:bar vfs_read", 0 },
                { "p10:bar vfs_read", 1 },
                { "p:bar", 1 },
                { "p:bar vfs_read #", 16 },
        };

        (void)userdata;
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *expected = g_strdup_printf("raw column %zu: ", cases[i].column);
                Answer answer;

                int r = add(f, 0, "mine", cases[i].raw, &answer);
                if (r != (cases[i].column ? KT_E_INVALID_SPEC : 0) ||
                                (r != 0 && !strstr(answer.reason.text, expected)))
                        g_error("%s: %d %s", cases[i].raw, r, answer.reason.text);
                if (r == 0)
                        g_assert_cmpint(take_away(f, 0, "mine", &answer), ==, 0);
        }
}

static void test_refused(Fixture *f, gconstpointer userdata) {
        Answer answer;

        (void)userdata;
        g_assert_cmpint(add(f, 0, "mine", "e:x sched.sched_switch", &answer),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_cmpint(add(f, 0, "mine", "p:x vfs_read #", &answer), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(add(f, 0, "mine", "p10:x vfs_read", &answer), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(add(f, 0, "mine", "p:x", &answer), ==, KT_E_INVALID_SPEC);
        fake_kernel_fail_verb(FAKE_WRITE, 1, -EINVAL);
        g_assert_cmpint(add(f, 0, "mine", "p:x vfs_read", &answer), ==, KT_E_KERNEL_REFUSED);
        g_assert_cmpint(take_away(f, 0, "mine", &answer), ==, KT_E_NO_SUCH_PROBE);
}

static const char deriving_rules[] =
                "{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],\"scopes\":[\"own\"],"
                "\"processes\":\"any\",\"addresses\":\"keep\","
                "\"events\":[\"sched:sched_switch\"%s],\"probes\":{\"derive\":%s}}]}";

#define SPEC_OWN "{\"scope\":\"own\",\"probes\":[\"mine\"],\"lifetime\":\"linger\"}"

/* A probe on an event is for those who have the event, when they define it and when they use it. */
static void test_on_events(Fixture *f, gconstpointer userdata) {
        g_autofree char *all = g_strdup_printf(deriving_rules, ",\"task:task_rename\"", "true");
        g_autofree char *one = g_strdup_printf(deriving_rules, "", "true");
        g_autofree char *none = g_strdup_printf(deriving_rules, "", "false");
        const uid_t user = FIXTURE_USER;
        Answer answer;
        Call call;

        (void)userdata;
        fixture_set_rules(f, none, NULL);
        g_assert_cmpint(add_on_event(f, user, "sched:sched_switch", "value", &answer),
                        ==,
                        KT_E_ACCESS_DENIED);
        fixture_set_rules(f, one, NULL);
        g_assert_cmpint(add_on_event(f, user, "task:task_rename", "value", &answer),
                        ==,
                        KT_E_ACCESS_DENIED);
        g_assert_cmpint(add_on_event(f, user, "task:no_such", "value", &answer),
                        ==,
                        KT_E_ACCESS_DENIED);
        g_assert_cmpint(add_on_event(f, 0, "task:no_such", "value", &answer),
                        ==,
                        KT_E_NO_SUCH_EVENT);
        fixture_set_rules(f, all, NULL);
        g_assert_cmpint(add_on_event(f, user, "task:task_rename", "pid", &answer), ==, 0);
        g_autofree char *line =
                        g_strdup_printf("e:ktrace_u%u/mine task.task_rename pid=$pid:s32", user);
        g_assert_true(stands(line));

        fixture_create(f, &call, user, NULL, SPEC_OWN);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        fixture_destroy(f, &call, call.session);
        fixture_wait(f, &call);
        fixture_set_rules(f, one, NULL);
        fixture_create(f, &call, user, NULL, SPEC_OWN);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_ACCESS_DENIED);
        g_assert_cmpint(take_away(f, user, "mine", &answer), ==, 0);
}

/* Somebody else has taken it out of the kernel: the session's instance gets it back. */
static void test_gone(Fixture *f, gconstpointer userdata) {
        Answer answer;
        Call call;

        (void)userdata;
        g_assert_cmpint(add(f, 0, "mine", "p:x vfs_read", &answer), ==, 0);
        g_assert_cmpint(probe_remove(NULL, PROBE_KERNEL, "ktrace_u0", "mine"), ==, 0);
        fixture_create(f, &call, 0, NULL, SPEC_MINE);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        g_assert_true(stands("ktrace_u0/mine"));
        fixture_destroy(f, &call, call.session);
        fixture_wait(f, &call);
        g_assert_cmpint(take_away(f, 0, "mine", &answer), ==, 0);
}

static void assert_state(Fixture *f, const char *state, const char *why) {
        _cleanup_json_ json_object *list = fixture_list_probes(f, 0);

        g_assert_cmpuint(json_object_array_length(list), ==, 1);
        json_object *probe = json_object_array_get_idx(list, 0);
        g_assert_cmpstr(json_object_get_string(json_object_object_get(probe, "state")), ==, state);
        g_assert_cmpstr(json_object_get_string(json_object_object_get(probe, "why")), ==, why);
}

/* A kernel without kprobes: the list says that nothing comes of the probe, and why. */
static void test_unavailable(Fixture *f, gconstpointer userdata) {
        Answer answer;

        (void)userdata;
        g_assert_cmpint(add(f, 0, "mine", "p:x vfs_read", &answer), ==, 0);
        assert_state(f, "defined", "");
        fake_kernel_set_kprobes(false);
        assert_state(f,
                        "unavailable",
                        "this kernel takes no such probes: it was built without kprobes");
        fake_kernel_set_kprobes(true);
        g_assert_cmpint(take_away(f, 0, "mine", &answer), ==, 0);
}

/* A misspelt probe is suggested to who may use it, and to no one else. */
static void test_misspelt(Fixture *f, gconstpointer userdata) {
        Answer answer;
        Call call;

        (void)userdata;
        g_assert_cmpint(add(f, 0, "mine", "p:x vfs_read", &answer), ==, 0);
        fixture_create(f, &call, 0, NULL, "{\"scope\":\"system\",\"probes\":[\"mime\"]}");
        fixture_wait(f, &call);
        g_assert_cmpstr(call.reason.text,
                        ==,
                        "\"mime\": no such probe; did you mean mine? 'ktracectl probes list' shows them");
        fixture_create(f, &call, FIXTURE_USER, NULL, "{\"scope\":\"own\",\"probes\":[\"mime\"]}");
        fixture_wait(f, &call);
        g_assert_cmpstr(call.reason.text,
                        ==,
                        "\"mime\": no such probe; 'ktracectl probes list' shows them");
        g_assert_cmpint(take_away(f, 0, "mine", &answer), ==, 0);
}

static void on_checked(Request *request, int result, const Reason *reason) {
        json_object *allowed = json_object_object_get(request->list, "allowed");

        if (result == 0 && !json_object_get_boolean(allowed))
                result = KT_E_ACCESS_DENIED;
        on_done(request, result, reason);
}

/* Takes several turns of the loop, even where the formats are known. */
static void ask_about_mine(Fixture *f, uid_t uid, Answer *answer) {
        GString *text = g_string_new("{\"scope\":\"own\",\"probes\":[\"mine\"],\"events\":[");
        Subject subject = fixture_subject(uid);
        Spec *spec = spec_new();

        for (unsigned i = 0; i < 11; i++)
                g_string_append_printf(text,
                                "%s{\"name\":\"many:*\",\"filter\":\"value == %u\"}",
                                i > 0 ? "," : "",
                                i);
        g_string_append(text, "]}");
        _cleanup_json_ json_object *object = json_tokener_parse(text->str);
        g_string_free(text, TRUE);
        g_assert_cmpint(spec_from_json(spec, object, NULL), ==, 0);
        Request *request = make_request(uid, answer);
        request->done = on_checked;
        g_assert_cmpint(registry_check(f->registry, request, &subject, spec, NULL), ==, 0);
}

static void set_up_many(Fixture *f) {
        g_autofree char *rules =
                        g_strdup_printf(deriving_rules, ",\"task:task_rename\",\"many:*\"", "true");
        Answer answer;

        for (unsigned i = 0; i < 700; i++) {
                g_autofree char *name = g_strdup_printf("e%u", i);

                fake_kernel_add_event("many", name, NULL);
        }
        fixture_set_rules(f, rules, NULL);
        g_assert_cmpint(add_on_event(f, FIXTURE_USER, "task:task_rename", "pid", &answer), ==, 0);
}

/* Whoever has probes refused in a loop keeps no other user's spec from being decided. */
static void test_refused_meanwhile(Fixture *f, gconstpointer userdata) {
        Answer answer, bad;
        unsigned n_turns = 0;

        (void)userdata;
        set_up_many(f);
        ask_about_mine(f, FIXTURE_USER, &answer);
        while (!answer.is_answered) {
                g_assert_cmpint(add(f, 0, "bad", "p:x", &bad), ==, KT_E_INVALID_SPEC);
                g_assert_cmpint(sd_event_run(f->event, 20000), >=, 0);
                g_assert_cmpuint(++n_turns, <, 500);
        }
        g_assert_cmpuint(n_turns, >, 5);
        g_assert_cmpint(answer.result, ==, 0);
        g_assert_cmpint(take_away(f, FIXTURE_USER, "mine", &bad), ==, 0);
}

/* A probe of the spec is gone before the decision is over. */
static void test_gone_meanwhile(Fixture *f, gconstpointer userdata) {
        Answer answer, taken;

        (void)userdata;
        set_up_many(f);
        ask_about_mine(f, FIXTURE_USER, &answer);
        g_assert_cmpint(sd_event_run(f->event, 20000), >=, 0);
        g_assert_cmpint(take_away(f, FIXTURE_USER, "mine", &taken), ==, 0);
        g_assert_false(answer.is_answered);
        fixture_run_until(f, is_answered, &answer);
        g_assert_cmpint(answer.result, ==, KT_E_ACCESS_DENIED);
}

/* Probes b0, b1, ... on an event, as root; the last one on `last`. */
static void add_all(Fixture *f, size_t n, const char *last, Answer *answer) {
        Definition **definitions = calloc(n, sizeof(Definition *));
        Request *request = make_request(0, answer);

        for (size_t i = 0; i < n; i++) {
                g_autofree char *name = g_strdup_printf("b%zu", i);
                Definition *d = definitions[i] = definition_new();

                g_assert_cmpint(definition_set_string(d, "name", name, NULL), ==, 0);
                g_assert_cmpint(definition_set_string(d,
                                                "event",
                                                i + 1 < n ? "sched:sched_switch" : last,
                                                NULL),
                                ==,
                                0);
                g_assert_cmpint(definition_add_arg(d, "pid", NULL), ==, 0);
        }
        g_assert_cmpint(probe_set_define_all(
                                        registry_get_probes(f->registry), request, definitions, n),
                        ==,
                        0);
}

static size_t count_probes(Fixture *f) {
        const Probe *probe;
        size_t n = 0;

        TAILQ_FOREACH(probe, &registry_get_probes(f->registry)->list, probes)
                n++;
        return n;
}

static void ask_small(Fixture *f, uid_t uid, Answer *answer) {
        _cleanup_json_ json_object *object = json_tokener_parse(
                        "{\"scope\":\"own\",\"events\":[\"raw_syscalls:sys_enter\"]}");
        Subject subject = fixture_subject(uid);
        Spec *spec = spec_new();

        g_assert_cmpint(spec_from_json(spec, object, NULL), ==, 0);
        Request *request = make_request(uid, answer);
        request->done = on_checked;
        g_assert_cmpint(registry_check(f->registry, request, &subject, spec, NULL), ==, 0);
}

/* One turn of the loop takes some definitions, and others are served in between. */
static void test_batch_in_turns(Fixture *f, gconstpointer userdata) {
        Answer answer, other, taken;
        unsigned n_turns = 0, n_turns_other = 0;

        (void)userdata;
        for (unsigned round = 0; round < 2; round++) { /* again: the same are shared */
                (void)fake_kernel_take_format_reads();
                add_all(f, DEFINITIONS_MAX, "sched:sched_switch", &answer);
                g_assert_cmpuint(fake_kernel_take_format_reads(), ==, 0);
                ask_small(f, FIXTURE_USER, &other);
                for (n_turns = n_turns_other = 0; !answer.is_answered; n_turns++) {
                        g_assert_cmpint(sd_event_run(f->event, 20000), >=, 0);
                        g_assert_cmpuint(fake_kernel_take_format_reads(), <=, 16);
                        n_turns_other += !other.is_answered;
                }
                g_assert_cmpint(answer.result, ==, 0);
                g_assert_true(g_str_has_prefix(answer.text, "ktrace_u0:b0\nktrace_u0:b1\n"));
                g_assert_cmpuint(n_turns, >=, DEFINITIONS_MAX / 8);
                /* The other user's three steps take turns with these. */
                g_assert_cmpuint(n_turns_other, <=, 8);
                g_assert_cmpuint(count_probes(f), ==, DEFINITIONS_MAX);
        }
        for (unsigned i = 0; i < DEFINITIONS_MAX; i++) {
                g_autofree char *name = g_strdup_printf("b%u", i);

                g_assert_cmpint(take_away(f, 0, name, &taken), ==, 0);
        }
}

/* All or none, also where the bad one is found in a late turn; meanwhile nobody removes one. */
static void test_batch_refused(Fixture *f, gconstpointer userdata) {
        static Answer answer; /* the last one comes when the fixture ends */
        Answer taken;

        (void)userdata;
        add_all(f, 100, "sched:no_such", &answer);
        g_assert_cmpint(sd_event_run(f->event, 20000), >=, 0);
        g_assert_cmpuint(count_probes(f), ==, 8);
        g_assert_cmpint(take_away(f, 0, "b0", &taken), ==, KT_E_BUSY);
        fixture_run_until(f, is_answered, &answer);
        g_assert_cmpint(answer.result, ==, KT_E_NO_SUCH_EVENT);
        g_assert_true(g_str_has_prefix(answer.reason.text, "probes[99]: "));
        g_assert_cmpuint(count_probes(f), ==, 0);
        g_assert_true(registry_is_idle(f->registry));
        /* The daemon ends in between: the fixture's end. */
        add_all(f, 100, "sched:sched_switch", &answer);
        g_assert_cmpint(sd_event_run(f->event, 20000), >=, 0);
}

/* The kernel refuses the call's probes when a session has been given one of them: that one stays.
 */
static void test_batch_fails_late(Fixture *f, gconstpointer userdata) {
        Answer answer, taken;
        Call call, end;

        (void)userdata;
        fake_kernel_fail_verb(FAKE_WRITE, 1, -EIO);
        fake_kernel_hold(FAKE_WRITE);
        add_all(f, 2, "sched:sched_switch", &answer);
        fixture_wait_held(f);
        fixture_create(f,
                        &call,
                        0,
                        NULL,
                        "{\"scope\":\"system\",\"probes\":[\"b0\"],\"lifetime\":\"linger\"}");
        for (unsigned i = 0; i < 10; i++) /* it is decided */
                g_assert_cmpint(sd_event_run(f->event, 1000), >=, 0);
        fake_kernel_release();
        fixture_run_until(f, is_answered, &answer);
        g_assert_cmpint(answer.result, ==, KT_E_KERNEL_REFUSED);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        g_assert_cmpuint(count_probes(f), ==, 1);
        g_assert_true(stands("ktrace_u0/b0"));
        fixture_destroy(f, &end, call.session);
        fixture_wait(f, &end);
        g_assert_cmpint(take_away(f, 0, "b0", &taken), ==, 0);
}

/* An entry of the catalogue that was not used so far. */
static Probe *add_to_catalogue(Fixture *f, const char *on) {
        Definition *definition = definition_new();
        Probe *probe;

        g_assert_cmpint(definition_set_string(definition, "name", "entry", NULL), ==, 0);
        g_assert_cmpint(definition_set_string(definition, "on", on, NULL), ==, 0);
        g_assert_cmpint(probe_set_add(registry_get_probes(f->registry),
                                        definition,
                                        (uid_t)-1,
                                        "test.json",
                                        &probe),
                        ==,
                        0);
        return probe;
}

static void begin_resolve(Fixture *f, uid_t uid, Answer *answer) {
        Request *request = make_request(uid, answer);

        g_assert_cmpint(probe_resolve_function(registry_get_probes(f->registry),
                                        request,
                                        "vfs_read",
                                        NULL),
                        ==,
                        0);
}

static void begin_add_one(Fixture *f, uid_t uid, Answer *answer) {
        begin_add(f, uid, "mine", "on", "vfs_raed", answer);
}

static void begin_add_raw(Fixture *f, uid_t uid, Answer *answer) {
        begin_add(f, uid, "mine", "raw", "p vfs_read", answer);
}

static void begin_add_all(Fixture *f, uid_t uid, Answer *answer) {
        Definition **definitions = calloc(1, sizeof(Definition *));
        Request *request = make_request(uid, answer);

        definitions[0] = definition_new();
        g_assert_cmpint(definition_set_string(definitions[0], "name", "mine", NULL), ==, 0);
        g_assert_cmpint(definition_set_string(definitions[0], "on", "vfs_raed", NULL), ==, 0);
        g_assert_cmpint(probe_set_define_all(
                                        registry_get_probes(f->registry), request, definitions, 1),
                        ==,
                        0);
}

static void begin_list(Fixture *f, uid_t uid, Answer *answer) {
        Request *request = make_request(uid, answer);

        g_assert_cmpint(probe_list_all(registry_get_probes(f->registry), request, NULL), ==, 0);
}

#define SPEC_ENTRY "{\"scope\":\"%s\",\"probes\":[\"entry\"],\"lifetime\":\"linger\"}"

static Spec *make_spec(uid_t uid) {
        g_autofree char *text = g_strdup_printf(SPEC_ENTRY, uid == 0 ? "system" : "own");
        _cleanup_json_ json_object *object = json_tokener_parse(text);
        Spec *spec = spec_new();

        g_assert_cmpint(spec_from_json(spec, object, NULL), ==, 0);
        return spec;
}

static void begin_check(Fixture *f, uid_t uid, Answer *answer) {
        Subject subject = fixture_subject(uid);
        Request *request = make_request(uid, answer);

        request->done = on_checked;
        g_assert_cmpint(registry_check(f->registry, request, &subject, make_spec(uid), NULL),
                        ==,
                        0);
}

/* Its session ends with the fixture. */
static void begin_create(Fixture *f, uid_t uid, Answer *answer) {
        Request *request = make_request(uid, answer);

        g_assert_cmpint(session_create(f->registry, request, make_spec(uid), NULL), ==, 0);
}

/* A call that needs the kernel's functions. */
typedef struct ListVerb {
        const char *path;
        void (*begin)(Fixture *f, uid_t uid, Answer *answer);
        int result;  /* for root */
        int refusal; /* for a user without rights; 0: an answer without that probe */
} ListVerb;

static const ListVerb list_verbs[] = {
        { "/probes/lists/resolve", begin_resolve, 0, KT_E_ACCESS_DENIED },
        { "/probes/lists/add", begin_add_one, KT_E_NO_SUCH_FUNCTION, KT_E_ACCESS_DENIED },
        { "/probes/lists/add-raw", begin_add_raw, 0, KT_E_ACCESS_DENIED },
        { "/probes/lists/add-all", begin_add_all, KT_E_NO_SUCH_FUNCTION, KT_E_ACCESS_DENIED },
        { "/probes/lists/list", begin_list, 0, 0 },
        { "/probes/lists/check", begin_check, 0, KT_E_ACCESS_DENIED },
        { "/probes/lists/create", begin_create, 0, KT_E_NO_SUCH_PROBE },
};

static void assert_reads(size_t n) {
        size_t n_in_loop = 0;

        g_assert_cmpuint(fake_kernel_take_function_reads(&n_in_loop), ==, n);
        g_assert_cmpuint(n_in_loop, ==, 0);
}

static bool is_without_entry(void *userdata) {
        (void)userdata;
        return !stands("ktrace_catalogue/entry");
}

/* The kernel's lists are read in the worker thread, once, and only for callers with rights. The
 * loop serves others while the worker has other work. */
static void test_lists(Fixture *f, gconstpointer userdata) {
        const ListVerb *verb = userdata;
        Answer answers[3], other;
        Call call, end;

        add_to_catalogue(f, "vfs_write");
        verb->begin(f, FIXTURE_USER, &other);
        fixture_run_until(f, is_answered, &other);
        g_assert_cmpint(other.result, ==, verb->refusal);
        assert_reads(0);

        fake_kernel_hold(FAKE_CREATE);
        fixture_create(f, &call, 0, NULL, SPEC_ROOT);
        fixture_wait_held(f);
        for (size_t i = 0; i < G_N_ELEMENTS(answers); i++)
                verb->begin(f, 0, &answers[i]);
        ask_small(f, FIXTURE_USER, &other);
        fixture_run_until(f, is_answered, &other);
        for (size_t i = 0; i < G_N_ELEMENTS(answers); i++)
                g_assert_false(answers[i].is_answered);
        assert_reads(0);
        fake_kernel_release();
        for (size_t i = 0; i < G_N_ELEMENTS(answers); i++) {
                fixture_run_until(f, is_answered, &answers[i]);
                /* The same probe twice: the first call may not be over. */
                if (i == 0 || answers[i].result != KT_E_BUSY)
                        g_assert_cmpint(answers[i].result, ==, verb->result);
        }
        assert_reads(1);
        fixture_wait(f, &call);
        fixture_destroy(f, &end, call.session);
        fixture_wait(f, &end);
        for (size_t i = 0; i < G_N_ELEMENTS(answers) && answers[i].session; i++) {
                fixture_destroy(f, &end, answers[i].session);
                fixture_wait(f, &end);
        }
        (void)take_away(f, 0, "mine", &other);
        fixture_run_until(f, is_without_entry, NULL);
}

/* The daemon ends while the lists are read: the fixture's end. */
static void test_lists_end(Fixture *f, gconstpointer userdata) {
        static Answer answer; /* comes then */
        const ListVerb *verb = userdata;

        add_to_catalogue(f, "vfs_write");
        verb->begin(f, 0, &answer);
        for (unsigned i = 0; i < 2; i++)
                g_assert_cmpint(sd_event_run(f->event, 0), >=, 0);
        g_assert_false(answer.is_answered);
}

/* A call that need not wait does not overtake one of the same user that does. */
static void test_lists_in_order(Fixture *f, gconstpointer userdata) {
        Answer first, second;

        (void)userdata;
        begin_add(f, 0, "mine", "on", "vfs_read", &first);
        begin_add(f, 0, "mine", "event", "sched:sched_switch", &second);
        fixture_run_until(f, is_answered, &second);
        g_assert_cmpint(second.result, ==, KT_E_NAME_TAKEN);
        fixture_run_until(f, is_answered, &first);
        g_assert_cmpint(first.result, ==, 0);
        g_assert_cmpint(take_away(f, 0, "mine", &first), ==, 0);
}

/* A failure is not tried again by each call, and it concerns only what needs the lists. */
static void test_lists_unreadable(Fixture *f, gconstpointer userdata) {
        Answer answers[2], other;

        (void)userdata;
        fake_kernel_fail_verb(FAKE_READ, 1, -EIO);
        for (size_t i = 0; i < G_N_ELEMENTS(answers); i++) {
                begin_resolve(f, 0, &answers[i]);
                fixture_run_until(f, is_answered, &answers[i]);
                g_assert_cmpint(answers[i].result, ==, -EIO);
        }
        assert_reads(1);
        begin_add(f, 0, "mine", "on", "vfs_read", &other);
        fixture_run_until(f, is_answered, &other);
        g_assert_cmpint(other.result, ==, -EIO);
        g_assert_cmpint(add(f, 0, "mine", "p vfs_read", &other), ==, 0);
        g_assert_cmpint(take_away(f, 0, "mine", &other), ==, 0);
        assert_reads(0);
}

static bool has_left;

static int renew(Request *request) {
        return has_left ? KT_E_CANCELLED : 0;
}

/* The caller leaves while the lists are read. */
static void test_lists_caller_leaves(Fixture *f, gconstpointer userdata) {
        Answer answer;

        (void)userdata;
        has_left = false;
        begin_add(f, 0, "mine", "on", "vfs_read", &answer);
        answer.request->renew = renew;
        g_assert_cmpint(sd_event_run(f->event, 20000), >=, 0);
        g_assert_false(answer.is_answered);
        has_left = true;
        fixture_run_until(f, is_answered, &answer);
        g_assert_cmpint(answer.result, ==, KT_E_CANCELLED);
        assert_reads(1);
        g_assert_cmpuint(count_probes(f), ==, 0);
}

/* The rules change while the lists are read. */
static void test_lists_rules_change(Fixture *f, gconstpointer userdata) {
        static const char rules[] = "{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],"
                                    "\"scopes\":[\"own\"],\"events\":[\"raw_syscalls:*\"],"
                                    "\"probes\":{\"functions\":[\"%s\"],"
                                    "\"takes\":[\"values\"]}}]}";
        g_autofree char *before = g_strdup_printf(rules, "vfs_*");
        g_autofree char *after = g_strdup_printf(rules, "tcp_*");
        Answer answer;

        (void)userdata;
        fixture_set_rules(f, before, NULL);
        begin_add(f, FIXTURE_USER, "mine", "on", "vfs_read", &answer);
        g_assert_cmpint(sd_event_run(f->event, 20000), >=, 0);
        g_assert_false(answer.is_answered);
        fixture_set_rules(f, after, NULL);
        fixture_run_until(f, is_answered, &answer);
        g_assert_cmpint(answer.result, ==, KT_E_ACCESS_DENIED);
        g_assert_cmpuint(count_probes(f), ==, 0);
}

static const char *get_state(json_object *list) {
        json_object *probe = json_object_array_get_idx(list, 0);

        return json_object_get_string(json_object_object_get(probe, "state"));
}

/* A refused entry of the catalogue is not searched for again until the lists are read again. */
static void test_lists_broken(Fixture *f, gconstpointer userdata) {
        ProbeSet *set = registry_get_probes(f->registry);
        const Probe *probe = add_to_catalogue(f, "vfs_raed");

        (void)userdata;
        for (unsigned i = 0; i < 2; i++) {
                _cleanup_json_ json_object *list = fixture_list_probes(f, 0);

                g_assert_cmpstr(get_state(list), ==, "broken");
                g_assert_nonnull(strstr(probe->broken.text, "did you mean vfs_read"));
                g_assert_cmpuint(probe->broken_by, ==, probes_get_number(set->kernel));
        }
        assert_reads(1);
        fake_kernel_set_file("available_filter_functions", "vfs_raed\n");
        probes_load_now(set->kernel, set->tracefs);
        _cleanup_json_ json_object *list = fixture_list_probes(f, 0);
        g_assert_cmpstr(get_state(list), ==, "ready");
}

int main(int argc, char **argv) {
        static const struct {
                const char *path;
                void (*run)(Fixture *f, gconstpointer userdata);
        } tests[] = {
                { "/probes/life", test_life },
                { "/probes/unavailable", test_unavailable },
                { "/probes/misspelt", test_misspelt },
                { "/probes/strangers", test_strangers },
                { "/probes/refused", test_refused },
                { "/probes/refused-while-another-is-judged", test_refused_meanwhile },
                { "/probes/gone-while-judged", test_gone_meanwhile },
                { "/probes/batch-in-turns", test_batch_in_turns },
                { "/probes/batch-refused", test_batch_refused },
                { "/probes/batch-fails-late", test_batch_fails_late },
                { "/probes/lists/in-order", test_lists_in_order },
                { "/probes/lists/unreadable", test_lists_unreadable },
                { "/probes/lists/caller-leaves", test_lists_caller_leaves },
                { "/probes/lists/rules-change", test_lists_rules_change },
                { "/probes/lists/broken", test_lists_broken },
                { "/probes/place", test_place },
                { "/probes/raw-names", test_raw_names },
                { "/probes/gone", test_gone },
                { "/probes/event-of-probe-listed", test_event_of_probe_listed },
                { "/probes/on-events", test_on_events },
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].path, Fixture, NULL, set_up, tests[i].run, fixture_tear_down);
        for (size_t i = 0; i < G_N_ELEMENTS(list_verbs); i++) {
                const ListVerb *verb = &list_verbs[i];
                g_autofree char *end = g_strdup_printf("%s-at-the-end", verb->path);

                g_test_add(verb->path, Fixture, verb, set_up, test_lists, fixture_tear_down);
                g_test_add(end, Fixture, verb, set_up, test_lists_end, fixture_tear_down);
        }
        return g_test_run();
}
