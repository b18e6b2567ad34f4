/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON to what D-Bus carries. */
#include "bus/variant.h"

#include <errno.h>
#include <glib.h>
#include <sys/socket.h>
#include <unistd.h>

static sd_bus *bus;

/* A bus that is never spoken to: a message belongs to one. */
static void make_bus(void) {
        int fds[2];

        g_assert_no_errno(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
        g_assert_cmpint(sd_bus_new(&bus), >=, 0);
        g_assert_cmpint(sd_bus_set_fd(bus, fds[0], fds[0]), >=, 0);
        g_assert_cmpint(sd_bus_start(bus), >=, 0);
        close(fds[1]);
}

static int convert(const char *json, sd_bus_message **ret) {
        json_object *o = json_tokener_parse(json);
        sd_bus_message *m = NULL;

        g_assert_nonnull(o);
        g_assert_cmpint(sd_bus_message_new_signal(bus, &m, "/a", "a.b", "c"), >=, 0);
        int r = variant_append_object(m, o);
        json_object_put(o);
        if (r == 0) {
                g_assert_cmpint(sd_bus_message_seal(m, 1, 0), >=, 0);
                g_assert_cmpstr(sd_bus_message_get_signature(m, 1), ==, "a{sv}");
                *ret = m;
        } else
                sd_bus_message_unref(m);
        return r;
}

/* Each reads {"k": …} back by exact types. */
#define EXPECT(json, signature, ...)                                                        \
        do {                                                                                \
                sd_bus_message *m = NULL;                                                   \
                g_assert_cmpint(convert("{\"k\":" json "}", &m), ==, 0);                    \
                const char *name;                                                           \
                g_assert_cmpint(sd_bus_message_enter_container(m, 'a', "{sv}"), >, 0);      \
                g_assert_cmpint(sd_bus_message_enter_container(m, 'e', "sv"), >, 0);        \
                g_assert_cmpint(sd_bus_message_read(m, "s", &name), >, 0);                  \
                g_assert_cmpint(sd_bus_message_read(m, "v", signature, __VA_ARGS__), >, 0); \
                sd_bus_message_unref(m);                                                    \
        } while (0)

static void test_scalars(void) {
        const char *s;
        int64_t x;
        uint64_t t;
        double d;
        int b;

        EXPECT("\"text\"", "s", &s);
        EXPECT("-5", "x", &x);
        g_assert_cmpint(x, ==, -5);
        EXPECT("9223372036854775807", "x", &x);
        g_assert_cmpint(x, ==, INT64_MAX);
        EXPECT("18446744073709551615", "t", &t);
        g_assert_cmpuint(t, ==, UINT64_MAX);
        EXPECT("true", "b", &b);
        g_assert_true(b);
        EXPECT("0.5", "d", &d);
        g_assert_cmpfloat(d, ==, 0.5);
}

static void test_lists(void) {
        const char *a, *b, *key;
        int64_t x, y;
        int on;

        EXPECT("[]", "as", 0);
        EXPECT("[\"a\",\"b\"]", "as", 2, &a, &b);
        EXPECT("[1,2]", "ax", 2, &x, &y);
        g_assert_cmpint(y, ==, 2);
        EXPECT("[{\"on\":true},{}]", "aa{sv}", 2, 1, &key, "b", &on, 0);
        EXPECT("{\"in\":7}", "a{sv}", 1, &key, "x", &x);
        g_assert_cmpint(x, ==, 7);
}

static void test_null_is_left_out(void) {
        sd_bus_message *m = NULL;
        const char *key;
        int64_t x;

        g_assert_cmpint(convert("{\"a\":null,\"b\":1}", &m), ==, 0);
        g_assert_cmpint(sd_bus_message_read(m, "a{sv}", 1, &key, "x", &x), >, 0);
        g_assert_cmpstr(key, ==, "b");
        sd_bus_message_unref(m);
}

static void test_refused(void) {
        static const char *const texts[] = { "[1]",
                "{\"k\":[1,\"a\"]}",
                "{\"k\":[\"a\",{}]}",
                "{\"k\":[[1]]}",
                "{\"k\":[null]}",
                "{\"k\":[true]}",
                "{\"k\":[{},1]}" };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                sd_bus_message *m = NULL;
                g_assert_cmpint(convert(texts[i], &m), ==, -EINVAL);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        make_bus();
        g_test_add_func("/variant/scalars", test_scalars);
        g_test_add_func("/variant/lists", test_lists);
        g_test_add_func("/variant/null-is-left-out", test_null_is_left_out);
        g_test_add_func("/variant/refused", test_refused);
        int r = g_test_run();
        sd_bus_unref(bus);
        return r;
}
