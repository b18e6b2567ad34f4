/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A method that is added to the table is served on both doors, with nothing else to write. */

#include <glib.h>
#include <glib/gstdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bus/door.h"
#include "door/method.h"
#include "interfaces/names.h"
#include "session/registry.h"
#include "varlink/varlink-door.h"

#define LIST(...)               \
        (const MethodValue[]) { \
                __VA_ARGS__, {  \
                }               \
        }

static sd_event *event;
static Auth *auth;
static Desk *desk;
static char *peer_name;
static Request *waiting_request;

/* Answers {"text": text, "n": number of keys and of entries}. */
static int verb_count(MethodCall *call, Reason *reason) {
        const char *text = method_call_get_text(call, "text");
        size_t n = (size_t)json_object_object_length(method_call_get(call, "options")) +
                   json_object_array_length(method_call_get(call, "list"));

        if (*text == '\0')
                return reason_set(reason, KT_E_INVALID_SPEC, "text: it is empty");
        call->value = json_object_new_object();
        json_object_object_add(call->value, "text", json_object_new_string(text));
        json_object_object_add(call->value, "n", json_object_new_int64((int64_t)n));
        return 0;
}

static int verb_open_later(MethodCall *call, Reason *reason) {
        int r = method_call_wait(call, reason);

        if (r == 0)
                waiting_request = call->request;
        return r;
}

static const Method methods[] = {
        { "Count",
                        LIST({ "text", VALUE_TEXT },
                                        { "options", VALUE_OBJECT },
                                        { "list", VALUE_OBJECTS }),
                        LIST({ "count", VALUE_OBJECT }),
                        verb_count },
        { "OpenLater",
                        NULL,
                        LIST({ "number", VALUE_NUMBER }, { "pipe", VALUE_FD }),
                        verb_open_later },
        {},
};

/* Answers the call that waits, if there is one, with the number 7 and a pipe. */
static void answer_waiting(void) {
        Request *request = TAKE_PTR(waiting_request);
        int fds[2];

        if (!request)
                return;
        g_assert_no_errno(pipe(fds));
        g_assert_cmpint(write(fds[1], "x", 1), ==, 1);
        close(fds[1]);
        request->ticket = 7;
        request->fd = fds[0];
        request->done(request, 0, &(Reason){ "" });
}

static void run_loop(void) {
        g_assert_cmpint(sd_event_run(event, 1000000), >=, 0);
        answer_waiting();
}

static void check_pipe(int fd) {
        char c = 0;

        g_assert_cmpint(read(fd, &c, 1), ==, 1);
        g_assert_cmpint(c, ==, 'x');
}

static int on_bus_answer(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        *(sd_bus_message **)userdata = sd_bus_message_ref(m);
        return 0;
}

/* Without a bus a message has no sender: the only peer calls. Replaces auth_get_peer (meson.build).
 */
const Peer *__wrap_auth_get_peer(const Auth *from, sd_bus_message *m);

const Peer *__wrap_auth_get_peer(const Auth *from, sd_bus_message *m) {
        return auth_find_peer(from, peer_name);
}

static sd_bus_message *call_bus(sd_bus *client, sd_bus_message *m) {
        sd_bus_message *answer = NULL;

        g_assert_cmpint(sd_bus_call_async(client, NULL, m, on_bus_answer, &answer, 0), >=, 0);
        while (!answer)
                run_loop();
        sd_bus_message_unref(m);
        return answer;
}

static sd_bus_message *make_call(sd_bus *client, const char *member) {
        sd_bus_message *m = NULL;

        g_assert_cmpint(sd_bus_message_new_method_call(
                                        client, &m, NULL, KT_OBJECT, KT_MANAGER_INTERFACE, member),
                        >=,
                        0);
        return m;
}

static void connect_bus(sd_bus **ret_daemon, sd_bus **ret_client) {
        sd_id128_t id = SD_ID128_MAKE(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
        int fds[2];

        g_assert_no_errno(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds));
        g_assert_cmpint(sd_bus_new(ret_daemon), >=, 0);
        g_assert_cmpint(sd_bus_set_fd(*ret_daemon, fds[0], fds[0]), >=, 0);
        g_assert_cmpint(sd_bus_set_server(*ret_daemon, true, id), >=, 0);
        g_assert_cmpint(sd_bus_negotiate_fds(*ret_daemon, true), >=, 0);
        g_assert_cmpint(sd_bus_new(ret_client), >=, 0);
        g_assert_cmpint(sd_bus_set_fd(*ret_client, fds[1], fds[1]), >=, 0);
        g_assert_cmpint(sd_bus_negotiate_fds(*ret_client, true), >=, 0);
        g_assert_cmpint(sd_bus_start(*ret_daemon), >=, 0);
        g_assert_cmpint(sd_bus_start(*ret_client), >=, 0);
        g_assert_cmpint(sd_bus_attach_event(*ret_daemon, event, 0), >=, 0);
        g_assert_cmpint(sd_bus_attach_event(*ret_client, event, 0), >=, 0);
}

static void check_bus_calls(sd_bus *client) {
        const char *key, *text;
        uint32_t number;
        int64_t n;
        int fd;

        sd_bus_message *m = make_call(client, "Count");
        g_assert_cmpint(sd_bus_message_append(m,
                                        "sa{sv}aa{sv}",
                                        "some",
                                        1,
                                        "a",
                                        "b",
                                        1,
                                        2,
                                        0,
                                        1,
                                        "c",
                                        "s",
                                        "d"),
                        >=,
                        0);
        m = call_bus(client, m);
        g_assert_cmpint(sd_bus_message_read(m, "a{sv}", 2, &key, "s", &text, &key, "x", &n), >, 0);
        g_assert_cmpstr(text, ==, "some");
        g_assert_cmpint(n, ==, 3);
        sd_bus_message_unref(m);

        m = make_call(client, "Count");
        g_assert_cmpint(sd_bus_message_append(m, "sa{sv}aa{sv}", "", 0, 0), >=, 0);
        m = call_bus(client, m);
        g_assert_cmpstr(sd_bus_message_get_error(m)->name, ==, KT_ERROR_PREFIX "InvalidSpec");
        g_assert_cmpstr(sd_bus_message_get_error(m)->message, ==, "text: it is empty");
        sd_bus_message_unref(m);

        m = call_bus(client, make_call(client, "OpenLater"));
        g_assert_cmpint(sd_bus_message_read(m, "uh", &number, &fd), >, 0);
        g_assert_cmpuint(number, ==, 7);
        check_pipe(fd);
        sd_bus_message_unref(m);
}

static void test_bus(void) {
        _cleanup_(door_free_cleanup) Door *door = NULL;
        sd_bus *daemon_end = NULL, *client = NULL;

        connect_bus(&daemon_end, &client);
        g_assert_cmpint(door_new(daemon_end, desk, &door), ==, 0);
        check_bus_calls(client);
        sd_bus_detach_event(client);
        sd_bus_close_unref(client);
        sd_bus_detach_event(daemon_end);
        sd_bus_close_unref(daemon_end);
}

/* Returns the answer as text. *ret_fd: the descriptor with it, or -1. */
static char *call_varlink(int sock, const char *text, int *ret_fd) {
        char answer[1024], control[CMSG_SPACE(sizeof(int))];
        struct iovec iov = { answer, sizeof(answer) };
        struct msghdr message = { .msg_iov = &iov,
                .msg_iovlen = 1,
                .msg_control = control,
                .msg_controllen = sizeof(control) };
        ssize_t n;

        g_assert_cmpint(write(sock, text, strlen(text) + 1), ==, strlen(text) + 1);
        while ((n = recvmsg(sock, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC)) < 0) {
                g_assert_cmpint(errno, ==, EAGAIN);
                message.msg_controllen = sizeof(control);
                run_loop();
        }
        g_assert_cmpint(answer[n - 1], ==, '\0');
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        *ret_fd = header ? *(int *)CMSG_DATA(header) : -1;
        return g_strdup(answer);
}

static int connect_varlink(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
        g_assert_no_errno(connect(sock, (struct sockaddr *)&address, sizeof(address)));
        return sock;
}

static void test_varlink(void) {
        _cleanup_(varlink_door_free_cleanup) VarlinkDoor *door = NULL;
        g_autofree char *folder = g_dir_make_tmp("ktrace-added-XXXXXX", NULL);
        g_autofree char *path = g_build_filename(folder, "socket", NULL);
        int fd;

        g_assert_cmpint(varlink_door_new(event, desk, auth, &door), ==, 0);
        g_assert_cmpint(varlink_door_open(door, -1, path), ==, 0);
        _cleanup_close_ int sock = connect_varlink(path);
        g_autofree char *good = call_varlink(sock,
                        "{\"method\":\"org.ktrace1.Count\",\"parameters\":{\"text\":\"some\","
                        "\"options\":{\"a\":true},\"list\":[{},{\"c\":\"d\"}]}}",
                        &fd);
        g_assert_cmpstr(good, ==, "{\"parameters\":{\"count\":{\"text\":\"some\",\"n\":3}}}");
        g_autofree char *bad = call_varlink(sock,
                        "{\"method\":\"org.ktrace1.Count\",\"parameters\":{\"text\":\"\","
                        "\"options\":{},\"list\":[]}}",
                        &fd);
        g_assert_cmpstr(bad,
                        ==,
                        "{\"error\":\"org.ktrace1.InvalidSpec\","
                        "\"parameters\":{\"reason\":\"text: it is empty\"}}");
        g_autofree char *later = call_varlink(sock, "{\"method\":\"org.ktrace1.OpenLater\"}", &fd);
        g_assert_cmpstr(later, ==, "{\"parameters\":{\"number\":7,\"pipe\":0}}");
        check_pipe(fd);
        close(fd);
        g_unlink(path);
        g_rmdir(folder);
}

int main(int argc, char **argv) {
        static const AuthHandlers auth_handlers = {};
        static const DeskHandlers desk_handlers = {};
        Registry registry = { .options.limits = {
                                              .max_calls_per_uid = 8,
                                              .max_call_usec_per_sec = 1000000,
                              } };
        int fds[2];

        g_test_init(&argc, &argv, NULL);
        g_assert_cmpint(sd_event_new(&event), >=, 0);
        g_assert_cmpint(auth_new(&auth_handlers, NULL, &auth), ==, 0);
        g_assert_no_errno(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
        g_assert_cmpint(auth_add_socket(auth, fds[0], (uid_t)-1, &peer_name), ==, 0);
        g_assert_cmpint(desk_new(event, auth, &registry, &desk_handlers, NULL, &desk), ==, 0);
        desk->methods = methods;
        g_test_add_func("/added-method/bus", test_bus);
        g_test_add_func("/added-method/varlink", test_varlink);
        int r = g_test_run();
        desk_free(desk);
        auth_remove_socket(auth, peer_name);
        free(peer_name);
        auth_free(auth);
        sd_event_unref(event);
        return r;
}
