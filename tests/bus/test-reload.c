/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules that change while the daemon runs, and what CheckSession tells of them. */
#include <signal.h>
#include <string.h>

#include "bus-fixture.h"

#define FILE_NAME "10-test.json"
#define DENY \
        "{\"rules\":[{\"name\":\"never\",\"subjects\":[{\"uid\":1}],\"deny\":true,\"scopes\":[\"own\",\"command\",\"pids\"]}]}"

static GVariant *make_spec(const char *event, gint64 as_user) {
        GVariantBuilder builder;
        const char *const events[] = { event, NULL };

        g_variant_builder_init(&builder, G_VARIANT_TYPE_VARDICT);
        g_variant_builder_add(&builder, "{sv}", "scope", g_variant_new_string("own"));
        g_variant_builder_add(&builder, "{sv}", "events", g_variant_new_strv(events, -1));
        if (as_user >= 0)
                g_variant_builder_add(&builder,
                                "{sv}",
                                "as-user",
                                g_variant_new_uint32((guint32)as_user));
        return g_variant_new("(a{sv})", &builder);
}

static GVariant *check(GDBusConnection *bus, const char *event, gint64 as_user, gboolean *allowed) {
        g_autoptr(GVariant) answer =
                        bus_call_manager(bus, "CheckSession", make_spec(event, as_user));
        GVariant *decision = g_variant_get_child_value(answer, 0);

        g_assert_true(g_variant_lookup(decision, "allowed", "b", allowed));
        return decision;
}

static char *first_reason(GVariant *decision) {
        g_auto(GStrv) reasons = NULL;

        g_assert_true(g_variant_lookup(decision, "reasons", "^as", &reasons));
        return g_strdup(reasons[0]);
}

static void test_check(void) {
        g_autoptr(GDBusConnection) root = bus_connect(0), owner = bus_connect(UID_OWNER);
        gboolean allowed;
        const char *rule;

        g_autoptr(GVariant) own = check(owner, "raw_syscalls:sys_enter", -1, &allowed);
        g_assert_true(allowed);
        g_assert_true(g_variant_lookup(own, "rule", "&s", &rule));
        g_assert_cmpstr(rule, ==, "50-default.json: own-processes");
        g_autoptr(GVariant) denied = check(owner, "sched:sched_waking", -1, &allowed);
        g_assert_false(allowed);
        g_autofree char *reason = first_reason(denied);
        g_assert_nonnull(strstr(reason, "sched:sched_waking: not granted by"));
        /* As others, for root alone. */
        g_autoptr(GVariant) roots = check(root, "sched:sched_waking", -1, &allowed);
        g_assert_true(allowed);
        g_autoptr(GVariant) others = check(root, "sched:sched_waking", UID_OWNER, &allowed);
        g_assert_false(allowed);
        bus_expect_error(owner,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "CheckSession",
                        make_spec("raw_syscalls:sys_enter", UID_STRANGER),
                        KT_ERROR_PREFIX "AccessDenied",
                        "as-user");
        /* Not a key of a session. */
        bus_expect_error(root,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "CreateSession",
                        make_spec("raw_syscalls:sys_enter", UID_OWNER),
                        KT_ERROR_PREFIX "UnknownKey",
                        "as-user");
        g_assert_cmpuint(bus_count_instances(), ==, 0);
}

static void on_ended(GDBusConnection *bus,
                const char *sender,
                const char *path,
                const char *interface,
                const char *member,
                GVariant *arguments,
                gpointer userdata) {
        char **ret = userdata;

        g_free(*ret);
        *ret = g_variant_print(arguments, FALSE);
}

static void reload(GDBusConnection *root) {
        g_autoptr(GVariant) answer = bus_call_manager(root, "Reload", NULL);
        g_assert_nonnull(answer);
}

static gboolean is_denied(GDBusConnection *bus) {
        gboolean allowed;
        g_autoptr(GVariant) decision = check(bus, "raw_syscalls:sys_enter", -1, &allowed);

        g_assert_nonnull(decision);
        return !allowed;
}

static void test_reload(void) {
        g_autoptr(GDBusConnection) root = bus_connect(0), owner = bus_connect(UID_OWNER);
        g_autofree char *ended = NULL;
        guint subscription = g_dbus_connection_signal_subscribe(owner,
                        NULL,
                        KT_SESSION_INTERFACE,
                        "Ended",
                        NULL,
                        NULL,
                        G_DBUS_SIGNAL_FLAGS_NO_MATCH_RULE,
                        on_ended,
                        &ended,
                        NULL);
        g_autofree char *path = bus_create_session(owner, "linger");

        reload(root); /* of the same: nobody notices */
        g_assert_cmpuint(bus_count_instances(), ==, 1);
        bus_fixture_write_rules(FILE_NAME, DENY);
        g_assert_false(is_denied(owner));
        reload(root);
        g_assert_true(is_denied(owner));
        for (unsigned i = 0; i < 100 && !ended; i++) {
                gboolean never = FALSE;
                bus_wait(&never, 50);
        }
        g_assert_nonnull(ended);
        g_assert_nonnull(strstr(ended, "'policy'"));
        g_assert_nonnull(strstr(ended, "denied by " FILE_NAME ": never"));
        g_dbus_connection_signal_unsubscribe(owner, subscription);

        /* An empty file masks: back again. By a signal, which is not answered. */
        bus_fixture_write_rules(FILE_NAME, "");
        g_assert_no_errno(kill(bus_fixture_get_daemon(), SIGHUP));
        for (unsigned i = 0; i < 100 && is_denied(owner); i++)
                g_usleep(50000);
        g_assert_false(is_denied(owner));
}

static void test_broken(void) {
        g_autoptr(GDBusConnection) root = bus_connect(0), owner = bus_connect(UID_OWNER);

        bus_fixture_write_rules(FILE_NAME, "{\"rules\":[{\"name\":\"x\",\"deny\":3}]}");
        bus_expect_error(root,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "Reload",
                        NULL,
                        KT_ERROR_PREFIX "InvalidSpec",
                        FILE_NAME ": rules[0].deny: expected true or false, got 3");
        g_assert_false(is_denied(owner));
        bus_fixture_write_rules(FILE_NAME, "");
        reload(root);
}

/* No polkit on this bus: nobody but root. */
static void test_strangers(void) {
        g_autoptr(GDBusConnection) stranger = bus_connect(UID_STRANGER);
        g_autofree char *name = NULL;
        g_autoptr(GVariant) answer = bus_call(
                        stranger, KT_OBJECT, KT_MANAGER_INTERFACE, "Reload", NULL, &name, NULL);

        g_assert_null(answer);
        g_assert_cmpstr(name, ==, KT_ERROR_PREFIX "AccessDenied");
}

static void add_tests(void) {
        bus_test_add("/reload/check", TRUE, test_check);
        bus_test_add("/reload/reload", TRUE, test_reload);
        bus_test_add("/reload/broken", TRUE, test_broken);
        bus_test_add("/reload/strangers", FALSE, test_strangers);
}

int main(int argc, char **argv) {
        return bus_test_main(argc, argv, add_tests);
}
