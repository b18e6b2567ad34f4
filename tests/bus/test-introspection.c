/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* interfaces/\*.xml says what the daemon answers to Introspect, member by member. */
#include "bus-fixture.h"

#define EMITS_CHANGE "org.freedesktop.DBus.Property.EmitsChangedSignal"

static GDBusInterfaceInfo *read_file(const char *interface) {
        g_autofree char *path = g_strdup_printf(
                        "%s/interfaces/%s.xml", g_getenv("KTRACE_SOURCE_ROOT"), interface);
        g_autofree char *text = NULL;
        g_autoptr(GDBusNodeInfo) node = NULL;
        g_autoptr(GError) error = NULL;

        g_assert_true(g_file_get_contents(path, &text, NULL, &error));
        node = g_dbus_node_info_new_for_xml(text, &error);
        g_assert_no_error(error);
        GDBusInterfaceInfo *info = g_dbus_node_info_lookup_interface(node, interface);
        g_assert_nonnull(info);
        return g_dbus_interface_info_ref(info);
}

static GDBusNodeInfo *introspect(GDBusConnection *bus, const char *path) {
        g_autoptr(GVariant) answer = bus_call(bus,
                        path,
                        "org.freedesktop.DBus.Introspectable",
                        "Introspect",
                        NULL,
                        NULL,
                        NULL);
        g_autoptr(GError) error = NULL;
        const char *text;

        g_assert_nonnull(answer);
        g_variant_get(answer, "(&s)", &text);
        GDBusNodeInfo *node = g_dbus_node_info_new_for_xml(text, &error);
        g_assert_no_error(error);
        return node;
}

static void append_arguments(GString *text, const char *direction, GDBusArgInfo **arguments) {
        for (; arguments && *arguments; arguments++)
                g_string_append_printf(text,
                                " %s %s:%s",
                                direction,
                                (*arguments)->name,
                                (*arguments)->signature);
}

static int compare_lines(gconstpointer a, gconstpointer b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* One line a member, sorted. */
static char *describe(const GDBusInterfaceInfo *info) {
        g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);

        for (GDBusMethodInfo **m = info->methods; m && *m; m++) {
                GString *line = g_string_new("method ");
                g_string_append(line, (*m)->name);
                append_arguments(line, "in", (*m)->in_args);
                append_arguments(line, "out", (*m)->out_args);
                g_ptr_array_add(lines, g_string_free(line, FALSE));
        }
        for (GDBusSignalInfo **s = info->signals; s && *s; s++) {
                GString *line = g_string_new("signal ");
                g_string_append(line, (*s)->name);
                append_arguments(line, "out", (*s)->args);
                g_ptr_array_add(lines, g_string_free(line, FALSE));
        }
        for (GDBusPropertyInfo **p = info->properties; p && *p; p++)
                g_ptr_array_add(lines,
                                g_strdup_printf("property %s:%s %u %s",
                                                (*p)->name,
                                                (*p)->signature,
                                                (*p)->flags,
                                                g_dbus_annotation_info_lookup(
                                                                (*p)->annotations, EMITS_CHANGE)));
        g_ptr_array_sort(lines, compare_lines);
        g_ptr_array_add(lines, NULL);
        return g_strjoinv("\n", (char **)lines->pdata);
}

static void compare(GDBusConnection *bus, const char *path, const char *interface) {
        GDBusInterfaceInfo *file = read_file(interface);
        g_autoptr(GDBusNodeInfo) node = introspect(bus, path);
        GDBusInterfaceInfo *info = g_dbus_node_info_lookup_interface(node, interface);

        g_assert_nonnull(info);
        g_autofree char *wanted = describe(file);
        g_autofree char *got = describe(info);
        g_assert_cmpstr(got, ==, wanted);
        g_dbus_interface_info_unref(file);
}

static void test_manager(void) {
        g_autoptr(GDBusConnection) bus = bus_connect(UID_OWNER);

        compare(bus, KT_OBJECT, KT_MANAGER_INTERFACE);
}

static void test_session(void) {
        g_autoptr(GDBusConnection) bus = bus_connect(0);
        g_autofree char *path = bus_create_session(bus, "client");

        compare(bus, path, KT_SESSION_INTERFACE);
        g_autoptr(GVariant) answer =
                        bus_call(bus, path, KT_SESSION_INTERFACE, "Destroy", NULL, NULL, NULL);
        g_assert_nonnull(answer);
}

/* Properties can be read by anyone: there is the version and nothing else. */
static void test_no_other_property(void) {
        g_autoptr(GDBusConnection) bus = bus_connect(UID_STRANGER);
        g_autoptr(GVariant) answer = bus_call(bus,
                        KT_OBJECT,
                        "org.freedesktop.DBus.Properties",
                        "GetAll",
                        g_variant_new("(s)", ""),
                        NULL,
                        NULL);
        g_autoptr(GVariant) all = g_variant_get_child_value(answer, 0);
        const char *version = NULL;

        g_assert_cmpuint(g_variant_n_children(all), ==, 1);
        g_assert_true(g_variant_lookup(all, "Version", "&s", &version));
        g_assert_cmpstr(version, ==, KT_VERSION);
}

static void add_tests(void) {
        bus_test_add("/introspection/manager", FALSE, test_manager);
        bus_test_add("/introspection/session", TRUE, test_session);
        bus_test_add("/introspection/no-other-property", FALSE, test_no_other_property);
}

int main(int argc, char **argv) {
        return bus_test_main(argc, argv, add_tests);
}
