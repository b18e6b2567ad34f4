/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Probes in programs: whose file it is and what was found in it decides, not what a caller says. */

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake-inspection.h"
#include "kernel/probe.h"
#include "probes/catalogue.h"
#include "probes/probe-verbs.h"
#include "session-fixture.h"
#include "session/registry.h"

#define MODE_OWN (S_IFREG | 0755)

typedef struct Answer {
        Fixture *f;
        Request *request;
        Definition *definition;
        bool is_answered;
        int result;
        char text[128];
        Reason reason;
} Answer;

static char *program; /* a file of the test's own */

static const UserPlace places[] = {
        { .offset = 0x1136, .function = 0x1136 },
        { .offset = 0x1200, .function = 0x1180, .semaphore = 0x4010 },
};

static void on_done(Request *request, int result, const Reason *reason) {
        Answer *answer = request->userdata;

        answer->result = result;
        answer->is_answered = true;
        answer->reason = *reason;
        g_strlcpy(answer->text, request->text ?: "", sizeof(answer->text));
        answer->request = NULL;
        request_free(request);
}

static bool is_answered(void *userdata) {
        return ((Answer *)userdata)->is_answered;
}

static void on_taken(int result, const Reason *reason, void *userdata) {
        Answer *answer = userdata;

        answer->result = result;
        answer->reason = *reason;
        answer->is_answered = result != 0;
        if (result == 0)
                answer->definition = NULL;
}

/* As the door does it: on a refusal both are still ours. */
static void add_now(Answer *answer) {
        answer->is_answered = false;
        g_assert_cmpint(probe_set_define(registry_get_probes(answer->f->registry),
                                        answer->request,
                                        answer->definition,
                                        on_taken,
                                        answer),
                        ==,
                        0);
}

static void on_inspected(int result, const Reason *reason, ProbeFile *file, void *userdata) {
        Answer *answer = userdata;

        probe_file_give(file, answer->request);
        answer->reason = *reason;
        answer->result = result;
        answer->is_answered = result != 0;
        if (result == 0)
                add_now(answer);
}

static void answer_clear(Answer *answer) {
        answer->request = request_free(answer->request);
        answer->definition = definition_free(answer->definition);
}

static void begin(Fixture *f, uid_t uid, const char *on, uint32_t file, Answer *answer) {
        Subject subject = fixture_subject(uid);

        *answer = (Answer){ .f = f };
        answer->request = request_new(&subject, ":1.7");
        answer->request->done = on_done;
        answer->request->userdata = answer;
        answer->definition = definition_new();
        g_assert_cmpint(definition_set_string(answer->definition, "name", "mine", NULL), ==, 0);
        g_assert_cmpint(definition_set_string(answer->definition, "on", on, NULL), ==, 0);
        if (file > 0)
                g_assert_cmpint(definition_set_number(answer->definition, "file", file, NULL),
                                ==,
                                0);
        int r = probe_inspect(registry_get_probes(f->registry),
                        answer->request,
                        answer->definition,
                        on_inspected,
                        answer,
                        &answer->reason);
        answer->is_answered = r != 0;
        answer->result = r;
}

/* What it comes to; on KT_E_AUTH_REQUIRED the answer has all that is needed to try again. */
static int add(Fixture *f, uid_t uid, const char *on, uint32_t file, Answer *answer) {
        begin(f, uid, on, file, answer);
        fixture_run_until(f, is_answered, answer);
        if (answer->result != KT_E_AUTH_REQUIRED)
                answer_clear(answer);
        return answer->result;
}

static void remove_mine(Fixture *f, uid_t uid) {
        Answer answer = { .f = f };
        Subject subject = fixture_subject(uid);

        answer.request = request_new(&subject, NULL);
        answer.request->done = on_done;
        answer.request->userdata = &answer;
        g_assert_cmpint(probe_set_undefine(registry_get_probes(f->registry),
                                        answer.request,
                                        "mine",
                                        NULL),
                        ==,
                        0);
        fixture_run_until(f, is_answered, &answer);
        g_assert_cmpint(answer.result, ==, 0);
}

static void find(uid_t uid, uint32_t mode, uint64_t ino, size_t n_places) {
        const ControlFacts facts = {
                .dev = 1, .ino = ino, .uid = uid, .mode = mode, .fs_type = 0xef53
        };

        fake_inspection_set(program, &facts, places, n_places);
}

static bool stands(const char *line) {
        g_autofree char *now = fake_kernel_describe();

        return strstr(now, line) != NULL;
}

static void set_rule(Fixture *f, const char *files) {
        g_autofree char *text = g_strdup_printf(
                        "{\"rules\":[{\"name\":\"r\",\"subjects\":[{\"uid\":%u}],"
                        "\"probes\":{%s},\"scopes\":[\"own\"],\"events\":[\"sched:*\"]}]}",
                        FIXTURE_USER,
                        files);

        fixture_set_rules(f, text, NULL);
}

static void set_up(Fixture *f, gconstpointer userdata) {
        fixture_set_up(f, userdata);
        fake_kernel_set_kprobes(true);
        fake_kernel_set_file("kprobe_events", "");
        fake_kernel_set_file("uprobe_events", "");
        fake_kernel_set_file("dynamic_events", "");
        program = g_build_filename(f->dir, "prog", NULL);
        g_assert_true(g_file_set_contents(program, "x", -1, NULL));
        set_rule(f, "\"files\":[\"/nowhere/*\"]");
}

static void tear_down(Fixture *f, gconstpointer userdata) {
        fixture_tear_down(f, userdata);
        g_clear_pointer(&program, g_free);
}

static json_object *list_first(Fixture *f, uid_t uid, json_object **list) {
        *list = fixture_list_probes(f, uid);
        g_assert_cmpuint(json_object_array_length(*list), ==, 1);
        return json_object_array_get_idx(*list, 0);
}

static const char *get(json_object *object, const char *key) {
        return json_object_get_string(json_object_object_get(object, key));
}

/* What is shown is the path that the file has. */
static void test_own(Fixture *f, gconstpointer userdata) {
        g_autofree char *event = g_strdup_printf("ktrace_u%u:mine", FIXTURE_USER);
        g_autofree char *on = g_strdup_printf("%s:0x1136", program);
        json_object *list = NULL;
        Answer answer;

        (void)userdata;
        find(FIXTURE_USER, MODE_OWN, 5, 1);
        if (add(f, FIXTURE_USER, "/usr/bin/su:0x1136", 9, &answer) != 0)
                g_error("%s", answer.reason.text);
        g_assert_cmpuint(fake_inspection_get_ticket(), ==, 9);
        g_assert_cmpstr(fake_inspection_get_question(), ==, "0x1136");
        g_assert_cmpstr(answer.text, ==, event);
        /* In the kernel it is called by its device and number, in hexadecimal and decimal. */
        g_autofree char *named = g_strdup_printf("/mine %s/1-5:0x0000000000001136", f->state_dir);
        g_assert_true(stands(named));
        json_object *shown = list_first(f, FIXTURE_USER, &list);
        g_assert_cmpstr(get(shown, "definition"), ==, on);
        g_assert_cmpstr(get(shown, "file"), ==, program);
        g_assert_cmpstr(get(shown, "file-state"), ==, "there");
        g_assert_cmpstr(get(shown, "state"), ==, "defined");
        json_object_put(list);

        /* The same once more is the same, another file of that name is not. */
        g_assert_cmpint(add(f, FIXTURE_USER, on, 9, &answer), ==, 0);
        find(FIXTURE_USER, MODE_OWN, 6, 1);
        g_assert_cmpint(add(f, FIXTURE_USER, on, 9, &answer), ==, KT_E_NAME_TAKEN);
        g_assert_nonnull(strstr(answer.reason.text, "previous file of this path"));

        g_assert_cmpint(unlink(program), ==, 0);
        shown = list_first(f, FIXTURE_USER, &list);
        g_assert_cmpstr(get(shown, "file-state"), ==, "replaced");
        json_object_put(list);
        remove_mine(f, FIXTURE_USER);
        g_assert_false(stands("/mine"));
}

/* root's, another's, one that others may write to, none at all: not without an administrator. */
static void test_not_own(Fixture *f, gconstpointer userdata) {
        const struct {
                uid_t uid;
                uint32_t mode;
        } files[] = {
                { 0, S_IFREG | 0755 },
                { 0, S_IFREG | S_ISUID | 0755 },
                { FIXTURE_USER + 1, S_IFREG | 0755 },
                { FIXTURE_USER, S_IFREG | 0775 },
                { FIXTURE_USER, S_IFREG | 0757 },
        };

        g_autofree char *globs = g_strdup_printf("\"files\":[\"%s/*\"]", f->dir);
        Answer answer;

        (void)userdata;
        for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
                find(files[i].uid, files[i].mode, 5, 1);
                set_rule(f, "\"files\":\"own\"");
                g_assert_cmpint(add(f, FIXTURE_USER, "/x:0x1136", 9, &answer),
                                ==,
                                KT_E_ACCESS_DENIED);
                g_assert_nonnull(strstr(answer.reason.text, "users other than you can write to"));
                set_rule(f, globs);
                g_assert_cmpint(add(f, FIXTURE_USER, "/x:0x1136", 9, &answer),
                                ==,
                                KT_E_AUTH_REQUIRED);
                g_assert_false(stands("/mine"));
                answer_clear(&answer);
        }
        /* polkit says yes: the same once more. */
        g_assert_cmpint(add(f, FIXTURE_USER, "/x:0x1136", 9, &answer), ==, KT_E_AUTH_REQUIRED);
        answer.is_answered = false;
        answer.request->is_authorized = true;
        add_now(&answer);
        fixture_run_until(f, is_answered, &answer);
        g_assert_cmpint(answer.result, ==, 0);
        g_assert_true(stands("/mine "));
        answer_clear(&answer);
        remove_mine(f, FIXTURE_USER);
}

/* Before anything is looked into. */
static void test_refused(Fixture *f, gconstpointer userdata) {
        Answer answer;

        (void)userdata;
        find(FIXTURE_USER, MODE_OWN, 5, 1);
        g_assert_cmpint(add(f, FIXTURE_USER, "/x:0x1136", 0, &answer), ==, KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(answer.reason.text, "file: missing"));
        g_assert_cmpint(add(f, FIXTURE_USER, "/x:main", 9, &answer), ==, KT_E_INVALID_SPEC);
        set_rule(f, "\"files\":\"none\"");
        g_assert_cmpint(add(f, FIXTURE_USER, "/x:0x1136", 9, &answer), ==, KT_E_ACCESS_DENIED);
        set_rule(f, "\"use\":[\"*\"]");
        g_assert_cmpint(add(f, FIXTURE_USER, "/x:0x1136", 9, &answer), ==, KT_E_ACCESS_DENIED);
        g_assert_cmpint(add(f, FIXTURE_USER + 1, "/x:0x1136", 9, &answer), ==, KT_E_ACCESS_DENIED);

        set_rule(f, "\"files\":\"own\"");
        find(FIXTURE_USER, MODE_OWN, 5, 0);
        g_assert_cmpint(add(f, FIXTURE_USER, "/x:0x1136", 9, &answer), ==, KT_E_FAILED);
        g_assert_cmpstr(answer.reason.text, ==, "no instruction begins there");
        g_assert_false(stands("/mine"));
}

/* In the kernel's own syntax a place is looked into by nobody. */
static void test_raw(Fixture *f, gconstpointer userdata) {
        const uid_t users[] = { FIXTURE_USER, 0 };

        (void)userdata;
        set_rule(f, "\"files\":\"own\",\"functions\":[\"*\"],\"takes\":[\"raw\"]");
        for (size_t i = 0; i < G_N_ELEMENTS(users); i++) {
                Subject subject = fixture_subject(users[i]);
                Answer answer = { .f = f, .request = request_new(&subject, NULL) };

                answer.request->done = on_done;
                answer.request->userdata = &answer;
                answer.definition = definition_new();
                g_assert_cmpint(definition_set_string(answer.definition, "name", "mine", NULL),
                                ==,
                                0);
                g_assert_cmpint(definition_set_string(answer.definition,
                                                "raw",
                                                "p:x  /usr/bin/su:0x1136",
                                                NULL),
                                ==,
                                0);
                add_now(&answer);
                fixture_run_until(f, is_answered, &answer);
                g_assert_cmpint(answer.result, ==, i == 0 ? KT_E_ACCESS_DENIED : 0);
                answer_clear(&answer);
        }
        g_assert_true(stands("p:ktrace_u0/mine /usr/bin/su:0x1136"));
        remove_mine(f, 0);
}

/* root names a path; all places of a marker are one event, which comes back when others take it. */
static void test_marker(Fixture *f, gconstpointer userdata) {
        Answer answer;
        Call call;

        (void)userdata;
        find(0, MODE_OWN, 5, 2);
        g_assert_cmpint(add(f, 0, "/x:prov:mark", 0, &answer), ==, 0);
        g_assert_cmpuint(fake_inspection_get_ticket(), ==, 0);
        g_assert_cmpstr(fake_inspection_get_question(), ==, "prov:mark");
        g_assert_true(stands(":0x0000000000001136\n"));
        g_assert_true(stands(":0x0000000000001200(0x4010)"));
        g_assert_cmpint(probe_remove(NULL, PROBE_USER, "ktrace_u0", "mine"), ==, 0);
        g_assert_false(stands("/mine"));
        fixture_create(f,
                        &call,
                        0,
                        NULL,
                        "{\"scope\":\"system\",\"probes\":[\"mine\"],\"lifetime\":\"linger\"}");
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        g_assert_true(stands(":0x0000000000001200(0x4010)"));
        fixture_destroy(f, &call, call.session);
        fixture_wait(f, &call);
        remove_mine(f, 0);
}

/* A file without a name could not be shown to anybody. */
static void test_deleted(Fixture *f, gconstpointer userdata) {
        g_autofree char *odd = g_build_filename(f->dir, "x (deleted)", NULL);
        Answer answer;

        (void)userdata;
        g_assert_cmpint(rename(program, odd), ==, 0);
        g_free(program);
        program = g_strdup(odd);
        find(FIXTURE_USER, MODE_OWN, 5, 1);
        g_assert_cmpint(add(f, FIXTURE_USER, "/x:0x1136", 9, &answer), ==, KT_E_FAILED);
        g_assert_nonnull(strstr(answer.reason.text, "the file has no name"));
}

static bool is_listed(Fixture *f, const char *state) {
        json_object *list = NULL;
        json_object *shown = list_first(f, 0, &list);
        bool is = g_strcmp0(get(shown, "state"), state) == 0;

        json_object_put(list);
        return is;
}

static Fixture *listing;

static bool is_ready(void *userdata) {
        return is_listed(listing, userdata);
}

/* Returns the file's path. */
static char *write_catalogue(const Fixture *f) {
        g_autofree char *dir = g_build_filename(f->dir, "probes.d", NULL);
        char *file = g_build_filename(dir, "50-x.json", NULL);

        g_assert_cmpint(mkdir(dir, 0755), ==, 0);
        g_assert_true(g_file_set_contents(file,
                        "{\"probes\":[{\"name\":\"theirs\",\"on\":\"/x:0x1136\",\"args\":[\"$arg1\"]}]}",
                        -1,
                        NULL));
        g_assert_cmpint(chmod(file, 0644), ==, 0);
        return file;
}

static void create_with_theirs(Fixture *f, Call *call) {
        fixture_create(f,
                        call,
                        0,
                        NULL,
                        "{\"scope\":\"system\",\"probes\":[\"theirs\"],\"lifetime\":\"linger\"}");
        fixture_wait(f, call);
        g_assert_cmpint(call->result, ==, 0);
        g_assert_true(stands("p:ktrace_catalogue/theirs "));
}

/* An administrator's file names a path; what cannot be probed is listed as broken. */
static void test_catalogue(Fixture *f, gconstpointer userdata) {
        g_autofree char *file = write_catalogue(f);
        json_object *list = NULL;
        Call call;

        (void)userdata;
        listing = f;
        find(0, MODE_OWN, 5, 0);
        catalogue_load(registry_get_probes(f->registry), f->dir, "/nonexistent");
        Probe *probe = TAILQ_FIRST(&registry_get_probes(f->registry)->list);
        g_assert_cmpint(probe_resolve(probe, &call.reason), ==, KT_E_BUSY);
        g_assert_nonnull(strstr(call.reason.text, "try again"));
        fixture_run_until(f, is_ready, (void *)"broken");
        for (int i = 0; i < 20; i++)
                g_assert_cmpint(sd_event_run(f->event, 1000), >=, 0);
        json_object *shown = list_first(f, 0, &list);
        g_assert_cmpstr(get(shown, "why"), ==, "no instruction begins there");
        json_object_put(list);

        find(0, MODE_OWN, 5, 1);
        catalogue_load(registry_get_probes(f->registry), f->dir, "/nonexistent");
        fixture_run_until(f, is_ready, (void *)"ready");
        create_with_theirs(f, &call);
        fixture_destroy(f, &call, call.session);
        fixture_wait(f, &call);
        /* Read again while a look is under way: nobody is reported twice. */
        g_assert_cmpint(unlink(program), ==, 0);
        g_assert_true(g_file_set_contents(program, "y", -1, NULL));
        catalogue_load(registry_get_probes(f->registry), f->dir, "/nonexistent");
        g_assert_cmpint(unlink(file), ==, 0);
        catalogue_load(registry_get_probes(f->registry), f->dir, "/nonexistent");
}

/* A session holds the probe when the daemon ends. The fixture checks what the kernel has then. */
static void test_end(Fixture *f, gconstpointer userdata) {
        g_autofree char *file = write_catalogue(f);
        Call call;

        (void)userdata;
        listing = f;
        find(0, MODE_OWN, 5, 1);
        catalogue_load(registry_get_probes(f->registry), f->dir, "/nonexistent");
        fixture_run_until(f, is_ready, (void *)"ready");
        create_with_theirs(f, &call);
}

int main(int argc, char **argv) {
        static const struct {
                const char *path;
                void (*run)(Fixture *f, gconstpointer userdata);
        } tests[] = {
                { "/user-probes/own", test_own },
                { "/user-probes/not-own", test_not_own },
                { "/user-probes/refused", test_refused },
                { "/user-probes/raw", test_raw },
                { "/user-probes/marker", test_marker },
                { "/user-probes/deleted", test_deleted },
                { "/user-probes/catalogue", test_catalogue },
                { "/user-probes/end", test_end },
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].path, Fixture, NULL, set_up, tests[i].run, tear_down);
        return g_test_run();
}
