/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The other side of the Varlink backend, for what a daemon does not do when it is well: a thread
 * that accepts, and one for each connection that reads calls and sends what the test has put down
 * for them, byte by byte as it stands there. Knows no JSON but the method's name. */

#include "fake-varlink.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define REPLIES_MAX 64

struct FakeVarlink {
        char *directory, *path;
        const FakeReply *replies;
        bool is_used[REPLIES_MAX];
        int fd;
        GThread *thread;
        GMutex lock;
        GPtrArray *connections;
        GString *calls;
};

typedef struct Connection {
        FakeVarlink *varlink;
        GThread *thread;
        int fd;
} Connection;

static const FakeReply *find_reply(FakeVarlink *varlink, const char *call) {
        const FakeReply *found = NULL;

        g_mutex_lock(&varlink->lock);
        g_string_append_printf(varlink->calls, "%s\n", call);
        for (size_t i = 0; !found && varlink->replies[i].method; i++) {
                g_autofree char *method =
                                g_strdup_printf("\"org.ktrace1.%s\"", varlink->replies[i].method);

                g_assert_cmpint(i, <, REPLIES_MAX);
                if (varlink->is_used[i] || !strstr(call, method))
                        continue;
                varlink->is_used[i] = true;
                found = &varlink->replies[i];
        }
        g_mutex_unlock(&varlink->lock);
        return found;
}

static int make_pipe(void) {
        int fds[2];

        g_assert_cmpint(pipe(fds), ==, 0);
        g_assert_cmpint(write(fds[1], FAKE_VARLINK_PIPE, strlen(FAKE_VARLINK_PIPE)), >, 0);
        close(fds[1]);
        return fds[0];
}

static bool send_all(int sock, char *bytes, size_t size, int fd) {
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(sizeof(int))];
        } control = {};
        struct iovec iov = { .iov_base = bytes, .iov_len = size };
        struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

        if (fd >= 0) {
                control.header = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
                        .cmsg_type = SCM_RIGHTS,
                        .cmsg_len = CMSG_LEN(sizeof(int)) };
                memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
                message.msg_control = &control;
                message.msg_controllen = sizeof(control);
        }
        while (iov.iov_len > 0) {
                ssize_t n = sendmsg(sock, &message, MSG_NOSIGNAL);

                if (n < 0)
                        return false;
                iov.iov_base = (char *)iov.iov_base + n;
                iov.iov_len -= (size_t)n;
                message.msg_control = NULL;
                message.msg_controllen = 0;
        }
        return true;
}

static bool answer(int sock, const FakeReply *reply) {
        size_t size = reply->n_bytes ?: reply->text ? strlen(reply->text) : 0;
        g_autofree char *bytes = g_malloc(size + 1);
        int fd = reply->has_fd ? make_pipe() : -1;

        if (reply->n_bytes > 0)
                memset(bytes, reply->text[0], size);
        else
                memcpy(bytes, reply->text ?: "", size);
        for (size_t i = 0; i < size; i++)
                if (bytes[i] == '\n')
                        bytes[i] = '\0';
        bool is_sent = send_all(sock, bytes, size, fd);
        if (fd >= 0)
                close(fd);
        return is_sent && !reply->hangs_up;
}

static void *serve(void *userdata) {
        Connection *connection = userdata;
        g_autoptr(GString) in = g_string_new(NULL);
        bool goes_on = true;
        char byte;

        while (goes_on && read(connection->fd, &byte, 1) == 1) {
                if (byte != '\0') {
                        g_string_append_c(in, byte);
                        continue;
                }
                const FakeReply *reply = find_reply(connection->varlink, in->str);
                goes_on = reply && answer(connection->fd, reply);
                g_string_truncate(in, 0);
        }
        (void)shutdown(connection->fd, SHUT_RDWR);
        return NULL;
}

static void *accept_all(void *userdata) {
        FakeVarlink *varlink = userdata;
        int fd;

        while ((fd = accept(varlink->fd, NULL, NULL)) >= 0) {
                Connection *connection = g_new0(Connection, 1);

                connection->varlink = varlink;
                connection->fd = fd;
                connection->thread = g_thread_new("connection", serve, connection);
                g_mutex_lock(&varlink->lock);
                g_ptr_array_add(varlink->connections, connection);
                g_mutex_unlock(&varlink->lock);
        }
        return NULL;
}

static void start(FakeVarlink *varlink, const FakeReply *replies) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        varlink->replies = replies;
        memset(varlink->is_used, 0, sizeof(varlink->is_used));
        g_strlcpy(address.sun_path, varlink->path, sizeof(address.sun_path));
        varlink->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        g_assert_cmpint(varlink->fd, >=, 0);
        g_assert_cmpint(bind(varlink->fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
        g_assert_cmpint(listen(varlink->fd, 16), ==, 0);
        varlink->thread = g_thread_new("accept", accept_all, varlink);
}

static void stop(FakeVarlink *varlink) {
        if (varlink->fd < 0)
                return;
        g_unlink(varlink->path);
        (void)shutdown(varlink->fd, SHUT_RDWR);
        g_thread_join(varlink->thread);
        close(varlink->fd);
        varlink->fd = -1;
        for (guint i = 0; i < varlink->connections->len; i++) {
                Connection *connection = g_ptr_array_index(varlink->connections, i);

                (void)shutdown(connection->fd, SHUT_RDWR);
                g_thread_join(connection->thread);
                close(connection->fd);
                g_free(connection);
        }
        g_ptr_array_set_size(varlink->connections, 0);
}

FakeVarlink *fake_varlink_new(const FakeReply *replies) {
        FakeVarlink *varlink = g_new0(FakeVarlink, 1);
        g_autoptr(GError) error = NULL;
        g_autofree char *address = NULL;

        g_mutex_init(&varlink->lock);
        varlink->connections = g_ptr_array_new();
        varlink->calls = g_string_new(NULL);
        varlink->directory = g_dir_make_tmp("ktrace-varlink-XXXXXX", &error);
        g_assert_no_error(error);
        varlink->path = g_build_filename(varlink->directory, "socket", NULL);
        address = g_strdup_printf("unix:%s", varlink->path);
        g_assert_true(g_setenv("KTRACE_VARLINK_ADDRESS", address, true));
        start(varlink, replies);
        return varlink;
}

void fake_varlink_restart(FakeVarlink *varlink, const FakeReply *replies) {
        stop(varlink);
        if (replies)
                start(varlink, replies);
}

void fake_varlink_free(FakeVarlink *varlink) {
        stop(varlink);
        g_assert_cmpint(g_rmdir(varlink->directory), ==, 0);
        g_ptr_array_unref(varlink->connections);
        g_string_free(varlink->calls, true);
        g_mutex_clear(&varlink->lock);
        g_free(varlink->directory);
        g_free(varlink->path);
        g_free(varlink);
}

char *fake_varlink_get_calls(FakeVarlink *varlink) {
        g_mutex_lock(&varlink->lock);
        char *calls = g_strdup(varlink->calls->str);
        g_mutex_unlock(&varlink->lock);
        return calls;
}

const char *fake_varlink_get_path(const FakeVarlink *varlink) {
        return varlink->path;
}
