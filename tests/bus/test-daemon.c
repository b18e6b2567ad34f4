/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How the daemon starts, refuses to start, and ends. */
#include "bus-fixture.h"

#include <fcntl.h>
#include <gio/gunixfdlist.h>
#include <sched.h>
#include <unistd.h>

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
        expect_refused("{\"max-sessions\": \"1\"}",
                        0644,
                        "max-sessions: expected a number, got a string");
        expect_refused("{\"max-sessions\": 99999999999999999999}", 0644, "ktraced.json");
        expect_refused("{\"max-session\": 1}",
                        0644,
                        "ktraced.json: max-session: no such key: did you mean \"max-sessions\"?");
        expect_refused("{\"max-sessions\": 1,}", 0644, "ktraced.json");
        expect_refused("[]", 0644, "ktraced.json: expected an object, got a list");
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

/* In a container: its pids are other processes' in tracefs. A new namespace is for new children
 * only. */
static void test_pid_namespace(void) {
        int own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);

        if (geteuid() != 0) {
                g_test_skip("only root makes a pid namespace");
                close(own);
                return;
        }
        g_assert_cmpint(own, >=, 0);
        g_assert_no_errno(unshare(CLONE_NEWPID));
        expect_refused(NULL, 0, "expected the first pid namespace of the machine");
        g_assert_no_errno(setns(own, CLONE_NEWPID));
        close(own);
}

/* The bus hands on none: to close it can take as long as its sender likes. */
static void test_descriptors(void) {
        g_autoptr(GDBusConnection) bus = bus_connect(UID_OWNER);
        g_autoptr(GVariant) owner = bus_call(bus,
                        "/org/freedesktop/DBus",
                        "org.freedesktop.DBus",
                        "GetNameOwner",
                        g_variant_new("(s)", KT_BUS_NAME),
                        NULL,
                        NULL);
        const char *names[] = { KT_BUS_NAME, NULL };

        g_assert_nonnull(owner);
        g_variant_get(owner, "(&s)", &names[1]);
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autoptr(GDBusMessage) call = g_dbus_message_new_method_call(
                                names[i], KT_OBJECT, KT_MANAGER_INTERFACE, "GetLimits");
                g_autoptr(GUnixFDList) list = g_unix_fd_list_new();
                g_autoptr(GError) error = NULL;

                g_assert_cmpint(g_unix_fd_list_append(list, 0, &error), ==, 0);
                g_assert_no_error(error);
                g_dbus_message_set_unix_fd_list(call, list);
                g_autoptr(GDBusMessage) answer = g_dbus_connection_send_message_with_reply_sync(bus,
                                call,
                                G_DBUS_SEND_MESSAGE_FLAGS_NONE,
                                5000,
                                NULL,
                                NULL,
                                &error);
                g_assert_no_error(error);
                g_assert_cmpstr(g_dbus_message_get_error_name(answer),
                                ==,
                                "org.freedesktop.DBus.Error.AccessDenied");
        }
}

static void destroy(const char *path) {
        g_autoptr(GDBusConnection) bus = bus_connect(0);
        g_autoptr(GVariant) answer =
                        bus_call(bus, path, KT_SESSION_INTERFACE, "Destroy", NULL, NULL, NULL);

        g_assert_nonnull(answer);
}

/* A bus that is restarted, twice: the daemon stays and joins it again. Sessions go on, but for
 * those whose owners the bus has taken with it: these end at once. */
static void test_bus_lost(void) {
        for (int i = 0; i < 2; i++) {
                g_autofree char *lingering = NULL, *client = NULL;
                {
                        g_autoptr(GDBusConnection) bus = bus_connect(0);

                        lingering = bus_create_session(bus, "linger");
                        client = bus_create_session(bus, "client");
                        g_assert_cmpuint(bus_count_instances(), ==, 2);
                        bus_fixture_lose_bus();
                        bus_wait_for_instances(1);
                }
                bus_fixture_start_bus();
                destroy(lingering);
                bus_wait_for_instances(0);
        }
        /* By an orderly end nothing is left, also without the bus. */
        {
                g_autoptr(GDBusConnection) bus = bus_connect(0);
                g_autofree char *path = bus_create_session(bus, "linger");
        }
        bus_fixture_lose_bus();
        bus_fixture_end_daemon();
        g_assert_cmpuint(bus_count_instances(), ==, 0);
        bus_fixture_start_daemon_first();
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

/* Whatever it was about to do. */
static void test_end_while_starting(void) {
        bus_fixture_end_daemon();
        for (gulong msec = 0; msec < 30; msec++)
                bus_fixture_start_daemon_and_end(msec * 1000);
        bus_fixture_start_daemon();
}

static void add_tests(void) {
        bus_test_add("/daemon/configuration", FALSE, test_configuration);
        bus_test_add("/daemon/second-daemon", TRUE, test_second_daemon);
        bus_test_add("/daemon/pid-namespace", TRUE, test_pid_namespace);
        bus_test_add("/daemon/descriptors", FALSE, test_descriptors);
        bus_test_add("/daemon/end", TRUE, test_end);
        bus_test_add("/daemon/end-while-starting", FALSE, test_end_while_starting);
        bus_test_add("/daemon/bus-lost", TRUE, test_bus_lost);
}

int main(int argc, char **argv) {
        return bus_test_main(argc, argv, add_tests);
}
