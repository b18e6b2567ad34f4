/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each way in which a call fails, as one line with the remedy and an exit status. */

#include <errno.h>
#include <gio/gio.h>
#include <glib.h>
#include <string.h>

#include "call/proxy-backend.h"
#include "call/proxy-bus-error.h"
#include "call/proxy-method.h"
#include "call/proxy-session.h"
#include "call/proxy.h"

static void assert_judged(const char *name, const char *message, int code, const char *said) {
        sd_bus_error error = SD_BUS_ERROR_MAKE_CONST(name, message);
        Reason reason = {};

        g_assert_cmpint(proxy_bus_judge(&error, -EIO, &reason), ==, code);
        if (!strstr(reason.text, said))
                g_error("%s: \"%s\" does not say \"%s\"", name, reason.text, said);
        g_assert_null(strchr(reason.text, '\n'));
}

static void test_own_errors(void) {
        assert_judged(KT_ERROR_PREFIX "AccessDenied",
                        "rule x says no",
                        KT_E_ACCESS_DENIED,
                        "rule x says no");
        assert_judged(KT_ERROR_PREFIX "LimitReached", "too many", KT_E_LIMIT_REACHED, "too many");
        assert_judged(KT_ERROR_PREFIX "Failed", "", KT_E_FAILED, error_get(KT_E_FAILED)->text);
        assert_judged(KT_ERROR_PREFIX "StreamBusy",
                        "two\nlines\033[2J",
                        KT_E_STREAM_BUSY,
                        "two?lines?[2J");
        g_assert_cmpint(error_get(KT_E_ACCESS_DENIED)->exit_status, ==, KT_EXIT_DENIED);
}

static void test_bus_errors(void) {
        assert_judged(SD_BUS_ERROR_SERVICE_UNKNOWN, "m", KT_E_FAILED, "systemctl start ktraced");
        assert_judged(SD_BUS_ERROR_NAME_HAS_NO_OWNER, "m", KT_E_FAILED, "not running");
        assert_judged(SD_BUS_ERROR_NO_REPLY, "m", KT_E_FAILED, "journalctl -u ktraced");
        assert_judged(SD_BUS_ERROR_NO_REPLY, "Method call timed out", -ETIMEDOUT, "in time");
        assert_judged(SD_BUS_ERROR_TIMEOUT, "m", -ETIMEDOUT, "in time");
        assert_judged("org.freedesktop.DBus.Error.Spawn.ExecFailed",
                        "m",
                        KT_E_FAILED,
                        "could not start ktraced");
        assert_judged("org.freedesktop.systemd1.NoSuchUnit",
                        "m",
                        KT_E_FAILED,
                        "systemctl status ktraced");
        assert_judged(SD_BUS_ERROR_ACCESS_DENIED, "m", KT_E_ACCESS_DENIED, "D-Bus rules");
        assert_judged(SD_BUS_ERROR_UNKNOWN_OBJECT, "m", KT_E_NO_SUCH_SESSION, "no such session");
        assert_judged(SD_BUS_ERROR_UNKNOWN_METHOD, "m", KT_E_FAILED, "another version");
        assert_judged("com.example.Odd", "m", KT_E_FAILED, "com.example.Odd: m");
}

static void test_errnos(void) {
        Reason reason = {};

        g_assert_cmpint(proxy_bus_judge(NULL, -ECONNRESET, &reason), ==, KT_E_FAILED);
        g_assert_nonnull(strstr(reason.text, "lost"));
        g_assert_cmpint(proxy_bus_judge(NULL, -ETIMEDOUT, &reason), ==, -ETIMEDOUT);
        g_assert_nonnull(strstr(reason.text, "in time"));
}

static void assert_no_bus(const char *address, const char *said) {
        Proxy *proxy = NULL;
        Reason reason = {};

        g_assert_true(g_setenv("DBUS_SYSTEM_BUS_ADDRESS", address, true));
        g_assert_cmpint(proxy_open(PROXY_DOOR_BUS, &proxy, &reason), ==, KT_E_FAILED);
        g_assert_null(proxy);
        g_assert_nonnull(strstr(reason.text, said));
        g_assert_nonnull(strstr(reason.text, address));
}

static void test_no_bus(void) {
        assert_no_bus("unix:path=/nonexistent/bus", "No such file");
        assert_no_bus("nonsense", "DBUS_SYSTEM_BUS_ADDRESS");
}

/* The standard bus under our name: up, but without ktraced. */
static void test_no_daemon(void) {
        g_autofree char *dbus = g_find_program_in_path("dbus-daemon");
        GTestDBus *bus;
        Proxy *proxy = NULL;
        Reason reason = {};
        json_object *rows = NULL;

        if (!dbus) {
                g_test_skip("dbus-daemon is not installed");
                return;
        }
        bus = g_test_dbus_new(G_TEST_DBUS_NONE);
        g_test_dbus_up(bus);
        g_assert_true(g_setenv("DBUS_SYSTEM_BUS_ADDRESS", g_test_dbus_get_bus_address(bus), true));
        g_assert_cmpint(proxy_open_running(PROXY_DOOR_BUS, &proxy, &reason), ==, 0);
        g_assert_null(proxy);
        g_assert_cmpint(proxy_open(PROXY_DOOR_BUS, &proxy, &reason), ==, 0);
        g_assert_cmpint(proxy_list(proxy, &rows, &reason), ==, KT_E_FAILED);
        g_assert_nonnull(strstr(reason.text, "systemctl start ktraced"));
        proxy_free(proxy);
        g_test_dbus_down(bus);
        g_object_unref(bus);
}

static void assert_arguments(const ProxyMethod *method,
                const ProxyArgument *known,
                GDBusArgInfo *const *arguments) {
        size_t n = 0;

        for (; arguments && arguments[n]; n++) {
                if (n == ELEMENTSOF(method->in) || !known[n].name)
                        g_error("%s: its %s is missing", method->name, arguments[n]->name);
                g_assert_cmpstr(known[n].name, ==, arguments[n]->name);
                g_assert_cmpstr(known[n].type, ==, arguments[n]->signature);
        }
        if (n < ELEMENTSOF(method->in))
                g_assert_cmpstr(known[n].name, ==, NULL);
}

/* What is sent has the names and types that the interface documents. */
static void test_methods(void) {
        GDBusNodeInfo *nodes[2];
        size_t n;
        const ProxyMethod *methods = proxy_method_get_all(&n);

        for (size_t i = 0; i < 2; i++) {
                g_autofree char *path = g_strdup_printf("%s/%s.xml",
                                g_getenv("INTERFACES"),
                                i == 0 ? KT_MANAGER_INTERFACE : KT_SESSION_INTERFACE);
                g_autofree char *xml = NULL;
                g_autoptr(GError) error = NULL;

                g_file_get_contents(path, &xml, NULL, &error);
                g_assert_no_error(error);
                nodes[i] = g_dbus_node_info_new_for_xml(xml, &error);
                g_assert_no_error(error);
        }
        for (size_t i = 0; i < n; i++) {
                GDBusInterfaceInfo *interface = nodes[methods[i].is_of_session]->interfaces[0];
                GDBusMethodInfo *method =
                                g_dbus_interface_info_lookup_method(interface, methods[i].name);

                if (!method)
                        g_error("%s is not in %s", methods[i].name, interface->name);
                assert_arguments(&methods[i], methods[i].in, method->in_args);
                assert_arguments(&methods[i], methods[i].out, method->out_args);
        }
        g_dbus_node_info_unref(nodes[0]);
        g_dbus_node_info_unref(nodes[1]);
}

/* A daemon that refuses the first call as too early. */
typedef struct Busy {
        Proxy proxy;
        ProxyPending *pending;
        sd_event_source *answer, *noise;
        unsigned n_calls;
} Busy;

static int busy_on_answer(sd_event_source *source, void *userdata) {
        const Reason reason = { "too much time (max-call-usec-per-sec)" };
        ProxyAnswer answer = { .fd = -1 };
        Busy *busy = userdata;

        (void)source;
        proxy_pending_settle(busy->pending,
                        busy->n_calls == 1 ? KT_E_LIMIT_REACHED : 0,
                        &reason,
                        &answer);
        return 0;
}

static int busy_begin(Proxy *proxy,
                const ProxyRequest *request,
                ProxyPending *pending,
                Reason *reason) {
        Busy *busy = (Busy *)proxy;

        (void)request;
        (void)reason;
        busy->n_calls++;
        busy->pending = pending;
        sd_event_source_disable_unref(busy->answer);
        return sd_event_add_defer(proxy->event, &busy->answer, busy_on_answer, busy) < 0 ? -EIO : 0;
}

static void busy_forget(ProxyPending *pending) {
        (void)pending;
}

/* Every 10 ms, as a stream that is read meanwhile. */
static int busy_on_noise(sd_event_source *source, uint64_t usec, void *userdata) {
        (void)usec;
        (void)userdata;
        g_assert_cmpint(sd_event_source_set_time_relative(source, 10000), >=, 0);
        return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* A second is waited for, whatever the loop has to do meanwhile. */
static void test_too_early(void) {
        static const ProxyBackend backend = { .begin = busy_begin, .forget = busy_forget };
        const ProxyCall call = { .method = "Administrate" };
        Busy busy = { .proxy = { .backend = &backend } };
        ProxyAnswer answer = { .fd = -1 };
        sd_event *event = NULL;
        Reason reason;

        g_assert_cmpint(sd_event_new(&event), >=, 0);
        busy.proxy.event = event;
        g_assert_cmpint(sd_event_add_time_relative(event,
                                        &busy.noise,
                                        CLOCK_MONOTONIC,
                                        10000,
                                        1,
                                        busy_on_noise,
                                        NULL),
                        >=,
                        0);
        g_test_timer_start();
        g_assert_cmpint(proxy_perform(&busy.proxy, &call, &answer, &reason), ==, 0);
        g_assert_cmpfloat(g_test_timer_elapsed(), >, 0.9);
        g_assert_cmpuint(busy.n_calls, ==, 2);
        sd_event_source_disable_unref(busy.noise);
        sd_event_source_disable_unref(busy.answer);
        sd_event_unref(event);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/client/proxy/own-errors", test_own_errors);
        g_test_add_func("/client/proxy/bus-errors", test_bus_errors);
        g_test_add_func("/client/proxy/errnos", test_errnos);
        g_test_add_func("/client/proxy/no-bus", test_no_bus);
        g_test_add_func("/client/proxy/no-daemon", test_no_daemon);
        g_test_add_func("/client/proxy/too-early", test_too_early);
        g_test_add_func("/client/proxy/methods", test_methods);
        return g_test_run();
}
