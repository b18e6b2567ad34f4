/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bus-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
        char *dir, *tracefs, *address;
        GPid bus, daemon;
        const char *untraceable;
        gboolean running;
        GPtrArray *ids; /* of the sessions that were made */
        int lock;
} fixture;

static const char bus_config[] =
                "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN\"\n"
                " \"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n"
                "<busconfig>\n"
                "  <listen>unix:path=%s/bus</listen>\n"
                "  <auth>EXTERNAL</auth>\n"
                /* As the system bus has it. */
                "  <policy context=\"default\">\n"
                "    <allow user=\"*\"/>\n"
                "    <deny own=\"*\"/>\n"
                "    <deny send_type=\"method_call\"/>\n"
                "    <allow send_type=\"signal\"/>\n"
                "    <allow send_requested_reply=\"true\" send_type=\"method_return\"/>\n"
                "    <allow send_requested_reply=\"true\" send_type=\"error\"/>\n"
                "    <allow receive_type=\"method_call\"/>\n"
                "    <allow receive_type=\"method_return\"/>\n"
                "    <allow receive_type=\"error\"/>\n"
                "    <allow receive_type=\"signal\"/>\n"
                "    <allow send_destination=\"org.freedesktop.DBus\""
                " send_interface=\"org.freedesktop.DBus\"/>\n"
                "  </policy>\n"
                "  <policy user=\"root\">\n"
                "    <allow send_destination=\"org.freedesktop.DBus\""
                " send_interface=\"org.freedesktop.DBus.Monitoring\"/>\n"
                "  </policy>\n"
                /* As polkit has it. */
                "  <policy context=\"default\">\n"
                "    <allow send_destination=\"org.freedesktop.PolicyKit1\"/>\n"
                "  </policy>\n"
                "  <policy user=\"root\">\n"
                "    <allow own=\"org.freedesktop.PolicyKit1\"/>\n"
                "  </policy>\n"
                "  <include>%s/policy/org.ktrace1.conf</include>\n"
                "</busconfig>\n";

/* Nothing may be left behind by a test that failed. */
static void die_with_parent(gpointer unused) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
}

static GPid spawn(const char *const *argv) {
        g_autoptr(GError) error = NULL;
        GPid pid;

        g_assert_true(g_spawn_async(NULL,
                        (char **)argv,
                        NULL,
                        G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_SEARCH_PATH,
                        die_with_parent,
                        NULL,
                        &pid,
                        &error));
        g_assert_no_error(error);
        return pid;
}

static void end(GPid *pid) {
        int status;

        if (*pid == 0)
                return;
        kill(*pid, SIGTERM);
        g_assert_cmpint(waitpid(*pid, &status, 0), ==, *pid);
        *pid = 0;
        g_assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
}

/* Instances are the kernel's, not the namespace's, and a daemon that starts takes those of another
 * for orphans: one at a time on a machine, the native suite included. */
static void wait_for_others(void) {
        fixture.lock = open("/run/lock/ktrace-native", O_RDONLY | O_CREAT | O_CLOEXEC, 0600);

        g_assert_no_errno(fixture.lock);
        g_assert_no_errno(flock(fixture.lock, LOCK_EX));
}

static const char *mount_tracefs(void) {
        fixture.tracefs = g_build_filename(fixture.dir, "tracing", NULL);
        g_assert_no_errno(g_mkdir(fixture.tracefs, 0700));
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return "no mount namespace of one's own here";
        if (mount("tracefs", fixture.tracefs, "tracefs", 0, NULL) < 0)
                return "no tracefs here";
        g_autofree char *events = g_build_filename(fixture.tracefs, "available_events", NULL);
        return access(events, R_OK) == 0 ? NULL : "tracefs is empty here";
}

/* The socket's name is there before the bus listens on it, and a bus that was killed leaves the
 * name. */
static gboolean bus_listens(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        g_assert_no_errno(fd);
        gboolean listens = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
        close(fd);
        return listens;
}

static void start_bus(void) {
        g_autofree char *config = g_build_filename(fixture.dir, "bus.conf", NULL);
        g_autofree char *option = g_strdup_printf("--config-file=%s", config);
        g_autofree char *path = g_build_filename(fixture.dir, "bus", NULL);
        g_autofree char *text =
                        g_strdup_printf(bus_config, fixture.dir, g_getenv("KTRACE_SOURCE_ROOT"));

        g_assert_true(g_file_set_contents(config, text, -1, NULL));
        fixture.bus = spawn((const char *const[]){
                        "dbus-daemon", "--nofork", "--nopidfile", option, NULL });
        for (int i = 0; i < 3000 && !bus_listens(path); i++)
                g_usleep(10000);
        g_free(fixture.address); /* of the bus before this one */
        fixture.address = g_strdup_printf("unix:path=%s", path);
        g_setenv("DBUS_SYSTEM_BUS_ADDRESS", fixture.address, TRUE);
}

static void copy_rules(void) {
        g_autofree char *dir = g_build_filename(fixture.dir, "lib", "policy.d", NULL);
        g_autofree char *from = g_build_filename(
                        g_getenv("KTRACE_SOURCE_ROOT"), "policy", "50-default.json", NULL);
        g_autofree char *to = g_build_filename(dir, "50-default.json", NULL);
        g_autofree char *text = NULL;

        g_assert_no_errno(g_mkdir_with_parents(dir, 0755));
        g_assert_true(g_file_get_contents(from, &text, NULL, NULL));
        g_assert_true(g_file_set_contents_full(
                        to, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0644, NULL));
}

void bus_fixture_write_rules(const char *name, const char *text) {
        g_autofree char *dir = g_build_filename(fixture.dir, "etc", "policy.d", NULL);
        g_autofree char *path = g_build_filename(dir, name, NULL);

        g_assert_no_errno(g_mkdir_with_parents(dir, 0755));
        g_assert_true(g_file_set_contents_full(
                        path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0644, NULL));
}

/* The daemon's command line; free with g_strfreev. */
static char **daemon_command(void) {
        GPtrArray *argv = g_ptr_array_new();

        g_ptr_array_add(argv, g_strdup(g_getenv("KTRACED")));
        g_ptr_array_add(argv, g_strdup_printf("--lib-dir=%s/lib", fixture.dir));
        g_ptr_array_add(argv, g_strdup_printf("--config-dir=%s/etc", fixture.dir));
        g_ptr_array_add(argv, g_strdup_printf("--state-dir=%s/state", fixture.dir));
        g_ptr_array_add(argv, g_strdup_printf("--runtime-dir=%s/run", fixture.dir));
        g_ptr_array_add(argv, g_strdup_printf("--tracefs=%s", fixture.tracefs));
        g_ptr_array_add(argv, g_strdup_printf("--consumer=%s", g_getenv("KTRACE_CONSUMER")));
        g_ptr_array_add(argv, g_strdup("--consumer-user=nobody"));
        g_ptr_array_add(argv, NULL);
        return (char **)g_ptr_array_free(argv, FALSE);
}

static void wait_for_name(void) {
        g_autoptr(GDBusConnection) bus = bus_connect(0);

        for (int i = 0; i < 500; i++) {
                g_autoptr(GVariant) owner = bus_call(bus,
                                "/org/freedesktop/DBus",
                                "org.freedesktop.DBus",
                                "GetNameOwner",
                                g_variant_new("(s)", KT_BUS_NAME),
                                NULL,
                                NULL);
                if (owner)
                        return;
                g_usleep(10000);
        }
        g_error("the daemon does not come");
}

void bus_fixture_start_daemon(void) {
        g_auto(GStrv) argv = daemon_command();

        fixture.daemon = spawn((const char *const *)argv);
        wait_for_name();
}

void bus_fixture_start_daemon_and_end(gulong usec) {
        g_auto(GStrv) argv = daemon_command();
        GPid daemon = spawn((const char *const *)argv);

        g_usleep(usec);
        end(&daemon);
}

void bus_fixture_lose_bus(void) {
        g_autofree char *socket = g_build_filename(fixture.dir, "bus", NULL);

        end(&fixture.bus);
        g_unlink(socket);
}

void bus_fixture_start_bus(void) {
        g_assert_cmpint(waitpid(fixture.daemon, NULL, WNOHANG), ==, 0);
        start_bus();
        wait_for_name();
}

void bus_fixture_start_daemon_first(void) {
        g_auto(GStrv) argv = daemon_command();

        fixture.daemon = spawn((const char *const *)argv);
        g_usleep(300000);
        bus_fixture_start_bus();
}

void bus_fixture_end_daemon(void) {
        end(&fixture.daemon);
}

int bus_fixture_run_second(const char *config, unsigned mode, char **ret_text) {
        g_autofree char *dir = g_build_filename(fixture.dir, "etc", NULL);
        g_autofree char *path = g_build_filename(dir, "ktraced.json", NULL);
        g_auto(GStrv) argv = daemon_command();
        g_autoptr(GError) error = NULL;
        int status;

        g_assert_no_errno(g_mkdir_with_parents(dir, 0755));
        if (config) {
                g_assert_true(g_file_set_contents(path, config, -1, NULL));
                g_assert_no_errno(chmod(path, mode));
        }
        g_assert_true(g_spawn_sync(NULL,
                        argv,
                        NULL,
                        G_SPAWN_DEFAULT,
                        NULL,
                        NULL,
                        NULL,
                        ret_text,
                        &status,
                        &error));
        g_assert_no_error(error);
        if (config)
                g_assert_no_errno(g_unlink(path));
        g_assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

gboolean bus_fixture_start(const char **ret_reason) {
        if (geteuid() != 0) {
                *ret_reason = "only root can be several users";
                return FALSE;
        }
        g_assert_nonnull(g_getenv("KTRACED"));
        g_assert_nonnull(g_getenv("KTRACE_SOURCE_ROOT"));
        /* With it the daemon would end when idle. */
        g_unsetenv("NOTIFY_SOCKET");
        wait_for_others();
        fixture.dir = g_dir_make_tmp("ktrace-bus-XXXXXX", NULL);
        g_assert_no_errno(chmod(fixture.dir, 0755));
        /* Before GLib makes its threads: they would stay in the old namespace. */
        fixture.untraceable = mount_tracefs();
        start_bus();
        copy_rules();
        bus_fixture_start_daemon();
        fixture.running = TRUE;
        return TRUE;
}

static void remove_tree(const char *path) {
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *name;

        while (dir && (name = g_dir_read_name(dir))) {
                g_autofree char *child = g_build_filename(path, name, NULL);
                if (g_file_test(child, G_FILE_TEST_IS_DIR))
                        remove_tree(child);
                else
                        g_unlink(child);
        }
        g_rmdir(path);
}

void bus_fixture_stop(void) {
        if (!fixture.running)
                return;
        end(&fixture.daemon);
        if (!fixture.untraceable)
                g_assert_cmpuint(bus_count_instances(), ==, 0);
        end(&fixture.bus);
        umount2(fixture.tracefs, MNT_DETACH);
        remove_tree(fixture.dir);
        g_clear_pointer(&fixture.ids, g_ptr_array_unref);
        g_free(fixture.dir);
        g_free(fixture.tracefs);
        g_free(fixture.address);
        close(fixture.lock);
        fixture.running = FALSE;
}

const char *bus_fixture_get_untraceable(void) {
        return fixture.untraceable;
}

const char *bus_fixture_get_tracefs(void) {
        return fixture.tracefs;
}

char *bus_fixture_make_runtime_path(const char *name) {
        return g_build_filename(fixture.dir, "run", name, NULL);
}

GPid bus_fixture_get_daemon(void) {
        return fixture.daemon;
}

/* The bus reads uid and groups from the socket as they are at connect(2), so being another user for
 * that long is enough. */
GDBusConnection *bus_connect(uid_t uid) {
        g_autoptr(GError) error = NULL;

        g_assert_no_errno(setgroups(0, NULL));
        g_assert_no_errno(setresgid(uid, uid, 0));
        g_assert_no_errno(setresuid(uid, uid, 0));
        GDBusConnection *bus = g_dbus_connection_new_for_address_sync(fixture.address,
                        G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                        G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                        NULL,
                        NULL,
                        &error);
        g_assert_no_errno(setresuid(0, 0, 0));
        g_assert_no_errno(setresgid(0, 0, 0));
        g_assert_no_error(error);
        g_dbus_connection_set_exit_on_close(bus, FALSE);
        return bus;
}

GVariant *bus_call(GDBusConnection *bus,
                const char *path,
                const char *interface,
                const char *member,
                GVariant *arguments,
                char **ret_name,
                char **ret_text) {
        const char *name =
                        g_str_has_prefix(interface, "org.freedesktop.DBus") &&
                                                        g_str_equal(path, "/org/freedesktop/DBus")
                                        ? "org.freedesktop.DBus"
                                        : KT_BUS_NAME;
        g_autoptr(GError) error = NULL;

        GVariant *answer = g_dbus_connection_call_sync(bus,
                        name,
                        path,
                        interface,
                        member,
                        arguments,
                        NULL,
                        G_DBUS_CALL_FLAGS_NONE,
                        100000,
                        NULL,
                        &error);
        if (error && ret_name)
                *ret_name = g_dbus_error_get_remote_error(error);
        if (error && ret_text) {
                g_dbus_error_strip_remote_error(error);
                *ret_text = g_strdup(error->message);
        }
        return answer;
}

GVariant *bus_call_manager(GDBusConnection *bus, const char *member, GVariant *arguments) {
        g_autofree char *text = NULL;

        GVariant *answer = bus_call(
                        bus, KT_OBJECT, KT_MANAGER_INTERFACE, member, arguments, NULL, &text);
        g_assert_cmpstr(text, ==, NULL);
        return answer;
}

void bus_expect_error(GDBusConnection *bus,
                const char *path,
                const char *interface,
                const char *member,
                GVariant *arguments,
                const char *name,
                const char *text) {
        g_autofree char *got_name = NULL, *got_text = NULL;
        g_autoptr(GVariant) answer =
                        bus_call(bus, path, interface, member, arguments, &got_name, &got_text);

        g_assert_null(answer);
        g_assert_cmpstr(got_name, ==, name);
        if (text && !strstr(got_text, text))
                g_error("\"%s\" is not in \"%s\"", text, got_text);
}

char *bus_create_session(GDBusConnection *bus, const char *lifetime) {
        const char *const events[] = { "task:task_rename", NULL };
        GVariantBuilder spec;
        char *id = NULL, *path = NULL;

        g_variant_builder_init(&spec, G_VARIANT_TYPE("a{sv}"));
        g_variant_builder_add(&spec, "{sv}", "scope", g_variant_new_string("own"));
        g_variant_builder_add(&spec, "{sv}", "events", g_variant_new_strv(events, -1));
        g_variant_builder_add(&spec, "{sv}", "lifetime", g_variant_new_string(lifetime));
        g_autoptr(GVariant) answer =
                        bus_call_manager(bus, "CreateSession", g_variant_new("(a{sv})", &spec));
        g_variant_get(answer, "(so)", &id, &path);
        if (!fixture.ids)
                fixture.ids = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(fixture.ids, id);
        return path;
}

static gboolean on_time(gpointer userdata) {
        *(gboolean *)userdata = TRUE;
        return G_SOURCE_REMOVE;
}

gboolean bus_wait(const gboolean *flag, unsigned msec) {
        gboolean over = FALSE;
        guint timer = g_timeout_add(msec, on_time, &over);

        while (!*flag && !over)
                g_main_context_iteration(NULL, TRUE);
        if (!over)
                g_source_remove(timer);
        return *flag;
}

unsigned bus_count_instances(void) {
        unsigned n = 0;

        for (guint i = 0; fixture.ids && i < fixture.ids->len; i++) {
                g_autofree char *path = g_strdup_printf("%s/instances/" KT_INSTANCE_PREFIX "%s",
                                fixture.tracefs,
                                (char *)fixture.ids->pdata[i]);
                n += g_file_test(path, G_FILE_TEST_IS_DIR);
        }
        return n;
}

void bus_wait_for_instances(unsigned n) {
        for (int i = 0; i < 500 && bus_count_instances() != n; i++)
                g_usleep(10000);
        g_assert_cmpuint(bus_count_instances(), ==, n);
}

typedef struct Test {
        void (*function)(void);
        gboolean needs_tracefs;
} Test;

static const char *unavailable;

static void run_test(gconstpointer userdata) {
        const Test *test = userdata;

        if (unavailable)
                g_test_skip(unavailable);
        else if (test->needs_tracefs && fixture.untraceable)
                g_test_skip(fixture.untraceable);
        else
                test->function();
}

void bus_test_add(const char *path, gboolean needs_tracefs, void (*function)(void)) {
        Test *test = g_new(Test, 1);

        *test = (Test){ function, needs_tracefs };
        g_test_add_data_func_full(path, test, run_test, g_free);
}

int bus_test_main(int argc, char **argv, void (*add_tests)(void)) {
        g_test_init(&argc, &argv, NULL);
        bus_fixture_start(&unavailable);
        add_tests();
        int r = g_test_run();
        bus_fixture_stop();
        return r;
}
