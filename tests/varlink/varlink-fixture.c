/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "varlink-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/log.h"
#include "varlink/connection.h"
#include "varlink/varlink-call.h"

#define FILL_BYTES ((size_t)4 * 1024 * 1024)

static void echo(VarlinkCall *call, json_object *parameters, void *userdata) {
        Fixture *fixture = userdata;

        atomic_fetch_add(&fixture->n_handled, 1);
        varlink_call_reply(call, parameters, -1);
}

static void hold(VarlinkCall *call, json_object *parameters, void *userdata) {
        Fixture *fixture = userdata;

        g_ptr_array_add(fixture->held, call);
        atomic_fetch_add(&fixture->n_handled, 1);
}

static void release_all(Fixture *fixture) {
        for (guint i = 0; i < fixture->held->len; i++)
                varlink_call_reply(fixture->held->pdata[i], NULL, -1);
        g_ptr_array_set_size(fixture->held, 0);
}

static void release(VarlinkCall *call, json_object *parameters, void *userdata) {
        release_all(userdata);
        varlink_call_reply(call, NULL, -1);
}

static void count(VarlinkCall *call, json_object *parameters, void *userdata) {
        int64_t n = json_object_get_int64(json_object_object_get(parameters, "n"));

        for (int64_t i = 1; i <= n; i++) {
                _cleanup_json_ json_object *answer = json_object_new_object();

                json_object_object_add(answer, "i", json_object_new_int64(i));
                varlink_call_notify(call, answer);
        }
        varlink_call_reply(call, NULL, -1);
}

static void fill(VarlinkCall *call, json_object *parameters, void *userdata) {
        size_t size = (size_t)json_object_get_int64(json_object_object_get(parameters, "size"));
        g_autofree char *text = g_strnfill(size, 'x');
        _cleanup_json_ json_object *answer = json_object_new_object();

        json_object_object_add(answer, "text", json_object_new_string(text));
        for (size_t sent = 0; sent < FILL_BYTES; sent += size)
                varlink_call_notify(call, answer);
        hold(call, parameters, userdata);
}

static void open_pipe(VarlinkCall *call, json_object *parameters, void *userdata) {
        _cleanup_json_ json_object *answer = json_object_new_object();
        Fixture *fixture = userdata;
        int pair[2];

        atomic_fetch_add(&fixture->n_handled, 1);
        g_assert_cmpint(pipe2(pair, O_CLOEXEC), ==, 0);
        g_assert_cmpint(write(pair[1], "pipe", 4), ==, 4);
        close(pair[1]);
        json_object_object_add(answer, "pipe", json_object_new_int(0));
        varlink_call_reply(call, answer, pair[0]);
}

static void answer_broken(VarlinkCall *call, json_object *parameters, void *userdata) {
        varlink_call_error_with(call, "org.example.test.Broken", "text", "a\xc3\xa4\xc3(\xff");
}

static const VarlinkMethod methods[] = {
        { .name = "Echo",
                        .handler = echo,
                        .parameters = (const VarlinkParameter[]){ { "text", json_type_string },
                                        { "number", json_type_int, true },
                                        { "object", json_type_object, true },
                                        {} } },
        { .name = "Hold", .handler = hold },
        { .name = "Release", .handler = release },
        { .name = "Count",
                        .handler = count,
                        .parameters = (const VarlinkParameter[]){ { "n", json_type_int }, {} },
                        .needs_more = true },
        { .name = "Fill",
                        .handler = fill,
                        .parameters = (const VarlinkParameter[]){ { "size", json_type_int }, {} },
                        .needs_more = true },
        { .name = "Open", .handler = open_pipe },
        { .name = "Broken", .handler = answer_broken },
        { .name = "Absent" },
};

static const VarlinkInterface interface = {
        .name = "org.example.test",
        .description = "interface org.example.test\nmethod Hold() -> ()\n",
        .methods = methods,
        .n_methods = ELEMENTSOF(methods),
};

static int on_connect(VarlinkConnection *connection, void *userdata) {
        Fixture *fixture = userdata;

        g_assert_cmpuint(varlink_connection_get_uid(connection), <, (uid_t)-1);
        varlink_connection_set_userdata(connection, fixture);
        atomic_fetch_add(&fixture->n_connected, 1);
        return 0;
}

static void on_disconnect(VarlinkConnection *connection, void *userdata) {
        Fixture *fixture = userdata;

        g_assert_true(varlink_connection_get_userdata(connection) == fixture);
        for (guint i = 0; i < fixture->held->len; i++)
                g_assert_true(varlink_call_get_connection(fixture->held->pdata[i]) != connection);
        atomic_fetch_add(&fixture->n_disconnected, 1);
}

static bool may_call(uid_t uid, void *userdata) {
        return !atomic_load(&((Fixture *)userdata)->is_refusing);
}

static int on_stop(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        return sd_event_exit(sd_event_source_get_event(source), 0);
}

static void *run(void *userdata) {
        Fixture *fixture = userdata;
        sd_event *event = NULL;
        VarlinkOptions options = {
                .vendor = "vendor",
                .product = "product",
                .version = "1",
                .url = "http://localhost/",
                .interfaces = &interface,
                .n_interfaces = 1,
                .handlers = { on_connect, on_disconnect, may_call },
                .userdata = fixture,
        };

        g_assert_cmpint(sd_event_new(&event), >=, 0);
        options.event = event;
        g_assert_cmpint(varlink_server_new(&options, &fixture->server), ==, 0);
        g_assert_cmpint(varlink_server_listen_path(fixture->server, fixture->path), ==, 0);
        g_assert_cmpint(sd_event_add_io(event, NULL, fixture->stop, EPOLLIN, on_stop, NULL), >=, 0);
        atomic_fetch_add(&fixture->n_connected, 1);
        g_assert_cmpint(sd_event_loop(event), ==, 0);
        fixture->server = varlink_server_free(fixture->server);
        release_all(fixture);
        sd_event_unref(event);
        return NULL;
}

void fixture_wait_for(atomic_int *value, int wanted) {
        for (int i = 0; i < 10000 && atomic_load(value) < wanted; i++)
                g_usleep(1000);
        g_assert_cmpint(atomic_load(value), ==, wanted);
}

Fixture *fixture_new(void) {
        Fixture *fixture = g_new0(Fixture, 1);

        log_open(LOG_TARGET_NULL);
        fixture->directory = g_dir_make_tmp("varlink-XXXXXX", NULL);
        g_assert_nonnull(fixture->directory);
        g_assert_cmpint(g_chmod(fixture->directory, 0755), ==, 0);
        fixture->path = g_build_filename(fixture->directory, "socket", NULL);
        fixture->held = g_ptr_array_new();
        fixture->stop = eventfd(0, EFD_CLOEXEC);
        g_assert_cmpint(fixture->stop, >=, 0);
        fixture->thread = g_thread_new("server", run, fixture);
        fixture_wait_for(&fixture->n_connected, 1);
        atomic_store(&fixture->n_connected, 0);
        return fixture;
}

void fixture_free(Fixture *fixture) {
        g_assert_cmpint(eventfd_write(fixture->stop, 1), ==, 0);
        g_thread_join(fixture->thread);
        g_assert_cmpint(fixture->n_connected, ==, fixture->n_disconnected);
        g_assert_cmpint(g_rmdir(fixture->directory), ==, 0);
        close(fixture->stop);
        g_ptr_array_unref(fixture->held);
        g_free(fixture->path);
        g_free(fixture->directory);
        g_free(fixture);
}

int fixture_connect(const Fixture *fixture) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        struct timeval timeout = { .tv_sec = 10 };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        g_assert_cmpint(fd, >=, 0);
        g_strlcpy(address.sun_path, fixture->path, sizeof(address.sun_path));
        g_assert_cmpint(connect(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
        g_assert_cmpint(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), ==, 0);
        return fd;
}

/* A server that has closed already is no failure: what it said before is still to be read. */
void fixture_send_bytes(int fd, const void *data, size_t size) {
        const char *p = data;

        for (size_t sent = 0; sent < size;) {
                ssize_t n = send(fd, p + sent, size - sent, MSG_NOSIGNAL);

                if (n < 0 && errno == EPIPE)
                        return;
                g_assert_cmpint(n, >, 0);
                sent += (size_t)n;
        }
}

void fixture_send(int fd, const char *text) {
        fixture_send_bytes(fd, text, strlen(text) + 1);
}

char *fixture_receive(int fd) {
        g_autoptr(GString) text = g_string_new(NULL);
        char part[4096];

        for (;;) {
                ssize_t n = recv(fd, part, sizeof(part), MSG_PEEK);

                if (n < 0)
                        g_assert_cmpint(errno, ==, ECONNRESET);
                if (n <= 0) {
                        g_assert_cmpuint(text->len, ==, 0);
                        return NULL;
                }
                /* What comes after the end of the answer stays. */
                const char *end = memchr(part, '\0', (size_t)n);
                size_t size = end ? (size_t)(end - part) : (size_t)n;
                g_assert_cmpint(recv(fd, part, size + !!end, 0), ==, (ssize_t)size + !!end);
                g_string_append_len(text, part, (gssize)size);
                if (end)
                        return g_string_free(g_steal_pointer(&text), FALSE);
        }
}

void fixture_expect(int fd, const char *answer) {
        g_autofree char *text = fixture_receive(fd);

        g_assert_cmpstr(text, ==, answer);
}

void fixture_expect_end(int fd) {
        fixture_expect(fd, NULL);
}

int64_t fixture_measure_call(const Fixture *fixture) {
        int64_t since = g_get_monotonic_time();
        int fd = fixture_connect(fixture);

        fixture_send(fd, CALL("Echo", ",\"parameters\":{\"text\":\"hello\"}"));
        fixture_expect(fd, "{\"parameters\":{\"text\":\"hello\"}}");
        close(fd);
        return g_get_monotonic_time() - since;
}
