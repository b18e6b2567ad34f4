/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The Varlink backend of the proxy, against a service that does what the test says: what is sent,
 * what comes back, and each way in which that goes wrong as one line. */

#include <errno.h>
#include <gio/gio.h>
#include <glib.h>
#include <string.h>

#include "call/proxy-session.h"
#include "call/proxy.h"
#include "fake-varlink.h"

#define ID "0123456789abcdef"
#define END \
        { NULL, NULL, false, false, 0 }
#define DONE    "{\"parameters\":{}}\n"
#define LIMITS  "{\"parameters\":{\"limits\":{\"sessions\":4}}}\n"
#define RUNNING "{\"parameters\":{\"state\":\"running\"},\"continues\":true}\n"

static Proxy *open_proxy(void) {
        Proxy *proxy = NULL;
        Reason reason = {};

        g_assert_cmpint(proxy_open(PROXY_DOOR_VARLINK, &proxy, &reason), ==, 0);
        return proxy;
}

static void assert_said(const Reason *reason, const char *text) {
        if (!strstr(reason->text, text))
                g_error("\"%s\" does not say \"%s\"", reason->text, text);
        g_assert_null(strchr(reason->text, '\n'));
}

static void assert_calls(FakeVarlink *varlink, const char *calls) {
        g_autofree char *all = fake_varlink_get_calls(varlink);

        g_assert_cmpstr(all, ==, calls);
}

/* Calls */

static void test_call(void) {
        static const FakeReply replies[] = {
                { .method = "GetLimits", .text = LIMITS },
                { .method = "GetHistogram",
                                .text = "{\"parameters\":{\"rows\":[{\"hits\":3}]}}\n" },
                { .method = "Stop", .text = "{}\n" },
                END,
        };
        FakeVarlink *varlink = fake_varlink_new(replies);
        Proxy *proxy = open_proxy();
        json_object *value = NULL;
        Reason reason = {};

        g_assert_cmpint(proxy_get(proxy, NULL, "GetLimits", NULL, &value, &reason), ==, 0);
        g_assert_cmpstr(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN),
                        ==,
                        "{\"sessions\":4}");
        json_object_put(value);
        g_assert_cmpint(proxy_get(proxy, ID, "GetHistogram", "h", &value, &reason), ==, 0);
        g_assert_cmpstr(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN),
                        ==,
                        "[{\"hits\":3}]");
        json_object_put(value);
        g_assert_cmpint(proxy_order(proxy, ID, "Stop", NULL, &reason), ==, 0);
        assert_calls(varlink,
                        "{\"parameters\":{},\"method\":\"org.ktrace1.GetLimits\"}\n"
                        "{\"parameters\":{\"session\":\"" ID
                        "\",\"name\":\"h\"},\"method\":\"org.ktrace1.GetHistogram\"}\n"
                        "{\"parameters\":{\"session\":\"" ID
                        "\"},\"method\":\"org.ktrace1.Stop\"}\n");
        proxy_free(proxy);
        fake_varlink_free(varlink);
}

/* Whatever door: the same keys in the same order, and a path of the bus. */
static void test_list(void) {
        static const FakeReply replies[] = {
                { .method = "ListSessions",
                                .text = "{\"parameters\":{\"sessions\":[{\"uid\":5,\"state\":\"idle\","
                                        "\"name\":\"n\",\"id\":\"" ID "\"}]}}\n" },
                { .method = "ListSessions", .text = "{\"parameters\":{\"sessions\":[{}]}}\n" },
                { .method = "ListSessions", .text = "{\"parameters\":{\"sessions\":7}}\n" },
                { .method = "ListSessions", .text = DONE },
                END,
        };
        FakeVarlink *varlink = fake_varlink_new(replies);
        Proxy *proxy = open_proxy();
        json_object *rows = NULL;
        Reason reason = {};

        g_assert_cmpint(proxy_list(proxy, &rows, &reason), ==, 0);
        g_assert_cmpstr(json_object_to_json_string_ext(rows, JSON_C_TO_STRING_PLAIN),
                        ==,
                        "[{\"id\":\"" ID "\",\"path\":\"\\/org\\/ktrace1\\/session\\/" ID
                        "\",\"name\":\"n\",\"uid\":5,\"state\":\"idle\"}]");
        json_object_put(rows);
        for (int i = 0; i < 3; i++) {
                g_assert_cmpint(proxy_list(proxy, &rows, &reason), ==, KT_E_FAILED);
                assert_said(&reason,
                                i == 1 ? "to ListSessions has a type"
                                       : "ListSessions cannot be read");
        }
        proxy_free(proxy);
        fake_varlink_free(varlink);
}

/* More than a socket takes at once. */
static void test_long(void) {
        static const FakeReply replies[] = {
                { .method = "Mark", .text = DONE },
                { .method = "ListEvents", .text = "{\"parameters\":{\"names\":[\"a:b\"]}}\n" },
                END,
        };
        FakeVarlink *varlink = fake_varlink_new(replies);
        g_autofree char *text = g_strnfill((gsize)3 * 1024 * 1024, 'x');
        Proxy *proxy = open_proxy();
        json_object *names = NULL;
        Reason reason = {};

        g_assert_cmpint(proxy_order(proxy, ID, "Mark", text, &reason), ==, 0);
        g_assert_cmpint(proxy_get(proxy, NULL, "ListEvents", "", &names, &reason), ==, 0);
        g_assert_cmpint(json_object_array_length(names), ==, 1);
        json_object_put(names);
        proxy_free(proxy);
        fake_varlink_free(varlink);
}

static void test_fd(void) {
        static const FakeReply replies[] = {
                { .method = "OpenStream",
                                .text = "{\"parameters\":{\"pipe\":0}}\n",
                                .has_fd = true },
                END,
        };
        FakeVarlink *varlink = fake_varlink_new(replies);
        Proxy *proxy = open_proxy();
        char text[64] = "";
        Reason reason = {};
        int fd = -1;

        g_assert_cmpint(proxy_open_fd(proxy, ID, "OpenStream", NULL, &fd, &reason), ==, 0);
        g_assert_cmpint(read(fd, text, sizeof(text) - 1), >, 0);
        g_assert_cmpstr(text, ==, FAKE_VARLINK_PIPE);
        close(fd);
        proxy_free(proxy);
        fake_varlink_free(varlink);
}

/* One that nobody asked for is neither kept nor given to the next who asks for one. */
static void test_fd_unasked(void) {
        static const FakeReply replies[] = {
                { .method = "Stop", .text = DONE, .has_fd = true },
                { .method = "OpenStream", .text = "{\"parameters\":{\"pipe\":0}}\n" },
                { .method = "OpenStream",
                                .text = "{\"error\":\"org.ktrace1.StreamBusy\"}\n",
                                .has_fd = true },
                { .method = "OpenStream",
                                .text = "{\"parameters\":{\"pipe\":1}}\n",
                                .has_fd = true },
                { .method = "OpenStream", .text = DONE, .has_fd = true },
                END,
        };
        FakeVarlink *varlink = fake_varlink_new(replies);
        Proxy *proxy = open_proxy();
        Reason reason = {};
        int fd = -1;

        g_assert_cmpint(proxy_order(proxy, ID, "Stop", NULL, &reason), ==, 0);
        for (size_t i = 0; i < 4; i++) {
                int wanted = i == 1 ? KT_E_STREAM_BUSY : KT_E_FAILED;

                reason = (Reason){};
                g_assert_cmpint(proxy_open_fd(proxy, ID, "OpenStream", NULL, &fd, &reason),
                                ==,
                                wanted);
                if (i != 1)
                        assert_said(&reason, "lacks its descriptor");
        }
        g_assert_cmpint(fd, ==, -1);
        proxy_free(proxy);
        fake_varlink_free(varlink);
}

/* What goes wrong */

static void assert_fails(const FakeReply *reply, int code, const char *said) {
        FakeReply replies[] = { *reply, END };
        FakeVarlink *varlink = fake_varlink_new(replies);
        Proxy *proxy = open_proxy();
        json_object *value = NULL;
        Reason reason = {};

        g_assert_cmpint(proxy_get(proxy, NULL, "GetLimits", NULL, &value, &reason), ==, code);
        assert_said(&reason, said);
        g_assert_null(value);
        proxy_free(proxy);
        fake_varlink_free(varlink);
}

static void assert_answered(const char *text, int code, const char *said) {
        assert_fails(&(FakeReply){ .method = "GetLimits", .text = text }, code, said);
}

static void test_errors(void) {
        assert_answered("{\"error\":\"org.ktrace1.AccessDenied\",\"parameters\":{\"reason\":\"rule x\"}}\n",
                        KT_E_ACCESS_DENIED,
                        "rule x");
        assert_answered("{\"error\":\"org.ktrace1.Locked\"}\n",
                        KT_E_LOCKED,
                        error_get(KT_E_LOCKED)->text);
        assert_answered("{\"error\":\"org.ktrace1.LimitReached\",\"parameters\":{\"reason\":7}}\n",
                        KT_E_LIMIT_REACHED,
                        error_get(KT_E_LIMIT_REACHED)->text);
        assert_answered("{\"error\":\"org.varlink.service.MethodNotFound\",\"parameters\":"
                        "{\"method\":\"GetLimits\"}}\n",
                        KT_E_FAILED,
                        "another version");
        assert_answered("{\"error\":\"org.varlink.service.InvalidParameter\",\"parameters\":"
                        "{\"parameter\":\"spec\"}}\n",
                        KT_E_FAILED,
                        "does not take this spec of GetLimits");
        assert_answered("{\"error\":\"org.varlink.service.PermissionDenied\"}\n",
                        KT_E_ACCESS_DENIED,
                        "does not let");
        assert_answered("{\"error\":\"com.example.Odd\",\"parameters\":{\"reason\":\"a\\u001bb\"}}\n",
                        KT_E_FAILED,
                        "com.example.Odd to GetLimits: a?b");
}

static void test_malformed(void) {
        assert_answered("nonsense\n", KT_E_FAILED, "not a JSON object");
        assert_answered("[1]\n", KT_E_FAILED, "not a JSON object");
        assert_answered("{\"parameters\":{}} {}\n", KT_E_FAILED, "not a JSON object");
        assert_answered("{\"parameters\":{\"limits\":\"\xff\"}}\n",
                        KT_E_FAILED,
                        "not a JSON object");
        assert_answered("\n", KT_E_FAILED, "not a JSON object");
        assert_answered("{\"parameters\":[]}\n", KT_E_FAILED, "not a Varlink reply");
        assert_answered("{\"error\":{}}\n", KT_E_FAILED, "not a Varlink reply");
        assert_answered("{\"continues\":1}\n", KT_E_FAILED, "not a Varlink reply");
        assert_answered("{\"parameters\":{\"limits\":{}},\"continues\":true}\n",
                        KT_E_FAILED,
                        "not a Varlink reply");
        assert_answered(DONE, KT_E_FAILED, "something is missing");
        assert_answered("{\"parameters\":{\"limits\":[]}}\n",
                        KT_E_FAILED,
                        "has a type that ktracectl does not know");
        assert_answered("{\"parameters\":{\"limits\":null}}\n",
                        KT_E_FAILED,
                        "has a type that ktracectl does not know");
}

static void test_hangup(void) {
        assert_fails(&(FakeReply){ .method = "GetLimits", .hangs_up = true },
                        KT_E_FAILED,
                        "closed the connection without a reply to GetLimits");
        assert_fails(&(FakeReply){ .method = "GetLimits",
                                     .text = "{\"parameters\":{\"lim",
                                     .hangs_up = true },
                        KT_E_FAILED,
                        "closed the connection");
        assert_fails(&(FakeReply){ .method = "GetLimits",
                                     .text = "x",
                                     .n_bytes = (size_t)33 * 1024 * 1024 },
                        KT_E_FAILED,
                        "at most 32 MB");
}

/* What was answered before the end is. */
static void test_last_words(void) {
        static const FakeReply replies[] = {
                { .method = "GetLimits", .text = LIMITS, .hangs_up = true },
                END,
        };
        FakeVarlink *varlink = fake_varlink_new(replies);
        Proxy *proxy = open_proxy();
        json_object *limits = NULL;
        Reason reason = {};

        g_assert_cmpint(proxy_get(proxy, NULL, "GetLimits", NULL, &limits, &reason), ==, 0);
        json_object_put(limits);
        g_assert_cmpint(proxy_order(proxy, NULL, "Reload", NULL, &reason), ==, KT_E_FAILED);
        assert_said(&reason, fake_varlink_get_path(varlink));
        proxy_free(proxy);
        fake_varlink_free(varlink);
}

/* Two answers to one question. */
static void test_unasked(void) {
        static const FakeReply replies[] = {
                { .method = "GetLimits", .text = LIMITS LIMITS },
                END,
        };
        FakeVarlink *varlink = fake_varlink_new(replies);
        Proxy *proxy = open_proxy();
        json_object *limits = NULL;
        Reason reason = {};

        g_assert_cmpint(proxy_get(proxy, NULL, "GetLimits", NULL, &limits, &reason), ==, 0);
        json_object_put(limits);
        g_assert_cmpint(proxy_order(proxy, NULL, "Reload", NULL, &reason), ==, KT_E_FAILED);
        proxy_free(proxy);
        fake_varlink_free(varlink);
}

static void assert_no_service(const char *address, const char *said) {
        Proxy *proxy = NULL;
        Reason reason = {};

        g_assert_true(g_setenv("KTRACE_VARLINK_ADDRESS", address, true));
        g_assert_cmpint(proxy_open(PROXY_DOOR_VARLINK, &proxy, &reason), ==, KT_E_FAILED);
        g_assert_null(proxy);
        assert_said(&reason, said);
}

static void test_no_service(void) {
        g_autofree char *path = g_strnfill(200, 'x'), *deep = g_strdup_printf("unix:/%s", path);

        assert_no_service("unix:/nonexistent/socket",
                        "/nonexistent/socket: No such file or directory; start it with 'systemctl "
                        "start ktraced.socket'");
        assert_no_service("unix:/etc/passwd", "Connection refused");
        assert_no_service("tcp:127.0.0.1:1", "KTRACE_VARLINK_ADDRESS: expected unix:PATH");
        assert_no_service("unix:here", "got \"unix:here\"");
        assert_no_service(deep, "too long");
}

/* polkit asks over the bus, and there is none. */
static void test_password(void) {
        static const FakeReply replies[] = {
                { .method = "Reload",
                                .text = "{\"error\":\"org.ktrace1.InteractiveAuthorizationRequired\"}\n" },
                { .method = "Reload",
                                .text = "{\"error\":\"org.ktrace1.InteractiveAuthorizationRequired\"}\n" },
                END,
        };
        FakeVarlink *varlink = fake_varlink_new(replies);
        Proxy *proxy = open_proxy();
        Reason reason = {};

        g_assert_true(g_setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", true));
        g_assert_cmpint(proxy_order(proxy, NULL, "Reload", NULL, &reason), ==, KT_E_AUTH_REQUIRED);
        proxy->may_ask = true;
        g_assert_cmpint(proxy_order(proxy, NULL, "Reload", NULL, &reason), ==, KT_E_AUTH_REQUIRED);
        assert_said(&reason, "over the system bus, and there is no system bus");
        proxy_free(proxy);
        fake_varlink_free(varlink);
}

/* Where there is one, the same call goes again as one that may ask. */
static void test_password_asked(void) {
        static const FakeReply replies[] = {
                { .method = "Reload",
                                .text = "{\"error\":\"org.ktrace1.InteractiveAuthorizationRequired\"}\n" },
                { .method = "Reload", .text = DONE },
                END,
        };
        g_autofree char *dbus = g_find_program_in_path("dbus-daemon");
        FakeVarlink *varlink;
        GTestDBus *bus;
        Proxy *proxy;
        Reason reason = {};

        if (!dbus) {
                g_test_skip("dbus-daemon is not installed");
                return;
        }
        bus = g_test_dbus_new(G_TEST_DBUS_NONE);
        g_test_dbus_up(bus);
        g_assert_true(g_setenv("DBUS_SYSTEM_BUS_ADDRESS", g_test_dbus_get_bus_address(bus), true));
        varlink = fake_varlink_new(replies);
        proxy = open_proxy();
        proxy->may_ask = true;
        g_assert_cmpint(proxy_order(proxy, NULL, "Reload", NULL, &reason), ==, 0);
        assert_calls(varlink,
                        "{\"parameters\":{},\"method\":\"org.ktrace1.Reload\"}\n"
                        "{\"parameters\":{\"allowInteractiveAuthentication\":true},"
                        "\"method\":\"org.ktrace1.Reload\"}\n");
        proxy_free(proxy);
        fake_varlink_free(varlink);
        g_test_dbus_down(bus);
        g_object_unref(bus);
}

/* With a loop */

typedef struct Heard {
        sd_event *event;
        Proxy *proxy;
        GString *text; /* "state ended away back" */
        bool is_cancelled;
        int result;
} Heard;

static void on_signal(const char *session, json_object *signal, void *userdata) {
        Heard *heard = userdata;

        g_assert_cmpstr(session, ==, ID);
        json_object_object_foreach(signal, key, value) {
                bool is_end = strcmp(key, "ended") == 0;

                g_string_append_printf(heard->text,
                                "%s=%s ",
                                key,
                                json_object_get_string(
                                                is_end ? json_object_object_get(value, "code")
                                                       : value));
        }
}

static void on_daemon(bool is_there, void *userdata) {
        Heard *heard = userdata;

        g_string_append(heard->text, is_there ? "back " : "away ");
}

static void on_notice(json_object *notice, void *userdata) {
        Heard *heard = userdata;

        json_object_object_foreach(notice, key, value)
                g_string_append_printf(heard->text, "%s=%s ", key, json_object_get_string(value));
}

static void heard_init(Heard *heard) {
        *heard = (Heard){ .text = g_string_new(NULL), .result = -1 };
        g_assert_cmpint(sd_event_new(&heard->event), >=, 0);
        heard->proxy = open_proxy();
        g_assert_cmpint(proxy_attach(heard->proxy,
                                        heard->event,
                                        &heard->is_cancelled,
                                        &(ProxyListener){ on_signal, on_daemon, on_notice, heard }),
                        ==,
                        0);
}

static void heard_done(Heard *heard) {
        proxy_free(heard->proxy);
        sd_event_unref(heard->event);
        g_string_free(heard->text, true);
}

static void wait_for(Heard *heard, const char *text) {
        while (!strstr(heard->text->str, text))
                g_assert_cmpint(sd_event_run(heard->event, (uint64_t)10 * 1000 * 1000), >, 0);
}

static void test_subscribe(void) {
        static const FakeReply replies[] = {
                { .method = "Subscribe",
                                .text = RUNNING
                                "{\"parameters\":{\"notice\":5},\"continues\":true}\n"
                                "{\"parameters\":{\"ended\":{\"code\":\"limit\",\"reason\":\"r\"}},"
                                "\"continues\":true}\n"
                                "{\"parameters\":{\"state\":\"gone\"}}\n" },
                END,
        };
        FakeVarlink *varlink = fake_varlink_new(replies);
        Reason reason = {};
        Heard heard;

        heard_init(&heard);
        g_assert_cmpint(proxy_subscribe(heard.proxy, ID, &reason), ==, 0);
        wait_for(&heard, "state=gone");
        g_assert_cmpstr(heard.text->str, ==, "state=running notice=5 ended=limit state=gone ");
        assert_calls(varlink,
                        "{\"parameters\":{\"session\":\"" ID
                        "\"},\"method\":\"org.ktrace1.Subscribe\",\"more\":true}\n");
        heard_done(&heard);
        fake_varlink_free(varlink);
}

#define WATCHING "{\"parameters\":{},\"continues\":true}\n"

/* The watch continues with the next daemon, and its end is reported. */
static void test_watch(void) {
        static const FakeReply replies[] = {
                { .method = "Watch",
                                .text = WATCHING
                                "{\"parameters\":{\"notice\":{\"kind\":\"ended\"}},"
                                "\"continues\":true}\n"
                                "{\"parameters\":{\"notice\":5},\"continues\":true}\n",
                                .hangs_up = true },
                { .method = "Watch",
                                .text = WATCHING "{\"parameters\":{\"notice\":{\"dropped\":3}},"
                                                 "\"continues\":true}\n"
                                                 "{\"error\":\"org.ktrace1.Failed\",\"parameters\":"
                                                 "{\"reason\":\"broken\"}}\n" },
                END,
        };
        FakeVarlink *varlink = fake_varlink_new(replies);
        Reason reason = {};
        Heard heard;

        heard_init(&heard);
        g_assert_cmpint(proxy_watch(heard.proxy, true, &reason), ==, 0);
        wait_for(&heard, "failed=");
        g_assert_cmpstr(heard.text->str, ==, "kind=ended dropped=3 failed=broken ");
        assert_calls(varlink,
                        "{\"parameters\":{\"options\":{\"all\":true}},"
                        "\"method\":\"org.ktrace1.Watch\",\"more\":true}\n"
                        "{\"parameters\":{\"options\":{\"all\":true}},"
                        "\"method\":\"org.ktrace1.Watch\",\"more\":true}\n");
        heard_done(&heard);
        fake_varlink_free(varlink);
}

static void test_watch_refused(void) {
        static const FakeReply replies[] = {
                { .method = "Watch",
                                .text = "{\"error\":\"org.ktrace1.LimitReached\",\"parameters\":"
                                        "{\"reason\":\"too many\"}}\n" },
                END,
        };
        FakeVarlink *varlink = fake_varlink_new(replies);
        Reason reason = {};
        Heard heard;

        heard_init(&heard);
        g_assert_cmpint(proxy_watch(heard.proxy, false, &reason), ==, KT_E_LIMIT_REACHED);
        g_assert_cmpstr(reason.text, ==, "too many");
        g_assert_cmpstr(heard.text->str, ==, "");
        heard_done(&heard);
        fake_varlink_free(varlink);
}

static void test_subscribe_refused(void) {
        static const FakeReply replies[] = {
                { .method = "Subscribe",
                                .text = "{\"error\":\"org.ktrace1.NoSuchSession\",\"parameters\":"
                                        "{\"reason\":\"none\"}}\n" },
                { .method = "Subscribe", .text = "{\"continues\":7}\n" },
                { .method = "Subscribe", .hangs_up = true },
                /* Two of them are nothing that one can wait for. */
                { .method = "Subscribe", .text = RUNNING "{\"parameters\":{}}\n" },
                END,
        };
        FakeVarlink *varlink = fake_varlink_new(replies);
        Reason reason = {};
        Heard heard;

        heard_init(&heard);
        g_assert_cmpint(proxy_subscribe(heard.proxy, ID, &reason), ==, KT_E_NO_SUCH_SESSION);
        assert_said(&reason, "none");
        g_assert_cmpint(proxy_subscribe(heard.proxy, ID, &reason), ==, KT_E_FAILED);
        assert_said(&reason, "not a Varlink reply");
        g_assert_cmpint(proxy_subscribe(heard.proxy, ID, &reason), ==, KT_E_FAILED);
        assert_said(&reason, "closed the connection");
        g_assert_cmpstr(heard.text->str, ==, "");
        g_assert_cmpint(proxy_subscribe(heard.proxy, ID, &reason), ==, 0);
        wait_for(&heard, "ended=gone");
        heard_done(&heard);
        fake_varlink_free(varlink);
}

/* The next daemon is found, told, and asked to go on telling. */
static void test_restart(void) {
        static const FakeReply before[] = {
                { .method = "Subscribe", .text = RUNNING },
                { .method = "Stop", .text = DONE },
                END,
        };
        static const FakeReply after[] = {
                { .method = "Subscribe",
                                .text = "{\"parameters\":{\"state\":\"stopped\"},\"continues\":true}\n" },
                { .method = "Stop", .text = DONE },
                END,
        };
        FakeVarlink *varlink = fake_varlink_new(before);
        Reason reason = {};
        Heard heard;

        heard_init(&heard);
        g_assert_cmpint(proxy_subscribe(heard.proxy, ID, &reason), ==, 0);
        g_assert_cmpint(proxy_order(heard.proxy, ID, "Stop", NULL, &reason), ==, 0);
        fake_varlink_restart(varlink, NULL);
        wait_for(&heard, "away");
        g_assert_cmpint(proxy_order(heard.proxy, ID, "Stop", NULL, &reason), ==, KT_E_FAILED);
        assert_said(&reason, "closed the connection before");
        fake_varlink_restart(varlink, after);
        wait_for(&heard, "state=stopped");
        g_assert_cmpstr(heard.text->str, ==, "state=running away back state=stopped ");
        g_assert_cmpint(proxy_order(heard.proxy, ID, "Stop", NULL, &reason), ==, 0);
        heard_done(&heard);
        fake_varlink_free(varlink);
}

/* A session that ends with the connection is not sought again, and its end is reported once. */
static void test_tied(void) {
        static const FakeReply replies[] = {
                { .method = "CreateSession", .text = "{\"parameters\":{\"id\":\"" ID "\"}}\n" },
                { .method = "Subscribe", .text = RUNNING },
                { .method = "Start", .hangs_up = true },
                END,
        };
        FakeVarlink *varlink = fake_varlink_new(replies);
        json_object *spec = json_object_new_object();
        Reason reason = {};
        char *id = NULL;
        Heard heard;

        heard_init(&heard);
        g_assert_cmpint(proxy_create(heard.proxy, spec, &id, &reason), ==, 0);
        g_assert_cmpstr(id, ==, ID);
        wait_for(&heard, "state=running");
        g_assert_cmpint(proxy_order(heard.proxy, ID, "Start", NULL, &reason), ==, KT_E_FAILED);
        assert_said(&reason, "closed the connection");
        g_assert_cmpint(sd_event_run(heard.event, 200000), ==, 0);
        g_assert_cmpstr(heard.text->str, ==, "state=running ended=client-gone ");
        free(id);
        json_object_put(spec);
        heard_done(&heard);
        fake_varlink_free(varlink);
}

/* One's own wish is no news. */
static void test_destroy(void) {
        static const FakeReply replies[] = {
                { .method = "CreateSession", .text = "{\"parameters\":{\"id\":\"" ID "\"}}\n" },
                { .method = "Subscribe",
                                .text = RUNNING
                                "{\"parameters\":{\"state\":\"idle\"},\"continues\":true}\n" },
                { .method = "Destroy", .text = DONE, .hangs_up = true },
                END,
        };
        FakeVarlink *varlink = fake_varlink_new(replies);
        json_object *spec = json_object_new_object();
        Reason reason = {};
        char *id = NULL;
        Heard heard;

        heard_init(&heard);
        g_assert_cmpint(proxy_create(heard.proxy, spec, &id, &reason), ==, 0);
        wait_for(&heard, "state=idle");
        g_assert_cmpint(proxy_order(heard.proxy, ID, "Destroy", NULL, &reason), ==, 0);
        g_assert_cmpint(sd_event_run(heard.event, 200000), >=, 0);
        g_assert_cmpstr(heard.text->str, ==, "state=running state=idle ");
        free(id);
        json_object_put(spec);
        heard_done(&heard);
        fake_varlink_free(varlink);
}

static void on_answer(int result, const Reason *reason, json_object *object, void *userdata) {
        Heard *heard = userdata;

        heard->result = result;
}

/* The answer to a call that nobody waits for any more is not the next one's. */
static void test_forgotten(void) {
        static const FakeReply replies[] = {
                { .method = "OpenStream",
                                .text = "{\"parameters\":{\"pipe\":0}}\n",
                                .has_fd = true },
                { .method = "GetLimits", .text = LIMITS },
                { .method = "Stop", .text = "{\"error\":\"org.ktrace1.WrongState\"}\n" },
                END,
        };
        FakeVarlink *varlink = fake_varlink_new(replies);
        json_object *limits = NULL;
        ProxyPending *pending;
        Reason reason = {};
        Heard heard;

        heard_init(&heard);
        g_assert_cmpint(proxy_begin(heard.proxy,
                                        &(ProxyCall){ .session = ID, .method = "OpenStream" },
                                        on_answer,
                                        &heard,
                                        &pending),
                        ==,
                        0);
        proxy_pending_free(pending);
        g_assert_cmpint(proxy_get(heard.proxy, NULL, "GetLimits", NULL, &limits, &reason), ==, 0);
        json_object_put(limits);
        g_assert_cmpint(heard.result, ==, -1);
        g_assert_cmpint(proxy_begin(heard.proxy,
                                        &(ProxyCall){ .session = ID, .method = "Stop" },
                                        on_answer,
                                        &heard,
                                        &pending),
                        ==,
                        0);
        while (heard.result < 0)
                g_assert_cmpint(sd_event_run(heard.event, (uint64_t)10 * 1000 * 1000), >, 0);
        g_assert_cmpint(heard.result, ==, KT_E_WRONG_STATE);
        proxy_pending_free(pending);
        heard.is_cancelled = true;
        g_assert_cmpint(proxy_order(heard.proxy, ID, "Stop", NULL, &reason), ==, KT_E_CANCELLED);
        heard_done(&heard);
        fake_varlink_free(varlink);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/client/varlink/call", test_call);
        g_test_add_func("/client/varlink/list", test_list);
        g_test_add_func("/client/varlink/long", test_long);
        g_test_add_func("/client/varlink/fd", test_fd);
        g_test_add_func("/client/varlink/fd-unasked", test_fd_unasked);
        g_test_add_func("/client/varlink/errors", test_errors);
        g_test_add_func("/client/varlink/malformed", test_malformed);
        g_test_add_func("/client/varlink/hangup", test_hangup);
        g_test_add_func("/client/varlink/last-words", test_last_words);
        g_test_add_func("/client/varlink/unasked", test_unasked);
        g_test_add_func("/client/varlink/no-service", test_no_service);
        g_test_add_func("/client/varlink/password", test_password);
        g_test_add_func("/client/varlink/password-asked", test_password_asked);
        g_test_add_func("/client/varlink/subscribe", test_subscribe);
        g_test_add_func("/client/varlink/subscribe-refused", test_subscribe_refused);
        g_test_add_func("/client/varlink/watch", test_watch);
        g_test_add_func("/client/varlink/watch-refused", test_watch_refused);
        g_test_add_func("/client/varlink/restart", test_restart);
        g_test_add_func("/client/varlink/tied", test_tied);
        g_test_add_func("/client/varlink/destroy", test_destroy);
        g_test_add_func("/client/varlink/forgotten", test_forgotten);
        return g_test_run();
}
