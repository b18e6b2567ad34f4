/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the shipped rules and the decision give, and what a refusal tells. The first argument is the
 * folder of the shipped rules. */
#include "policy-fixture.h"

#include "interfaces/spec-list.h"
#include "policy/grant.h"
#include "policy/same.h"

static const char *const names[] = {
        "exceptions:page_fault_kernel",
        "exceptions:page_fault_user",
        "kprobes:secret",
        "ktrace_1001:secret",
        "raw_syscalls:sys_enter",
        "raw_syscalls:sys_exit",
        "sched:sched_process_exec",
        "sched:sched_process_exit",
        "sched:sched_process_fork",
        "sched:sched_process_free",
        "sched:sched_process_hang",
        "sched:sched_process_wait",
        "sched:sched_switch",
        "sched:sched_waking",
        "signal:signal_deliver",
        "signal:signal_generate",
        "syscalls:sys_enter_openat",
        "syscalls:sys_exit_openat",
        "task:task_newtask",
        "task:task_rename",
        "tcp:tcp_probe",
        "udp:tcp_probe",
};

/* Every event here has the same fields. */
static int get_format(const char *system, const char *name, const Format **ret, void *userdata) {
        static FormatField fields[] = {
                { .type = (char *)"pid_t",
                                .name = (char *)"pid",
                                .offset = 8,
                                .size = 4,
                                .is_signed = true },
                { .type = (char *)"long",
                                .name = (char *)"ret",
                                .offset = 16,
                                .size = 8,
                                .is_signed = true },
                { .type = (char *)"unsigned long", .name = (char *)"ip", .offset = 24, .size = 8 },
                { .type = (char *)"char[16]",
                                .name = (char *)"next_comm",
                                .offset = 32,
                                .size = 16,
                                .n_elements = 16,
                                .is_string = true },
        };
        static const Format format = {
                .name = (char *)"any", .fields = fields, .n_fields = G_N_ELEMENTS(fields)
        };

        *ret = &format;
        return 0;
}

static const PolicyEvents kernel = { .names = names,
        .n_names = G_N_ELEMENTS(names),
        .get_format = get_format };
static const Subject user = { .uid = 1000, .gids = (gid_t[]){ 1000 }, .n_gids = 1 };
static const Subject root = { .uid = 0 };
static Policy *shipped;

static int decide(const Subject *subject,
                const char *scope,
                const char *const *events,
                Grant **ret,
                Reason *reason) {
        _cleanup_spec_ Spec *spec = spec_new();

        g_assert_cmpint(spec_set_string(spec, "scope", scope, reason), ==, 0);
        /* "name" or "name filter" */
        for (; *events; events++) {
                g_auto(GStrv) parts = g_strsplit(*events, " ", 2);
                g_assert_cmpint(spec_add_event(spec, parts[0], parts[1], reason), ==, 0);
        }
        return policy_decide(shipped, subject, spec, &kernel, ret, reason);
}

#define EVENTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void expect(const Subject *subject,
                const char *scope,
                const char *const *events,
                const char *granted) {
        g_autoptr(GString) all = g_string_new(NULL);
        Reason reason = { "" };
        Grant *grant = NULL;

        int r = decide(subject, scope, events, &grant, &reason);
        g_assert_cmpstr(reason.text, ==, "");
        g_assert_cmpint(r, ==, 0);
        for (size_t i = 0; i < grant->n_events; i++) {
                const GrantEvent *e = &grant->events[i];
                g_string_append_printf(all, "%s%s:%s", i ? " " : "", e->system, e->name);
                if (e->filter)
                        g_string_append_printf(all, "[%s]", e->filter);
        }
        g_assert_cmpstr(all->str, ==, granted);
        g_assert_cmpint(grant->fenced, ==, subject->uid != 0);
        grant_free(grant);
}

static void expect_refused(const Subject *subject,
                const char *scope,
                const char *const *events,
                int code,
                const char *text) {
        Reason reason = { "" };
        Grant *grant = NULL;

        g_assert_cmpint(decide(subject, scope, events, &grant, &reason), ==, code);
        g_assert_cmpstr(reason.text, ==, text);
        g_assert_null(grant);
}

static void test_user(void) {
        expect(&user, "own", EVENTS("sched:sched_process_exec"), "sched:sched_process_exec");
        expect(&user,
                        "command:1",
                        EVENTS("syscalls:*"),
                        "syscalls:sys_enter_openat syscalls:sys_exit_openat");
        expect(&user,
                        "pids:1,2",
                        EVENTS("sys_enter", "raw_syscalls:sys_enter"),
                        "raw_syscalls:sys_enter");
        /* The whole allow-list. */
        expect(&user,
                        "own",
                        EVENTS("*"),
                        "exceptions:page_fault_user raw_syscalls:sys_enter raw_syscalls:sys_exit "
                        "sched:sched_process_exec sched:sched_process_exit sched:sched_process_fork "
                        "sched:sched_process_wait sched:sched_switch signal:signal_deliver syscalls:sys_enter_openat "
                        "syscalls:sys_exit_openat task:task_newtask task:task_rename");
}

static void test_root(void) {
        expect(&root, "system", EVENTS("sched:sched_switch"), "sched:sched_switch");
        expect(&root, "system", EVENTS("tcp_probe"), "tcp:tcp_probe udp:tcp_probe");
        expect(&root, "own", EVENTS("k*:*"), "kprobes:secret ktrace_1001:secret");
}

static void test_narrowed(void) {
        Reason reason = { "" };
        Grant *grant = NULL;

        g_assert_cmpint(decide(&user,
                                        "own",
                                        EVENTS("sched:*", "task:task_rename"),
                                        &grant,
                                        &reason),
                        ==,
                        0);
        g_assert_cmpstr(grant->rule, ==, "50-default.json: own-processes");
        g_assert_cmpuint(grant->n_requests, ==, 2);
        g_assert_cmpstr(grant->requests[0].pattern, ==, "sched:*");
        g_assert_cmpuint(grant->requests[0].n_matched, ==, 8);
        g_assert_cmpuint(grant->requests[0].n_granted, ==, 5);
        g_assert_cmpuint(grant->requests[1].n_matched, ==, 1);
        g_assert_cmpuint(grant->requests[1].n_granted, ==, 1);
        grant_free(grant);
}

/* An entry counts what it granted, even if an entry before it granted the same. */
static void test_counted_twice(void) {
        Reason reason = { "" };
        Grant *grant = NULL;

        g_assert_cmpint(decide(&user, "own", EVENTS("task:*", "task:*"), &grant, &reason), ==, 0);
        g_assert_cmpuint(grant->n_events, ==, 2);
        g_assert_cmpuint(grant->requests[1].n_granted, ==, 2);
        grant_free(grant);
}

static void test_refused(void) {
        expect_refused(&user,
                        "own",
                        EVENTS("sched:sched_waking"),
                        KT_E_ACCESS_DENIED,
                        "sched:sched_waking: not granted by 50-default.json: own-processes; "
                        "'ktracectl events' lists what you may use, --unredacted asks for more");
        expect_refused(&user,
                        "own",
                        EVENTS("task:task_rename", "tcp:*"),
                        KT_E_ACCESS_DENIED,
                        "tcp:*: not granted by 50-default.json: own-processes; "
                        "'ktracectl events' lists what you may use, --unredacted asks for more");
        expect_refused(&user,
                        "own",
                        EVENTS("syscalls:sys_enter_opennat"),
                        KT_E_NO_SUCH_EVENT,
                        "syscalls:sys_enter_opennat: no such event; did you mean "
                        "syscalls:sys_enter_openat?");
        expect_refused(&root,
                        "own",
                        EVENTS("sched_swich"),
                        KT_E_NO_SUCH_EVENT,
                        "sched_swich: no such event; did you mean sched:sched_switch?");
        expect_refused(&root,
                        "own",
                        EVENTS("nosuch:*"),
                        KT_E_NO_SUCH_EVENT,
                        "nosuch:*: matches no event; 'ktracectl events' lists them");
}

#define LISTS  "'ktracectl events' lists what you may use"
#define DENIED ": not granted by 50-default.json: own-processes; "

/* A user who writes a name as another tool has it, or misspells it, learns the names that policy
 * grants, and no other. */
static void test_suggested(void) {
        static const struct {
                const char *wanted, *says;
        } cases[] = {
                { "openat",
                                DENIED "did you mean syscalls:sys_enter_openat or "
                                       "syscalls:sys_exit_openat? " LISTS },
                { "syscalls:openat",
                                DENIED "did you mean syscalls:sys_enter_openat or "
                                       "syscalls:sys_exit_openat? " LISTS },
                { "opennat", DENIED "did you mean syscalls:sys_enter_openat? " LISTS },
                { "sched_process_hang", DENIED LISTS },
                { "sched_swich", DENIED "did you mean sched:sched_switch? " LISTS },
                { "shed:sched_switch", DENIED "did you mean sched:sched_switch? " LISTS },
                { "sched", DENIED "did you mean 'sched:*'? " LISTS },
                { "newtask", DENIED "did you mean task:task_newtask? " LISTS },
                { "task:rename", DENIED "did you mean task:task_rename? " LISTS },
                { "deliv", DENIED "did you mean signal:signal_deliver? " LISTS },
                /* Not granted, and not suggested. */
                { "waking", DENIED LISTS },
                { "sched_wakin", DENIED LISTS },
                { "tcp_prob", DENIED LISTS },
                { "tcp", DENIED LISTS },
                { "secre", DENIED LISTS },
                { "kprobes:secre", DENIED LISTS },
                { "ktrace_1001", DENIED LISTS },
                /* In too many names, or in none. */
                { "e", DENIED LISTS },
                { "zebra", DENIED LISTS },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                const char *wanted = cases[i].wanted;
                bool is_whole = strchr(wanted, ':') && !g_str_has_prefix(wanted, "kprobes");
                g_autofree char *text = g_strconcat(wanted,
                                cases[i].says,
                                is_whole ? ", --unredacted asks for more" : NULL,
                                NULL);

                expect_refused(&user, "own", EVENTS(cases[i].wanted), KT_E_ACCESS_DENIED, text);
        }
        expect_refused(&root,
                        "own",
                        EVENTS("waking"),
                        KT_E_NO_SUCH_EVENT,
                        "waking: no such event; did you mean sched:sched_waking?");
        /* The rule grants everything after polkit's yes; before it nothing more is reported. */
        expect_refused(&user,
                        "system",
                        EVENTS("sched_wakin"),
                        KT_E_ACCESS_DENIED,
                        "sched_wakin: not granted by 50-default.json: administrators-yes; " LISTS);
}

/* What another user defined must be told apart from what does not exist by nothing at all. */
static void test_others_probes_are_hidden(void) {
        static const char *const pairs[][2] = {
                { "ktrace_1001:secret", "ktrace_1001:absent" },
                { "kprobes:secret", "kprobes:absent" },
                { "ktrace_1001:*", "ktrace_1009:*" },
                { "secret", "absent" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++) {
                Reason reasons[2] = { { "" }, { "" } };
                Grant *grant = NULL;
                for (int j = 0; j < 2; j++) {
                        g_assert_cmpint(decide(&user,
                                                        "own",
                                                        EVENTS(pairs[i][j]),
                                                        &grant,
                                                        &reasons[j]),
                                        ==,
                                        KT_E_ACCESS_DENIED);
                        g_assert_true(g_str_has_prefix(reasons[j].text, pairs[i][j]));
                }
                g_assert_cmpstr(reasons[0].text + strlen(pairs[i][0]),
                                ==,
                                reasons[1].text + strlen(pairs[i][1]));
        }
}

/* A glob that grants something else would tell by its count. */
static void test_others_probes_are_not_counted(void) {
        Reason reason = { "" };
        Grant *grant = NULL;

        g_assert_cmpint(decide(&user, "own", EVENTS("[kr]*:*s*e*r*"), &grant, &reason), ==, 0);
        g_assert_cmpuint(grant->requests[0].n_matched, ==, 1);
        g_assert_cmpuint(grant->n_events, ==, 1);
        grant_free(grant);
}

/* Everything with an administrator's yes, and nothing else without. */
static void test_system(void) {
        Reason reason = { "" };
        Grant *grant = NULL;

        g_assert_cmpint(decide(&user, "system", EVENTS("sched:*"), &grant, &reason), ==, 0);
        g_assert_cmpstr(grant->rule, ==, "50-default.json: administrators-yes");
        g_assert_cmpstr(grant->polkit_action, ==, "org.ktrace1.trace-system");
        g_assert_false(grant->fenced);
        g_assert_false(grant->redacted);
        g_assert_cmpuint(grant->n_events, ==, 8);
        grant_free(grant);
        expect_refused(&user,
                        "system",
                        EVENTS("kprobes:secret"),
                        KT_E_ACCESS_DENIED,
                        "kprobes:secret: not granted by 50-default.json: administrators-yes; "
                        "'ktracectl events' lists what you may use");
}

/* Who wants all of it gets past the rules that cut. */
static void test_unredacted(void) {
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason = { "" };
        Grant *grant = NULL;

        g_assert_cmpint(spec_set_string(spec, "scope", "own", &reason), ==, 0);
        g_assert_cmpint(spec_add_event(spec, "sched:sched_waking", NULL, &reason), ==, 0);
        g_assert_cmpint(spec_set_boolean(spec, "unredacted", true, &reason), ==, 0);
        g_assert_cmpint(policy_decide(shipped, &user, spec, &kernel, &grant, &reason), ==, 0);
        g_assert_cmpstr(grant->rule, ==, "50-default.json: administrators-yes");
        g_assert_nonnull(grant->polkit_action);
        grant = grant_free(grant);
        g_assert_cmpint(policy_decide(shipped, &root, spec, &kernel, &grant, &reason), ==, 0);
        grant_free(grant);
}

/* What cannot be cut field by field goes with grants that cut nothing. */
static void test_kernel_keys(void) {
        for (unsigned key = 0; key < 3; key++) {
                _cleanup_spec_ Spec *spec = spec_new();
                Reason reason = { "" };
                Grant *grant = NULL;

                g_assert_cmpint(spec_set_string(spec, "scope", "own", &reason), ==, 0);
                g_assert_cmpint(spec_add_event(spec, "task:task_rename", NULL, &reason), ==, 0);
                if (key == 0)
                        g_assert_cmpint(spec_set_boolean(spec, "stacktrace", true, &reason), ==, 0);
                else
                        g_assert_cmpint(spec_set_string(spec,
                                                        key == 1 ? "instance" : "tracer",
                                                        key == 1 ? "theirs" : "function",
                                                        &reason),
                                        ==,
                                        0);
                g_assert_cmpint(policy_decide(shipped, &user, spec, &kernel, &grant, &reason),
                                ==,
                                KT_E_ACCESS_DENIED);
                g_assert_nonnull(strstr(reason.text, "--unredacted asks for more"));
                g_assert_null(grant);
                g_assert_cmpint(spec_set_boolean(spec, "unredacted", true, &reason), ==, 0);
                g_assert_cmpint(policy_decide(shipped, &user, spec, &kernel, &grant, &reason),
                                ==,
                                0);
                g_assert_nonnull(grant->polkit_action); /* an administrator is asked */
                grant = grant_free(grant);
                g_assert_cmpint(policy_decide(shipped, &root, spec, &kernel, &grant, &reason),
                                ==,
                                0);
                grant_free(grant);
        }
}

/* A filter may speak of what is shown, and tells nothing of addresses in it. */
static void test_filters_of_users(void) {
        expect(&user, "own", EVENTS("task:task_rename pid == 1"), "task:task_rename[pid == 1]");
        expect(&user,
                        "own",
                        EVENTS("task:task_rename ret < 0"),
                        "task:task_rename[(ret < 0) && (ret < -72057594037927936 || ret >= -4096)]");
        expect(&user,
                        "own",
                        EVENTS("task:task_rename ip > 5 || pid == 1"),
                        "task:task_rename[(ip > 5 || pid == 1) && "
                        "(ip < 0xff00000000000000 || ip >= 0xfffffffffffff000)]");
        expect(&root, "own", EVENTS("task:task_rename ip > 5"), "task:task_rename[ip > 5]");
        /* Each field once. */
        expect(&user,
                        "own",
                        EVENTS("task:task_rename !(ret == 1 || ret == 2)"),
                        "task:task_rename[(!(ret == 1 || ret == 2)) && "
                        "(ret < -72057594037927936 || ret >= -4096)]");
}

/* A record of it may be made while a stranger runs: not even the common fields may be asked for. */
static void test_no_filter_on_what_speaks_of_others(void) {
        static const char *const filters[] = {
                "pid == 1", "common_pid == 1", "comm == \"sshd\"", "CPU == 0", "next_comm == \"x\""
        };

        for (size_t i = 0; i < G_N_ELEMENTS(filters); i++) {
                g_autofree char *entry = g_strdup_printf("sched:sched_switch %s", filters[i]);

                expect_refused(&user,
                                "own",
                                EVENTS(entry),
                                KT_E_ACCESS_DENIED,
                                "sched:sched_switch: filter: it can describe tasks that are not "
                                "traced, and a filter would reveal them (50-default.json: "
                                "own-processes): leave it out, and filter the recording");
        }
}

static void test_filters(void) {
        expect(&root, "system", EVENTS("task:task_rename pid == 1"), "task:task_rename[pid == 1]");
        expect(&root,
                        "system",
                        EVENTS("task:task_rename pid == 1", "task:* pid == 2"),
                        "task:task_newtask[pid == 2] task:task_rename[(pid == 1) || (pid == 2)]");
        expect(&root,
                        "system",
                        EVENTS("task_rename pid == 1", "task_rename pid == 1"),
                        "task:task_rename[pid == 1]");
        /* Once without means all of them, in whatever order. */
        expect(&root, "system", EVENTS("task_rename pid == 1", "task_rename"), "task:task_rename");
        expect(&root, "system", EVENTS("task_rename", "task_rename pid == 1"), "task:task_rename");
}

static void test_where(void) {
        _cleanup_spec_ Spec *spec = spec_new(), *wrong = spec_new();
        Grant *grant = NULL;
        Reason reason = {};

        g_assert_cmpint(spec_set_string(spec, "scope", "system", NULL), ==, 0);
        g_assert_cmpint(spec_add_event(spec, "task:task_rename", "pid==1||pid==2", NULL), ==, 0);
        g_assert_cmpint(spec_add_event(spec, "task:task_newtask", NULL, NULL), ==, 0);
        g_assert_cmpint(spec_set_string(spec, "where", "pid!=3", NULL), ==, 0);
        g_assert_cmpint(policy_decide(shipped, &root, spec, &kernel, &grant, NULL), ==, 0);
        g_assert_cmpuint(grant->n_events, ==, 2);
        g_assert_cmpstr(grant->events[0].filter, ==, "pid != 3");
        g_assert_cmpstr(grant->events[1].filter, ==, "(pid == 1 || pid == 2) && (pid != 3)");
        grant = grant_free(grant);

        g_assert_cmpint(spec_set_string(wrong, "scope", "system", NULL), ==, 0);
        g_assert_cmpint(spec_add_event(wrong, "task:task_rename", NULL, NULL), ==, 0);
        g_assert_cmpint(spec_set_string(wrong, "where", "pid = 3", NULL), ==, 0);
        g_assert_cmpint(policy_decide(shipped, &root, wrong, &kernel, &grant, &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text,
                        ==,
                        "task:task_rename: where column 5: filters have no single =: write ==");
}

static void test_joined_filters_have_a_limit(void) {
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason = { "" };
        Grant *grant = NULL;

        g_assert_cmpint(spec_set_string(spec, "scope", "system", &reason), ==, 0);
        for (int i = 0; i < 4000; i++) {
                g_autofree char *filter = g_strdup_printf("pid == %d", i);
                g_assert_cmpint(spec_add_event(spec, "task:task_rename", filter, &reason), ==, 0);
        }
        g_assert_cmpint(policy_decide(shipped, &root, spec, &kernel, &grant, &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "4000 bytes"));
}

static void test_globs_have_a_limit(void) {
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason = { "" };
        Grant *grant = NULL;

        g_assert_cmpint(spec_set_string(spec, "scope", "own", &reason), ==, 0);
        for (int i = 0; i < 4000; i++)
                g_assert_cmpint(spec_add_event(spec, "task:*", NULL, &reason), ==, 0);
        g_assert_cmpint(policy_decide(shipped, &user, spec, &kernel, &grant, &reason),
                        ==,
                        KT_E_LIMIT_REACHED);
        g_assert_cmpint(policy_decide(shipped, &root, spec, &kernel, &grant, &reason), ==, 0);
        grant_free(grant);
}

static void test_no_rule(void) {
        Policy *none = NULL;
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason = { "" };
        Grant *grant = NULL;

        g_assert_cmpint(policy_load("/nonexistent", "/nonexistent", &none, &reason), ==, 0);
        g_assert_cmpint(spec_set_string(spec, "scope", "own", &reason), ==, 0);
        g_assert_cmpint(spec_add_event(spec, "*", NULL, &reason), ==, 0);
        g_assert_cmpint(policy_decide(none, &user, spec, &kernel, &grant, &reason),
                        ==,
                        KT_E_ACCESS_DENIED);
        g_assert_cmpstr(reason.text, ==, "scope own: no rule grants uid 1000 anything in it");
        policy_free(none);
}

static bool sees(const Subject *subject, const char *system, const char *name) {
        PolicyView view = policy_get_view(shipped, subject);

        return policy_view_has(&view, system, name);
}

static void test_may_see(void) {
        g_assert_true(sees(&user, "syscalls", "sys_enter_read"));
        g_assert_true(sees(&user, "sched", "sched_switch"));
        g_assert_false(sees(&user, "sched", "sched_waking"));
        g_assert_true(sees(&root, "sched", "sched_waking"));
}

static unsigned n_formats;

static int count_format(const char *system, const char *name, const Format **ret, void *userdata) {
        n_formats++;
        return get_format(system, name, ret, userdata);
}

/* In parts it decides what it decides at once, and a part does no more than its work. */
static void test_in_parts(void) {
        PolicyEvents counted = kernel;
        _cleanup_(grant_free_cleanup) Grant *whole = NULL, *parts = NULL;
        _cleanup_(decision_free_cleanup) Decision *decision = NULL;
        _cleanup_spec_ Spec *spec = spec_new();
        unsigned n_turns = 0;
        int r;

        counted.get_format = count_format;
        g_assert_cmpint(spec_set_string(spec, "scope", "system", NULL), ==, 0);
        g_assert_cmpint(spec_set_string(spec, "where", "ip == 4", NULL), ==, 0);
        for (unsigned i = 0; i < 20; i++)
                g_assert_cmpint(spec_add_event(spec, "*", i % 2 ? "ip == 1" : "ret == 2", NULL),
                                ==,
                                0);
        g_assert_cmpint(policy_decide(shipped, &root, spec, &counted, &whole, NULL), ==, 0);
        g_assert_cmpuint(n_formats, >=, 20 * G_N_ELEMENTS(names));
        g_assert_cmpint(decision_new(shipped, &root, spec, &counted, &decision), ==, 0);
        do {
                n_formats = 0;
                r = decision_advance(decision, 300, NULL);
                g_assert_cmpuint(n_formats, <=, 3);
                n_turns++;
        } while (r == DECISION_AGAIN);
        g_assert_cmpint(r, ==, 0);
        g_assert_cmpuint(n_turns, >, 20);
        parts = decision_take_grant(decision);
        g_assert_true(grant_is_same(whole, parts));
}

/* What is off at the beginning may be turned on by one of two sessions only. */
static void test_records_off(void) {
        _cleanup_(grant_free_cleanup) Grant *a = NULL, *b = NULL;

        g_assert_cmpint(decide(&root, "system", EVENTS("sched:sched_switch"), &a, NULL), ==, 0);
        g_assert_cmpint(decide(&root, "system", EVENTS("sched:sched_switch"), &b, NULL), ==, 0);
        g_assert_true(grant_records_same(a, b));
        a->events[0].is_off = b->events[0].is_off = true;
        g_assert_false(grant_records_same(a, b));
}

static bool records_same(const char *const *a, const char *const *b) {
        _cleanup_(grant_free_cleanup) Grant *of_a = NULL, *of_b = NULL;

        g_assert_cmpint(decide(&root, "system", a, &of_a, NULL), ==, 0);
        g_assert_cmpint(decide(&root, "system", b, &of_b, NULL), ==, 0);
        g_assert_true(grant_records_same(of_b, of_a) == grant_records_same(of_a, of_b));
        return grant_records_same(of_a, of_b);
}

/* The order of the events makes no difference; any other event or filter does. */
static void test_records_same(void) {
        const char *const *both = EVENTS("sched:sched_switch ip == 1", "sched:sched_process_exec");

        g_assert_true(records_same(
                        both, EVENTS("sched:sched_process_exec", "sched:sched_switch ip == 1")));
        g_assert_false(records_same(
                        both, EVENTS("sched:sched_process_exec", "sched:sched_switch ip == 2")));
        g_assert_false(records_same(
                        both, EVENTS("sched:sched_process_exec", "sched:sched_switch")));
        g_assert_false(records_same(
                        both, EVENTS("sched:sched_process_exec ip == 1", "sched:sched_switch")));
        g_assert_false(records_same(both, EVENTS("sched:sched_switch ip == 1")));
        g_assert_false(records_same(
                        both, EVENTS("sched:sched_switch ip == 1", "sched:sched_process_fork")));
}

static void load_shipped(Fixture *fixture, const char *dir) {
        g_autofree char *path = g_build_filename(dir, "50-default.json", NULL);
        g_autofree char *text = NULL;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        fixture_init(fixture);
        fixture_write(fixture->lib, "50-default.json", text);
        shipped = fixture_load(fixture);
}

int main(int argc, char **argv) {
        Fixture fixture;

        g_test_init(&argc, &argv, NULL);
        g_assert_cmpint(argc, ==, 2);
        load_shipped(&fixture, argv[1]);
        g_test_add_func("/grant/user", test_user);
        g_test_add_func("/grant/root", test_root);
        g_test_add_func("/grant/narrowed", test_narrowed);
        g_test_add_func("/grant/counted-twice", test_counted_twice);
        g_test_add_func("/grant/refused", test_refused);
        g_test_add_func("/grant/suggested", test_suggested);
        g_test_add_func("/grant/others-probes-are-hidden", test_others_probes_are_hidden);
        g_test_add_func("/grant/others-probes-are-not-counted", test_others_probes_are_not_counted);
        g_test_add_func("/grant/system", test_system);
        g_test_add_func("/grant/unredacted", test_unredacted);
        g_test_add_func("/grant/kernel-keys", test_kernel_keys);
        g_test_add_func("/grant/filters-of-users", test_filters_of_users);
        g_test_add_func("/grant/no-filter-on-what-speaks-of-others",
                        test_no_filter_on_what_speaks_of_others);
        g_test_add_func("/grant/filters", test_filters);
        g_test_add_func("/grant/where", test_where);
        g_test_add_func("/grant/joined-filters-have-a-limit", test_joined_filters_have_a_limit);
        g_test_add_func("/grant/globs-have-a-limit", test_globs_have_a_limit);
        g_test_add_func("/grant/in-parts", test_in_parts);
        g_test_add_func("/grant/records-the-same", test_records_same);
        g_test_add_func("/grant/records-off", test_records_off);
        g_test_add_func("/grant/no-rule", test_no_rule);
        g_test_add_func("/grant/may-see", test_may_see);
        int r = g_test_run();
        policy_free(shipped);
        fixture_clear(&fixture);
        return r;
}
