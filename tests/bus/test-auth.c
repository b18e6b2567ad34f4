/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Callers are told apart by what the bus says, held back until then, and forgotten when they leave.
 */
#include <signal.h>

#include "bus-fixture.h"

#define HELD_MAX 64
/* Below the 128 calls that a bus lets one connection have open. */
#define MANY 100

typedef struct Calls {
        GArray *order; /* numbers of the calls that were answered well */
        unsigned n_refused, n_open;
        gboolean done;
} Calls;

typedef struct Call {
        Calls *calls;
        unsigned number;
} Call;

static void on_answer(GObject *object, GAsyncResult *result, gpointer userdata) {
        g_autofree Call *call = userdata;
        g_autoptr(GError) error = NULL;
        g_autoptr(GVariant) answer =
                        g_dbus_connection_call_finish(G_DBUS_CONNECTION(object), result, &error);

        if (answer)
                g_array_append_val(call->calls->order, call->number);
        else {
                g_assert_true(g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_LIMITS_EXCEEDED));
                call->calls->n_refused++;
        }
        call->calls->done = --call->calls->n_open == 0;
}

/* The daemon is stopped while the calls are sent, so that all of them are there before the bus can
 * have told who sent them. */
static Calls call_at_once(GDBusConnection *bus, unsigned n) {
        Calls calls = { .order = g_array_new(FALSE, FALSE, sizeof(unsigned)), .n_open = n };

        g_assert_no_errno(kill(bus_fixture_get_daemon(), SIGSTOP));
        for (unsigned i = 0; i < n; i++) {
                Call *call = g_new(Call, 1);
                *call = (Call){ &calls, i };
                g_dbus_connection_call(bus,
                                KT_BUS_NAME,
                                KT_OBJECT,
                                KT_MANAGER_INTERFACE,
                                "GetLimits",
                                NULL,
                                NULL,
                                G_DBUS_CALL_FLAGS_NONE,
                                20000,
                                NULL,
                                on_answer,
                                call);
        }
        g_assert_true(g_dbus_connection_flush_sync(bus, NULL, NULL));
        g_assert_no_errno(kill(bus_fixture_get_daemon(), SIGCONT));
        g_assert_true(bus_wait(&calls.done, 20000));
        return calls;
}

static void test_order(void) {
        g_autoptr(GDBusConnection) bus = bus_connect(UID_OWNER);
        Calls calls = call_at_once(bus, HELD_MAX);

        g_assert_cmpuint(calls.n_refused, ==, 0);
        for (unsigned i = 0; i < HELD_MAX; i++)
                g_assert_cmpuint(g_array_index(calls.order, unsigned, i), ==, i);
        g_array_unref(calls.order);
}

static void test_held_limit(void) {
        g_autoptr(GDBusConnection) bus = bus_connect(UID_OWNER);
        Calls calls = call_at_once(bus, MANY);

        g_assert_cmpuint(calls.n_refused, ==, MANY - HELD_MAX);
        for (unsigned i = 0; i < HELD_MAX; i++)
                g_assert_cmpuint(g_array_index(calls.order, unsigned, i), ==, i);
        g_array_unref(calls.order);

        /* Known by now: nothing is held back any more. */
        calls = call_at_once(bus, MANY);
        g_assert_cmpuint(calls.n_refused, ==, 0);
        g_array_unref(calls.order);
}

/* One who leaves while held back is dropped, and the others do not notice. */
static void test_gone_while_held(void) {
        GDBusConnection *leaving = bus_connect(UID_OWNER);
        g_autoptr(GDBusConnection) staying = bus_connect(UID_OWNER);

        g_assert_no_errno(kill(bus_fixture_get_daemon(), SIGSTOP));
        for (int i = 0; i < 10; i++)
                g_dbus_connection_call(leaving,
                                KT_BUS_NAME,
                                KT_OBJECT,
                                KT_MANAGER_INTERFACE,
                                "GetLimits",
                                NULL,
                                NULL,
                                G_DBUS_CALL_FLAGS_NONE,
                                20000,
                                NULL,
                                NULL,
                                NULL);
        g_assert_true(g_dbus_connection_flush_sync(leaving, NULL, NULL));
        g_assert_true(g_dbus_connection_close_sync(leaving, NULL, NULL));
        g_object_unref(leaving);
        g_assert_no_errno(kill(bus_fixture_get_daemon(), SIGCONT));
        g_autoptr(GVariant) answer = bus_call_manager(staying, "GetLimits", NULL);
        g_assert_nonnull(answer);
}

static unsigned count_sessions(GDBusConnection *bus) {
        g_autoptr(GVariant) answer = bus_call_manager(bus, "ListSessions", NULL);
        g_autoptr(GVariant) list = g_variant_get_child_value(answer, 0);

        return (unsigned)g_variant_n_children(list);
}

/* Within a second, session and instance of a client that left are gone; what lingers stays. */
static void test_client_leaves(void) {
        GDBusConnection *client = bus_connect(UID_OWNER);
        g_autoptr(GDBusConnection) root = bus_connect(0);
        g_autofree char *gone = bus_create_session(client, "client");
        g_autofree char *lingering = bus_create_session(client, "linger");

        g_assert_cmpuint(bus_count_instances(), ==, 2);
        g_assert_true(g_dbus_connection_close_sync(client, NULL, NULL));
        g_object_unref(client);
        gint64 end = g_get_monotonic_time() + G_USEC_PER_SEC;
        while (bus_count_instances() > 1 && g_get_monotonic_time() < end)
                g_usleep(5000);
        g_assert_cmpuint(bus_count_instances(), ==, 1);
        g_assert_cmpuint(count_sessions(root), ==, 1);

        g_autoptr(GVariant) answer = bus_call(
                        root, lingering, KT_SESSION_INTERFACE, "Destroy", NULL, NULL, NULL);
        g_assert_nonnull(answer);
        bus_wait_for_instances(0);
}

static void test_log_control(void) {
        g_autoptr(GDBusConnection) user = bus_connect(UID_OWNER);
        g_autoptr(GDBusConnection) root = bus_connect(0);
        const char *path = "/org/freedesktop/LogControl1", *name = "org.freedesktop.LogControl1";
        const char *properties = "org.freedesktop.DBus.Properties";

        bus_expect_error(user,
                        path,
                        properties,
                        "Set",
                        g_variant_new("(ssv)", name, "LogLevel", g_variant_new_string("debug")),
                        "org.freedesktop.DBus.Error.AccessDenied",
                        "Only root");
        bus_expect_error(root,
                        path,
                        properties,
                        "Set",
                        g_variant_new("(ssv)", name, "LogLevel", g_variant_new_string("loud")),
                        "org.freedesktop.DBus.Error.InvalidArgs",
                        "loud");
        g_autoptr(GVariant) set = bus_call(root,
                        path,
                        properties,
                        "Set",
                        g_variant_new("(ssv)", name, "LogLevel", g_variant_new_string("warning")),
                        NULL,
                        NULL);
        g_assert_nonnull(set);
        g_autoptr(GVariant) level = bus_call(user,
                        path,
                        properties,
                        "Get",
                        g_variant_new("(ss)", name, "LogLevel"),
                        NULL,
                        NULL);
        g_autofree char *text = g_variant_print(level, FALSE);
        g_assert_cmpstr(text, ==, "(<'warning'>,)");
}

static void add_tests(void) {
        bus_test_add("/auth/order", FALSE, test_order);
        bus_test_add("/auth/held-limit", FALSE, test_held_limit);
        bus_test_add("/auth/gone-while-held", FALSE, test_gone_while_held);
        bus_test_add("/auth/client-leaves", TRUE, test_client_leaves);
        bus_test_add("/auth/log-control", FALSE, test_log_control);
}

int main(int argc, char **argv) {
        return bus_test_main(argc, argv, add_tests);
}
