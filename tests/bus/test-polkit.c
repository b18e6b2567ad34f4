/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a rule leaves to polkit happens on its well-formed yes to this caller and this request, and
 * on nothing else; and while polkit thinks, nobody else waits. The real polkit is asked in
 * tests/guest/polkit.sh. */
#include "bus-fixture.h"
#include "polkit-stub.h"

#define DENIED   KT_ERROR_PREFIX "AccessDenied"
#define REQUIRED KT_ERROR_PREFIX "InteractiveAuthorizationRequired"
#define LIMIT    KT_ERROR_PREFIX "LimitReached"

#define PER_UID_MAX 8
#define TOTAL_MAX   64

static GDBusConnection *owner, *root;

/* One CreateSession on its way. */
typedef struct Creation {
        char *path, *name, *text;
        gboolean done;
} Creation;

static GVariant *make_spec(void) {
        return g_variant_new_parsed("({'scope': <'own'>, 'events': <['task:task_rename', "
                                    "'sched:sched_process_*']>},)");
}

static void take_answer(Creation *creation, GVariant *answer, GError *error) {
        if (answer)
                g_variant_get(answer, "(so)", NULL, &creation->path);
        else {
                creation->name = g_dbus_error_get_remote_error(error);
                creation->text = g_strdup(error->message);
        }
        creation->done = TRUE;
}

static void on_created(GObject *bus, GAsyncResult *result, gpointer userdata) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GVariant) answer =
                        g_dbus_connection_call_finish(G_DBUS_CONNECTION(bus), result, &error);

        take_answer(userdata, answer, error);
}

static void begin(GDBusConnection *bus, GDBusCallFlags flags, Creation *creation) {
        *creation = (Creation){ 0 };
        g_dbus_connection_call(bus,
                        KT_BUS_NAME,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "CreateSession",
                        make_spec(),
                        NULL,
                        flags,
                        30000,
                        NULL,
                        on_created,
                        creation);
        g_assert_true(g_dbus_connection_flush_sync(bus, NULL, NULL));
}

static void await(Creation *creation) {
        g_assert_true(bus_wait(&creation->done, 30000));
}

static void creation_clear(Creation *creation) {
        g_free(creation->path);
        g_free(creation->name);
        g_free(creation->text);
}

static void expect_refused(GDBusCallFlags flags, const char *name, const char *text) {
        Creation creation;

        begin(owner, flags, &creation);
        await(&creation);
        g_assert_cmpstr(creation.path, ==, NULL);
        g_assert_cmpstr(creation.name, ==, name);
        if (!strstr(creation.text, text))
                g_error("\"%s\" is not in \"%s\"", text, creation.text);
        creation_clear(&creation);
}

static unsigned count_sessions(void) {
        g_autoptr(GVariant) answer = bus_call_manager(root, "ListSessions", NULL);
        g_autoptr(GVariant) list = g_variant_get_child_value(answer, 0);

        return (unsigned)g_variant_n_children(list);
}

static void destroy(const char *path) {
        g_autoptr(GVariant) answer =
                        bus_call(root, path, KT_SESSION_INTERFACE, "Destroy", NULL, NULL, NULL);
        g_assert_nonnull(answer);
}

static void expect_in(const char *text, const char *part) {
        if (!strstr(text, part))
                g_error("\"%s\" is not in \"%s\"", part, text);
}

static void test_absent(void) {
        expect_refused(G_DBUS_CALL_FLAGS_NONE, DENIED, "not available");
        expect_refused(G_DBUS_CALL_FLAGS_ALLOW_INTERACTIVE_AUTHORIZATION, DENIED, "trace-own");
        /* Whom no rule leaves to polkit. */
        g_autofree char *path = bus_create_session(root, "client");
        destroy(path);
}

static void test_yes(void) {
        g_autofree char *peer =
                        g_strdup_printf("'name': <'%s'>", g_dbus_connection_get_unique_name(owner));
        Creation creation;

        polkit_stub_start(STUB_YES);
        begin(owner, G_DBUS_CALL_FLAGS_NONE, &creation);
        await(&creation);
        g_assert_cmpstr(creation.text, ==, NULL);
        g_assert_cmpuint(count_sessions(), ==, 1);
        destroy(creation.path);
        creation_clear(&creation);

        g_autofree char *question = polkit_stub_get_question();
        expect_in(question, "'system-bus-name'");
        expect_in(question, peer);
        expect_in(question, "'org.ktrace1.trace-own'");
        expect_in(question, "'ktrace.scope': 'own'");
        expect_in(question, "'ktrace.events': 'task:task_rename, sched:sched_process_*'");
        expect_in(question, "'ktrace.owner': '1'");
        expect_in(question, "$(ktrace.events)");
        /* No human may be asked. */
        expect_in(question, "}, 0, '");

        begin(owner, G_DBUS_CALL_FLAGS_ALLOW_INTERACTIVE_AUTHORIZATION, &creation);
        await(&creation);
        g_autofree char *second = polkit_stub_get_question();
        expect_in(second, "}, 1, '");
        destroy(creation.path);
        creation_clear(&creation);
        g_assert_cmpuint(polkit_stub_count_asked(), ==, 2);
        polkit_stub_stop();
}

static void test_no(void) {
        polkit_stub_start(STUB_NO);
        expect_refused(G_DBUS_CALL_FLAGS_NONE, DENIED, "does not allow");
        polkit_stub_set_mode(STUB_CHALLENGE);
        expect_refused(G_DBUS_CALL_FLAGS_NONE, REQUIRED, "--no-ask-password");
        expect_refused(G_DBUS_CALL_FLAGS_ALLOW_INTERACTIVE_AUTHORIZATION,
                        REQUIRED,
                        "no polkit agent");
        polkit_stub_set_mode(STUB_ERROR);
        expect_refused(G_DBUS_CALL_FLAGS_NONE,
                        DENIED,
                        "cannot decide: org.freedesktop.PolicyKit1.Error.Failed: no such action");
        polkit_stub_stop();
        g_assert_cmpuint(count_sessions(), ==, 0);
}

static void test_garbage(void) {
        static const char *const bodies[] = {
                "(true,)",
                "(true, false, @a{ss} {})",
                "('yes',)",
                "((true, false),)",
                "((true, false, @a{sv} {}),)",
                "((1, 0, @a{ss} {}),)",
                "(<(true, false, @a{ss} {})>,)",
                "([(true, false, @a{ss} {})],)",
        };

        polkit_stub_start(STUB_GARBAGE);
        expect_refused(G_DBUS_CALL_FLAGS_NONE, DENIED, "nonsense");
        for (size_t i = 0; i < G_N_ELEMENTS(bodies); i++) {
                polkit_stub_set_garbage(g_variant_new_parsed(bodies[i]));
                expect_refused(G_DBUS_CALL_FLAGS_NONE, DENIED, "nonsense");
        }
        polkit_stub_stop();
        g_assert_cmpuint(count_sessions(), ==, 0);
}

/* Nobody else notices; when the caller leaves, polkit's dialog goes. */
static void test_hang(void) {
        GDBusConnection *leaving = bus_connect(UID_OWNER);
        Creation creation;

        polkit_stub_start(STUB_HANG);
        begin(leaving, G_DBUS_CALL_FLAGS_ALLOW_INTERACTIVE_AUTHORIZATION, &creation);
        polkit_stub_wait_asked(1);
        gint64 begun = g_get_monotonic_time();
        g_autofree char *path = bus_create_session(root, "client");
        g_autoptr(GVariant) limits = bus_call_manager(owner, "GetLimits", NULL);
        g_autoptr(GVariant) own = bus_call_manager(leaving, "GetLimits", NULL);
        g_assert_cmpint(g_get_monotonic_time() - begun, <, 5 * G_USEC_PER_SEC);
        destroy(path);

        g_autofree char *question = polkit_stub_get_question();
        g_assert_true(g_dbus_connection_close_sync(leaving, NULL, NULL));
        g_object_unref(leaving);
        polkit_stub_wait_cancelled(1);
        g_autofree char *id = polkit_stub_get_cancelled();
        expect_in(question, id);

        /* Too late. */
        g_assert_cmpuint(polkit_stub_answer_all(TRUE), ==, 1);
        g_assert_cmpuint(count_sessions(), ==, 0);
        await(&creation);
        creation_clear(&creation);
        polkit_stub_stop();
        g_assert_cmpuint(count_sessions(), ==, 0);
}

static void test_dies(void) {
        Creation creation;

        polkit_stub_start(STUB_HANG);
        begin(owner, G_DBUS_CALL_FLAGS_ALLOW_INTERACTIVE_AUTHORIZATION, &creation);
        polkit_stub_wait_asked(1);
        polkit_stub_stop();
        await(&creation);
        g_assert_cmpstr(creation.name, ==, DENIED);
        expect_in(creation.text, "does not reply");
        creation_clear(&creation);
}

/* Where no human is asked, ten seconds are enough. */
static void test_silent(void) {
        gint64 begun = g_get_monotonic_time();

        polkit_stub_start(STUB_HANG);
        expect_refused(G_DBUS_CALL_FLAGS_NONE, DENIED, "does not reply");
        g_assert_cmpint(g_get_monotonic_time() - begun, >, 9 * G_USEC_PER_SEC);
        polkit_stub_wait_cancelled(1);
        g_assert_cmpuint(polkit_stub_answer_all(TRUE), ==, 1);
        g_assert_cmpuint(count_sessions(), ==, 0);
        polkit_stub_stop();
}

/* A yes that was not polkit's. */
static void test_forged(void) {
        g_autoptr(GDBusConnection) forger = bus_connect(UID_STRANGER);
        g_autoptr(GVariant) answer = bus_call(forger,
                        "/org/freedesktop/DBus",
                        "org.freedesktop.DBus",
                        "GetNameOwner",
                        g_variant_new("(s)", KT_BUS_NAME),
                        NULL,
                        NULL);
        const char *daemon;
        Creation creation;

        g_variant_get(answer, "(&s)", &daemon);
        polkit_stub_start(STUB_HANG);
        begin(owner, G_DBUS_CALL_FLAGS_ALLOW_INTERACTIVE_AUTHORIZATION, &creation);
        polkit_stub_wait_asked(1);
        for (guint32 serial = 1; serial <= 300; serial++) {
                g_autoptr(GDBusMessage) m = g_dbus_message_new();
                g_dbus_message_set_message_type(m, G_DBUS_MESSAGE_TYPE_METHOD_RETURN);
                g_dbus_message_set_destination(m, daemon);
                g_dbus_message_set_reply_serial(m, serial);
                g_dbus_message_set_body(m, g_variant_new_parsed("((true, false, @a{ss} {}),)"));
                g_assert_true(g_dbus_connection_send_message(
                                forger, m, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL, NULL));
        }
        g_autoptr(GVariant) limits = bus_call_manager(forger, "GetLimits", NULL);
        g_assert_cmpuint(count_sessions(), ==, 0);
        g_assert_false(creation.done);
        g_assert_cmpuint(polkit_stub_answer_all(FALSE), ==, 1);
        await(&creation);
        g_assert_cmpstr(creation.name, ==, DENIED);
        creation_clear(&creation);
        polkit_stub_stop();
}

/* Starts n creations and waits until all but `open` of them are refused for their number. */
static void begin_many(GDBusConnection *bus, Creation *creations, unsigned n, unsigned open) {
        unsigned n_refused = 0;

        for (unsigned i = 0; i < n; i++)
                begin(bus, G_DBUS_CALL_FLAGS_ALLOW_INTERACTIVE_AUTHORIZATION, &creations[i]);
        /* In the order of their coming. */
        for (unsigned i = open; i < n; i++) {
                await(&creations[i]);
                g_assert_cmpstr(creations[i].name, ==, LIMIT);
                n_refused++;
        }
        g_assert_cmpuint(n_refused, ==, n - open);
}

static void expect_all_denied(Creation *creations, unsigned n) {
        for (unsigned i = 0; i < n; i++) {
                await(&creations[i]);
                g_assert_cmpstr(creations[i].name, ==, DENIED);
        }
}

static void test_limit(void) {
        Creation creations[100];

        polkit_stub_start(STUB_HANG);
        begin_many(owner, creations, G_N_ELEMENTS(creations), PER_UID_MAX);
        g_assert_cmpuint(polkit_stub_count_asked(), ==, PER_UID_MAX);
        g_assert_cmpuint(polkit_stub_answer_all(FALSE), ==, PER_UID_MAX);
        expect_all_denied(creations, PER_UID_MAX);
        for (size_t i = 0; i < G_N_ELEMENTS(creations); i++)
                creation_clear(&creations[i]);

        /* They count no longer. */
        polkit_stub_set_mode(STUB_YES);
        begin(owner, G_DBUS_CALL_FLAGS_NONE, creations);
        await(creations);
        g_assert_cmpstr(creations->name, ==, NULL);
        destroy(creations->path);
        creation_clear(creations);
        polkit_stub_stop();
}

static void test_limit_of_all(void) {
        GDBusConnection *users[TOTAL_MAX / PER_UID_MAX + 1];
        Creation creations[G_N_ELEMENTS(users)][PER_UID_MAX];
        const unsigned last = G_N_ELEMENTS(users) - 1;

        polkit_stub_start(STUB_HANG);
        for (unsigned i = 0; i < G_N_ELEMENTS(users); i++) {
                users[i] = bus_connect(i + 1);
                begin_many(users[i], creations[i], PER_UID_MAX, i < last ? PER_UID_MAX : 0);
                polkit_stub_wait_asked(MIN(i + 1, last) * PER_UID_MAX);
        }
        /* The others are served. */
        g_autofree char *path = bus_create_session(root, "client");
        destroy(path);
        g_assert_cmpuint(polkit_stub_answer_all(FALSE), ==, TOTAL_MAX);
        for (unsigned i = 0; i < last; i++)
                expect_all_denied(creations[i], PER_UID_MAX);
        for (unsigned i = 0; i < G_N_ELEMENTS(users); i++) {
                for (unsigned j = 0; j < PER_UID_MAX; j++)
                        creation_clear(&creations[i][j]);
                g_object_unref(users[i]);
        }
        polkit_stub_stop();
}

/* What waits is answered when the daemon ends. */
static void test_daemon_ends(void) {
        Creation creation;

        polkit_stub_start(STUB_HANG);
        begin(owner, G_DBUS_CALL_FLAGS_ALLOW_INTERACTIVE_AUTHORIZATION, &creation);
        polkit_stub_wait_asked(1);
        bus_fixture_end_daemon();
        polkit_stub_wait_cancelled(1);
        await(&creation);
        g_assert_cmpstr(creation.name, ==, KT_ERROR_PREFIX "Cancelled");
        creation_clear(&creation);
        polkit_stub_stop();
        bus_fixture_start_daemon();
}

static const char rules[] = "{\"rules\":[{\"name\":\"asks\",\"subjects\":[\"any\"],"
                            "\"scopes\":[\"own\"],\"polkit\":\"trace-own\",\"events\":["
                            "\"task:task_rename\",\"sched:sched_process_*\"]}]}";

static void add_tests(void) {
        bus_test_add("/polkit/absent", TRUE, test_absent);
        bus_test_add("/polkit/yes", TRUE, test_yes);
        bus_test_add("/polkit/no", TRUE, test_no);
        bus_test_add("/polkit/garbage", TRUE, test_garbage);
        bus_test_add("/polkit/hang", TRUE, test_hang);
        bus_test_add("/polkit/dies", TRUE, test_dies);
        bus_test_add("/polkit/silent", TRUE, test_silent);
        bus_test_add("/polkit/forged", TRUE, test_forged);
        bus_test_add("/polkit/limit", TRUE, test_limit);
        bus_test_add("/polkit/limit-of-all", TRUE, test_limit_of_all);
        bus_test_add("/polkit/daemon-ends", TRUE, test_daemon_ends);
        if (bus_fixture_get_daemon() == 0)
                return;
        bus_fixture_write_rules("10-polkit.json", rules);
        bus_fixture_end_daemon();
        bus_fixture_start_daemon();
        owner = bus_connect(UID_OWNER);
        root = bus_connect(0);
}

int main(int argc, char **argv) {
        return bus_test_main(argc, argv, add_tests);
}
