/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session does not exist for those who do not own it: neither by path nor by list, neither by
 * property nor by introspection, and no signal of it reaches them. */
#include "bus-fixture.h"

#define PROPERTIES     "org.freedesktop.DBus.Properties"
#define INTROSPECTABLE "org.freedesktop.DBus.Introspectable"
#define NO_SUCH        KT_ERROR_PREFIX "NoSuchSession"

static GDBusConnection *stranger;

static void destroy(GDBusConnection *bus, const char *path) {
        g_autofree char *text = NULL;
        g_autoptr(GVariant) answer =
                        bus_call(bus, path, KT_SESSION_INTERFACE, "Destroy", NULL, NULL, &text);

        g_assert_cmpstr(text, ==, NULL);
}

static char *introspect(GDBusConnection *bus, const char *path) {
        g_autoptr(GVariant) answer =
                        bus_call(bus, path, INTROSPECTABLE, "Introspect", NULL, NULL, NULL);
        char *text;

        g_assert_nonnull(answer);
        g_variant_get(answer, "(s)", &text);
        return text;
}

static unsigned count_sessions(GDBusConnection *bus) {
        g_autoptr(GVariant) answer = bus_call_manager(bus, "ListSessions", NULL);
        g_autoptr(GVariant) list = g_variant_get_child_value(answer, 0);

        return (unsigned)g_variant_n_children(list);
}

/* Calls it on the session and on one that never was, and compares the answers. */
static void expect_error_of_absent(const char *error,
                const char *path,
                const char *interface,
                const char *member,
                const char *arguments) {
        const char *const paths[] = { path, KT_SESSION_PREFIX "/0123456789abcdef" };
        char *names[2] = { 0 }, *texts[2] = { 0 };

        for (int i = 0; i < 2; i++) {
                GVariant *parsed =
                                arguments ? g_variant_new_parsed(arguments) : g_variant_new("()");
                g_autoptr(GVariant) answer = bus_call(stranger,
                                paths[i],
                                interface,
                                member,
                                parsed,
                                &names[i],
                                &texts[i]);
                g_assert_null(answer);
                g_assert_cmpstr(names[i], ==, error);
                const char *wanted = strrchr(paths[i], '/') + 1;
                char *id = strstr(texts[i], wanted);
                g_assert_nonnull(id);
                memset(id, '-', strlen(wanted));
        }
        g_assert_cmpstr(texts[0], ==, texts[1]);
        for (int i = 0; i < 2; i++) {
                g_free(names[i]);
                g_free(texts[i]);
        }
}

static void expect_absent(const char *path,
                const char *interface,
                const char *member,
                const char *arguments) {
        expect_error_of_absent(NO_SUCH, path, interface, member, arguments);
}

static void test_by_path(void) {
        static const char *const members[] = {
                "Start", "Stop", "Destroy", "Describe", "GetStatistics", "GetMetadata"
        };
        g_autoptr(GDBusConnection) owner = bus_connect(UID_OWNER);
        g_autofree char *path = bus_create_session(owner, "client");

        for (size_t i = 0; i < G_N_ELEMENTS(members); i++)
                expect_absent(path, KT_SESSION_INTERFACE, members[i], NULL);
        expect_absent(path, KT_SESSION_INTERFACE, "OpenStream", "(@a{sv} {},)");
        expect_absent(path, KT_SESSION_INTERFACE, "OpenSink", "(@a{sv} {},)");
        expect_absent(path, PROPERTIES, "GetAll", "('org.ktrace1.Session',)");
        expect_error_of_absent("org.freedesktop.DBus.Error.UnknownObject",
                        path,
                        PROPERTIES,
                        "Get",
                        "('org.ktrace1.Session', 'State')");
        expect_absent(path, INTROSPECTABLE, "Introspect", NULL);
        destroy(owner, path);
}

static void test_by_id(void) {
        g_autoptr(GDBusConnection) owner = bus_connect(UID_OWNER);
        g_autoptr(GDBusConnection) root = bus_connect(0);
        g_autofree char *path = bus_create_session(owner, "client");
        const char *id = path + strlen(KT_SESSION_PREFIX "/");

        g_assert_cmpuint(count_sessions(owner), ==, 1);
        g_assert_cmpuint(count_sessions(root), ==, 1);
        g_assert_cmpuint(count_sessions(stranger), ==, 0);
        bus_expect_error(stranger,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "GetSession",
                        g_variant_new("(s)", id),
                        KT_ERROR_PREFIX "NoSuchSession",
                        NULL);
        g_autoptr(GVariant) found = bus_call_manager(root, "GetSession", g_variant_new("(s)", id));
        const char *found_path;
        g_variant_get(found, "(&o)", &found_path);
        g_assert_cmpstr(found_path, ==, path);
        /* root may do what the owner may. */
        destroy(root, path);
        g_assert_cmpuint(count_sessions(owner), ==, 0);
}

/* The limits that a caller is told count the caller's sessions. */
static void test_by_limits(void) {
        g_autoptr(GDBusConnection) owner = bus_connect(UID_OWNER);
        g_autofree char *path = bus_create_session(owner, "client");
        g_autoptr(GVariant) answer = bus_call_manager(stranger, "GetLimits", NULL);
        g_autoptr(GVariant) limits = g_variant_get_child_value(answer, 0);
        gint64 n = -1;

        g_assert_true(g_variant_lookup(limits, "sessions", "x", &n));
        g_assert_cmpint(n, ==, 0);
        destroy(owner, path);
}

static void test_by_enumerator(void) {
        g_autoptr(GDBusConnection) owner = bus_connect(UID_OWNER);
        g_autofree char *path = bus_create_session(owner, "client");
        const char *id = path + strlen(KT_SESSION_PREFIX "/");
        g_autofree char *own = introspect(owner, KT_SESSION_PREFIX);
        g_autofree char *others = introspect(stranger, KT_SESSION_PREFIX);

        g_assert_nonnull(strstr(own, id));
        g_assert_null(strstr(others, id));
        g_assert_null(strstr(others, "<node name="));
        destroy(owner, path);
}

typedef struct Listener {
        GDBusConnection *bus;
        int n; /* signals of sessions */
} Listener;

/* Called by GDBus's own thread. */
static GDBusMessage *on_message(GDBusConnection *bus,
                GDBusMessage *m,
                gboolean incoming,
                gpointer userdata) {
        Listener *listener = userdata;

        if (incoming && g_dbus_message_get_message_type(m) == G_DBUS_MESSAGE_TYPE_SIGNAL &&
                        g_str_has_prefix(g_dbus_message_get_path(m), KT_SESSION_PREFIX))
                g_atomic_int_inc(&listener->n);
        return m;
}

static void listen_to_all(Listener *listener, uid_t uid) {
        static const char *const rules[] = { "type='signal'",
                "type='signal',sender='" KT_BUS_NAME "'",
                "eavesdrop='true'",
                "type='signal',path_namespace='" KT_SESSION_PREFIX "'" };

        *listener = (Listener){ .bus = bus_connect(uid) };
        g_dbus_connection_add_filter(listener->bus, on_message, listener, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(rules); i++) {
                g_autoptr(GVariant) answer = bus_call(listener->bus,
                                "/org/freedesktop/DBus",
                                "org.freedesktop.DBus",
                                "AddMatch",
                                g_variant_new("(s)", rules[i]),
                                NULL,
                                NULL);
        }
}

/* What was sent before this answer has been received. */
static void settle(const Listener *listener) {
        g_autoptr(GVariant) answer = bus_call_manager(listener->bus, "GetLimits", NULL);
}

/* Signals reach the connection that made the session; not even another one of the same user. */
static void test_signals(void) {
        static const uid_t uids[] = { UID_OWNER, UID_OWNER, UID_STRANGER };
        Listener listeners[G_N_ELEMENTS(uids)];

        for (size_t i = 0; i < G_N_ELEMENTS(uids); i++)
                listen_to_all(&listeners[i], uids[i]);
        g_autofree char *path = bus_create_session(listeners[0].bus, "client");
        destroy(listeners[0].bus, path);
        for (size_t i = 0; i < G_N_ELEMENTS(uids); i++) {
                settle(&listeners[i]);
                g_assert_true(g_dbus_connection_close_sync(listeners[i].bus, NULL, NULL));
                g_object_unref(listeners[i].bus);
        }

        /* configured and gone, at least */
        g_assert_cmpint(listeners[0].n, >=, 2);
        g_assert_cmpint(listeners[1].n, ==, 0);
        g_assert_cmpint(listeners[2].n, ==, 0);
}

static void test_no_monitor(void) {
        const char *const *rules = (const char *const[]){ NULL };

        bus_expect_error(stranger,
                        "/org/freedesktop/DBus",
                        "org.freedesktop.DBus.Monitoring",
                        "BecomeMonitor",
                        g_variant_new("(^asu)", rules, 0),
                        "org.freedesktop.DBus.Error.AccessDenied",
                        NULL);
}

static void add_tests(void) {
        bus_test_add("/strangers/by-path", TRUE, test_by_path);
        bus_test_add("/strangers/by-id", TRUE, test_by_id);
        bus_test_add("/strangers/by-limits", TRUE, test_by_limits);
        bus_test_add("/strangers/by-enumerator", TRUE, test_by_enumerator);
        bus_test_add("/strangers/signals", TRUE, test_signals);
        bus_test_add("/strangers/no-monitor", FALSE, test_no_monitor);
        if (bus_fixture_get_daemon() != 0)
                stranger = bus_connect(UID_STRANGER);
}

int main(int argc, char **argv) {
        return bus_test_main(argc, argv, add_tests);
}
