/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A systemd-machined that answers nonsense, on a bus of the test. */

#include <gio/gio.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "container/machine.h"

/* The last component of this process's cgroup, and the whole. */
static char *own_cgroup, *own_unit;

static GMainContext *loop_context;
static guint32 leader;
static const char *unit, *object;

static const char interfaces[] =
                "<node><interface name='org.freedesktop.machine1.Manager'>"
                "<method name='GetMachine'><arg type='s' direction='in'/><arg type='o' "
                "direction='out'/></method></interface>"
                "<interface name='org.freedesktop.machine1.Machine'>"
                "<property name='Leader' type='u' access='read'/>"
                "<property name='Unit' type='s' access='read'/></interface></node>";

static void on_call(GDBusConnection *bus,
                const char *sender,
                const char *path,
                const char *interface,
                const char *method,
                GVariant *arguments,
                GDBusMethodInvocation *call,
                gpointer userdata) {
        if (object)
                g_dbus_method_invocation_return_value(call, g_variant_new("(o)", object));
        else
                g_dbus_method_invocation_return_dbus_error(call,
                                "org.freedesktop.machine1.NoSuchMachine",
                                "No machine\x1b 'web' known");
}

static GVariant *on_property(GDBusConnection *bus,
                const char *sender,
                const char *path,
                const char *interface,
                const char *property,
                GError **error,
                gpointer userdata) {
        return strcmp(property, "Leader") == 0 ? g_variant_new_uint32(leader)
                                               : g_variant_new_string(unit);
}

static gpointer serve(gpointer userdata) {
        static const GDBusInterfaceVTable operations = { on_call, on_property, NULL };
        GTestDBus *test_bus = userdata;
        g_autoptr(GDBusNodeInfo) node = g_dbus_node_info_new_for_xml(interfaces, NULL);

        g_main_context_push_thread_default(loop_context);
        g_autoptr(GDBusConnection) bus = g_dbus_connection_new_for_address_sync(
                        g_test_dbus_get_bus_address(test_bus),
                        G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                        G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                        NULL,
                        NULL,
                        NULL);
        g_assert_nonnull(bus);
        g_assert_cmpuint(g_dbus_connection_register_object(bus,
                                         "/org/freedesktop/machine1",
                                         node->interfaces[0],
                                         &operations,
                                         NULL,
                                         NULL,
                                         NULL),
                        >,
                        0);
        g_assert_cmpuint(g_dbus_connection_register_object(bus,
                                         "/org/freedesktop/machine1/machine/web",
                                         node->interfaces[1],
                                         &operations,
                                         NULL,
                                         NULL,
                                         NULL),
                        >,
                        0);
        g_bus_own_name_on_connection(bus, "org.freedesktop.machine1", 0, NULL, NULL, NULL, NULL);
        for (;;)
                g_main_context_iteration(loop_context, TRUE);
        return NULL;
}

static void test_absent(void) {
        Reason note = {};
        char *cgroup = NULL;

        g_assert_cmpint(machine_find("web", &cgroup, &note), ==, 0);
        g_assert_null(cgroup);
        g_assert_cmpstr(note.text, !=, "");
}

static char *ask(const char *path, guint32 pid, const char *name, Reason *note) {
        char *cgroup = NULL;

        object = path;
        leader = pid;
        unit = name;
        g_assert_cmpint(machine_find("web", &cgroup, note), ==, 0);
        return cgroup;
}

static void test_nonsense(void) {
        static const char web[] = "/org/freedesktop/machine1/machine/web";
        g_autofree char *endless = g_strnfill(4000, 'a');

        const struct {
                const char *path;
                guint32 leader;
                const char *unit, *words;
        } answers[] = {
                { NULL, 1, "x.scope", "No machine? 'web' known" },
                { "/", 1, "x.scope", "" },
                { web, 0, "x.scope", "no process or no unit" },
                { web, G_MAXUINT32, "x.scope", "no process or no unit" },
                { web, 4194304, "x.scope", "is not in the cgroup" },
                { web, (guint32)getpid(), "", "no process or no unit" },
                { web, (guint32)getpid(), "..", "is not in the cgroup" },
                { web, (guint32)getpid(), "/", "no process or no unit" },
                { web, (guint32)getpid(), "../x", "no process or no unit" },
                { web, (guint32)getpid(), endless, "no process or no unit" },
                { web, (guint32)getpid(), "no-such.scope", "is not in the cgroup" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(answers); i++) {
                Reason note = {};

                g_assert_null(ask(answers[i].path, answers[i].leader, answers[i].unit, &note));
                if (!strstr(note.text, answers[i].words) || note.text[0] == '\0')
                        g_error("answer %zu: %s", i, note.text);
        }
}

static void test_found(void) {
        Reason note = {};

        if (!own_unit) {
                g_test_skip("this process is in the root of the cgroup tree");
                return;
        }
        _cleanup_free_ char *cgroup = ask("/org/freedesktop/machine1/machine/web",
                        (guint32)getpid(),
                        own_unit,
                        &note);
        g_assert_cmpstr(cgroup, ==, own_cgroup);
}

static void read_own(void) {
        g_autofree char *text = NULL;

        g_assert_true(g_file_get_contents("/proc/self/cgroup", &text, NULL, NULL));
        char *line = strstr(text, "0::/");
        if (!line || (line != text && line[-1] != '\n'))
                return;
        own_cgroup = g_strndup(line + 3, strcspn(line + 3, "\n"));
        if (strlen(own_cgroup) > 1)
                own_unit = g_path_get_basename(own_cgroup);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        GTestDBus *bus = g_test_dbus_new(G_TEST_DBUS_NONE);
        g_test_dbus_up(bus);
        g_setenv("DBUS_SYSTEM_BUS_ADDRESS", g_test_dbus_get_bus_address(bus), TRUE);
        read_own();
        test_absent();
        loop_context = g_main_context_new();
        g_thread_unref(g_thread_new("machined", serve, bus));
        while (true) { /* until the service has its name */
                Reason note = {};

                g_assert_null(ask(NULL, 0, "", &note));
                if (strstr(note.text, "No machine"))
                        break;
                g_usleep(10000);
        }
        g_test_add_func("/machine/nonsense", test_nonsense);
        g_test_add_func("/machine/found", test_found);
        int status = g_test_run();
        g_test_dbus_stop(bus);
        return status;
}
