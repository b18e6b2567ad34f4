/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Probes that are made of two events: an event of its own for each session, in this order laid and
 * lifted, and nothing left whatever fails. */

#include <errno.h>
#include <string.h>

#include "probes/probe-set.h"
#include "session-fixture.h"
#include "session/registry.h"
#include "session/session-describe.h"

#define SPEC \
        "{\"scope\":\"system\",\"probes\":[\"both\"],\"events\":[\"sched:sched_switch\"],\"lifetime\":\"linger\"}"

/* As AddProbe would, but for whom it is. */
static void add(Fixture *f, const char *to, const char *key) {
        Definition *d = definition_new();
        Reason reason = {};
        Probe *probe;

        definition_set_string(d, "name", "both", NULL);
        definition_set_string(d, "from", "raw_syscalls:sys_enter", NULL);
        definition_set_string(d, "to", to, NULL);
        definition_add_key(d, key, NULL);
        definition_add_arg(d, "$latency", NULL);
        g_assert_cmpint(definition_complete(d, NULL), ==, 0);
        g_assert_cmpint(probe_set_add(f->registry->probes, d, 0, NULL, &probe), ==, 0);
        if (probe_resolve(probe, &reason) != 0)
                g_error("%s", reason.text);
}

static void set_up(Fixture *f, gconstpointer userdata) {
        fixture_set_up(f, userdata);
        fake_kernel_set_kprobes(true);
        fake_kernel_set_file("kprobe_events", "");
        fake_kernel_set_file("uprobe_events", "");
        fake_kernel_set_file("dynamic_events", "");
        add(f, "raw_syscalls:sys_exit", "common_pid");
}

static Session *create(Fixture *f) {
        Call call;

        fixture_create(f, &call, 0, NULL, SPEC);
        fixture_wait(f, &call);
        if (call.result != 0)
                g_error("%s", call.reason.text);
        return call.session;
}

static int finish(Fixture *f,
                void (*verb)(Fixture *f, Call *call, Session *session),
                Session *session) {
        Call call;

        verb(f, &call, session);
        fixture_wait(f, &call);
        return call.result;
}

static void test_order(Fixture *f, gconstpointer userdata) {
        Session *session = create(f);

        (void)userdata;
        ssize_t defined = fake_kernel_find("pair ktrace_*_0 u64 latency", 0);
        g_assert_cmpint(defined, >=, 0);
        g_assert_cmpint(fake_kernel_find("lay *", 0), <, 0);
        g_assert_cmpint(finish(f, fixture_start, session), ==, 0);
        ssize_t first = fake_kernel_find("lay * raw_syscalls:sys_enter hist:keys=common_pid:*", 0);
        ssize_t second = fake_kernel_find(
                        "lay * raw_syscalls:sys_exit *:clock=mono:onmatch(raw_syscalls.sys_enter).trace(ktrace_*",
                        0);
        ssize_t on = fake_kernel_find("enable * synthetic:ktrace_*_0 on", 0);
        g_assert_cmpint(first, >, defined);
        g_assert_cmpint(second, >, first);
        g_assert_cmpint(on, >, second);

        /* Laid again they would empty the rings. */
        g_assert_cmpint(finish(f, fixture_stop, session), ==, 0);
        g_assert_cmpint(fake_kernel_find("lift *", 0), <, 0);
        g_assert_cmpint(finish(f, fixture_start, session), ==, 0);
        g_assert_cmpint(fake_kernel_find("lay *", (size_t)second + 1), <, 0);
        g_assert_cmpint(finish(f, fixture_destroy, session), ==, 0);
        ssize_t to = fake_kernel_find("lift * raw_syscalls:sys_exit", 0);
        ssize_t from = fake_kernel_find("lift * raw_syscalls:sys_enter", 0);
        ssize_t gone = fake_kernel_find("remove ktrace-*", 0);
        g_assert_cmpint(to, >, on);
        g_assert_cmpint(from, >, to);
        g_assert_cmpint(gone, >, from);
        g_assert_cmpint(fake_kernel_find("pair -:ktrace_*_0", 0), >, gone);
}

/* What the kernel could not remember is reported when the session has stopped. */
static void test_dropped(Fixture *f, gconstpointer userdata) {
        Session *session = create(f);
        json_object *statistics = NULL;

        (void)userdata;
        g_assert_cmpint(finish(f, fixture_start, session), ==, 0);
        g_assert_cmpint(finish(f, fixture_stop, session), ==, 0);
        g_assert_cmpint(session_statistics(session, &statistics), ==, 0);
        g_assert_cmpuint(json_object_get_uint64(json_object_object_get(statistics, "unpaired")),
                        ==,
                        14);
        json_object_put(statistics);
        g_assert_cmpint(finish(f, fixture_destroy, session), ==, 0);
}

/* The kernel's memory for them counts as buffers do: 16 MB each, of everybody's 32 here. */
static void test_counted(Fixture *f, gconstpointer userdata) {
        Limits limits = *registry_get_limits(f->registry);
        Call call;

        (void)userdata;
        limits.max_buffer_kb_total = 32768;
        fixture_set_rules(f, NULL, &limits);
        Session *one = create(f);
        fixture_create(f, &call, 0, NULL, SPEC);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_LIMIT_REACHED);
        fixture_create(f, &call, 0, NULL, SPEC_ROOT);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        g_assert_cmpint(finish(f, fixture_destroy, call.session), ==, 0);
        g_assert_cmpint(finish(f, fixture_destroy, one), ==, 0);
}

/* Two sessions with one definition: nobody gets the other's records. */
static void test_apart(Fixture *f, gconstpointer userdata) {
        Session *one = create(f), *two = create(f);

        (void)userdata;
        ssize_t first = fake_kernel_find("pair ktrace_*_0 *", 0);
        ssize_t second = fake_kernel_find("pair ktrace_*_0 *", (size_t)first + 1);
        g_assert_cmpint(second, >, first);
        g_assert_cmpint(finish(f, fixture_destroy, one), ==, 0);
        g_assert_cmpint(finish(f, fixture_start, two), ==, 0);
        g_assert_cmpint(finish(f, fixture_destroy, two), ==, 0);
}

/* Every operation fails once: nothing is left. */
static void test_undone(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        g_autofree char *before = fake_kernel_describe();

        for (unsigned nth = 1; nth < 200; nth++) {
                Call call = {};

                fake_kernel_fail(nth, -EIO);
                fixture_create(f, &call, 0, NULL, SPEC);
                fixture_wait(f, &call);
                Session *session = call.result == 0 ? call.session : NULL;
                if (session)
                        (void)finish(f, fixture_start, session);
                bool has_failed = fake_kernel_has_failed();
                fake_kernel_fail(0, 0);
                if (session)
                        g_assert_cmpint(finish(f, fixture_destroy, session), ==, 0);
                g_autofree char *now = fake_kernel_describe();
                g_assert_cmpstr(now, ==, before);
                if (!has_failed) {
                        g_assert_cmpuint(nth, >, 12);
                        return;
                }
        }
        g_assert_not_reached();
}

#define COUNTED_FORMAT(name)                                                   \
        "name: " name "\nID: 9\nformat:\n"                                     \
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"           \
        "\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n"                  \
        "\tfield:int number;\toffset:12;\tsize:4;\tsigned:1;\n"                \
        "\tfield:int hidden;\toffset:16;\tsize:4;\tsigned:1;\n"                \
        "\tfield:char comm[16];\toffset:20;\tsize:16;\tsigned:0;\n\nprint fmt: \"%d\", REC->pid\n"
#define COUNTED_RULE                                                                              \
        "{\"rules\":[{\"name\":\"new\",\"subjects\":[\"any\"],\"scopes\":[\"system\"],"           \
        "\"processes\":\"any\",\"sinks\":[\"histogram\"],\"events\":[{\"name\":\"*:*\","          \
        "\"keys\":[\"pid\",\"number\",\"comm\"]}],\"probes\":{\"use\":[\"*\"],\"derive\":true}}]" \
        "}"

/* A probe of the user; to: NULL: on one event. */
static void add_counted(Fixture *f,
                const char *name,
                const char *from,
                const char *to,
                const char *key,
                const char *second,
                const char *arg) {
        Definition *d = definition_new();
        Reason reason = {};
        Probe *probe;

        definition_set_string(d, "name", name, NULL);
        definition_set_string(d, to ? "from" : "event", from, NULL);
        if (to) {
                definition_set_string(d, "to", to, NULL);
                definition_add_key(d, key, NULL);
        }
        if (second)
                definition_add_key(d, second, NULL);
        definition_add_arg(d, arg, NULL);
        g_assert_cmpint(definition_complete(d, &reason), ==, 0);
        g_assert_cmpint(probe_set_add(f->registry->probes, d, FIXTURE_USER, NULL, &probe), ==, 0);
        if (probe_resolve(probe, &reason) != 0)
                g_error("%s", reason.text);
}

/* Without records, a user's own probe shows only what are keys of its events, and its two events
 * are about one task: else the time between them would show when another user does something. */
static void test_without_records(Fixture *f, gconstpointer userdata) {
        static const struct {
                const char *key, *second, *arg; /* key: NULL: on one event */
                const char *part;               /* of the refusal; NULL: none */
                const char *from, *to;          /* NULL: count:one and count:two */
        } cases[] = {
                { "common_pid", NULL, "$latency", NULL },
                { "pid", NULL, "$latency", NULL, "sched:sched_wakeup", "sched:sched_switch" },
                { "pid", NULL, "$latency", "must be the number of a task: common_pid, or one of" },
                { "pid",
                                NULL,
                                "$latency",
                                "must be the number of a task",
                                "sched:sched_process_wait",
                                "sched:sched_switch" },
                { "common_pid", "number", "$latency", NULL },
                { "common_pid", NULL, "from.number", NULL },
                { "number", NULL, "$latency", "must be the number of a task" },
                { "number", "common_pid", "$latency", "must be the number of a task" },
                { "pid = number", NULL, "$latency", "must be the number of a task" },
                { "hidden", NULL, "$latency", "hidden of count:one: not among the keys" },
                { "common_pid", "hidden", "$latency", "hidden of count:one: not among the keys" },
                { "common_pid = pid", NULL, "$latency", "common_pid of count:one: not among" },
                { "common_pid", NULL, "from.hidden", "hidden of count:one: not among the keys" },
                { "common_pid", NULL, "from.comm", "comm of count:one: not among the keys" },
                { NULL, NULL, "hidden", "hidden of count:one: not among the keys" },
                { NULL, NULL, "comm", "comm of count:one: not among the keys" },
                { NULL, NULL, "$comm", "comm of count:one: not among the keys" },
        };

        (void)userdata;
        fake_kernel_add_event("count", "one", COUNTED_FORMAT("one"));
        fake_kernel_add_event("count", "two", COUNTED_FORMAT("two"));
        fake_kernel_add_event("sched", "sched_process_wait", COUNTED_FORMAT("sched_process_wait"));
        fake_kernel_add_event("sched", "sched_wakeup", COUNTED_FORMAT("sched_wakeup"));
        fixture_set_rules(f, COUNTED_RULE, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *name = g_strdup_printf("try%zu", i);
                g_autofree char *spec = g_strdup_printf(
                                "{\"scope\":\"system\",\"lifetime\":\"linger\",\"probes\":"
                                "[{\"name\":\"%s\",\"enabled\":false}]}",
                                name);
                Call call;

                add_counted(f,
                                name,
                                cases[i].from ?: "count:one",
                                cases[i].key ? cases[i].to ?: "count:two" : NULL,
                                cases[i].key,
                                cases[i].second,
                                cases[i].arg);
                fixture_create(f, &call, FIXTURE_USER, ":1.5", spec);
                fixture_wait(f, &call);
                if (call.result != (cases[i].part ? KT_E_ACCESS_DENIED : 0) ||
                                !strstr(call.reason.text, cases[i].part ?: ""))
                        g_error("%zu: %d %s", i, call.result, call.reason.text);
                if (call.result == 0)
                        g_assert_cmpint(finish(f, fixture_destroy, call.session), ==, 0);
        }
}

/* A kernel that cannot refuses the session, and is as it was. */
static void test_unsupported(Fixture *f, gconstpointer userdata) {
        Call call;

        (void)userdata;
        fake_kernel_set_kprobes(false);
        fixture_create(f, &call, 0, NULL, SPEC);
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, KT_E_NO_TRACING);
        g_assert_cmpuint(fake_kernel_n_instances(), ==, 0);
}

int main(int argc, char **argv) {
        static const struct {
                const char *path;
                void (*run)(Fixture *f, gconstpointer userdata);
        } tests[] = {
                { "/pairs/order", test_order },
                { "/pairs/dropped", test_dropped },
                { "/pairs/counted", test_counted },
                { "/pairs/apart", test_apart },
                { "/pairs/undone", test_undone },
                { "/pairs/without-records", test_without_records },
                { "/pairs/unsupported", test_unsupported },
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].path, Fixture, NULL, set_up, tests[i].run, fixture_tear_down);
        return g_test_run();
}
