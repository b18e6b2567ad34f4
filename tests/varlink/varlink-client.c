/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "varlink-client.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_to(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        struct timeval patience = { .tv_sec = 20 };
        int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
        g_assert_no_errno(connect(sock, (struct sockaddr *)&address, sizeof(address)));
        g_assert_no_errno(setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)));
        return sock;
}

/* data with a descriptor. */
static void send_fd(int sock, int fd) {
        char control[CMSG_SPACE(sizeof(int))] = {}, byte = 0;
        struct iovec iov = { &byte, 1 };
        struct msghdr m = { .msg_iov = &iov,
                .msg_iovlen = 1,
                .msg_control = control,
                .msg_controllen = sizeof(control) };
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);

        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &fd, sizeof(fd));
        g_assert_cmpint(sendmsg(sock, &m, 0), ==, 1);
}

static ssize_t receive(int sock, char *data, size_t size, int *fd) {
        char control[CMSG_SPACE(sizeof(int))];
        struct iovec iov = { data, size };
        struct msghdr m = { .msg_iov = &iov,
                .msg_iovlen = 1,
                .msg_control = control,
                .msg_controllen = sizeof(control) };
        ssize_t n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);

        if (n < 0 && errno == ECONNRESET)
                return 0;
        g_assert_no_errno(n);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        if (c) {
                g_assert_cmpint(*fd, ==, -1);
                g_assert_cmpuint(c->cmsg_len, ==, CMSG_LEN(sizeof(int)));
                memcpy(fd, CMSG_DATA(c), sizeof(*fd));
        }
        return n;
}

static int connect_child(const char *path, uid_t uid, pid_t *ret_child) {
        int pair[2], fd = -1;
        char byte;

        g_assert_no_errno(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
        *ret_child = fork();
        if (*ret_child == 0) {
                g_assert_no_errno(setgroups(0, NULL));
                g_assert_no_errno(setresgid(uid, uid, uid));
                g_assert_no_errno(setresuid(uid, uid, uid));
                g_assert_no_errno(prctl(PR_SET_DUMPABLE, 1)); /* as after an exec */
                prctl(PR_SET_PDEATHSIG, SIGKILL);             /* which setresuid takes away */
                int sock = connect_to(path);
                send_fd(pair[0], sock);
                close(sock);
                for (;;)
                        (void)pause();
        }
        close(pair[0]);
        g_assert_cmpint(receive(pair[1], &byte, 1, &fd), ==, 1);
        close(pair[1]);
        return fd;
}

int varlink_connect(const char *path, uid_t uid, pid_t *ret_child) {
        if (ret_child)
                return connect_child(path, uid, ret_child);
        g_assert_no_errno(setgroups(0, NULL));
        g_assert_no_errno(setresgid(uid, uid, 0));
        g_assert_no_errno(setresuid(uid, uid, 0));
        int sock = connect_to(path);
        g_assert_no_errno(setresuid(0, 0, 0));
        g_assert_no_errno(setresgid(0, 0, 0));
        return sock;
}

void varlink_send(int sock, gboolean more, const char *method, const char *parameters) {
        g_autofree char *text = g_strdup_printf("{\"method\":\"%s\"%s%s%s}",
                        method,
                        more ? ",\"more\":true" : "",
                        parameters ? ",\"parameters\":" : "",
                        parameters ?: "");
        size_t size = strlen(text) + 1;

        g_assert_cmpint(send(sock, text, size, MSG_NOSIGNAL), ==, (ssize_t)size);
}

/* By bytes: what follows is another message's. */
json_object *varlink_receive(int sock, int *ret_fd) {
        g_autoptr(GString) text = g_string_new("");
        int fd = -1;
        char c;

        for (;;) {
                if (receive(sock, &c, 1, &fd) == 0) {
                        g_assert_cmpuint(text->len, ==, 0);
                        return NULL;
                }
                if (c == '\0')
                        break;
                g_string_append_c(text, c);
        }
        if (ret_fd)
                *ret_fd = fd;
        else
                g_assert_cmpint(fd, ==, -1);
        json_object *message = json_tokener_parse(text->str);
        g_assert_nonnull(message);
        return message;
}

VarlinkAnswer varlink_call(int sock, const char *method, const char *parameters) {
        g_autofree char *name = g_strconcat("org.ktrace1.", method, NULL);
        VarlinkAnswer answer = { .fd = -1 };

        varlink_send(sock, FALSE, name, parameters);
        json_object *message = varlink_receive(sock, &answer.fd);
        g_assert_nonnull(message);
        json_object *got = json_object_object_get(message, "parameters");
        const char *error = json_object_get_string(json_object_object_get(message, "error"));
        if (error) {
                answer.error = g_strdup(
                                g_str_has_prefix(error, "org.ktrace1.") ? error + 12 : error);
                answer.reason = g_strdup(
                                json_object_get_string(json_object_object_get(got, "reason")));
        } else
                answer.parameters = json_object_get(got);
        json_object_put(message);
        return answer;
}

void varlink_answer_clear(VarlinkAnswer *answer) {
        json_object_put(answer->parameters);
        g_free(answer->error);
        g_free(answer->reason);
        if (answer->fd >= 0)
                close(answer->fd);
}

char *varlink_get(int sock, const char *method, const char *parameters, const char *result) {
        VarlinkAnswer answer = varlink_call(sock, method, parameters);

        if (answer.error)
                g_error("%s: %s: %s", method, answer.error, answer.reason);
        json_object *value = json_object_object_get(answer.parameters, result);
        g_assert_nonnull(value);
        char *text = g_strdup(json_object_get_string(value));
        varlink_answer_clear(&answer);
        return text;
}

void varlink_expect(int sock,
                const char *method,
                const char *parameters,
                const char *error,
                const char *reason) {
        VarlinkAnswer answer = varlink_call(sock, method, parameters);

        g_assert_cmpstr(answer.error, ==, error);
        if (reason && (!answer.reason || !strstr(answer.reason, reason)))
                g_error("\"%s\" is not in \"%s\"", reason, answer.reason);
        varlink_answer_clear(&answer);
}
