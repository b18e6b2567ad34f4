/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "certification.h"

#include <glib.h>
#include <stdio.h>

#include "interfaces/json.h"
#include "varlink/varlink-call.h"

#define CLIENT_ID "one-and-only"
#define N_REPLIES 10

/* What each test answers, and the next one has to come with. */
static const char *const answers[] = {
        NULL,
        "{\"bool\":true}",
        "{\"int\":-42}",
        "{\"float\":1.5}",
        "{\"string\":\"gr\xc3\xbc\xc3\x9f dich \\\"\\\\\\n/\"}",
        "{\"bool\":false,\"int\":9007199254740991,\"float\":-1e-300,\"string\":\"\"}",
        "{\"struct\":{\"bool\":false,\"int\":2,\"float\":3.14,\"string\":\"test\"}}",
        "{\"map\":{\"foo\":\"Foo\",\"bar\":\"Bar\"}}",
        "{\"set\":{\"one\":{},\"two\":{},\"three\":{}}}",
        "{\"mytype\":{"
        "\"object\":{\"method\":\"org.varlink.certification.Test09\",\"parameters\":{\"map\":{}}},"
        "\"enum\":\"two\","
        "\"struct\":{\"first\":1,\"second\":\"2\"},"
        "\"array\":[\"one\",\"two\",\"three\"],"
        "\"dictionary\":{\"foo\":\"Foo\",\"bar\":\"Bar\"},"
        "\"stringset\":{\"one\":{},\"two\":{}},"
        "\"nullable\":\"here\","
        "\"nullable_array_struct\":[{\"first\":1,\"second\":\"2\"}],"
        "\"interface\":{\"foo\":[null,{\"foo\":\"foo\",\"bar\":\"bar\"},null,{\"one\":\"baz\"}],"
        "\"anon\":{\"foo\":true,\"bar\":false}}}}",
};

static json_object *parse(const char *text) {
        json_object *object = NULL;

        g_assert_cmpint(json_parse_strict("test", text, strlen(text), &object, NULL), ==, 0);
        return object;
}

static void refuse(Certification *certification,
                VarlinkCall *call,
                json_object *wants,
                json_object *got) {
        _cleanup_json_ json_object *parameters = json_object_new_object();

        g_test_message("wants %s, got %s",
                        json_object_to_json_string(wants),
                        json_object_to_json_string(got));
        certification->n_refused++;
        json_object_object_add(parameters, "wants", json_object_get(wants));
        json_object_object_add(parameters, "got", json_object_get(got));
        varlink_call_error(call, "org.varlink.certification.CertificationError", parameters);
}

/* Is it what this test has to come with? Else the call is answered. */
static bool check(Certification *certification,
                VarlinkCall *call,
                json_object *parameters,
                json_object *wants) {
        json_object_object_add(wants, "client_id", json_object_new_string(CLIENT_ID));
        if (json_object_equal(wants, parameters))
                return true;
        refuse(certification, call, wants, parameters);
        return false;
}

static void answer(VarlinkCall *call, const char *text) {
        _cleanup_json_ json_object *parameters = parse(text);

        varlink_call_reply(call, parameters, -1);
}

static void start(VarlinkCall *call, json_object *parameters, void *userdata) {
        answer(call, "{\"client_id\":\"" CLIENT_ID "\"}");
}

static void run_test(unsigned n, VarlinkCall *call, json_object *parameters, void *userdata) {
        _cleanup_json_ json_object *wants = parse(answers[n - 1] ?: "{}");

        if (check(userdata, call, parameters, wants))
                answer(call, answers[n]);
}

#define TEST(n)                                                                            \
        static void test_##n(VarlinkCall *call, json_object *parameters, void *userdata) { \
                run_test(n, call, parameters, userdata);                                   \
        }
TEST(1)
TEST(2)
TEST(3)
TEST(4)
TEST(5)
TEST(6)
TEST(7)
TEST(8)
TEST(9)

static json_object *make_reply(unsigned i) {
        g_autofree char *text = g_strdup_printf("Reply number %u", i);

        return json_object_new_string(text);
}

static void test_10(VarlinkCall *call, json_object *parameters, void *userdata) {
        _cleanup_json_ json_object *wants = parse(answers[9]);

        if (!check(userdata, call, parameters, wants))
                return;
        for (unsigned i = 1; i <= N_REPLIES; i++) {
                _cleanup_json_ json_object *reply = json_object_new_object();

                json_object_object_add(reply, "string", make_reply(i));
                if (i < N_REPLIES)
                        varlink_call_notify(call, reply);
                else
                        varlink_call_reply(call, reply, -1);
        }
}

static void test_11(VarlinkCall *call, json_object *parameters, void *userdata) {
        _cleanup_json_ json_object *wants = json_object_new_object();
        json_object *list = json_object_new_array();

        for (unsigned i = 1; i <= N_REPLIES; i++)
                json_object_array_add(list, make_reply(i));
        json_object_object_add(wants, "last_more_replies", list);
        if (check(userdata, call, parameters, wants))
                varlink_call_reply(call, NULL, -1);
}

static void end(VarlinkCall *call, json_object *parameters, void *userdata) {
        Certification *certification = userdata;
        _cleanup_json_ json_object *wants = json_object_new_object();

        if (!check(certification, call, parameters, wants))
                return;
        certification->has_ended = certification->n_refused == 0;
        answer(call, certification->has_ended ? "{\"all_ok\":true}" : "{\"all_ok\":false}");
}

#define PARAMETERS(...)                                        \
        (const VarlinkParameter[]) {                           \
                { "client_id", json_type_string }, __VA_ARGS__ \
        }

static const VarlinkMethod methods[] = {
        { "Start", start },
        { "Test01", test_1, PARAMETERS({}) },
        { "Test02", test_2, PARAMETERS({ "bool", json_type_boolean }, {}) },
        { "Test03", test_3, PARAMETERS({ "int", json_type_int }, {}) },
        { "Test04", test_4, PARAMETERS({ "float", json_type_double }, {}) },
        { "Test05", test_5, PARAMETERS({ "string", json_type_string }, {}) },
        { "Test06",
                        test_6,
                        PARAMETERS({ "bool", json_type_boolean },
                                        { "int", json_type_int },
                                        { "float", json_type_double },
                                        { "string", json_type_string },
                                        {}) },
        { "Test07", test_7, PARAMETERS({ "struct", json_type_object }, {}) },
        { "Test08", test_8, PARAMETERS({ "map", json_type_object }, {}) },
        { "Test09", test_9, PARAMETERS({ "set", json_type_object }, {}) },
        { "Test10", test_10, PARAMETERS({ "mytype", json_type_object }, {}), true },
        { "Test11", test_11, PARAMETERS({ "last_more_replies", json_type_array }, {}) },
        { "End", end, PARAMETERS({}) },
};

const VarlinkInterface certification_interface = {
        .name = "org.varlink.certification",
        .description = "# Interface to test varlink implementations against.\n"
                       "interface org.varlink.certification\n"
                       "\n"
                       "type Interface (\n"
                       "  foo: ?[]?[string](foo, bar, baz),\n"
                       "  anon: (foo: bool, bar: bool)\n"
                       ")\n"
                       "\n"
                       "type MyType (\n"
                       "  object: object,\n"
                       "  enum: (one, two, three),\n"
                       "  struct: (first: int, second: string),\n"
                       "  array: []string,\n"
                       "  dictionary: [string]string,\n"
                       "  stringset: [string](),\n"
                       "  nullable: ?string,\n"
                       "  nullable_array_struct: ?[](first: int, second: string),\n"
                       "  interface: Interface\n"
                       ")\n"
                       "\n"
                       "method Start() -> (client_id: string)\n"
                       "method Test01(client_id: string) -> (bool: bool)\n"
                       "method Test02(client_id: string, bool: bool) -> (int: int)\n"
                       "method Test03(client_id: string, int: int) -> (float: float)\n"
                       "method Test04(client_id: string, float: float) -> (string: string)\n"
                       "method Test05(client_id: string, string: string) -> (\n"
                       "  bool: bool, int: int, float: float, string: string\n"
                       ")\n"
                       "method Test06(\n"
                       "  client_id: string, bool: bool, int: int, float: float, string: string\n"
                       ") -> (struct: (bool: bool, int: int, float: float, string: string))\n"
                       "method Test07(\n"
                       "  client_id: string,\n"
                       "  struct: (bool: bool, int: int, float: float, string: string)\n"
                       ") -> (map: [string]string)\n"
                       "method Test08(client_id: string, map: [string]string) -> (set: [string]())\n"
                       "method Test09(client_id: string, set: [string]()) -> (mytype: MyType)\n"
                       "# returns more than one reply with \"continues\"\n"
                       "method Test10(client_id: string, mytype: MyType) -> (string: string)\n"
                       "method Test11(client_id: string, last_more_replies: []string) -> ()\n"
                       "method End(client_id: string) -> (all_ok: bool)\n"
                       "error ClientIdError ()\n"
                       "error CertificationError (wants: object, got: object)\n",
        .methods = methods,
        .n_methods = ELEMENTSOF(methods),
};
