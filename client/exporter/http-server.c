/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The HTTP server for monitoring systems: GET /metrics. Called by main.c with sockets from systemd
 * or from --listen. Each socket has a server of libmicrohttpd, with one thread that waits for all
 * its connections (epoll) and never for one of them: a client that stalls delays no other.
 *
 * Clients are not trusted. http-guests.c limits what they hold, http-body.c makes each answer once.
 * Requests are at most REQUEST_MAX bytes, bodies of requests are dropped, and the only path that
 * answers with numbers takes no parameters. The kind of the socket decides whether a client sees
 * families that identify users: a UNIX socket has a group, a port is open to every user, but not
 * to web sites (host-header.c). */

#include "exporter/http-server.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <string.h>

#include "exporter/accept-header.h"
#include "exporter/host-header.h"
#include "exporter/http-body.h"
#include "exporter/http-guests.h"

#define REQUEST_MAX ((size_t)8192)
/* Connections that were dismissed take a moment to go. */
#define LIBRARY_CONNECTIONS_MAX (HTTP_CONNECTIONS_MAX + 64)

typedef struct HttpSocket {
        HttpServer *server;
        struct MHD_Daemon *daemon;
        bool is_private; /* only members of its group reach it */
} HttpSocket;

struct HttpServer {
        HttpBodies *bodies;
        HttpGuests *guests;
        HttpSocket sockets[HTTP_SOCKETS_MAX];
        size_t n_sockets;
};

/* Answers */

static enum MHD_Result http_answer_text(struct MHD_Connection *connection,
                unsigned status,
                const char *text) {
        struct MHD_Response *response = MHD_create_response_from_buffer(
                        strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT);
        enum MHD_Result result;

        if (!response)
                return MHD_NO; /* closes the connection */
        (void)MHD_add_response_header(response, "Content-Type", "text/plain; charset=utf-8");
        if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
                (void)MHD_add_response_header(response, "Allow", "GET, HEAD");
        result = MHD_queue_response(connection, status, response);
        MHD_destroy_response(response);
        return result;
}

static const char *http_get_header(struct MHD_Connection *connection, const char *name) {
        return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result http_answer_metrics(const HttpSocket *own,
                struct MHD_Connection *connection) {
        HttpBodyKind kind = {
                .has_private = own->is_private,
                .is_gzip = accept_header_has_gzip(http_get_header(connection, "Accept-Encoding")),
        };

        if (!accept_header_choose(http_get_header(connection, "Accept"), &kind.format))
                return http_answer_text(connection,
                                MHD_HTTP_NOT_ACCEPTABLE,
                                "Accept: expected text/plain; version=0.0.4, application/openmetrics-text; "
                                "version=1.0.0, or application/json\n");
        int r = http_bodies_answer(own->server->bodies, &kind, connection);
        if (r == -EFBIG)
                return http_answer_text(connection,
                                MHD_HTTP_INTERNAL_SERVER_ERROR,
                                "Expected at most 16 MiB of metrics: lower max-sets of the sets\n");
        return r == 0 ? MHD_YES : MHD_NO;
}

static bool http_is_readable(const char *method) {
        return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

static int http_get_fd(struct MHD_Connection *connection) {
        return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static bool http_has_allowed_host(struct MHD_Connection *connection) {
        struct sockaddr_storage own = {};
        socklen_t size = sizeof(own);

        return getsockname(http_get_fd(connection), (struct sockaddr *)&own, &size) == 0 &&
               host_header_is_allowed(
                               http_get_header(connection, "Host"), (const struct sockaddr *)&own);
}

static enum MHD_Result http_answer(const HttpSocket *own,
                struct MHD_Connection *connection,
                const char *path,
                const char *method) {
        bool is_metrics = strcmp(path, "/metrics") == 0;

        if (!http_has_allowed_host(connection))
                return http_answer_text(connection,
                                MHD_HTTP_FORBIDDEN,
                                "Host: expected localhost or an IP address, such as "
                                "127.0.0.1:9466\n");
        if (!is_metrics && strcmp(path, "/") != 0)
                return http_answer_text(
                                connection, MHD_HTTP_NOT_FOUND, "The metrics are at /metrics\n");
        if (!http_is_readable(method))
                return http_answer_text(connection,
                                MHD_HTTP_METHOD_NOT_ALLOWED,
                                "Expected the method GET or HEAD\n");
        if (!is_metrics)
                return http_answer_text(connection,
                                MHD_HTTP_OK,
                                "ktrace-metrics " KT_VERSION ": the metrics are at /metrics\n");
        return http_answer_metrics(own, connection);
}

/* Calls of libmicrohttpd */

static HttpGuest *http_get_guest(struct MHD_Connection *connection) {
        const union MHD_ConnectionInfo *info =
                        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

        return info ? info->socket_context : NULL;
}

/* libmicrohttpd calls this when it has the head, for each part of a body, and at the end. An answer
 * before the end closes the connection, as is right for a request that should have no body. */
static enum MHD_Result http_on_request(void *userdata,
                struct MHD_Connection *connection,
                const char *path,
                const char *method,
                const char *version _unused_,
                const char *body _unused_,
                size_t *body_size,
                void **state) {
        static bool is_begun;
        const HttpSocket *own = userdata;
        HttpGuest *guest = http_get_guest(connection);

        if (!guest)
                return MHD_NO;
        if (!*state) {
                *state = &is_begun; /* only its address is used */
                http_guests_begin(own->server->guests, guest);
                if (http_is_readable(method))
                        return MHD_YES;
        }
        if (*body_size == 0)
                return http_answer(own, connection, path, method);
        *body_size = 0; /* a body is dropped */
        return MHD_YES;
}

static void http_on_completed(void *userdata,
                struct MHD_Connection *connection,
                void **state _unused_,
                enum MHD_RequestTerminationCode code _unused_) {
        const HttpSocket *own = userdata;
        HttpGuest *guest = http_get_guest(connection);

        if (guest)
                http_guests_end(own->server->guests, guest);
}

static void http_on_connection(void *userdata,
                struct MHD_Connection *connection,
                void **context,
                enum MHD_ConnectionNotificationCode code) {
        const HttpSocket *own = userdata;

        if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
                if (*context)
                        http_guests_remove(own->server->guests, *context);
                *context = NULL;
                return;
        }
        *context = http_guests_add(own->server->guests, http_get_fd(connection));
}

/* The server's life */

int http_server_new(Board *board, HttpServer **ret) {
        _cleanup_(http_server_free_cleanup) HttpServer *server = calloc(1, sizeof(*server));

        if (!server)
                return -ENOMEM;
        server->bodies = http_bodies_new(board);
        server->guests = http_guests_new();
        if (!server->bodies || !server->guests)
                return -ENOMEM;
        *ret = TAKE_PTR(server);
        return 0;
}

/* Ends the thread and its connections. MHD_stop_daemon() alone would shut the socket down, and the
 * service manager keeps it for the next process. */
static void http_socket_end(HttpSocket *own) {
        _cleanup_close_ int fd = MHD_quiesce_daemon(own->daemon);

        MHD_stop_daemon(own->daemon);
}

/* On success libmicrohttpd owns the descriptor. */
static struct MHD_Daemon *http_socket_start(HttpSocket *own, int fd) {
        return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC,
                        0,
                        NULL,
                        NULL,
                        http_on_request,
                        own,
                        MHD_OPTION_LISTEN_SOCKET,
                        fd,
                        MHD_OPTION_CONNECTION_LIMIT,
                        (unsigned)LIBRARY_CONNECTIONS_MAX,
                        MHD_OPTION_CONNECTION_TIMEOUT,
                        (unsigned)HTTP_IDLE_SEC,
                        MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                        REQUEST_MAX,
                        MHD_OPTION_NOTIFY_COMPLETED,
                        http_on_completed,
                        own,
                        MHD_OPTION_NOTIFY_CONNECTION,
                        http_on_connection,
                        own,
                        MHD_OPTION_END);
}

int http_server_add(HttpServer *server, int fd) {
        _cleanup_close_ int sock = fd;
        struct sockaddr_storage address;
        socklen_t size = sizeof(address);

        if (server->n_sockets == HTTP_SOCKETS_MAX)
                return -E2BIG;
        if (getsockname(sock, (struct sockaddr *)&address, &size) < 0)
                return -errno;
        /* Another thread may take a connection first, and accept() must not wait then. */
        if (fcntl(sock, F_SETFL, O_NONBLOCK) < 0)
                return -errno;
        HttpSocket *own = &server->sockets[server->n_sockets];
        *own = (HttpSocket){ .server = server, .is_private = address.ss_family == AF_UNIX };
        own->daemon = http_socket_start(own, sock);
        if (!own->daemon)
                return errno ? -errno : -EIO;
        server->n_sockets++;
        (void)TAKE_FD(sock);
        return 0;
}

HttpServer *http_server_free(HttpServer *server) {
        if (!server)
                return NULL;
        for (size_t i = 0; i < server->n_sockets; i++)
                http_socket_end(&server->sockets[i]);
        http_bodies_free(server->bodies);
        http_guests_free(server->guests);
        free(server);
        return NULL;
}
