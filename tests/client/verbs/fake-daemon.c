/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon's half of the contract that `record` lives by, as far as its tests need it: answers
 * the methods of both interfaces from the test's main loop, plays the consumer on the sink's socket
 * and writes FAKE_STREAM into the file. Owns its bus. */

#include "fake-daemon.h"

#include <errno.h>
#include <gio/gunixfdlist.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "interfaces/names.h"
#include "interfaces/sink.h"

#define FAKE_STREAM "what the consumer wrote"
#define FAKE_PATH   KT_SESSION_PREFIX "/0123456789abcdef"

struct FakeDaemon {
        FakePlan plan;
        GTestDBus *bus;
        GDBusConnection *connection;
        GDBusNodeInfo *node;
        GString *calls;
        char *spec;
        char *client;
        int socket_fd;
        int sink_fd;
        bool was_replaced;
};

static const char introspection[] =
                "<node>"
                "<interface name='org.ktrace1.Manager'>"
                " <method name='CreateSession'><arg direction='in' type='a{sv}'/>"
                "  <arg direction='out' type='s'/><arg direction='out' type='o'/></method>"
                " <method name='GetSession'><arg direction='in' type='s'/>"
                "  <arg direction='out' type='o'/></method>"
                " <method name='ListSessions'><arg direction='out' type='a(sosus)'/></method>"
                " <method name='ListEvents'><arg direction='in' type='s'/>"
                "  <arg direction='out' type='as'/></method>"
                "</interface>"
                "<interface name='org.ktrace1.Session'>"
                " <method name='Start'/><method name='Stop'/><method name='Destroy'/>"
                " <method name='OpenStream'><arg direction='in' type='a{sv}'/>"
                "  <arg direction='out' type='h'/></method>"
                " <method name='OpenSink'><arg direction='in' type='a{sv}'/>"
                "  <arg direction='out' type='h'/></method>"
                " <method name='Describe'><arg direction='out' type='a{sv}'/></method>"
                " <method name='GetStatistics'><arg direction='out' type='a{sv}'/></method>"
                "</interface>"
                "</node>";

static void answer_sink(FakeDaemon *daemon, int error, uint32_t final) {
        SinkAnswer answer = {
                .error = error, .final = final, .cut_records = final ? daemon->plan.cut : 0
        };

        if (error != 0)
                g_strlcpy(answer.text, g_strerror(error), sizeof(answer.text));
        g_assert_cmpint(send(daemon->socket_fd, &answer, sizeof(answer), MSG_NOSIGNAL),
                        ==,
                        sizeof(answer));
}

/* The client's fd has come. */
static gboolean on_sink(int fd, GIOCondition condition, void *userdata) {
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(sizeof(int))];
        } control = {};

        FakeDaemon *daemon = userdata;
        char byte;
        struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
        struct msghdr message = {
                .msg_iov = &iov,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };

        g_assert_cmpint(recvmsg(fd, &message, MSG_CMSG_CLOEXEC), ==, 1);
        g_assert_cmpint(CMSG_FIRSTHDR(&message)->cmsg_type, ==, SCM_RIGHTS);
        memcpy(&daemon->sink_fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
        answer_sink(daemon, daemon->plan.refuse_sink ? EOPNOTSUPP : 0, 0);
        return G_SOURCE_REMOVE;
}

static int open_sink(FakeDaemon *daemon) {
        int fds[2];

        g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), ==, 0);
        daemon->socket_fd = fds[0];
        (void)g_unix_fd_add(fds[0], G_IO_IN, on_sink, daemon);
        return fds[1];
}

static void end_stream(FakeDaemon *daemon) {
        if (daemon->sink_fd < 0 || daemon->plan.refuse_sink)
                return;
        g_assert_cmpint(write(daemon->sink_fd, FAKE_STREAM, strlen(FAKE_STREAM)), >, 0);
        answer_sink(daemon, daemon->plan.sink_error, 1);
        close(daemon->sink_fd);
        close(daemon->socket_fd);
        daemon->sink_fd = daemon->socket_fd = -1;
}

static void call_bus(FakeDaemon *daemon, const char *method, GVariant *parameters) {
        g_autoptr(GError) error = NULL;

        g_variant_unref(g_dbus_connection_call_sync(daemon->connection,
                        "org.freedesktop.DBus",
                        "/org/freedesktop/DBus",
                        "org.freedesktop.DBus",
                        method,
                        parameters,
                        NULL,
                        0,
                        -1,
                        NULL,
                        &error));
        g_assert_no_error(error);
}

static void release_name(FakeDaemon *daemon) {
        call_bus(daemon, "ReleaseName", g_variant_new("(s)", KT_BUS_NAME));
}

static void request_name(FakeDaemon *daemon) {
        call_bus(daemon, "RequestName", g_variant_new("(su)", KT_BUS_NAME, 0));
}

static void after_start(FakeDaemon *daemon) {
        g_autoptr(GError) error = NULL;

        if (daemon->plan.ended_code) {
                g_dbus_connection_emit_signal(daemon->connection,
                                daemon->client,
                                FAKE_PATH,
                                KT_SESSION_INTERFACE,
                                "Ended",
                                g_variant_new("(ss)", daemon->plan.ended_code, "for the test"),
                                &error);
                g_assert_no_error(error);
                end_stream(daemon);
        }
        if (daemon->plan.stream_ends)
                end_stream(daemon);
        if (daemon->plan.vanish) {
                release_name(daemon);
                end_stream(daemon);
        }
}

static GVariant *describe(const FakeDaemon *daemon) {
        const char *text = daemon->plan.narrow
                                           ? "({'id': <'0123456789abcdef'>, 'requests': "
                                             "<[{'pattern': <'sched:*'>, "
                                             "'matched': <uint64 26>, 'granted': <uint64 5>}]>},)"
                                           : "({'id': <'0123456789abcdef'>, 'requests': "
                                             "<@aa{sv} []>},)";

        return g_variant_new_parsed(text);
}

static void answer_fd(GDBusMethodInvocation *invocation, int fd) {
        g_autoptr(GUnixFDList) list = g_unix_fd_list_new_from_array(&fd, 1);

        g_dbus_method_invocation_return_value_with_unix_fd_list(
                        invocation, g_variant_new("(h)", 0), list);
}

/* A stream that ends before its metadata: enough for a reader that only copies. */
static int open_stream(void) {
        static const char header[] = "KTSTREAM\1\0\0\0\20\0\0\0";
        int fds[2];

        g_assert_cmpint(pipe(fds), ==, 0);
        g_assert_cmpint(write(fds[1], header, 16), ==, 16);
        close(fds[1]);
        return fds[0];
}

static void answer_session(FakeDaemon *daemon,
                const char *method,
                GDBusMethodInvocation *invocation) {
        GVariant *value = NULL;

        if (g_str_equal(method, "OpenSink")) {
                answer_fd(invocation, open_sink(daemon));
                return;
        }
        if (g_str_equal(method, "OpenStream")) {
                answer_fd(invocation, open_stream());
                return;
        }
        if (g_str_equal(method, "Describe"))
                value = describe(daemon);
        else if (g_str_equal(method, "GetStatistics"))
                value = g_variant_new_parsed("({'recorded': <uint64 12345>, 'lost': <%t>},)",
                                (guint64)daemon->plan.lost);
        if (g_str_equal(method, "Destroy"))
                end_stream(daemon);
        g_dbus_method_invocation_return_value(invocation, value);
        if (g_str_equal(method, "Start"))
                after_start(daemon);
}

static void on_call(GDBusConnection *connection,
                const char *sender,
                const char *path,
                const char *interface,
                const char *method,
                GVariant *parameters,
                GDBusMethodInvocation *invocation,
                void *userdata) {
        FakeDaemon *daemon = userdata;

        g_string_append_printf(daemon->calls, "%s%s", daemon->calls->len > 0 ? " " : "", method);
        if (daemon->plan.refuse && g_str_equal(method, daemon->plan.refuse)) {
                g_dbus_method_invocation_return_dbus_error(
                                invocation, daemon->plan.refuse_error, "no, says the test");
                return;
        }
        if (g_strcmp0(daemon->plan.replaced_at, method) == 0 && !daemon->was_replaced) {
                daemon->was_replaced = true;
                release_name(daemon);
                g_dbus_method_invocation_return_dbus_error(/* as the bus does */
                                invocation,
                                "org.freedesktop.DBus.Error.NoReply",
                                "nobody answers any more");
                request_name(daemon);
                return;
        }
        if (daemon->plan.needs_password && g_str_equal(method, "CreateSession") &&
                        !(g_dbus_message_get_flags(
                                          g_dbus_method_invocation_get_message(invocation)) &
                                        G_DBUS_MESSAGE_FLAGS_ALLOW_INTERACTIVE_AUTHORIZATION)) {
                g_dbus_method_invocation_return_dbus_error(invocation,
                                KT_ERROR_PREFIX "InteractiveAuthorizationRequired",
                                "a password, says the test");
                return;
        }
        if (g_str_equal(method, "GetSession")) {
                g_dbus_method_invocation_return_value(invocation, g_variant_new("(o)", FAKE_PATH));
                return;
        }
        if (!g_str_equal(method, "CreateSession")) {
                answer_session(daemon, method, invocation);
                return;
        }
        daemon->spec = g_variant_print(parameters, false);
        daemon->client = g_strdup(sender);
        g_dbus_method_invocation_return_value(
                        invocation, g_variant_new("(so)", "0123456789abcdef", FAKE_PATH));
}

FakeDaemon *fake_daemon_new(const FakePlan *plan) {
        static const GDBusInterfaceVTable vtable = { .method_call = on_call };
        FakeDaemon *daemon = g_new0(FakeDaemon, 1);
        g_autoptr(GError) error = NULL;

        daemon->plan = *plan;
        daemon->socket_fd = daemon->sink_fd = -1;
        daemon->calls = g_string_new(NULL);
        daemon->bus = g_test_dbus_new(G_TEST_DBUS_NONE);
        g_test_dbus_up(daemon->bus);
        g_assert_true(g_setenv(
                        "DBUS_SYSTEM_BUS_ADDRESS", g_test_dbus_get_bus_address(daemon->bus), true));
        daemon->connection = g_dbus_connection_new_for_address_sync(
                        g_test_dbus_get_bus_address(daemon->bus),
                        G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                        G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                        NULL,
                        NULL,
                        &error);
        g_assert_no_error(error);
        daemon->node = g_dbus_node_info_new_for_xml(introspection, &error);
        g_assert_no_error(error);
        g_dbus_connection_register_object(daemon->connection,
                        KT_OBJECT,
                        daemon->node->interfaces[0],
                        &vtable,
                        daemon,
                        NULL,
                        &error);
        g_assert_no_error(error);
        g_dbus_connection_register_object(daemon->connection,
                        FAKE_PATH,
                        daemon->node->interfaces[1],
                        &vtable,
                        daemon,
                        NULL,
                        &error);
        g_assert_no_error(error);
        request_name(daemon);
        return daemon;
}

void fake_daemon_free(FakeDaemon *daemon) {
        g_dbus_connection_close_sync(daemon->connection, NULL, NULL);
        g_object_unref(daemon->connection);
        g_dbus_node_info_unref(daemon->node);
        g_test_dbus_down(daemon->bus);
        g_object_unref(daemon->bus);
        g_string_free(daemon->calls, true);
        if (daemon->socket_fd >= 0)
                close(daemon->socket_fd);
        if (daemon->sink_fd >= 0)
                close(daemon->sink_fd);
        g_free(daemon->spec);
        g_free(daemon->client);
        g_free(daemon);
}

const char *fake_daemon_get_calls(const FakeDaemon *daemon) {
        return daemon->calls->str;
}

const char *fake_daemon_get_spec(const FakeDaemon *daemon) {
        return daemon->spec;
}
