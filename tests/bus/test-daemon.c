/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How the daemon starts, refuses to start, and ends. */
#include "bus-fixture.h"

static void expect_refused(const char *config, unsigned mode, const char *text) {
        g_autofree char *said = NULL;

        g_assert_cmpint(bus_fixture_run_second(config, mode, &said), ==, 1);
        if (!strstr(said, text))
                g_error("\"%s\" is not in \"%s\"", text, said);
}

static void test_configuration(void) {
        expect_refused("{\"max-sessions\": 0}",
                        0644,
                        "/etc/ktraced.json: max-sessions: 0 is not from 1 to");
        expect_refused("{\"max-sessions\": \"1\"}", 0644, "max-sessions: a number is wanted");
        expect_refused("{\"max-sessions\": 99999999999999999999}", 0644, "ktraced.json");
        expect_refused("{\"max-session\": 1}", 0644, "ktraced.json: max-session: no such key");
        expect_refused("{\"max-sessions\": 1,}", 0644, "ktraced.json");
        expect_refused("[]", 0644, "ktraced.json: an object is wanted");
        expect_refused("{}", 0646, "ktraced.json: others than its owner may write it");
}

/* It would take the first one's instances for orphans. */
static void test_second_daemon(void) {
        g_autoptr(GDBusConnection) bus = bus_connect(0);
        g_autofree char *path = bus_create_session(bus, "client");

        expect_refused(NULL, 0, "another ktraced is running");
        g_assert_cmpuint(bus_count_instances(), ==, 1);
        g_autoptr(GVariant) answer =
                        bus_call(bus, path, KT_SESSION_INTERFACE, "Destroy", NULL, NULL, NULL);
        g_assert_nonnull(answer);
}

static void on_ended(GDBusConnection *bus,
                const char *sender,
                const char *path,
                const char *interface,
                const char *member,
                GVariant *arguments,
                gpointer userdata) {
        *(gboolean *)userdata = TRUE;
}

/* An end by signal is an orderly one: nothing of what lingers is left in the kernel, and its
 * creator is told. */
static void test_end(void) {
        g_autoptr(GDBusConnection) bus = bus_connect(0);
        gboolean ended = FALSE;
        guint subscription = g_dbus_connection_signal_subscribe(bus,
                        NULL,
                        KT_SESSION_INTERFACE,
                        "Ended",
                        NULL,
                        NULL,
                        G_DBUS_SIGNAL_FLAGS_NO_MATCH_RULE,
                        on_ended,
                        &ended,
                        NULL);
        g_autofree char *path = bus_create_session(bus, "linger");

        g_assert_cmpuint(bus_count_instances(), ==, 1);
        bus_fixture_end_daemon();
        g_assert_cmpuint(bus_count_instances(), ==, 0);
        g_assert_true(bus_wait(&ended, 5000));
        g_dbus_connection_signal_unsubscribe(bus, subscription);

        bus_fixture_start_daemon();
        g_autoptr(GVariant) answer = bus_call_manager(bus, "GetLimits", NULL);
        g_assert_nonnull(answer);
}

static void add_tests(void) {
        bus_test_add("/daemon/configuration", FALSE, test_configuration);
        bus_test_add("/daemon/second-daemon", TRUE, test_second_daemon);
        bus_test_add("/daemon/end", TRUE, test_end);
}

int main(int argc, char **argv) {
        return bus_test_main(argc, argv, add_tests);
}
