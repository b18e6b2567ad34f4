/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whom polkit lets manage sessions of others can see, stop and end them, over the one connection
 * that asked, and cannot start or read them; whom it does not let learns nothing. The real polkit
 * is asked in tests/guest/polkit.sh. */
#include <string.h>

#include "bus-fixture.h"
#include "polkit-stub.h"

#define ACTION         "org.ktrace1.manage-sessions"
#define DENIED         KT_ERROR_PREFIX "AccessDenied"
#define REQUIRED       KT_ERROR_PREFIX "InteractiveAuthorizationRequired"
#define NO_SUCH        KT_ERROR_PREFIX "NoSuchSession"
#define INTROSPECTABLE "org.freedesktop.DBus.Introspectable"

typedef struct Fixture {
        GDBusConnection *owner, *administrator;
        char *path, *id;
} Fixture;

static void fixture_begin(Fixture *f, uid_t owner) {
        f->owner = bus_connect(owner);
        f->administrator = bus_connect(UID_STRANGER);
        f->path = bus_create_session(f->owner, "client");
        f->id = g_strdup(f->path + strlen(KT_SESSION_PREFIX "/"));
}

static GVariant *session_call(GDBusConnection *bus, const char *path, const char *member) {
        g_autofree char *text = NULL;
        GVariant *answer = bus_call(bus, path, KT_SESSION_INTERFACE, member, NULL, NULL, &text);

        if (!answer)
                g_error("%s: %s", member, text);
        return answer;
}

static unsigned count_sessions(GDBusConnection *bus) {
        g_autoptr(GVariant) answer = bus_call_manager(bus, "ListSessions", NULL);
        g_autoptr(GVariant) list = g_variant_get_child_value(answer, 0);

        return (unsigned)g_variant_n_children(list);
}

static void fixture_end(Fixture *f) {
        if (count_sessions(f->owner) > 0)
                g_variant_unref(session_call(f->owner, f->path, "Destroy"));
        g_object_unref(f->owner);
        g_object_unref(f->administrator);
        g_free(f->path);
        g_free(f->id);
}

static void administrate(GDBusConnection *bus) {
        g_autoptr(GVariant) answer = bus_call_manager(bus, "Administrate", NULL);
}

/* Nothing of the session is to be had over this connection. */
static void expect_nothing(const Fixture *f, GDBusConnection *bus) {
        static const char *const members[] = {
                "Start", "Stop", "Destroy", "Describe", "GetStatistics", "GetMetadata"
        };
        g_autoptr(GVariant) tree = bus_call(
                        bus, KT_SESSION_PREFIX, INTROSPECTABLE, "Introspect", NULL, NULL, NULL);
        const char *text;

        g_assert_cmpuint(count_sessions(bus), ==, 0);
        g_assert_nonnull(tree);
        g_variant_get(tree, "(&s)", &text);
        g_assert_null(strstr(text, f->id));
        bus_expect_error(bus,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "GetSession",
                        g_variant_new("(s)", f->id),
                        KT_ERROR_PREFIX "NoSuchSession",
                        NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(members); i++)
                bus_expect_error(bus,
                                f->path,
                                KT_SESSION_INTERFACE,
                                members[i],
                                NULL,
                                NO_SUCH,
                                NULL);
}

static void expect_closed(const Fixture *f, const char *member, const char *arguments) {
        bus_expect_error(f->administrator,
                        f->path,
                        KT_SESSION_INTERFACE,
                        member,
                        arguments ? g_variant_new_parsed(arguments) : NULL,
                        DENIED,
                        "belongs to another user");
}

/* Of root's, which can be started whatever kernel.pid_max is here. */
static void test_manages(void) {
        Fixture f;

        fixture_begin(&f, 0);
        polkit_stub_start(STUB_YES);
        administrate(f.administrator);
        g_autofree char *question = polkit_stub_get_question();
        g_assert_nonnull(strstr(question, ACTION));
        g_assert_nonnull(strstr(question, g_dbus_connection_get_unique_name(f.administrator)));

        g_assert_cmpuint(count_sessions(f.administrator), ==, 1);
        g_autoptr(GVariant) found =
                        bus_call_manager(f.administrator, "GetSession", g_variant_new("(s)", f.id));
        g_autoptr(GVariant) described = session_call(f.administrator, f.path, "Describe");
        g_autoptr(GVariant) counted = session_call(f.administrator, f.path, "GetStatistics");
        g_autoptr(GVariant) started = session_call(f.owner, f.path, "Start");
        g_autoptr(GVariant) stopped = session_call(f.administrator, f.path, "Stop");
        g_autoptr(GVariant) destroyed = session_call(f.administrator, f.path, "Destroy");
        g_assert_cmpuint(count_sessions(f.owner), ==, 0);
        bus_wait_for_instances(0);
        g_assert_cmpuint(polkit_stub_count_asked(), ==, 1);
        polkit_stub_stop();
        fixture_end(&f);
}

static void test_reads_nothing(void) {
        Fixture f;

        fixture_begin(&f, UID_OWNER);
        polkit_stub_start(STUB_YES);
        administrate(f.administrator);
        expect_closed(&f, "Start", NULL);
        expect_closed(&f, "GetMetadata", NULL);
        expect_closed(&f, "OpenStream", "(@a{sv} {},)");
        expect_closed(&f, "OpenSink", "(@a{sv} {},)");
        /* And of its own everything. */
        g_autofree char *own = bus_create_session(f.administrator, "client");
        g_autoptr(GVariant) metadata = session_call(f.administrator, own, "GetMetadata");
        g_autoptr(GVariant) destroyed = session_call(f.administrator, own, "Destroy");
        polkit_stub_stop();
        fixture_end(&f);
}

/* One that is not there gets the same answer as ever. */
static void test_absent_session(void) {
        Fixture f;

        fixture_begin(&f, UID_OWNER);
        polkit_stub_start(STUB_YES);
        administrate(f.administrator);
        bus_expect_error(f.administrator,
                        KT_SESSION_PREFIX "/0123456789abcdef",
                        KT_SESSION_INTERFACE,
                        "Describe",
                        NULL,
                        NO_SUCH,
                        NULL);
        polkit_stub_stop();
        fixture_end(&f);
}

/* Not to another connection, neither of the same user nor of others, and not beyond its end. */
static void test_not_passed_on(void) {
        g_autoptr(GDBusConnection) second = NULL, third = NULL, other = bus_connect(3);
        Fixture f;

        fixture_begin(&f, UID_OWNER);
        second = bus_connect(UID_STRANGER);
        polkit_stub_start(STUB_YES);
        administrate(f.administrator);
        g_assert_cmpuint(count_sessions(f.administrator), ==, 1);
        expect_nothing(&f, second);
        expect_nothing(&f, other);
        polkit_stub_stop();

        g_assert_true(g_dbus_connection_close_sync(f.administrator, NULL, NULL));
        third = bus_connect(UID_STRANGER);
        expect_nothing(&f, third);
        fixture_end(&f);
}

static void test_denied(void) {
        Fixture f;

        fixture_begin(&f, UID_OWNER);
        bus_expect_error(f.administrator,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "Administrate",
                        NULL,
                        DENIED,
                        "not available");
        polkit_stub_start(STUB_NO);
        bus_expect_error(f.administrator,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "Administrate",
                        NULL,
                        DENIED,
                        ACTION);
        polkit_stub_set_mode(STUB_CHALLENGE);
        bus_expect_error(f.administrator,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "Administrate",
                        NULL,
                        REQUIRED,
                        ACTION);
        expect_nothing(&f, f.administrator);
        g_assert_cmpuint(count_sessions(f.owner), ==, 1);
        polkit_stub_stop();
        fixture_end(&f);
}

static void on_answered(GObject *bus, GAsyncResult *result, gpointer userdata) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GVariant) answer =
                        g_dbus_connection_call_finish(G_DBUS_CONNECTION(bus), result, &error);

        g_assert_no_error(error);
        *(gboolean *)userdata = TRUE;
}

/* While polkit thinks the caller is nobody yet. */
static void test_not_before_the_answer(void) {
        gboolean done = FALSE;
        Fixture f;

        fixture_begin(&f, UID_OWNER);
        polkit_stub_start(STUB_HANG);
        g_dbus_connection_call(f.administrator,
                        KT_BUS_NAME,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "Administrate",
                        NULL,
                        NULL,
                        G_DBUS_CALL_FLAGS_ALLOW_INTERACTIVE_AUTHORIZATION,
                        30000,
                        NULL,
                        on_answered,
                        &done);
        polkit_stub_wait_asked(1);
        expect_nothing(&f, f.administrator);
        g_assert_cmpuint(polkit_stub_answer_all(TRUE), ==, 1);
        g_assert_true(bus_wait(&done, 30000));
        g_assert_cmpuint(count_sessions(f.administrator), ==, 1);
        polkit_stub_stop();
        fixture_end(&f);
}

static void on_ended(GDBusConnection *bus,
                const char *sender,
                const char *path,
                const char *interface,
                const char *member,
                GVariant *arguments,
                gpointer userdata) {
        const char *reason;

        g_variant_get(arguments, "(&s&s)", NULL, &reason);
        g_assert_nonnull(strstr(reason, "by an administrator"));
        *(gboolean *)userdata = TRUE;
}

/* The owner is told that it was not the owner. */
static void test_owner_is_told(void) {
        g_autoptr(GDBusConnection) root = bus_connect(0);
        gboolean ended = FALSE;
        Fixture f;

        fixture_begin(&f, UID_OWNER);
        guint match = g_dbus_connection_signal_subscribe(f.owner,
                        KT_BUS_NAME,
                        KT_SESSION_INTERFACE,
                        "Ended",
                        f.path,
                        NULL,
                        G_DBUS_SIGNAL_FLAGS_NONE,
                        on_ended,
                        &ended,
                        NULL);
        /* root needs no polkit, and may ask all the same. */
        administrate(root);
        g_autoptr(GVariant) destroyed = session_call(root, f.path, "Destroy");
        g_assert_true(bus_wait(&ended, 15000));
        g_dbus_connection_signal_unsubscribe(f.owner, match);
        fixture_end(&f);
}

static void on_notified(GDBusConnection *bus,
                const char *sender,
                const char *path,
                const char *interface,
                const char *member,
                GVariant *arguments,
                gpointer userdata) {
        g_autoptr(GVariant) notice = g_variant_get_child_value(arguments, 0);
        const char *id, *kind;
        gint64 uid;

        g_assert_true(g_variant_lookup(notice, "session", "&s", &id));
        g_assert_true(g_variant_lookup(notice, "kind", "&s", &kind));
        g_assert_true(g_variant_lookup(notice, "uid", "x", &uid));
        g_string_append_printf(userdata, "%s of %d; ", kind, (int)uid);
}

static guint watch(GDBusConnection *bus, GString *heard) {
        return g_dbus_connection_signal_subscribe(bus,
                        KT_BUS_NAME,
                        KT_MANAGER_INTERFACE,
                        "Notified",
                        KT_OBJECT,
                        NULL,
                        G_DBUS_SIGNAL_FLAGS_NONE,
                        on_notified,
                        heard,
                        NULL);
}

/* Watches all sessions, with the same permission; its signals reach this connection alone. */
static void test_watches(void) {
        g_autoptr(GDBusConnection) listener = bus_connect(UID_STRANGER);
        g_autoptr(GString) heard = g_string_new(NULL), overheard = g_string_new(NULL);
        Fixture f;

        fixture_begin(&f, UID_OWNER);
        polkit_stub_start(STUB_NO);
        bus_expect_error(f.administrator,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "Watch",
                        g_variant_new_parsed("({'all': <true>},)"),
                        DENIED,
                        NULL);
        polkit_stub_set_mode(STUB_YES);
        guint match = watch(f.administrator, heard), other = watch(listener, overheard);
        g_autoptr(GVariant) begun = bus_call_manager(
                        f.administrator, "Watch", g_variant_new_parsed("({'all': <true>},)"));
        g_autofree char *question = polkit_stub_get_question();
        g_assert_nonnull(strstr(question, ACTION));
        g_autoptr(GVariant) own =
                        bus_call_manager(listener, "Watch", g_variant_new_parsed("(@a{sv} {},)"));
        /* It gives no other right. */
        g_assert_cmpuint(count_sessions(f.administrator), ==, 0);
        g_autoptr(GVariant) destroyed = session_call(f.owner, f.path, "Destroy");
        for (int i = 0; i < 1500 && !strstr(heard->str, "state"); i++) {
                g_main_context_iteration(NULL, FALSE);
                g_usleep(10000);
        }
        g_autofree char *expected =
                        g_strdup_printf("ended of %d; state of %d; ", UID_OWNER, UID_OWNER);
        g_assert_cmpstr(heard->str, ==, expected);
        g_assert_cmpstr(overheard->str, ==, "");
        g_dbus_connection_signal_unsubscribe(f.administrator, match);
        g_dbus_connection_signal_unsubscribe(listener, other);
        polkit_stub_stop();
        fixture_end(&f);
}

static void add_tests(void) {
        bus_test_add("/administrate/manages", TRUE, test_manages);
        bus_test_add("/administrate/reads-nothing", TRUE, test_reads_nothing);
        bus_test_add("/administrate/absent-session", TRUE, test_absent_session);
        bus_test_add("/administrate/not-passed-on", TRUE, test_not_passed_on);
        bus_test_add("/administrate/denied", TRUE, test_denied);
        bus_test_add("/administrate/not-before-the-answer", TRUE, test_not_before_the_answer);
        bus_test_add("/administrate/owner-is-told", TRUE, test_owner_is_told);
        bus_test_add("/administrate/watches", TRUE, test_watches);
}

int main(int argc, char **argv) {
        return bus_test_main(argc, argv, add_tests);
}
