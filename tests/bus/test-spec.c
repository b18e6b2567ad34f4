/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What CreateSession is sent by those who mistook something or mean ill: each is answered by name,
 * nothing of it reaches the kernel, and the daemon goes on. */
#include <fcntl.h>
#include <gio/gunixfdlist.h>
#include <unistd.h>

#include "bus-fixture.h"

#define INVALID     KT_ERROR_PREFIX "InvalidSpec"
#define UNKNOWN_KEY KT_ERROR_PREFIX "UnknownKey"

static GDBusConnection *user, *root;

/* The arguments in GVariant's text format. */
static GVariant *parse(const char *text) {
        g_autoptr(GError) error = NULL;

        GVariant *arguments = g_variant_parse(NULL, text, NULL, NULL, &error);
        g_assert_no_error(error);
        return arguments;
}

static void expect(const char *text, const char *name, const char *part) {
        bus_expect_error(user,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "CreateSession",
                        parse(text),
                        name,
                        part);
}

static void test_signature(void) {
        static const char *const texts[] = {
                "('x',)", "({'scope': 'own'},)", "([<'own'>],)", "(1, 2)", "(@a{sv} {}, 1)"
        };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
                expect(texts[i], "org.freedesktop.DBus.Error.InvalidArgs", NULL);
        bus_expect_error(user,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "CreateSession",
                        NULL,
                        "org.freedesktop.DBus.Error.InvalidArgs",
                        NULL);
}

static void test_missing(void) {
        expect("(@a{sv} {},)", INVALID, NULL);
        expect("({'events': <['task:task_rename']>},)", INVALID, "scope");
        expect("({'scope': <'own'>},)", INVALID, "events");
        expect("({'scope': <'own'>, 'events': <@as []>},)", INVALID, "events");
}

static void test_triggers(void) {

        static const struct {
                const char *triggers, *name, *part;
        } rows[] = {
                { "['a:b']", INVALID, "triggers[0]: expected an object, got a string" },
                { "[{'when': <7>}]", INVALID, "triggers[0].when: expected a string" },
                { "[{'then': <'a:b'>}]", UNKNOWN_KEY, "triggers[0]: unknown key \"then\"" },
                { "[{'when': <'a:b'>, 'do': <'stop'>, 'count': <-1>}]", INVALID, "negative" },
                { "[{'when': <'a:b'>, 'do': <'stop'>, 'count': <0>}]", INVALID, "count: 0" },
                { "[{'when': <'a:b'>, 'do': <'hist'>, 'keys': <[1]>}]", INVALID, "keys" },
                { "[{'when': <'a:b'>, 'do': <'hist'>, 'keys': <['a\\n']>}]", INVALID, "printable" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *text = g_strdup_printf(
                                "({'scope': <'own'>, 'triggers': <%s>},)", rows[i].triggers);

                expect(text, rows[i].name, rows[i].part);
        }
        expect("({'scope': <'own'>, 'events': <[{'triggers': <[{'do': <'stop'>}]>, 'name': <'a:*'>}]>},)",
                        INVALID,
                        "events[0].triggers[0]: \"a:*\" is not one event");
        expect("({'scope': <'own'>, 'events': <[{'name': <'a:b'>, 'enabled': <'no'>}]>},)",
                        INVALID,
                        "events[0].enabled: expected true or false, got a string");
}

static void test_keys(void) {
        expect("({'sope': <'own'>},)", UNKNOWN_KEY, "scope");
        expect("({'': <'own'>},)", UNKNOWN_KEY, NULL);
        expect("({'scope': <'own'>, 'scope': <'own'>},)", INVALID, "scope");
        expect("({'buffer-kb': <64>, 'buffer-kb': <64>},)", INVALID, "buffer-kb");
        expect("({'events': <['a:b']>, 'events': <['a:b']>},)", INVALID, "events: given twice");
}

static void test_types(void) {
        expect("({'scope': <1>},)", INVALID, "scope: expected a string, got a number");
        expect("({'scope': <['own']>},)", INVALID, "scope: expected a string, got a list");
        expect("({'scope': <objectpath '/own'>},)", INVALID, "got an object path");
        expect("({'scope': <<'own'>>},)", INVALID, "scope: expected a string");
        expect("({'scope': <<'own'>>},)", INVALID, "got a variant");
        expect("({'buffer-kb': <'64'>},)", INVALID, "buffer-kb: expected a number, got a string");
        expect("({'buffer-kb': <64.0>},)",
                        INVALID,
                        "buffer-kb: expected a number, got a number with a fraction");
        expect("({'buffer-kb': <true>},)",
                        INVALID,
                        "buffer-kb: expected a number, got true or false");
        expect("({'events': <'a:b'>},)", INVALID, "events: expected a list, got a string");
        expect("({'events': <[1]>},)", INVALID, "got a list of another type");
        expect("({'events': <{'a': <1>}>},)", INVALID, "events: expected a list, got an object");
        expect("({'events': <[('a', 'b')]>},)", INVALID, "events");
}

static void test_numbers(void) {
        static const char *const negative[] = { "int16 -1", "-1", "int64 -9223372036854775808" };

        for (size_t i = 0; i < G_N_ELEMENTS(negative); i++) {
                g_autofree char *text = g_strdup_printf("({'buffer-kb': <%s>},)", negative[i]);
                expect(text, INVALID, "buffer-kb: -");
        }
        expect("({'buffer-kb': <byte 0x00>},)", INVALID, "buffer-kb");
        expect("({'buffer-kb': <uint64 18446744073709551615>},)", INVALID, "buffer-kb");
        expect("({'buffer-kb': <uint64 10737418240>},)", INVALID, "buffer-kb");
}

/* Every integer type is a number: the call gets as far as the missing scope. */
static void test_integer_types(void) {
        static const char *const numbers[] = {
                "byte 0x40", "int16 64", "uint16 64", "64", "uint32 64", "int64 64", "uint64 64"
        };

        for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
                g_autofree char *text = g_strdup_printf(
                                "({'buffer-kb': <%s>, 'events': <['a:b']>},)", numbers[i]);
                expect(text, INVALID, "scope");
        }
}

static void test_event_objects(void) {
        expect("({'events': <[{'nam': <'a:b'>}]>},)", UNKNOWN_KEY, "nam");
        expect("({'events': <[{'filter': <'x == 1'>}]>},)", INVALID, "events[0].name: missing");
        expect("({'events': <[{'name': <1>}]>},)",
                        INVALID,
                        "events[0].name: expected a string, got a number");
        expect("({'events': <[{'name': <'a:b'>, 'name': <'a:c'>}]>},)",
                        INVALID,
                        "events[0].name: given twice");
        expect("({'events': <[{'name': <'a/b:c'>}]>},)", INVALID, NULL);
        expect("({'events': <['../../x']>},)", INVALID, NULL);
        expect("({'events': <['']>},)", INVALID, NULL);
}

static GVariant *many_events(unsigned n, const char *prefix, const char *suffix) {
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        GVariantBuilder spec;

        for (unsigned i = 0; i < n; i++)
                g_ptr_array_add(names, g_strdup_printf("%s%u%s", prefix, i % 10, suffix));
        g_variant_builder_init(&spec, G_VARIANT_TYPE("a{sv}"));
        g_variant_builder_add(&spec, "{sv}", "scope", g_variant_new_string("own"));
        g_variant_builder_add(&spec,
                        "{sv}",
                        "events",
                        g_variant_new_strv((const char *const *)names->pdata, (gssize)n));
        return g_variant_new("(a{sv})", &spec);
}

static void test_many_events(void) {
        bus_expect_error(user,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "CreateSession",
                        many_events(10000, "sched:event_", ""),
                        INVALID,
                        "events");
}

/* At worst they are matched one against the other, on the loop that serves everybody: that would
 * take minutes. */
static void test_many_globs(void) {
        gint64 begin = g_get_monotonic_time();

        bus_expect_error(user,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "CreateSession",
                        many_events(4000, "*s*y*s*c*a*l*l*s*:*s*y*s*_*e*n*t*e*r*[!", "]*"),
                        KT_ERROR_PREFIX "LimitReached",
                        "events");
        g_assert_cmpint(g_get_monotonic_time() - begin, <, 20 * G_USEC_PER_SEC);
}

static void test_long_strings(void) {
        g_autofree char *name = g_strnfill(20 * 1024 * 1024, 'x');
        GVariantBuilder spec;

        g_variant_builder_init(&spec, G_VARIANT_TYPE("a{sv}"));
        g_variant_builder_add(&spec, "{sv}", "name", g_variant_new_string(name));
        bus_expect_error(user,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "CreateSession",
                        g_variant_new("(a{sv})", &spec),
                        INVALID,
                        "name");
        g_variant_builder_init(&spec, G_VARIANT_TYPE("a{sv}"));
        g_variant_builder_add(&spec, "{sv}", name, g_variant_new_string("x"));
        bus_expect_error(user,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "CreateSession",
                        g_variant_new("(a{sv})", &spec),
                        UNKNOWN_KEY,
                        NULL);
}

/* The bus throws out who sends more than it carries; the others do not notice. */
static void test_message_beyond_the_bus(void) {
        g_autoptr(GDBusConnection) hostile = bus_connect(UID_STRANGER);
        g_autofree char *name = g_strnfill(100 * 1024 * 1024, 'x');
        GVariantBuilder spec;

        g_variant_builder_init(&spec, G_VARIANT_TYPE("a{sv}"));
        g_variant_builder_add(&spec, "{sv}", "name", g_variant_new_string(name));
        g_autoptr(GVariant) answer = bus_call(hostile,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "CreateSession",
                        g_variant_new("(a{sv})", &spec),
                        NULL,
                        NULL);
        g_assert_null(answer);
        g_autoptr(GVariant) limits = bus_call_manager(user, "GetLimits", NULL);
        g_assert_nonnull(limits);
}

static unsigned count_daemon_fds(void) {
        g_autofree char *path = g_strdup_printf("/proc/%d/fd", bus_fixture_get_daemon());
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        unsigned n = 0;

        g_assert_nonnull(dir);
        while (g_dir_read_name(dir))
                n++;
        return n;
}

/* No method takes an fd: our rules for the bus keep them away. */
static void test_fds(void) {
        g_autoptr(GUnixFDList) list = g_unix_fd_list_new();
        unsigned n_before = count_daemon_fds();

        for (int i = 0; i < 10; i++)
                g_assert_cmpint(g_unix_fd_list_append(list, STDERR_FILENO, NULL), ==, i);
        for (int i = 0; i < 10; i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(GVariant) answer = g_dbus_connection_call_with_unix_fd_list_sync(user,
                                KT_BUS_NAME,
                                KT_OBJECT,
                                KT_MANAGER_INTERFACE,
                                "CreateSession",
                                parse("({'scope': <handle 3>},)"),
                                NULL,
                                G_DBUS_CALL_FLAGS_NONE,
                                20000,
                                list,
                                NULL,
                                NULL,
                                &error);
                g_assert_null(answer);
                g_assert_error(error, G_DBUS_ERROR, G_DBUS_ERROR_ACCESS_DENIED);
        }
        g_assert_cmpuint(count_daemon_fds(), ==, n_before);
}

static void test_options(void) {
        g_autofree char *path = bus_create_session(root, "client");

        bus_expect_error(root,
                        path,
                        KT_SESSION_INTERFACE,
                        "OpenStream",
                        parse("({'raw': <true>},)"),
                        UNKNOWN_KEY,
                        "raw: no such option");
        bus_expect_error(root,
                        path,
                        KT_SESSION_INTERFACE,
                        "OpenSink",
                        parse("({'raw': <true>},)"),
                        UNKNOWN_KEY,
                        "raw: no such option");
        g_autoptr(GVariant) answer =
                        bus_call(root, path, KT_SESSION_INTERFACE, "Destroy", NULL, NULL, NULL);
        g_assert_nonnull(answer);
}

static void test_denied(void) {
        /* polkit would have to be asked, and there is none here. */
        expect("({'scope': <'system'>, 'events': <['task:task_rename']>},)",
                        KT_ERROR_PREFIX "AccessDenied",
                        "polkit");
        expect("({'scope': <'own'>, 'events': <['sched:sched_waking']>},)",
                        KT_ERROR_PREFIX "AccessDenied",
                        "sched:sched_waking: not granted by");
        expect("({'scope': <'own'>, 'events': <[{'name': <'sched:sched_switch'>, "
               "'filter': <'prev_pid == 1'>}]>},)",
                        KT_ERROR_PREFIX "AccessDenied",
                        "it can describe tasks that are not traced");
}

static void test_session_is_described(void) {
        g_autofree char *path = bus_create_session(root, "linger:1min");
        g_autoptr(GVariant) answer =
                        bus_call(root, path, KT_SESSION_INTERFACE, "Describe", NULL, NULL, NULL);
        g_autoptr(GVariant) session = g_variant_get_child_value(answer, 0);
        g_autofree const char **events = NULL;
        const char *rule;

        g_assert_true(g_variant_lookup(session, "rule", "&s", &rule));
        g_assert_cmpstr(rule, ==, "root");
        g_assert_true(g_variant_lookup(session, "events", "^a&s", &events));
        g_assert_cmpstr(events[0], ==, "task:task_rename");
        g_assert_null(events[1]);
        g_autoptr(GVariant) destroyed =
                        bus_call(root, path, KT_SESSION_INTERFACE, "Destroy", NULL, NULL, NULL);
        g_assert_nonnull(destroyed);
        bus_wait_for_instances(0);
}

static void add_tests(void) {
        bus_test_add("/spec/signature", FALSE, test_signature);
        bus_test_add("/spec/missing", FALSE, test_missing);
        bus_test_add("/spec/triggers", FALSE, test_triggers);
        bus_test_add("/spec/keys", FALSE, test_keys);
        bus_test_add("/spec/types", FALSE, test_types);
        bus_test_add("/spec/numbers", FALSE, test_numbers);
        bus_test_add("/spec/integer-types", FALSE, test_integer_types);
        bus_test_add("/spec/event-objects", FALSE, test_event_objects);
        bus_test_add("/spec/many-events", FALSE, test_many_events);
        bus_test_add("/spec/many-globs", TRUE, test_many_globs);
        bus_test_add("/spec/long-strings", FALSE, test_long_strings);
        bus_test_add("/spec/message-beyond-the-bus", FALSE, test_message_beyond_the_bus);
        bus_test_add("/spec/fds", FALSE, test_fds);
        bus_test_add("/spec/options", TRUE, test_options);
        bus_test_add("/spec/denied", TRUE, test_denied);
        bus_test_add("/spec/session-is-described", TRUE, test_session_is_described);
        if (bus_fixture_get_daemon() != 0) {
                user = bus_connect(UID_OWNER);
                root = bus_connect(0);
        }
}

int main(int argc, char **argv) {
        return bus_test_main(argc, argv, add_tests);
}
