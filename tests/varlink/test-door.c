/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The real daemon over its Varlink socket: sessions live and end as over the bus, with the same
 * errors, for their owner alone. */
#include "bus-fixture.h"
#include "polkit-stub.h"
#include "varlink-client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define NO_ID "0123456789abcdef"
#define SPEC  "{\"spec\":{\"scope\":\"own\",\"events\":[\"task:task_rename\"],\"lifetime\":\"%s\"}}"

static char *socket_path;

static int visit(uid_t uid) {
        return varlink_connect(socket_path, uid, NULL);
}

static char *create(int sock, const char *lifetime) {
        g_autofree char *spec = g_strdup_printf(SPEC, lifetime);

        return varlink_get(sock, "CreateSession", spec, "id");
}

/* {"session":ID} */
static char *of(const char *id) {
        return g_strdup_printf("{\"session\":\"%s\"}", id);
}

static void succeed(int sock, const char *method, const char *parameters) {
        VarlinkAnswer answer = varlink_call(sock, method, parameters);

        if (answer.error)
                g_error("%s: %s: %s", method, answer.error, answer.reason);
        varlink_answer_clear(&answer);
}

static int get_fd(int sock, const char *method, const char *parameters, const char *result) {
        VarlinkAnswer answer = varlink_call(sock, method, parameters);

        if (answer.error)
                g_error("%s: %s: %s", method, answer.error, answer.reason);
        json_object *index = json_object_object_get(answer.parameters, result);
        g_assert_true(json_object_is_type(index, json_type_int));
        g_assert_cmpint(json_object_get_int(index), ==, 0);
        g_assert_cmpint(answer.fd, >=, 0);
        int fd = dup(answer.fd);
        varlink_answer_clear(&answer);
        return fd;
}

static void end_child(pid_t child) {
        g_assert_no_errno(kill(child, SIGKILL));
        g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
}

static void test_service(void) {
        g_autofree char *file = g_build_filename(
                        g_getenv("KTRACE_SOURCE_ROOT"), "interfaces", "org.ktrace1.varlink", NULL);
        g_autofree char *text = NULL;
        int sock = visit(UID_STRANGER);

        g_assert_true(g_file_get_contents(file, &text, NULL, NULL));
        varlink_send(sock,
                        FALSE,
                        "org.varlink.service.GetInterfaceDescription",
                        "{\"interface\":\"org.ktrace1\"}");
        json_object *message = varlink_receive(sock, NULL);
        json_object *got = json_object_object_get(message, "parameters");
        g_assert_cmpstr(json_object_get_string(json_object_object_get(got, "description")),
                        ==,
                        text);
        json_object_put(message);
        varlink_expect(sock, "NoSuchMethod", NULL, "org.varlink.service.MethodNotFound", NULL);
        varlink_expect(sock, "Start", NULL, "org.varlink.service.InvalidParameter", NULL);
        varlink_expect(sock,
                        "Start",
                        "{\"session\":1}",
                        "org.varlink.service.InvalidParameter",
                        NULL);
        varlink_expect(sock,
                        "ListSessions",
                        "{\"uid\":0}",
                        "org.varlink.service.InvalidParameter",
                        NULL);
        close(sock);
}

static void test_session(void) {
        int sock = visit(0), metadata, stream;
        g_autofree char *id = create(sock, "client");
        g_autofree char *session = of(id);
        char data[8];

        g_autofree char *sessions = varlink_get(sock, "ListSessions", NULL, "sessions");
        g_assert_nonnull(strstr(sessions, id));
        g_assert_nonnull(strstr(sessions, "\"state\": \"configured\""));
        g_autofree char *description = varlink_get(sock, "Describe", session, "session");
        g_assert_nonnull(strstr(description, "task:task_rename"));
        metadata = get_fd(sock, "GetMetadata", session, "metadata");
        g_assert_cmpint(fcntl(metadata, F_GET_SEALS), >, 0);
        stream = get_fd(sock, "OpenStream", session, "pipe");
        varlink_expect(sock, "OpenStream", session, "StreamBusy", NULL);
        succeed(sock, "Start", session);
        varlink_expect(sock, "Start", session, "WrongState", NULL);
        g_assert_cmpint(read(stream, data, sizeof(data)), ==, sizeof(data));
        g_autofree char *mark = g_strdup_printf("{\"session\":\"%s\",\"text\":\"here\"}", id);
        succeed(sock, "Mark", mark);
        g_autofree char *counts = varlink_get(sock, "GetStatistics", session, "statistics");
        g_assert_nonnull(strstr(counts, "\"recorded\""));
        g_autofree char *change = g_strdup_printf(
                        "{\"session\":\"%s\",\"changes\":{\"events-off\":[\"task:*\"]}}", id);
        succeed(sock, "Configure", change);
        succeed(sock, "Stop", session);
        succeed(sock, "Destroy", session);
        varlink_expect(sock, "Destroy", session, "NoSuchSession", NULL);
        close(metadata);
        close(stream);
        close(sock);
}

/* What the owner's connection may call, another user's may not even see. */
static void test_stranger(void) {
        static const char *const methods[] = { "Start",
                "Stop",
                "Destroy",
                "OpenStream",
                "OpenSink",
                "Clear",
                "OpenMarker",
                "Snapshot",
                "Describe",
                "GetStatistics",
                "GetMetadata" };
        int owner = visit(UID_OWNER), stranger = visit(UID_STRANGER), root = visit(0);
        g_autofree char *id = create(owner, "client");
        g_autofree char *session = of(id);

        for (size_t i = 0; i < G_N_ELEMENTS(methods); i++) {
                VarlinkAnswer known = varlink_call(stranger, methods[i], session);
                VarlinkAnswer none =
                                varlink_call(stranger, methods[i], "{\"session\":\"" NO_ID "\"}");
                /* Each says which was asked for, and nothing else tells them apart. */
                g_auto(GStrv) around = g_strsplit(known.reason, id, -1);
                g_autofree char *expected = g_strjoinv(NO_ID, around);

                g_assert_cmpstr(known.error, ==, "NoSuchSession");
                g_assert_cmpstr(known.error, ==, none.error);
                g_assert_cmpstr(none.reason, ==, expected);
                varlink_answer_clear(&known);
                varlink_answer_clear(&none);
        }
        g_autofree char *seen = varlink_get(stranger, "ListSessions", NULL, "sessions");
        g_assert_cmpstr(seen, ==, "[ ]");
        g_autofree char *asked = g_strdup_printf("{\"id\":\"%s\"}", id);
        varlink_expect(stranger, "GetSession", asked, "NoSuchSession", id);
        g_autofree char *found = varlink_get(root, "GetSession", asked, "id");
        g_assert_cmpstr(found, ==, id);
        varlink_send(stranger, TRUE, "org.ktrace1.Subscribe", session);
        json_object *message = varlink_receive(stranger, NULL);
        g_assert_cmpstr(json_object_get_string(json_object_object_get(message, "error")),
                        ==,
                        "org.ktrace1.NoSuchSession");
        json_object_put(message);
        succeed(owner, "Destroy", session);
        close(owner);
        close(stranger);
        close(root);
}

/* "{...}", or with "!" before it when no more follow. */
static char *hear(int sock) {
        json_object *message = varlink_receive(sock, NULL);
        g_assert_nonnull(message);
        json_object *news = json_object_object_get(message, "parameters");
        gboolean goes_on = json_object_get_boolean(json_object_object_get(message, "continues"));
        g_assert_cmpint(json_object_object_length(news), ==, 1);
        char *text = g_strdup_printf("%s%s",
                        goes_on ? "" : "!",
                        json_object_to_json_string_ext(news, JSON_C_TO_STRING_PLAIN));

        json_object_put(message);
        return text;
}

static void expect_news(int sock, const char *expected) {
        g_autofree char *news = hear(sock);

        g_assert_cmpstr(news, ==, expected);
}

static void test_subscribe(void) {
        int sock = visit(0), listener = visit(0);
        g_autofree char *id = create(sock, "linger");
        g_autofree char *session = of(id);

        varlink_expect(listener, "Subscribe", session, "org.varlink.service.ExpectedMore", NULL);
        varlink_send(listener, TRUE, "org.ktrace1.Subscribe", session);
        expect_news(listener, "{\"state\":\"configured\"}");
        succeed(sock, "Start", session);
        expect_news(listener, "{\"state\":\"starting\"}");
        expect_news(listener, "{\"state\":\"running\"}");
        succeed(sock, "Stop", session);
        expect_news(listener, "{\"state\":\"stopping\"}");
        expect_news(listener, "{\"state\":\"stopped\"}");
        succeed(sock, "Destroy", session);
        expect_news(listener, "!{\"state\":\"gone\"}");
        /* The connection is free again. */
        varlink_expect(listener, "Describe", session, "NoSuchSession", NULL);
        close(listener);
        close(sock);
}

/* "KIND VALUE"; only of the session `id`. */
static char *hear_watch(int sock, const char *id) {
        json_object *message = varlink_receive(sock, NULL);
        g_assert_nonnull(message);
        g_assert_true(json_object_get_boolean(json_object_object_get(message, "continues")));
        json_object *notice = json_object_object_get(
                        json_object_object_get(message, "parameters"), "notice");
        json_object *value = json_object_object_get(notice, "state")
                                             ?: json_object_object_get(notice, "code");
        g_assert_cmpstr(json_object_get_string(json_object_object_get(notice, "session")), ==, id);
        char *text = g_strdup_printf("%s %s",
                        json_object_get_string(json_object_object_get(notice, "kind")),
                        json_object_get_string(value));

        json_object_put(message);
        return text;
}

static void expect_watch(int sock, const char *id, const char *expected) {
        g_autofree char *text = hear_watch(sock, id);

        g_assert_cmpstr(text, ==, expected);
}

static void begin_watch(int sock, const char *parameters) {
        varlink_send(sock, TRUE, "org.ktrace1.Watch", parameters);
        json_object *message = varlink_receive(sock, NULL);
        g_assert_null(json_object_object_get(message, "error"));
        g_assert_cmpint(json_object_object_length(json_object_object_get(message, "parameters")),
                        ==,
                        0);
        json_object_put(message);
}

/* Who watches hears of sessions that came later, of the own user or of all. */
static void test_watch(void) {
        static const char *const all[] = { "state configured", "ended destroyed", "state gone" };
        int owner = visit(UID_OWNER), watcher = visit(UID_OWNER), stranger = visit(UID_STRANGER),
            root = visit(0);

        varlink_expect(watcher, "Watch", "{}", "org.varlink.service.ExpectedMore", NULL);
        begin_watch(watcher, "{}");
        begin_watch(stranger, "{\"options\":{\"all\":false}}");
        begin_watch(root, "{\"options\":{\"all\":true}}");
        g_autofree char *id = create(owner, "client");
        g_autofree char *session = of(id);
        succeed(owner, "Destroy", session);
        for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
                expect_watch(watcher, id, all[i]);
                expect_watch(root, id, all[i]);
        }
        /* The first that the stranger hears of is its own. */
        int other = visit(UID_STRANGER);
        g_autofree char *own = create(other, "client");
        expect_watch(stranger, own, "state configured");
        expect_watch(root, own, "state configured");
        close(other);
        expect_watch(stranger, own, "ended client-gone");
        close(owner);
        close(watcher);
        close(stranger);
        close(root);
}

static void expect_refused(int sock, const char *parameters, const char *error) {
        varlink_send(sock, TRUE, "org.ktrace1.Watch", parameters);
        json_object *message = varlink_receive(sock, NULL);

        g_assert_cmpstr(json_object_get_string(json_object_object_get(message, "error")),
                        ==,
                        error);
        json_object_put(message);
}

/* polkit decides about all; the daemon about the number. */
static void test_watch_refused(void) {
        int socks[9];
        pid_t child;

        socks[0] = varlink_connect(socket_path, UID_STRANGER, &child);
        for (size_t i = 1; i < G_N_ELEMENTS(socks); i++)
                socks[i] = visit(UID_STRANGER);
        polkit_stub_start(STUB_NO);
        expect_refused(socks[0], "{\"options\":{\"all\":true}}", "org.ktrace1.AccessDenied");
        polkit_stub_stop();
        polkit_stub_start(STUB_YES);
        begin_watch(socks[0], "{\"options\":{\"all\":true}}");
        polkit_stub_stop();
        expect_refused(socks[1], "{\"options\":{\"uid\":0}}", "org.ktrace1.UnknownKey");
        expect_refused(socks[1], "{\"options\":{\"all\":1}}", "org.ktrace1.InvalidSpec");
        for (size_t i = 1; i < 8; i++)
                begin_watch(socks[i], "{}");
        expect_refused(socks[8], "{}", "org.ktrace1.LimitReached");
        for (size_t i = 0; i < G_N_ELEMENTS(socks); i++)
                close(socks[i]);
        end_child(child);
}

/* Lifetime client is the connection's; who has subscribed is told by whom it ended. */
static void test_lifetime(void) {
        int sock = visit(UID_OWNER), listener = visit(UID_OWNER);
        g_autofree char *id = create(sock, "client");
        g_autofree char *kept = create(sock, "linger");
        g_autofree char *session = of(id);
        g_autofree char *kept_session = of(kept);

        varlink_send(listener, TRUE, "org.ktrace1.Subscribe", session);
        expect_news(listener, "{\"state\":\"configured\"}");
        close(sock);
        expect_news(listener,
                        "{\"ended\":{\"code\":\"client-gone\",\"reason\":\"its creator closed the connection\"}}");
        for (;;) {
                g_autofree char *news = hear(listener);

                if (g_str_equal(news, "!{\"state\":\"gone\"}"))
                        break;
                g_assert_true(g_str_has_prefix(news, "{\"state\":"));
        }
        g_autofree char *left = varlink_get(listener, "ListSessions", NULL, "sessions");
        g_assert_null(strstr(left, id));
        g_assert_nonnull(strstr(left, kept));
        succeed(listener, "Destroy", kept_session);
        close(listener);
}

static char *call_bus(GDBusConnection *bus,
                const char *path,
                const char *interface,
                const char *method,
                const char *arguments,
                char **ret_text) {
        char *name = NULL;
        g_autoptr(GVariant) answer = bus_call(bus,
                        path,
                        interface,
                        method,
                        g_variant_new_parsed(arguments),
                        &name,
                        ret_text);

        g_assert_null(answer);
        return name;
}

/* The same refusal by the same name with the same words, whichever door it is asked at. */
static void test_same_errors(void) {
        static const struct {
                const char *method, *arguments, *parameters;
        } calls[] = {
                { "CreateSession", "({'scope': <'all'>},)", "{\"spec\":{\"scope\":\"all\"}}" },
                { "CreateSession", "({'scop': <'own'>},)", "{\"spec\":{\"scop\":\"own\"}}" },
                { "CreateSession",
                                "({'scope': <'system'>, 'events': <['sched:*']>},)",
                                "{\"spec\":{\"scope\":\"system\",\"events\":[\"sched:*\"]}}" },
                { "CreateSession",
                                "({'scope': <'own'>, 'events': <['no:such']>},)",
                                "{\"spec\":{\"scope\":\"own\",\"events\":[\"no:such\"]}}" },
                { "CheckSession",
                                "({'scope': <'own'>, 'events': <['a']>, 'as-user': <uint32 0>},)",
                                "{\"spec\":{\"scope\":\"own\",\"events\":[\"a\"],\"as-user\":0}}" },
                { "DescribeEvent", "('no:such',)", "{\"name\":\"no:such\"}" },
                { "ResolveFunction", "('no such',)", "{\"function\":\"no such\"}" },
                { "AddProbe",
                                "({'name': <'a b'>, 'on': <'vfs_read'>},)",
                                "{\"definition\":{\"name\":\"a b\",\"on\":\"vfs_read\"}}" },
                { "AddProbes",
                                "([{'name': <'a'>, 'no': <'vfs_read'>}],)",
                                "{\"definitions\":[{\"name\":\"a\",\"no\":\"vfs_read\"}]}" },
                { "RemoveProbe", "('nobodys',)", "{\"name\":\"nobodys\"}" },
                { "GetSession", "('0123456789abcdef',)", "{\"id\":\"0123456789abcdef\"}" },
                { "Reload", "()", "{}" },
                { "Administrate", "()", "{}" },
        };

        g_autoptr(GDBusConnection) bus = bus_connect(UID_OWNER);
        pid_t child;
        int sock = varlink_connect(socket_path, UID_OWNER, &child);

        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                g_autofree char *text = NULL;
                g_autofree char *name = call_bus(bus,
                                KT_OBJECT,
                                KT_MANAGER_INTERFACE,
                                calls[i].method,
                                calls[i].arguments,
                                &text);
                VarlinkAnswer answer = varlink_call(sock, calls[i].method, calls[i].parameters);

                g_test_message("%s %s: %s", calls[i].method, calls[i].parameters, text);
                g_assert_true(g_str_has_prefix(name, KT_ERROR_PREFIX));
                g_assert_cmpstr(answer.error, ==, name + strlen(KT_ERROR_PREFIX));
                g_assert_cmpstr(answer.reason, ==, text);
                varlink_answer_clear(&answer);
        }
        end_child(child);
        close(sock);
}

/* polkit is asked about the process that has connected, and about nobody else's. */
static void test_polkit(void) {
        pid_t child;
        int sock = varlink_connect(socket_path, UID_STRANGER, &child);
        g_autofree char *pid = g_strdup_printf("'pid': <uint32 %d>", child);

        varlink_expect(sock, "Administrate", NULL, "AccessDenied", "not available");
        polkit_stub_start(STUB_CHALLENGE);
        varlink_expect(sock,
                        "Administrate",
                        NULL,
                        "InteractiveAuthorizationRequired",
                        "manage-sessions");
        g_autofree char *question = polkit_stub_get_question();
        g_assert_nonnull(strstr(question, "'unix-process'"));
        g_assert_nonnull(strstr(question, pid));
        g_assert_nonnull(strstr(question, "'uid': <2>"));
        g_assert_nonnull(strstr(question, "'start-time': <uint64 "));
        g_assert_nonnull(strstr(question, "}, 0, '")); /* no human may be asked */
        varlink_expect(sock,
                        "Administrate",
                        "{\"allowInteractiveAuthentication\":true}",
                        "InteractiveAuthorizationRequired",
                        "no polkit agent");
        g_autofree char *second = polkit_stub_get_question();
        g_assert_nonnull(strstr(second, "}, 1, '"));

        /* The right is this connection's, and ends with it. */
        int owner = visit(UID_OWNER), other = visit(UID_STRANGER);
        g_autofree char *id = create(owner, "client");
        g_autofree char *session = of(id);
        polkit_stub_set_mode(STUB_YES);
        succeed(sock, "Administrate", NULL);
        varlink_expect(sock, "Start", session, "AccessDenied", "belongs to another user");
        succeed(sock, "Describe", session);
        varlink_expect(other, "Describe", session, "NoSuchSession", NULL);
        succeed(sock, "Destroy", session);

        /* A yes does not count for a process that has ended meanwhile, nor is a question asked. */
        unsigned n = polkit_stub_count_asked();
        polkit_stub_set_mode(STUB_HANG);
        varlink_send(sock, FALSE, "org.ktrace1.Administrate", NULL);
        polkit_stub_wait_asked(n + 1);
        end_child(child);
        g_assert_cmpuint(polkit_stub_answer_all(TRUE), ==, 1);
        json_object *message = varlink_receive(sock, NULL);
        g_assert_cmpstr(json_object_get_string(json_object_object_get(message, "error")),
                        ==,
                        "org.ktrace1.AccessDenied");
        json_object_put(message);
        varlink_expect(sock, "Reload", NULL, "AccessDenied", "has ended");
        g_assert_cmpuint(polkit_stub_count_asked(), ==, n + 1);
        polkit_stub_stop();
        close(sock);
        close(owner);
        close(other);
}

/* Eight questions of one user at a time, however many doors they come by. */
static void test_shared_limit(void) {
        g_autoptr(GDBusConnection) bus = bus_connect(UID_STRANGER);
        int socks[4];
        pid_t children[4];

        polkit_stub_start(STUB_HANG);
        for (unsigned i = 0; i < 4; i++) {
                socks[i] = varlink_connect(socket_path, UID_STRANGER, &children[i]);
                varlink_send(socks[i], FALSE, "org.ktrace1.Administrate", NULL);
                g_dbus_connection_call(bus,
                                KT_BUS_NAME,
                                KT_OBJECT,
                                KT_MANAGER_INTERFACE,
                                "Administrate",
                                NULL,
                                NULL,
                                G_DBUS_CALL_FLAGS_NONE,
                                30000,
                                NULL,
                                NULL,
                                NULL);
        }
        polkit_stub_wait_asked(8);
        pid_t child;
        int late = varlink_connect(socket_path, UID_STRANGER, &child);
        varlink_expect(late, "Administrate", NULL, "LimitReached", "8 requests");
        bus_expect_error(bus,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "Administrate",
                        NULL,
                        KT_ERROR_PREFIX "LimitReached",
                        "8 requests");
        /* Who goes away takes the question back. */
        close(socks[0]);
        polkit_stub_wait_cancelled(1);
        for (unsigned i = 0; i < 4; i++) {
                end_child(children[i]);
                if (i > 0)
                        close(socks[i]);
        }
        polkit_stub_wait_cancelled(4);
        end_child(child);
        close(late);
        polkit_stub_stop();
}

static void add_tests(void) {
        socket_path = bus_fixture_make_runtime_path("org.ktrace1");
        bus_test_add("/varlink/service", FALSE, test_service);
        bus_test_add("/varlink/session", TRUE, test_session);
        bus_test_add("/varlink/stranger", TRUE, test_stranger);
        bus_test_add("/varlink/subscribe", TRUE, test_subscribe);
        bus_test_add("/varlink/watch", TRUE, test_watch);
        bus_test_add("/varlink/watch-refused", FALSE, test_watch_refused);
        bus_test_add("/varlink/lifetime", TRUE, test_lifetime);
        bus_test_add("/varlink/same-errors", TRUE, test_same_errors);
        bus_test_add("/varlink/polkit", TRUE, test_polkit);
        bus_test_add("/varlink/shared-limit", FALSE, test_shared_limit);
}

int main(int argc, char **argv) {
        return bus_test_main(argc, argv, add_tests);
}
