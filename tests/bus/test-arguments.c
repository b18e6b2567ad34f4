/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The arguments of a call become the JSON that a Varlink client would send, or are refused with the
 * place of the value. */
#include "bus/arguments.h"

#include <glib.h>
#include <math.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

static sd_bus *bus;

/* A message belongs to a bus; nothing is sent. */
static void make_bus(void) {
        int fds[2];

        g_assert_no_errno(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
        g_assert_cmpint(sd_bus_new(&bus), >=, 0);
        g_assert_cmpint(sd_bus_set_fd(bus, fds[0], fds[0]), >=, 0);
        g_assert_cmpint(sd_bus_start(bus), >=, 0);
        close(fds[1]);
}

static sd_bus_message *make_message(void) {
        sd_bus_message *m = NULL;

        g_assert_cmpint(sd_bus_message_new_signal(bus, &m, "/a", "a.b", "c"), >=, 0);
        return m;
}

/* Consumes the message, which has one argument. Returns its JSON as text, or "CODE: REASON". */
static char *read_message(sd_bus_message *m) {
        _cleanup_json_ json_object *o = NULL;
        Reason reason = {};

        g_assert_cmpint(sd_bus_message_seal(m, 1, 0), >=, 0);
        bool is_list = g_str_has_prefix(sd_bus_message_get_signature(m, 1), "aa");
        const Method method = { .name = "Method",
                .parameters = (const MethodValue[]){
                                { is_list ? "list" : "object",
                                                is_list ? VALUE_OBJECTS : VALUE_OBJECT,
                                                .place = "probes" },
                                {} } };
        int r = arguments_read(m, &method, &o, &reason);
        sd_bus_message_unref(m);
        g_assert_cmpint(r, >=, 0);
        g_assert_true((r == 0) == (o != NULL));
        if (r > 0)
                return g_strdup_printf("%d: %s", r, reason.text);
        json_object *argument = json_object_object_get(o, method.parameters[0].name);
        return g_strdup(json_object_to_json_string_ext(argument, JSON_C_TO_STRING_PLAIN));
}

#define EXPECT(text, ...)                                                      \
        do {                                                                   \
                sd_bus_message *m = make_message();                            \
                g_assert_cmpint(sd_bus_message_append(m, __VA_ARGS__), >=, 0); \
                g_autofree char *got = read_message(m);                        \
                g_assert_cmpstr(got, ==, text);                                \
        } while (0)

/* KT_E_INVALID_SPEC */
#define INVALID(text) "2: " text
#define WRONG_TYPE(place, got)                                                                   \
        INVALID(place ": expected a string, a number, true or false, a list (as, aa{sv}) or an " \
                      "object (a{sv}), got " got)

static void test_scalars(void) {
        EXPECT("{}", "a{sv}", 0);
        EXPECT("{\"k\":\"x\\\"y\"}", "a{sv}", 1, "k", "s", "x\"y");
        EXPECT("{\"a\":true,\"b\":false}", "a{sv}", 2, "a", "b", 1, "b", "b", 0);
        EXPECT("{\"k\":0.5}", "a{sv}", 1, "k", "d", 0.5);
}

/* Every integer type is a number, without loss. */
static void test_integers(void) {
        EXPECT("{\"k\":255}", "a{sv}", 1, "k", "y", 255);
        EXPECT("{\"k\":-1}", "a{sv}", 1, "k", "n", -1);
        EXPECT("{\"k\":65535}", "a{sv}", 1, "k", "q", 65535);
        EXPECT("{\"k\":-7}", "a{sv}", 1, "k", "i", -7);
        EXPECT("{\"k\":4294967295}", "a{sv}", 1, "k", "u", UINT32_MAX);
        EXPECT("{\"k\":-9223372036854775808}", "a{sv}", 1, "k", "x", INT64_MIN);
        EXPECT("{\"k\":18446744073709551615}", "a{sv}", 1, "k", "t", UINT64_MAX);
}

static void test_lists(void) {
        EXPECT("{\"k\":[]}", "a{sv}", 1, "k", "as", 0);
        EXPECT("{\"k\":[\"a\",\"b\"],\"l\":1}", "a{sv}", 2, "k", "as", 2, "a", "b", "l", "u", 1);
        EXPECT("{\"k\":[{\"a\":[{\"b\":1}]},{}]}",
                        "a{sv}",
                        1,
                        "k",
                        "aa{sv}",
                        2,
                        1,
                        "a",
                        "aa{sv}",
                        1,
                        1,
                        "b",
                        "i",
                        1,
                        0);
        EXPECT("[{\"a\":1},{}]", "aa{sv}", 2, 1, "a", "i", 1, 0);
}

static void test_types(void) {
        EXPECT(WRONG_TYPE("k", "an object path"), "a{sv}", 1, "k", "o", "/own");
        EXPECT(WRONG_TYPE("k", "a signature"), "a{sv}", 1, "k", "g", "s");
        EXPECT(WRONG_TYPE("k", "a variant"), "a{sv}", 1, "k", "v", "s", "own");
        EXPECT(WRONG_TYPE("k", "a structure"), "a{sv}", 1, "k", "(s)", "own");
        EXPECT(WRONG_TYPE("k", "a list of another type"), "a{sv}", 1, "k", "ai", 1, 1);
        EXPECT(WRONG_TYPE("k", "a list of another type"), "a{sv}", 1, "k", "av", 1, "s", "a");
        EXPECT(WRONG_TYPE("k", "a dictionary of another type"), "a{sv}", 1, "k", "a{ss}", 0);
        EXPECT(INVALID("k: NaN, infinity, or a number too close to 0"),
                        "a{sv}",
                        1,
                        "k",
                        "d",
                        (double)NAN);
        EXPECT(WRONG_TYPE("k[1].l.m", "a variant"),
                        "a{sv}",
                        1,
                        "k",
                        "aa{sv}",
                        2,
                        0,
                        1,
                        "l",
                        "a{sv}",
                        1,
                        "m",
                        "v",
                        "i",
                        1);
}

/* JSON has no duplicate keys, a D-Bus dictionary may have them. */
static void test_twice(void) {
        EXPECT(INVALID("k: given twice: give it once"), "a{sv}", 2, "k", "i", 1, "k", "i", 1);
        EXPECT(INVALID("k[1].l: given twice: give it once"),
                        "a{sv}",
                        1,
                        "k",
                        "aa{sv}",
                        2,
                        0,
                        2,
                        "l",
                        "i",
                        1,
                        "l",
                        "s",
                        "a");
        EXPECT(INVALID("probes[1]: k: given twice: give it once"),
                        "aa{sv}",
                        2,
                        0,
                        2,
                        "k",
                        "i",
                        1,
                        "k",
                        "i",
                        1);
}

static void open_variant(sd_bus_message *m, const char *type) {
        g_assert_cmpint(sd_bus_message_open_container(m, 'a', "{sv}"), >=, 0);
        g_assert_cmpint(sd_bus_message_open_container(m, 'e', "sv"), >=, 0);
        g_assert_cmpint(sd_bus_message_append(m, "s", "k"), >=, 0);
        g_assert_cmpint(sd_bus_message_open_container(m, 'v', type), >=, 0);
}

static void close_all(sd_bus_message *m, int n) {
        while (n-- > 0)
                g_assert_cmpint(sd_bus_message_close_container(m), >=, 0);
}

static char *read_deep(int depth) {
        sd_bus_message *m = make_message();

        for (int i = 1; i < depth; i++)
                open_variant(m, "a{sv}");
        g_assert_cmpint(sd_bus_message_append(m, "a{sv}", 0), >=, 0);
        close_all(m, 3 * (depth - 1));
        return read_message(m);
}

static void test_depth(void) {
        g_autofree char *good = read_deep(16), *bad = read_deep(17);

        g_assert_true(g_str_has_prefix(good, "{\"k\":{\"k\":"));
        g_assert_true(g_str_has_prefix(bad, INVALID("k.k.k.k.")));
        g_assert_true(g_str_has_suffix(bad, "nested too deep, the maximum is 16 levels"));
}

/* Two values are the object and the list. */
static char *read_many(size_t n, bool are_objects) {
        sd_bus_message *m = make_message();

        open_variant(m, are_objects ? "aa{sv}" : "as");
        g_assert_cmpint(sd_bus_message_open_container(m, 'a', are_objects ? "a{sv}" : "s"), >=, 0);
        for (size_t i = 2; i < n; i++)
                g_assert_cmpint(are_objects ? sd_bus_message_append(m, "a{sv}", 0)
                                            : sd_bus_message_append(m, "s", ""),
                                >=,
                                0);
        close_all(m, 4);
        return read_message(m);
}

static void test_many(void) {
        g_autofree char *good = read_many(ARGUMENTS_VALUES_MAX, false);
        g_autofree char *strings = read_many(ARGUMENTS_VALUES_MAX + 1, false);
        g_autofree char *objects = read_many(ARGUMENTS_VALUES_MAX + 1, true);

        g_assert_true(g_str_has_prefix(good, "{\"k\":[\"\","));
        g_assert_cmpstr(strings, ==, INVALID("k[40958]: too many values in one call"));
        g_assert_cmpstr(objects, ==, INVALID("k[40958]: too many values in one call"));
}

static void test_long(void) {
        g_autofree char *half = g_strnfill(ARGUMENTS_TEXT_MAX / 2, 'x');
        g_autofree char *key = g_strnfill(257, 'k');

        EXPECT(INVALID("k[2]: more than 16 MiB of text in one call"),
                        "a{sv}",
                        1,
                        "k",
                        "as",
                        3,
                        half,
                        half,
                        "x");
        /* KT_E_UNKNOWN_KEY */
        EXPECT("3: unknown key \"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk...\": "
               "it is longer than any known one",
                        "a{sv}",
                        1,
                        key,
                        "i",
                        1);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        make_bus();
        g_test_add_func("/arguments/scalars", test_scalars);
        g_test_add_func("/arguments/integers", test_integers);
        g_test_add_func("/arguments/lists", test_lists);
        g_test_add_func("/arguments/types", test_types);
        g_test_add_func("/arguments/twice", test_twice);
        g_test_add_func("/arguments/depth", test_depth);
        g_test_add_func("/arguments/many", test_many);
        g_test_add_func("/arguments/long", test_long);
        int r = g_test_run();
        sd_bus_unref(bus);
        return r;
}
