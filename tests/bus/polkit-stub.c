/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "polkit-stub.h"

#include "bus-fixture.h"

#define POLKIT_NAME "org.freedesktop.PolicyKit1"

static struct {
        GDBusConnection *bus;
        GMutex mutex;
        GCond changed;
        StubMode mode;
        GVariant *garbage;
        GPtrArray *open; /* questions that hang */
        char *question, *cancelled;
        unsigned n_asked, n_cancelled;
} stub;

static void reply(GDBusMessage *question, GVariant *body) {
        g_autoptr(GDBusMessage) m = g_dbus_message_new_method_reply(question);

        if (body)
                g_dbus_message_set_body(m, body);
        g_assert_true(g_dbus_connection_send_message(
                        stub.bus, m, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL, NULL));
}

static void reply_result(GDBusMessage *question, gboolean yes, gboolean challenge) {
        GVariantBuilder details;

        g_variant_builder_init(&details, G_VARIANT_TYPE("a{ss}"));
        g_variant_builder_add(&details, "{ss}", "polkit.retains_authorization_after_challenge", "");
        reply(question, g_variant_new("((bba{ss}))", yes, challenge, &details));
}

static void answer(GDBusMessage *question) {
        switch (stub.mode) {
        case STUB_YES:
        case STUB_NO:
                reply_result(question, stub.mode == STUB_YES, FALSE);
                break;
        case STUB_CHALLENGE:
                reply_result(question, FALSE, TRUE);
                break;
        case STUB_HANG:
                g_ptr_array_add(stub.open, g_object_ref(question));
                break;
        case STUB_ERROR: {
                g_autoptr(GDBusMessage) m = g_dbus_message_new_method_error(
                                question, POLKIT_NAME ".Error.Failed", "no such action");
                g_assert_true(g_dbus_connection_send_message(
                                stub.bus, m, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL, NULL));
                break;
        }
        case STUB_GARBAGE:
                reply(question, stub.garbage);
        }
}

/* Called by GDBus's own thread. */
static GDBusMessage *on_message(GDBusConnection *bus,
                GDBusMessage *m,
                gboolean incoming,
                gpointer userdata) {
        const char *member = g_dbus_message_get_member(m);
        GVariant *body = g_dbus_message_get_body(m);

        if (!incoming || g_dbus_message_get_message_type(m) != G_DBUS_MESSAGE_TYPE_METHOD_CALL)
                return m;
        g_mutex_lock(&stub.mutex);
        if (g_strcmp0(member, "CheckAuthorization") == 0) {
                g_free(stub.question);
                stub.question = g_variant_print(body, FALSE);
                stub.n_asked++;
                answer(m);
        } else if (g_strcmp0(member, "CancelCheckAuthorization") == 0) {
                g_free(stub.cancelled);
                g_variant_get(body, "(s)", &stub.cancelled);
                stub.n_cancelled++;
        }
        g_cond_broadcast(&stub.changed);
        g_mutex_unlock(&stub.mutex);
        g_object_unref(m);
        return NULL;
}

static void wait_for(const unsigned *count, unsigned n) {
        gint64 end = g_get_monotonic_time() + 15 * G_USEC_PER_SEC;

        g_mutex_lock(&stub.mutex);
        while (*count < n)
                if (!g_cond_wait_until(&stub.changed, &stub.mutex, end))
                        g_error("%u instead of %u", *count, n);
        g_mutex_unlock(&stub.mutex);
}

void polkit_stub_wait_asked(unsigned n) {
        wait_for(&stub.n_asked, n);
}

void polkit_stub_wait_cancelled(unsigned n) {
        wait_for(&stub.n_cancelled, n);
}

unsigned polkit_stub_count_asked(void) {
        g_mutex_lock(&stub.mutex);
        unsigned n = stub.n_asked;
        g_mutex_unlock(&stub.mutex);
        return n;
}

char *polkit_stub_get_question(void) {
        g_mutex_lock(&stub.mutex);
        char *text = g_strdup(stub.question);
        g_mutex_unlock(&stub.mutex);
        return text;
}

char *polkit_stub_get_cancelled(void) {
        g_mutex_lock(&stub.mutex);
        char *text = g_strdup(stub.cancelled);
        g_mutex_unlock(&stub.mutex);
        return text;
}

unsigned polkit_stub_answer_all(gboolean yes) {
        g_mutex_lock(&stub.mutex);
        unsigned n = stub.open->len;
        for (guint i = 0; i < n; i++)
                reply_result(stub.open->pdata[i], yes, FALSE);
        g_ptr_array_set_size(stub.open, 0);
        g_mutex_unlock(&stub.mutex);
        g_assert_true(g_dbus_connection_flush_sync(stub.bus, NULL, NULL));
        return n;
}

void polkit_stub_set_mode(StubMode mode) {
        g_mutex_lock(&stub.mutex);
        stub.mode = mode;
        g_mutex_unlock(&stub.mutex);
}

void polkit_stub_set_garbage(GVariant *body) {
        g_mutex_lock(&stub.mutex);
        g_clear_pointer(&stub.garbage, g_variant_unref);
        stub.garbage = body ? g_variant_ref_sink(body) : NULL;
        stub.mode = STUB_GARBAGE;
        g_mutex_unlock(&stub.mutex);
}

void polkit_stub_start(StubMode mode) {
        stub.bus = bus_connect(0);
        stub.open = g_ptr_array_new_with_free_func(g_object_unref);
        stub.mode = mode;
        stub.n_asked = stub.n_cancelled = 0;
        g_dbus_connection_add_filter(stub.bus, on_message, NULL, NULL);
        g_autoptr(GVariant) owned = bus_call(stub.bus,
                        "/org/freedesktop/DBus",
                        "org.freedesktop.DBus",
                        "RequestName",
                        g_variant_new("(su)", POLKIT_NAME, 4),
                        NULL,
                        NULL);
        g_assert_nonnull(owned);
}

void polkit_stub_stop(void) {
        g_assert_true(g_dbus_connection_close_sync(stub.bus, NULL, NULL));
        g_clear_object(&stub.bus);
        g_clear_pointer(&stub.open, g_ptr_array_unref);
        g_clear_pointer(&stub.garbage, g_variant_unref);
        g_clear_pointer(&stub.question, g_free);
        g_clear_pointer(&stub.cancelled, g_free);
}
