/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What CheckSession tells is what CreateSession does, and telling it changes nothing. */
#include <string.h>
#include <time.h>

#include "session-fixture.h"

#include "interfaces/spec-json.h"
#include "session/check.h"
#include "session/registry.h"
#include "session/visible-events.h"

typedef struct Question {
        json_object *answer;
        int result;
        bool is_over;
} Question;

static void on_checked(Request *request, int result, const Reason *reason) {
        Question *question = request->userdata;

        (void)reason;
        question->is_over = true;
        question->result = result;
        question->answer = json_object_get(request->list);
        request_free(request);
}

static bool is_over(void *userdata) {
        return ((Question *)userdata)->is_over;
}

/* Asks as the user itself. */
static void ask(Fixture *f, Question *question, uid_t uid, const char *spec_json) {
        _cleanup_json_ json_object *object = json_tokener_parse(spec_json);
        Subject subject = fixture_subject(uid);
        Request *request = request_new(&subject, NULL);
        Spec *spec = spec_new();
        Reason reason = {};

        *question = (Question){};
        request->done = on_checked;
        request->userdata = question;
        g_assert_cmpint(spec_from_json(spec, object, &reason), ==, 0);
        int r = registry_check(f->registry, request, &subject, spec, &reason);
        if (r != 0)
                g_error("%s: %s", spec_json, reason.text);
}

static json_object *check(Fixture *f, uid_t uid, const char *spec_json) {
        Question question;

        ask(f, &question, uid, spec_json);
        fixture_run_until(f, is_over, &question);
        g_assert_cmpint(question.result, ==, 0);
        return question.answer;
}

static const char *text(json_object *answer, const char *key) {
        return json_object_get_string(json_object_object_get(answer, key));
}

static bool is_allowed(json_object *answer) {
        json_object *reasons = json_object_object_get(answer, "reasons");
        bool allowed = json_object_get_boolean(json_object_object_get(answer, "allowed"));

        g_assert_cmpint(allowed, ==, json_object_array_length(reasons) == 0);
        return allowed;
}

static void test_allowed(Fixture *f, gconstpointer userdata) {
        _cleanup_json_ json_object *answer = check(f,
                        FIXTURE_USER,
                        "{\"scope\":\"own\",\"events\":[\"raw_syscalls:sys_enter\"]}");
        (void)userdata;

        g_assert_true(is_allowed(answer));
        g_assert_cmpstr(text(answer, "rule"), ==, "50-test.json: own");
        g_assert_cmpstr(text(answer, "polkit"), ==, "");
        g_assert_cmpstr(text(answer, "processes"), ==, "own");
        g_assert_cmpstr(text(answer, "scope"), ==, "own");
        json_object *limits = json_object_object_get(answer, "limits");
        g_assert_cmpint(json_object_get_int(json_object_object_get(limits, "max-sessions-per-uid")),
                        ==,
                        3);
        json_object *event = json_object_array_get_idx(json_object_object_get(answer, "events"), 0);
        g_assert_cmpstr(text(event, "name"), ==, "raw_syscalls:sys_enter");
        /* Its arguments are 8-byte words. */
        g_assert_cmpuint(json_object_array_length(json_object_object_get(event, "redacted")), >, 0);
        g_assert_nonnull(strstr(text(answer, "notes"), "every process of this machine spends"));
}

static void test_root(Fixture *f, gconstpointer userdata) {
        _cleanup_json_ json_object *answer = check(f, 0, SPEC_ROOT);
        (void)userdata;

        g_assert_true(is_allowed(answer));
        g_assert_cmpstr(text(answer, "rule"), ==, "root");
        g_assert_cmpstr(text(answer, "processes"), ==, "any");
        g_assert_cmpstr(text(answer, "notes"), ==, "[ ]");
}

static void test_polkit(Fixture *f, gconstpointer userdata) {
        _cleanup_json_ json_object *answer = check(f,
                        FIXTURE_ASKED_USER,
                        "{\"scope\":\"own\",\"events\":[\"sched:sched_process_*\"]}");
        (void)userdata;

        g_assert_true(is_allowed(answer));
        g_assert_cmpstr(text(answer, "polkit"), ==, "org.ktrace1.trace-own");
}

/* Everything that policy has against it. */
static void test_all_reasons(Fixture *f, gconstpointer userdata) {
        _cleanup_json_ json_object *answer = check(f,
                        FIXTURE_USER,
                        "{\"scope\":\"own\",\"events\":[\"sched:sched_switch\",\"raw_syscalls:sys_enter\","
                        "\"no:such\",{\"name\":\"raw_syscalls:sys_exit\",\"filter\":\"id == 1\"}]}");
        (void)userdata;

        g_assert_false(is_allowed(answer));
        g_assert_null(json_object_object_get(answer, "rule"));
        json_object *reasons = json_object_object_get(answer, "reasons");
        g_assert_nonnull(strstr(text(answer, "reasons"), "sched:sched_switch: not granted"));
        g_assert_nonnull(strstr(text(answer, "reasons"), "no:such: not granted"));
        g_assert_null(strstr(text(answer, "reasons"), "raw_syscalls:sys_enter"));
        g_assert_cmpuint(json_object_array_length(reasons), >=, 2);
}

/* What policy allows and this kernel does not have is refused as such, and nothing is made for it.
 * A histogram that the consumer can count is not refused. */
static void test_lacks(Fixture *f, gconstpointer userdata) {
        static const char spec[] =
                        "{\"scope\":\"system\",\"events\":[\"raw_syscalls:sys_enter\"],\"triggers\":["
                        "{\"when\":\"raw_syscalls:sys_enter\",\"do\":\"hist\",\"keys\":[\"id\"]},"
                        "{\"when\":\"raw_syscalls:sys_enter\",\"do\":\"hist\",\"keys\":[\"stacktrace\"]},"
                        "{\"when\":\"raw_syscalls:sys_enter\",\"do\":\"stop\"}],"
                        "\"tracer\":\"function_graph\",\"functions\":[\"vfs_read\"]}";
        Call call;

        (void)userdata;
        fake_kernel_set_kprobes(false);
        _cleanup_json_ json_object *answer = check(f, 0, spec);
        g_assert_false(is_allowed(answer));
        g_assert_cmpstr(text(answer, "rule"), ==, "root");
        json_object *lacks = json_object_object_get(answer, "lacks");
        g_assert_cmpuint(json_object_array_length(lacks), ==, 2);
        g_assert_true(json_object_equal(lacks, json_object_object_get(answer, "reasons")));
        g_assert_nonnull(strstr(text(answer, "lacks"),
                        "triggers[1].keys[0]: stacktrace: this kernel has no histograms"));
        g_assert_nonnull(strstr(text(answer, "lacks"), "no such tracer"));

        fake_kernel_clear_journal();
        fixture_create(f, &call, 0, ":1.5", spec);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_KERNEL_REFUSED);
        g_autofree char *journal = fake_kernel_get_journal();
        g_assert_cmpstr(journal, ==, "");

        fake_kernel_set_kprobes(true);
        _cleanup_json_ json_object *other = check(f, 0, spec);
        g_assert_cmpuint(json_object_array_length(json_object_object_get(other, "lacks")), ==, 1);
}

/* Limits of several kinds at once, and what it would have got but for them. */
static void test_limits(Fixture *f, gconstpointer userdata) {
        Call calls[3];

        (void)userdata;
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                g_autofree char *spec = g_strdup_printf(
                                "{\"scope\":\"own\",\"name\":\"n%zu\",\"events\":[\"raw_syscalls:sys_enter\"]}",
                                i);
                fixture_create(f, &calls[i], FIXTURE_USER, ":1.5", spec);
                fixture_wait(f, &calls[i]);
                g_assert_cmpint(calls[i].result, ==, 0);
        }
        _cleanup_json_ json_object *answer = check(f,
                        FIXTURE_USER,
                        "{\"scope\":\"own\",\"name\":\"n1\",\"buffer-kb\":1048576,\"events\":[\"raw_syscalls:sys_enter\"],"
                        "\"clock\":\"local\"}");
        g_assert_false(is_allowed(answer));
        g_assert_cmpstr(text(answer, "rule"), ==, "50-test.json: own");
        const char *const words[] = { "you have a session",
                "max-buffer-kb)",
                "max-sessions-per-uid",
                "max-buffer-kb-per-uid",
                "clock: local" };
        for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
                g_assert_nonnull(strstr(text(answer, "reasons"), words[i]));
        /* Nobody else's business. */
        _cleanup_json_ json_object *other = check(f,
                        FIXTURE_ASKED_USER,
                        "{\"scope\":\"own\",\"events\":[\"sched:sched_process_*\"]}");
        g_assert_true(is_allowed(other));
}

/* Events that are on in all sessions of a user count together. */
static void test_events_per_uid(Fixture *f, gconstpointer userdata) {
        Limits *limits = (Limits *)registry_get_limits(f->registry);
        Call calls[2];

        (void)userdata;
        limits->max_events_per_uid = 2;
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                fixture_create(f,
                                &calls[i],
                                FIXTURE_USER,
                                ":1.5",
                                "{\"scope\":\"own\",\"events\":[\"raw_syscalls:*\"]}");
                fixture_wait(f, &calls[i]);
        }
        g_assert_cmpint(calls[0].result, ==, 0);
        g_assert_cmpint(calls[1].result, ==, KT_E_LIMIT_REACHED);
        g_assert_nonnull(strstr(calls[1].reason.text, "max-events-per-uid: 4 events"));
}

/* The property: allowed here is made there, and the other way round. */
static void test_same_as_create(Fixture *f, gconstpointer userdata) {
        static const char *const scopes[] = {
                "own", "system", "command:1", "pids:1,2", "unit:x.service"
        };
        static const char *const events[] = { "\"raw_syscalls:sys_enter\"",
                "\"sched:*\"",
                "\"sched:sched_switch\"",
                "\"*:*\"",
                "\"nothing:*\"",
                "\"raw_syscalls:sys_exit\",\"sched:sched_process_exec\"",
                "{\"name\":\"raw_syscalls:sys_enter\",\"filter\":\"id == 1\"}",
                "{\"name\":\"raw_syscalls:sys_enter\",\"filter\":\"nope == 1\"}" };
        static const char *const rest[] = {
                "", ",\"clock\":\"local\"", ",\"where\":\"common_pid == 1\""
        };
        const uid_t uids[] = { 0, FIXTURE_USER };
        unsigned n_allowed = 0;

        (void)userdata;
        for (size_t i = 0; i < G_N_ELEMENTS(scopes) * G_N_ELEMENTS(events) * G_N_ELEMENTS(rest) *
                                               G_N_ELEMENTS(uids);
                        i++) {
                size_t at = i;
                const char *scope = scopes[at % G_N_ELEMENTS(scopes)];
                const char *event = events[(at /= G_N_ELEMENTS(scopes)) % G_N_ELEMENTS(events)];
                const char *more = rest[(at /= G_N_ELEMENTS(events)) % G_N_ELEMENTS(rest)];
                uid_t uid = uids[at / G_N_ELEMENTS(rest)];
                g_autofree char *spec = g_strdup_printf(
                                "{\"scope\":\"%s\",\"events\":[%s]%s}", scope, event, more);
                g_autofree char *before = fake_kernel_describe();
                _cleanup_json_ json_object *answer = check(f, uid, spec);
                g_autofree char *after = fake_kernel_describe();
                Call call, end;

                g_assert_cmpstr(before, ==, after);
                fixture_create(f, &call, uid, ":1.5", spec);
                fixture_wait(f, &call);
                if (is_allowed(answer) != (call.result == 0))
                        g_error("%s of %u: create says %d %s, check says %s",
                                        spec,
                                        uid,
                                        call.result,
                                        call.reason.text,
                                        json_object_to_json_string(answer));
                if (call.result != 0) {
                        /* The same words. */
                        g_autofree char *words = g_strdup(json_object_to_json_string_ext(
                                        answer, JSON_C_TO_STRING_NOSLASHESCAPE));
                        g_autofree char *quoted = g_strescape(call.reason.text, NULL);
                        if (!strstr(words, quoted))
                                g_error("%s is not in %s", quoted, words);
                        continue;
                }
                n_allowed++;
                fixture_destroy(f, &end, call.session);
                fixture_wait(f, &end);
                fixture_wait_removed(f);
        }
        g_assert_cmpuint(n_allowed, >, 10);
}

#define N_MANY 700

static char *make_format(const char *field) {
        return g_strdup_printf(
                        "name: x\nID: 7\nformat:\n"
                        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                        "\tfield:int %s;\toffset:8;\tsize:4;\tsigned:1;\n\n"
                        "print fmt: \"%%d\", REC->%s\n",
                        field,
                        field);
}

static void add_many(void) {
        for (unsigned i = 0; i < N_MANY; i++) {
                char name[16];

                g_snprintf(name, sizeof(name), "e%u", i);
                fake_kernel_add_event("many", name, NULL);
        }
}

static bool is_allowed_to_root(Fixture *f, const char *spec) {
        _cleanup_json_ json_object *answer = check(f, 0, spec);

        return is_allowed(answer);
}

/* However often an event is named, by however many calls. */
static void test_formats_once(Fixture *f, gconstpointer userdata) {
        static const char spec[] =
                        "{\"scope\":\"system\",\"events\":[{\"name\":\"many:*\",\"filter\":\"value == 1\"},"
                        "{\"name\":\"many:*\",\"filter\":\"value == 2\"}],\"where\":\"common_pid == 3\"}";

        (void)userdata;
        add_many();
        (void)fake_kernel_take_format_reads();
        g_assert_true(is_allowed_to_root(f, spec));
        g_assert_cmpuint(fake_kernel_take_format_reads(), ==, N_MANY);
        g_assert_true(is_allowed_to_root(f, spec));
        g_assert_cmpuint(fake_kernel_take_format_reads(), ==, 0);
}

/* The list is read again only after an event has come or gone, whoever asks. */
static void test_list_once(Fixture *f, gconstpointer userdata) {
        static const char spec[] = "{\"scope\":\"system\",\"events\":[\"g:*\"]}";
        Subject root = fixture_subject(0);
        g_auto(GStrv) before = NULL, after = NULL;
        Reason reason = {};

        (void)userdata;
        (void)fake_kernel_take_list_reads();
        g_assert_cmpint(registry_list_events(f->registry, &root, "g:*", &before, &reason), ==, 0);
        g_assert_cmpuint(g_strv_length(before), ==, 0);
        g_assert_false(is_allowed_to_root(f, spec));
        g_assert_cmpuint(fake_kernel_take_list_reads(), ==, 1);
        fake_kernel_add_event("g", "p", NULL);
        g_assert_true(is_allowed_to_root(f, spec));
        g_assert_true(is_allowed_to_root(f, spec));
        g_assert_cmpint(registry_list_events(f->registry, &root, "g:*", &after, &reason), ==, 0);
        g_assert_cmpuint(g_strv_length(after), ==, 1);
        g_assert_cmpuint(fake_kernel_take_list_reads(), ==, 1);
}

static void load_module(void) {
        fake_kernel_on_list_read(NULL);
        fake_kernel_set_file("modules", "m 16384 Live 0xffffffffc0000000 \n");
}

/* A list that was read between two changes that cancel each other is not used again. */
static void test_list_changes(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        (void)fake_kernel_take_list_reads();
        fake_kernel_on_list_read(load_module);
        g_assert_true(is_allowed_to_root(f, SPEC_ROOT));
        fake_kernel_set_file("modules", "");
        g_assert_true(is_allowed_to_root(f, SPEC_ROOT));
        g_assert_true(is_allowed_to_root(f, SPEC_ROOT));
        g_assert_cmpuint(fake_kernel_take_list_reads(), ==, 2);
}

/* A probe is removed and defined again under its name, and a module is replaced. */
static void test_formats_change(Fixture *f, gconstpointer userdata) {
        static const char spec_a
                        [] = "{\"scope\":\"system\",\"events\":[{\"name\":\"g:p\",\"filter\":\"a == 1\"}]}",
                  spec_b[] = "{\"scope\":\"system\",\"events\":[{\"name\":\"g:p\",\"filter\":\"b == 1\"}]}";
        g_autofree char *a = make_format("a"), *b = make_format("b");

        (void)userdata;
        fake_kernel_add_event("g", "p", a);
        fake_kernel_set_file("dynamic_events", "p:g/p vfs_read a=%di\n");
        g_assert_true(is_allowed_to_root(f, spec_a));
        g_assert_false(is_allowed_to_root(f, spec_b));

        fake_kernel_add_event("g", "p", b);
        fake_kernel_set_file("dynamic_events", "p:g/p vfs_read b=%di\n");
        g_assert_false(is_allowed_to_root(f, spec_a));
        g_assert_true(is_allowed_to_root(f, spec_b));

        fake_kernel_add_event("g", "p", a);
        fake_kernel_set_file("modules", "g 16384 0xffffffffc0000000 \n");
        g_assert_true(is_allowed_to_root(f, spec_a));
        g_assert_false(is_allowed_to_root(f, spec_b));
}

/* Globs and names, with and without filters; about one of three is refused. */
static char *make_large_spec(GRand *rand) {
        GString *spec = g_string_new("{\"scope\":\"system\",\"events\":[");
        int n = g_rand_int_range(rand, 1, 120);

        for (int i = 0; i < n; i++) {
                g_autofree char *glob =
                                g_rand_boolean(rand) ? g_strdup_printf("many:e%d*",
                                                                       g_rand_int_range(rand, 1, 9))
                                                     : g_strdup("many:*");
                if (n > 10 && strcmp(glob, "many:*") == 0)
                        strcpy(glob, "ma*:e1");
                g_string_append_printf(spec,
                                "%s{\"name\":\"%s\",\"filter\":\"%s == %d\"}",
                                i > 0 ? "," : "",
                                glob,
                                g_rand_int_range(rand, 0, 300) == 0 ? "nope" : "value",
                                g_rand_int_range(rand, 0, 3));
        }
        g_string_append(spec, "]}");
        return g_string_free(spec, FALSE);
}

/* What one turn of the loop does is bounded, and others are served in between. */
static void test_turns(Fixture *f, gconstpointer userdata) {
        static const char small[] = "{\"scope\":\"own\",\"events\":[\"raw_syscalls:sys_enter\"]}";
        GRand *rand = g_rand_new_with_seed(14);
        unsigned n_turns_max = 0;

        (void)userdata;
        add_many();
        for (unsigned i = 0; i < 40; i++) {
                g_autofree char *spec = make_large_spec(rand);
                g_autofree char *modules = g_strdup_printf("module%u\n", i);
                Question large, other;
                unsigned n_turns = 0, n_turns_other = 0;

                fake_kernel_set_file("modules", modules); /* every format is read again */
                (void)fake_kernel_take_format_reads();
                ask(f, &large, 0, spec);
                ask(f, &other, FIXTURE_USER, small);
                while (!large.is_over || !other.is_over) {
                        n_turns_other += !other.is_over;
                        g_assert_cmpint(sd_event_run(f->event, 20000), >=, 0);
                        g_assert_cmpuint(fake_kernel_take_format_reads(), <=, 101);
                        g_assert_cmpuint(++n_turns, <, 10000);
                }
                /* The other user's three steps take turns with the large one's. */
                g_assert_cmpuint(n_turns_other, <=, 8);
                n_turns_max = MAX(n_turns_max, n_turns);
                json_object_put(large.answer);
                json_object_put(other.answer);
        }
        g_assert_cmpuint(n_turns_max, >, 10);
        g_rand_free(rand);
}

static void test_pairs_have_a_limit(Fixture *f, gconstpointer userdata) {
        GString *spec = g_string_new("{\"scope\":\"system\",\"events\":[");

        (void)userdata;
        add_many();
        for (unsigned i = 0; i < 8192 / N_MANY + 1; i++)
                g_string_append_printf(spec, "%s\"many:*\"", i > 0 ? "," : "");
        g_string_append(spec, "]}");
        _cleanup_json_ json_object *answer = check(f, 0, spec->str);
        g_assert_false(is_allowed(answer));
        g_assert_nonnull(strstr(text(answer, "reasons"), "match more than 8192 events"));
        g_string_free(spec, TRUE);
}

/* The rules are replaced while a spec is judged: the new ones count. */
static void test_rules_change(Fixture *f, gconstpointer userdata) {
        Question question;

        (void)userdata;
        add_many();
        fixture_set_rules(f,
                        "{\"rules\":[{\"name\":\"old\",\"subjects\":[\"any\"],\"scopes\":[\"own\"],"
                        "\"events\":[\"many:*\"]}]}",
                        NULL);
        ask(f,
                        &question,
                        FIXTURE_USER,
                        "{\"scope\":\"own\",\"events\":[{\"name\":\"many:*\",\"filter\":\"value == 1\"}]}");
        g_assert_cmpint(sd_event_run(f->event, 20000), >=, 0);
        g_assert_false(question.is_over);
        fixture_set_rules(f,
                        "{\"rules\":[{\"name\":\"new\",\"subjects\":[\"any\"],\"scopes\":[\"own\"],"
                        "\"events\":[\"many:*\"]}]}",
                        NULL);
        fixture_run_until(f, is_over, &question);
        _cleanup_json_ json_object *answer = question.answer;
        g_assert_true(is_allowed(answer));
        g_assert_cmpstr(text(answer, "rule"), ==, "50-test.json: new");
}

/* What the old rules refused is no reason by the new ones. */
static void test_rules_allow_meanwhile(Fixture *f, gconstpointer userdata) {
        static const char rules[] = "{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],"
                                    "\"scopes\":[\"own\"],\"events\":[\"many:*\"%s]}]}";
        g_autofree char *few = g_strdup_printf(rules, "");
        g_autofree char *more = g_strdup_printf(rules, ",\"sched:sched_switch\"");
        Question question;

        (void)userdata;
        add_many();
        fixture_set_rules(f, few, NULL);
        ask(f,
                        &question,
                        FIXTURE_USER,
                        "{\"scope\":\"own\",\"events\":[\"sched:sched_switch\","
                        "{\"name\":\"many:*\",\"filter\":\"value == 1\"}]}");
        g_assert_cmpint(sd_event_run(f->event, 20000), >=, 0);
        g_assert_false(question.is_over);
        fixture_set_rules(f, more, NULL);
        fixture_run_until(f, is_over, &question);
        _cleanup_json_ json_object *answer = question.answer;
        g_assert_true(is_allowed(answer));
}

/* The rules are replaced in any turn: the answer is by the old ones or by the new ones, and whole.
 */
static void test_rules_change_any_turn(Fixture *f, gconstpointer userdata) {
        static const char rules[] =
                        "{\"rules\":[{\"name\":\"r\",\"subjects\":[\"any\"],\"scopes\":[\"own\"],"
                        "\"events\":[\"many:*\"]}]}";
        bool is_over_before = false;

        (void)userdata;
        add_many();
        fixture_set_rules(f, rules, NULL);
        for (unsigned n_turns = 0; !is_over_before; n_turns++) {
                Question question;

                ask(f, &question, FIXTURE_USER, "{\"scope\":\"own\",\"events\":[\"many:*\"]}");
                for (unsigned i = 0; i < n_turns && !question.is_over; i++)
                        g_assert_cmpint(sd_event_run(f->event, 20000), >=, 0);
                is_over_before = question.is_over;
                fixture_set_rules(f, rules, NULL);
                fixture_run_until(f, is_over, &question);
                _cleanup_json_ json_object *answer = question.answer;
                g_assert_true(is_allowed(answer));
                g_assert_cmpstr(text(answer, "rule"), ==, "50-test.json: r");
                g_assert_cmpuint(json_object_array_length(json_object_object_get(answer, "events")),
                                ==,
                                N_MANY);
        }
}

/* A caller may send a name of megabytes: it costs no more than its length. */
static void test_long_event_name(Fixture *f, gconstpointer userdata) {
        g_autofree char *name = g_strnfill((gsize)8 << 20, 's');
        const Subject subject = fixture_subject(0);
        json_object *description = NULL;
        Reason reason = {};

        (void)userdata;
        add_many();
        clock_t before = clock();
        g_assert_cmpint(registry_describe_event(f->registry, &subject, name, &description, &reason),
                        ==,
                        KT_E_NO_SUCH_EVENT);
        g_assert_cmpint(clock() - before, <, CLOCKS_PER_SEC / 2); /* of the CPU, not of the day */
        g_assert_nonnull(strstr(reason.text,
                        "sss...\": no such event, or not granted to you; "
                        "'ktracectl events' lists what you may use"));
}

/* Each event would be compared with all of it. */
static void test_long_glob(Fixture *f, gconstpointer userdata) {
        g_autofree char *glob = g_strnfill((gsize)8 << 20, '[');
        const Subject subject = fixture_subject(0);
        char **names = NULL;
        Reason reason = {};

        (void)userdata;
        g_assert_cmpint(registry_list_events(f->registry, &subject, glob, &names, &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text, ==, "glob: expected at most 256 bytes, got more");
        g_assert_null(names);
}

int main(int argc, char **argv) {
        static const struct {
                const char *path;
                void (*test)(Fixture *f, gconstpointer userdata);
        } tests[] = {
                { "/check/allowed", test_allowed },
                { "/check/root", test_root },
                { "/check/polkit", test_polkit },
                { "/check/all-reasons", test_all_reasons },
                { "/check/lacks", test_lacks },
                { "/check/limits", test_limits },
                { "/check/events-per-uid", test_events_per_uid },
                { "/check/same-as-create", test_same_as_create },
                { "/check/formats-are-read-once", test_formats_once },
                { "/check/formats-that-change-are-read-again", test_formats_change },
                { "/check/list-is-read-once", test_list_once },
                { "/check/list-that-changes-is-read-again", test_list_changes },
                { "/check/one-turn-does-a-little", test_turns },
                { "/check/pairs-have-a-limit", test_pairs_have_a_limit },
                { "/check/rules-change-meanwhile", test_rules_change },
                { "/check/rules-allow-meanwhile", test_rules_allow_meanwhile },
                { "/check/rules-change-in-any-turn", test_rules_change_any_turn },
                { "/check/long-event-name", test_long_event_name },
                { "/check/long-glob", test_long_glob },
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
