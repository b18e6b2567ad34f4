/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Serves io.systemd.Metrics over Varlink, as systemd-report and others read it from the sockets in
 * /run/systemd/report. Called by main.c with the socket from systemd or from --report. One thread
 * waits for all clients and never for one of them.
 *
 * Every local user may connect, so everything is limited: the connections of a user and of all, the
 * size of a message, and the time without progress. A client sends its next call when it has read
 * the answer to the one before; calls that it sends earlier wait in the socket. Answers are texts
 * of report-answer.c, which makes those of a snapshot once. */

#include "exporter/report-server.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>

#include "exporter/report-answer.h"

#define CLIENTS_MAX      64
#define USER_CLIENTS_MAX 8
#define MESSAGE_MAX      4096
#define IDLE_SEC         30

typedef struct ReportClient {
        int fd;
        uid_t uid;
        time_t active_sec; /* the client last read or wrote something */
        char in[MESSAGE_MAX];
        size_t n_in;
        TextBlock out; /* the answer */
        size_t n_sent; /* of it */
} ReportClient;

struct ReportServer {
        Board *board;
        int fd;
        int stop_fd; /* eventfd: readable when the thread has to end */
        pthread_t thread;
        bool is_started;
        ReportLists lists;
        ReportClient *clients[CLIENTS_MAX];
        size_t n_clients;
};

static time_t report_now(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
        return now.tv_sec;
}

/* Clients */

static ReportClient *report_client_free(ReportClient *client) {
        close(client->fd);
        text_block_clear(&client->out);
        free(client);
        return NULL;
}

static bool report_client_is_answering(const ReportClient *client) {
        return client->n_sent < client->out.used;
}

/* Sends what the socket takes. Returns 0, or -errno when the client has left. */
static int report_client_send(ReportClient *client) {
        while (report_client_is_answering(client)) {
                ssize_t n = send(client->fd,
                                client->out.data + client->n_sent,
                                client->out.used - client->n_sent,
                                MSG_NOSIGNAL | MSG_DONTWAIT);

                if (n < 0)
                        return errno == EAGAIN ? 0 : -errno;
                client->n_sent += (size_t)n;
                client->active_sec = report_now();
        }
        text_block_clear(&client->out); /* and its memory */
        client->n_sent = 0;
        return 0;
}

static bool report_client_has_message(const ReportClient *client) {
        return memchr(client->in, '\0', client->n_in);
}

/* Returns 0, or a negative value when the client has left or sends too much. */
static int report_client_receive(ReportClient *client) {
        ssize_t n = recv(client->fd,
                        client->in + client->n_in,
                        sizeof(client->in) - client->n_in,
                        MSG_DONTWAIT);

        if (n <= 0)
                return n < 0 && errno == EAGAIN ? 0 : -ECONNRESET;
        client->n_in += (size_t)n;
        client->active_sec = report_now();
        if (client->n_in == sizeof(client->in) && !report_client_has_message(client))
                return -EMSGSIZE;
        return 0;
}

/* Answers the first message. Returns 0, or a negative value to end the connection. */
static int report_client_answer(ReportClient *client, ReportLists *lists) {
        size_t size = strlen(client->in); /* it is complete */
        int r = report_answer_print(&client->out, lists, client->in, size);

        client->n_in -= size + 1;
        memmove(client->in, client->in + size + 1, client->n_in);
        return r < 0 ? r : report_client_send(client);
}

/* One message at most, so that others get their turn. Returns a negative value to end the
 * connection. */
static int report_client_step(ReportClient *client, ReportServer *server) {
        int r = report_client_send(client);

        if (r < 0 || report_client_is_answering(client))
                return r;
        if (!report_client_has_message(client))
                r = report_client_receive(client);
        if (r == 0 && report_client_has_message(client)) {
                report_lists_set_snapshot(&server->lists, board_get(server->board));
                r = report_client_answer(client, &server->lists);
        }
        return r;
}

/* For poll(): a client that may write its next answer has a turn at once. */
static short report_client_get_events(const ReportClient *client) {
        return report_client_is_answering(client) || report_client_has_message(client) ? POLLOUT
                                                                                       : POLLIN;
}

/* The server */

static void report_server_remove(ReportServer *server, size_t i) {
        report_client_free(server->clients[i]);
        server->clients[i] = server->clients[--server->n_clients];
}

static bool report_server_has_room(const ReportServer *server, uid_t uid) {
        size_t n = 0;

        for (size_t i = 0; i < server->n_clients; i++)
                n += server->clients[i]->uid == uid;
        return server->n_clients < CLIENTS_MAX && n < USER_CLIENTS_MAX;
}

static void report_server_accept(ReportServer *server) {
        _cleanup_close_ int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        struct ucred user;
        socklen_t size = sizeof(user);

        /* A client that is refused sees the end of its connection. */
        if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &size) < 0 ||
                        !report_server_has_room(server, user.uid))
                return;
        ReportClient *client = calloc(1, sizeof(*client));
        if (!client)
                return;
        client->fd = TAKE_FD(fd);
        client->uid = user.uid;
        client->active_sec = report_now();
        server->clients[server->n_clients++] = client;
}

static void report_server_step(ReportServer *server, const struct pollfd *polled) {
        time_t now = report_now();

        /* From the last one, because a removal moves the last one. */
        for (size_t i = server->n_clients; i-- > 0;) {
                ReportClient *client = server->clients[i];
                int r = polled[i].revents ? report_client_step(client, server) : 0;

                if (r < 0 || now - client->active_sec > IDLE_SEC)
                        report_server_remove(server, i);
        }
}

static void *report_server_run(void *userdata) {
        ReportServer *server = userdata;

        for (;;) {
                struct pollfd polled[CLIENTS_MAX + 2];
                size_t n = server->n_clients;

                for (size_t i = 0; i < n; i++)
                        polled[i] = (struct pollfd){
                                .fd = server->clients[i]->fd,
                                .events = report_client_get_events(server->clients[i]),
                        };
                polled[n] = (struct pollfd){ .fd = server->stop_fd, .events = POLLIN };
                polled[n + 1] = (struct pollfd){ .fd = server->fd, .events = POLLIN };
                /* Without clients there is no time to watch. */
                if (poll(polled, (nfds_t)n + 2, n > 0 ? IDLE_SEC * 1000 : -1) < 0 && errno != EINTR)
                        return NULL;
                if (polled[n].revents)
                        return NULL;
                report_server_step(server, polled);
                if (polled[n + 1].revents)
                        report_server_accept(server);
        }
}

int report_server_new(Board *board, int fd, ReportServer **ret) {
        _cleanup_(report_server_free_cleanup) ReportServer *server = calloc(1, sizeof(*server));

        if (!server) {
                close(fd);
                return -ENOMEM;
        }
        *server = (ReportServer){ .board = board, .fd = fd };
        server->stop_fd = eventfd(0, EFD_CLOEXEC);
        if (server->stop_fd < 0)
                return -errno;
        int r = pthread_create(&server->thread, NULL, report_server_run, server);
        if (r != 0)
                return -r;
        server->is_started = true;
        *ret = TAKE_PTR(server);
        return 0;
}

ReportServer *report_server_free(ReportServer *server) {
        if (!server)
                return NULL;
        if (server->is_started) {
                (void)eventfd_write(server->stop_fd, 1);
                (void)pthread_join(server->thread, NULL);
        }
        while (server->n_clients > 0)
                report_server_remove(server, 0);
        report_lists_clear(&server->lists);
        close_cleanup(&server->stop_fd);
        close_cleanup(&server->fd);
        free(server);
        return NULL;
}
