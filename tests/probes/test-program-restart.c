/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Probes in programs over a restart of the daemon: the next one has the file from the service
 * manager's store, and asks it and the kernel whether all is as it was. */

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "fake-fd-store.h"
#include "fake-inspection.h"
#include "kernel/probe-group.h"
#include "probes/probe-set.h"
#include "probes/probe-verbs.h"
#include "session-fixture.h"
#include "session/registry.h"
#include "session/session-state.h"

#define SESSION "{\"scope\":\"system\",\"probes\":[\"mine\"],\"lifetime\":\"linger\"}"

typedef struct Answer {
        Fixture *f;
        Request *request;
        Definition *definition;
        bool is_answered;
        int result;
        Reason reason;
} Answer;

static char *program; /* a file of the test's own */

static const UserPlace places[] = {
        { .offset = 4406,
                        .function = 4406,
                        .n_args = 2,
                        .args = { { .kind = USER_ARG_CONSTANT, .size = -4, .value = -7 },
                                        { .kind = USER_ARG_MEMORY,
                                                        .reg = 1,
                                                        .size = 8,
                                                        .value = -16 } } },
        { .offset = 4608, .function = 4480, .semaphore = 0x4010, .n_args = 2 },
};

static void on_done(Request *request, int result, const Reason *reason) {
        Answer *answer = request->userdata;

        answer->result = result;
        answer->reason = *reason;
        answer->is_answered = true;
        request_free(request);
}

static bool is_answered(void *userdata) {
        return ((Answer *)userdata)->is_answered;
}

static void on_taken(int result, const Reason *reason, void *userdata) {
        Answer *answer = userdata;

        answer->reason = *reason;
        answer->is_answered = result != 0;
        answer->result = result;
        if (result == 0)
                return;
        answer->request = request_free(answer->request);
        answer->definition = definition_free(answer->definition);
}

static void on_inspected(int result, const Reason *reason, ProbeFile *file, void *userdata) {
        Answer *answer = userdata;

        probe_file_give(file, answer->request);
        if (result == 0)
                result = probe_set_define(registry_get_probes(answer->f->registry),
                                answer->request,
                                answer->definition,
                                on_taken,
                                answer);
        if (result != 0)
                on_taken(result, reason, answer);
}

static int add(Fixture *f, uid_t uid, const char *name, Answer *answer) {
        Subject subject = fixture_subject(uid);

        *answer = (Answer){ .f = f };
        answer->request = request_new(&subject, ":1.7");
        answer->request->done = on_done;
        answer->request->userdata = answer;
        answer->definition = definition_new();
        g_assert_cmpint(definition_set_string(answer->definition, "name", name, NULL), ==, 0);
        g_assert_cmpint(definition_set_string(answer->definition, "on", "/x:prov:mark", NULL),
                        ==,
                        0);
        g_assert_cmpint(definition_set_number(answer->definition, "file", 9, NULL), ==, 0);
        g_assert_cmpint(probe_inspect(registry_get_probes(f->registry),
                                        answer->request,
                                        answer->definition,
                                        on_inspected,
                                        answer,
                                        &answer->reason),
                        ==,
                        0);
        fixture_run_until(f, is_answered, answer);
        return answer->result;
}

static void remove_mine(Fixture *f) {
        Answer answer = { .f = f };
        Subject root = {};

        answer.request = request_new(&root, NULL);
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
        program = g_build_filename(f->dir, "prog", NULL);
}

static void tear_down(Fixture *f, gconstpointer userdata) {
        fixture_tear_down(f, userdata);
        g_clear_pointer(&program, g_free);
}

/* A program, as it really is. uid: what is said of whose it is. */
static void find(uid_t uid) {
        struct stat status;

        g_assert_true(g_file_set_contents(program, "x", -1, NULL));
        g_assert_no_errno(truncate(program, 0x5000));
        g_assert_no_errno(chmod(program, 0644));
        g_assert_no_errno(stat(program, &status));
        const ControlFacts facts = {
                .dev = status.st_dev,
                .ino = status.st_ino,
                .size = (uint64_t)status.st_size,
                .fs_type = 0xef53,
                .uid = uid != (uid_t)-1 ? uid : status.st_uid,
                .gid = status.st_gid,
                .mode = status.st_mode,
        };
        fake_inspection_set(program, &facts, places, 2);
}

/* A probe of root's, and a session that has it on. */
static void begin(Fixture *f, char id[static KT_ID_DIGITS + 1]) {
        Answer answer;
        Call call;

        find((uid_t)-1);
        if (add(f, 0, "mine", &answer) != 0)
                g_error("%s", answer.reason.text);
        g_assert_cmpint(fake_fd_store_count("probe-0-mine"), ==, 1);
        fixture_create(f, &call, 0, NULL, SESSION);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        g_strlcpy(id, session_get_id(call.session), KT_ID_DIGITS + 1);
        fixture_start(f, &call, call.session);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
}

static Session *find_session(const Fixture *f, const char *id) {
        const Subject root = {};

        return registry_find(f->registry, &root, REACH_ALL, id);
}

static const char *get(json_object *object, const char *key) {
        return json_object_get_string(json_object_object_get(object, key));
}

/* The next daemon has the file by another number, and the same stands; in the inode, whatever its
 * name becomes. */
static void test_kept(Fixture *f, gconstpointer userdata) {
        char id[KT_ID_DIGITS + 1];
        Call call;

        (void)userdata;
        begin(f, id);
        g_autofree char *before = fake_kernel_describe();
        g_autofree char *old = g_strdup_printf("%s.old", program);
        g_assert_no_errno(rename(program, old));
        for (int i = 0; i < 2; i++) {
                g_assert_true(g_file_set_contents(program, "another", -1, NULL));
                fixture_restart(f);
                g_autofree char *now = fake_kernel_describe();
                g_assert_cmpstr(now, ==, before);
                g_assert_cmpint(session_get_state(find_session(f, id)), ==, SESSION_RUNNING);
                json_object *probes = fixture_list_probes(f, 0);
                json_object *shown = json_object_array_get_idx(probes, 0);
                g_assert_cmpstr(get(shown, "file"), ==, program);
                g_assert_cmpstr(get(shown, "file-state"), ==, i == 0 ? "there" : "replaced");
                g_assert_cmpstr(get(shown, "state"), ==, "defined");
                g_assert_cmpstr(get(shown, "places"), ==, "[ 4406, 4608 ]");
                json_object_put(probes);
                if (i == 0)
                        g_assert_no_errno(unlink(old));
        }
        fixture_destroy(f, &call, find_session(f, id));
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        remove_mine(f);
        g_assert_cmpint(fake_fd_store_count(NULL), ==, 0);
        g_assert_false(stands("/mine"));
}

static void lose(const Fixture *f _unused_) {
        fake_fd_store_lose("probe-0-mine");
}

/* Its own inode, as one that could be asked or read. */
static void keep_open(const Fixture *f _unused_) {
        int fd = open(program, O_RDONLY | O_CLOEXEC);

        fake_fd_store_swap("probe-0-mine", fd);
        close(fd);
}

static void keep_another(const Fixture *f) {
        int fd = open(f->state_dir, O_PATH | O_CLOEXEC);

        fake_fd_store_swap("probe-0-mine", fd);
        close(fd);
}

static void write_to(const Fixture *f _unused_) {
        const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1 } };

        g_assert_no_errno(utimensat(AT_FDCWD, program, times, 0));
}

static void shorten(const Fixture *f _unused_) {
        struct stat status;

        g_assert_no_errno(stat(program, &status));
        g_assert_no_errno(truncate(program, 0x4fff));
        const struct timespec times[2] = { status.st_atim, status.st_mtim };
        g_assert_no_errno(utimensat(AT_FDCWD, program, times, 0));
}

static void give_rights(const Fixture *f _unused_) {
        g_assert_no_errno(chmod(program, 0666));
}

/* One more place of the same event. */
static void define_another(const Fixture *f) {
        g_autofree char *line = g_strdup_printf("p:ktrace_u0/mine %s/1-5:0x1136", f->state_dir);

        g_assert_cmpint(probe_define(NULL, PROBE_USER, line, &(size_t){ 0 }, NULL), ==, 0);
}

/* What is written of it: the first "from" becomes "to". */
static void rewrite(const Fixture *f, const char *from, const char *to) {
        g_autofree char *path = g_build_filename(f->state_dir, "probe.0.mine.json", NULL);
        g_autofree char *text = NULL;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        g_auto(GStrv) parts = g_strsplit(text, from, 2);
        g_assert_cmpuint(g_strv_length(parts), ==, 2);
        g_autofree char *fresh = g_strjoinv(to, parts);
        g_assert_true(g_file_set_contents(path, fresh, -1, NULL));
}

static void drop_writing(const Fixture *f) {
        rewrite(f, "\"file\"", "\"life\"");
}

static void place_outside(const Fixture *f) {
        rewrite(f, "[4406,", "[20480,");
}

static void place_within(const Fixture *f) {
        rewrite(f, "[4406,4406,", "[4407,4406,");
}

static void many_arguments(const Fixture *f) {
        rewrite(f, "[4406,4406,0,0", "[4406,4406,0,0,[9,9,9,9]");
}

/* Neither is there any more, nor anything of them; the journal tells why. */
static void test_not_kept(Fixture *f, gconstpointer userdata) {
        static const struct {
                void (*happens)(const Fixture *f);
        } cases[] = {
                { lose },
                { keep_open },
                { keep_another },
                { write_to },
                { shorten },
                { give_rights },
                { define_another },

                { drop_writing },
                { place_outside },
                { place_within },
                { many_arguments },
        };

        (void)userdata;
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                char id[KT_ID_DIGITS + 1];

                begin(f, id);
                cases[i].happens(f);
                fixture_restart(f);
                if (find_session(f, id))
                        fixture_wait_report(f, "state gone\n");
                if (find_session(f, id))
                        g_error("case %zu: the session goes on", i);
                g_assert_cmpuint(fake_kernel_n_instances(), ==, 0);
                json_object *probes = fixture_list_probes(f, 0);
                g_assert_cmpuint(json_object_array_length(probes), ==, 0);
                json_object_put(probes);
                /* The fake's list is no file that orphans would be found in. */
                g_assert_cmpint(probe_remove(NULL, PROBE_USER, "ktrace_u0", "mine"), ==, 0);
                g_assert_cmpint(fake_fd_store_count(NULL), ==, 0);
                g_string_truncate(f->reported, 0);
        }
}

/* Each user has a part of what all have. */
static void test_limits(Fixture *f, gconstpointer userdata) {
        const uid_t n_users = PROBE_FILES_ALL_MAX / PROBE_FILES_MAX;
        Answer answer;

        (void)userdata;
        fixture_set_rules(f,
                        "{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],"
                        "\"probes\":{\"files\":\"own\"},\"scopes\":[\"own\"],\"events\":[\"sched:*\"]}]}",
                        NULL);
        for (uid_t uid = FIXTURE_USER; uid < FIXTURE_USER + n_users; uid++) {
                find(uid);
                for (unsigned i = 0; i < PROBE_FILES_MAX; i++) {
                        g_autofree char *name = g_strdup_printf("p%u", i);

                        if (add(f, uid, name, &answer) != 0)
                                g_error("%s", answer.reason.text);
                }
                g_assert_cmpint(add(f, uid, "more", &answer), ==, KT_E_LIMIT_REACHED);
                g_assert_nonnull(strstr(answer.reason.text, "you have 128 probes in programs"));
        }
        find(FIXTURE_USER + n_users);
        g_assert_cmpint(add(f, FIXTURE_USER + n_users, "more", &answer), ==, KT_E_LIMIT_REACHED);
        g_assert_nonnull(strstr(answer.reason.text, "all users together have 1024"));
        find((uid_t)-1);
        g_assert_cmpint(add(f, 0, "mine", &answer), ==, 0);
        g_assert_cmpint(fake_fd_store_count(NULL), ==, PROBE_FILES_ALL_MAX + 1);
        remove_mine(f);
        for (uid_t uid = FIXTURE_USER; uid < FIXTURE_USER + n_users; uid++)
                for (unsigned i = 0; i < PROBE_FILES_MAX; i++) {
                        g_autofree char *group = g_strdup_printf("ktrace_u%u", uid);
                        g_autofree char *name = g_strdup_printf("p%u", i);

                        g_assert_cmpint(probe_remove(NULL, PROBE_USER, group, name), ==, 0);
                }
}

int main(int argc, char **argv) {
        static const struct {
                const char *path;
                void (*run)(Fixture *f, gconstpointer userdata);
        } tests[] = {
                { "/program-restart/kept", test_kept },
                { "/program-restart/not-kept", test_not_kept },
                { "/program-restart/limits", test_limits },
        };

        g_test_init(&argc, &argv, NULL);
        log_open(LOG_TARGET_NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].path, Fixture, NULL, set_up, tests[i].run, tear_down);
        return g_test_run();
}
