/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A web server for one recording and one user. Called by `ktracectl view`. It owns the connections
 * and the document around the recording (page-frame.c), and borrows the recording's file.
 *
 * What protects the recording, which only this user may read:
 *  - It listens on 127.0.0.1 only, and closes connections of other users before it reads a byte
 *    (peer.c).
 *  - Any web site can make the user's browser connect. The header Host must name this server, so
 *    that no other name that resolves to 127.0.0.1 makes it the same origin as a hostile site. The
 *    header Origin, where a browser sends it, must name this server, and the browser's
 *    Sec-Fetch-Site must not say that another site asks for the recording. Only GET and HEAD exist.
 *
 * The page keeps a request for /open. When the last of them has ended, and none follows within
 * three seconds, as after a reload, the page was closed. Each connection has a thread of the
 * library. */

#include "view/page-server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "interfaces/cleanup.h"
#include "terminal/message.h"
#include "view/http-library.h"
#include "view/page-frame.h"
#include "view/peer.h"

#define CONNECTIONS_MAX 64U
#define IDLE_SEC        60U
#define RELOAD_SEC      3

struct PageServer {
        HttpLibrary http;
        struct MHD_Daemon *daemon;
        uint16_t port;
        PageKind kind;
        int fd;
        uint64_t size;
        char nonce[PAGE_NONCE_DIGITS + 1];
        char *document, *policy;
        bool has_refused; /* a connection of another user */

        pthread_mutex_t mutex;
        pthread_cond_t changed;
        unsigned n_pages; /* that are open */
        bool was_open;
};

/* Requests for /open */

typedef struct OpenPage {
        PageServer *server;
        bool has_begun;
} OpenPage;

static void page_server_count(PageServer *server, int difference) {
        (void)pthread_mutex_lock(&server->mutex);
        server->n_pages += difference;
        server->was_open = true;
        (void)pthread_cond_signal(&server->changed);
        (void)pthread_mutex_unlock(&server->mutex);
}

/* Sends a comment each second. It fails soon after the browser has closed the connection. */
static ssize_t send_beat(void *userdata, uint64_t position _unused_, char *buffer, size_t size) {
        static const char beat[] = ":\n\n";
        OpenPage *page = userdata;

        if (page->has_begun)
                (void)nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
        page->has_begun = true;
        size = MIN_OF(size, sizeof(beat) - 1);
        memcpy(buffer, beat, size);
        return (ssize_t)size;
}

static void on_page_closed(void *userdata) {
        OpenPage *page = userdata;

        page_server_count(page->server, -1);
        free(page);
}

static struct MHD_Response *answer_open(PageServer *server) {
        OpenPage *page = calloc(1, sizeof(*page));
        struct MHD_Response *response;

        if (!page)
                return NULL;
        page->server = server;
        response = server->http.create_response_from_callback(
                        MHD_SIZE_UNKNOWN, 1024, send_beat, page, on_page_closed);
        if (!response) {
                free(page);
                return NULL;
        }
        page_server_count(server, 1);
        return response;
}

/* All requests */

static struct MHD_Response *answer_recording(PageServer *server) {
        int fd = fcntl(server->fd, F_DUPFD_CLOEXEC, 3); /* the response closes it */
        struct MHD_Response *response;

        if (fd < 0)
                return NULL;
        response = server->http.create_response_from_fd64(server->size, fd);
        if (!response)
                close(fd);
        return response;
}

/* The messages are for a person who looks at the address with another program. */
static struct MHD_Response *answer_text(PageServer *server, const char *text) {
        return server->http.create_response_from_buffer(
                        strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT);
}

static bool is_own_name(const PageServer *server, const char *prefix, const char *name) {
        static const char *const hosts[] = { "127.0.0.1", "localhost" };
        char own[64];

        for (size_t i = 0; i < ELEMENTSOF(hosts); i++) {
                (void)snprintf(own, sizeof(own), "%s%s:%u", prefix, hosts[i], server->port);
                if (name && strcasecmp(name, own) == 0)
                        return true;
        }
        return false;
}

static bool is_from_own_page(const PageServer *server, struct MHD_Connection *connection) {
        const char *host, *origin, *site;

        host = server->http.lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
        origin = server->http.lookup_connection_value(connection, MHD_HEADER_KIND, "Origin");
        site = server->http.lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-Fetch-Site");
        return is_own_name(server, "", host) &&
               (!origin || is_own_name(server, "http://", origin)) &&
               (!site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0);
}

static struct MHD_Response *page_server_answer(PageServer *server,
                struct MHD_Connection *connection,
                const char *path,
                const char *method,
                unsigned *ret_status) {
        *ret_status = MHD_HTTP_OK;
        if (!is_from_own_page(server, connection)) {
                *ret_status = MHD_HTTP_FORBIDDEN;
                return answer_text(
                                server, "Refused: another site asks. Open the printed address.\n");
        }
        if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
                *ret_status = MHD_HTTP_METHOD_NOT_ALLOWED;
                return answer_text(server, "Only GET and HEAD are possible.\n");
        }
        if (strcmp(path, "/") == 0)
                return answer_text(server, server->document);
        if (strcmp(path, "/recording") == 0)
                return answer_recording(server);
        if (strcmp(path, "/open") == 0 && strcmp(method, "GET") == 0)
                return answer_open(server);
        *ret_status = MHD_HTTP_NOT_FOUND;
        return answer_text(server, "No such page. Open the printed address.\n");
}

/* In addition to the page's own policy, which names its scripts. It also holds if that is missing:
 * the page has no origin, so it cannot reach the document around it, and makes no connection. */
static const char recording_policy[] =
                "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
                "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
                "frame-ancestors 'self'";

static void add_headers(const PageServer *server, struct MHD_Response *response, const char *path) {
        const char *type = "text/plain; charset=utf-8";
        bool is_document = strcmp(path, "/") == 0;

        if (is_document || (strcmp(path, "/recording") == 0 && server->kind == PAGE_HTML))
                type = "text/html; charset=utf-8";
        else if (strcmp(path, "/recording") == 0)
                type = "application/octet-stream";
        else if (strcmp(path, "/open") == 0)
                type = "text/event-stream";

        const struct {
                const char *name, *value;
        } headers[] = {
                { "Content-Type", type },
                { "Content-Security-Policy", is_document ? server->policy : recording_policy },
                { "Cache-Control", "no-store" },
                { "Cross-Origin-Resource-Policy", "same-origin" },
                { "Referrer-Policy", "no-referrer" },
                { "X-Content-Type-Options", "nosniff" },
        };

        for (size_t i = 0; i < ELEMENTSOF(headers); i++)
                (void)server->http.add_response_header(response, headers[i].name, headers[i].value);
}

static enum MHD_Result on_request(void *userdata,
                struct MHD_Connection *connection,
                const char *path,
                const char *method,
                const char *version _unused_,
                const char *body _unused_,
                size_t *body_size,
                void **state _unused_) {
        PageServer *server = userdata;
        enum MHD_Result result;
        unsigned status;

        *body_size = 0; /* a body is dropped */
        struct MHD_Response *response =
                        page_server_answer(server, connection, path, method, &status);
        if (!response)
                return MHD_NO; /* closes the connection */
        add_headers(server, response, status == MHD_HTTP_OK ? path : "");
        result = server->http.queue_response(connection, status, response);
        server->http.destroy_response(response);
        return result;
}

static enum MHD_Result on_connection(void *userdata, const struct sockaddr *peer, socklen_t size) {
        PageServer *server = userdata;
        uid_t uid;

        if (size < sizeof(struct sockaddr_in) || peer->sa_family != AF_INET)
                return MHD_NO;
        int r = peer_find_uid((const struct sockaddr_in *)peer, server->port, &uid);
        if (r == 0 && uid == geteuid())
                return MHD_YES;
        if (!__atomic_exchange_n(&server->has_refused, true, __ATOMIC_RELAXED))
                message_print("view: refused a connection that is not of user %u: start view as the "
                              "user whose browser shows the page",
                                geteuid());
        return MHD_NO;
}

/* The server's life */

static int page_server_listen(PageServer *server, int *ret) {
        struct sockaddr_in address = {
                .sin_family = AF_INET,
                .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        };
        socklen_t size = sizeof(address);
        _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 ||
                        listen(fd, CONNECTIONS_MAX) < 0 ||
                        getsockname(fd, (struct sockaddr *)&address, &size) < 0)
                return -errno;
        server->port = ntohs(address.sin_port);
        *ret = TAKE_FD(fd);
        return 0;
}

static int page_server_start(PageServer *server, Reason *reason) {
        int fd = -1;
        int r = page_server_listen(server, &fd);

        if (r < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "view: cannot listen on 127.0.0.1: %s",
                                strerror(-r));
        server->daemon = server->http.start_daemon(
                        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION,
                        0,
                        on_connection,
                        server,
                        on_request,
                        server,
                        MHD_OPTION_LISTEN_SOCKET,
                        fd,
                        MHD_OPTION_CONNECTION_LIMIT,
                        CONNECTIONS_MAX,
                        MHD_OPTION_CONNECTION_TIMEOUT,
                        IDLE_SEC,
                        MHD_OPTION_END);
        if (server->daemon)
                return 0;
        close(fd);
        return reason_set(reason, KT_E_FAILED, "view: libmicrohttpd cannot start a server");
}

static int page_server_make_nonce(PageServer *server) {
        uint8_t random[PAGE_NONCE_DIGITS / 2];

        if (getrandom(random, sizeof(random), 0) != sizeof(random))
                return errno ? -errno : -EIO;
        for (size_t i = 0; i < sizeof(random); i++)
                (void)snprintf(server->nonce + 2 * i, 3, "%02x", random[i]);
        return 0;
}

int page_server_new(const PageOptions *options, PageServer **ret, Reason *reason) {
        _cleanup_(page_server_free_cleanup) PageServer *server = calloc(1, sizeof(*server));
        pthread_condattr_t attributes;
        struct stat status;

        if (!server)
                return -ENOMEM;
        /* None of these can fail on Linux. */
        (void)pthread_mutex_init(&server->mutex, NULL);
        (void)pthread_condattr_init(&attributes);
        (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        (void)pthread_cond_init(&server->changed, &attributes);
        (void)pthread_condattr_destroy(&attributes);
        server->kind = options->kind;
        server->fd = options->fd;
        if (fstat(server->fd, &status) < 0)
                return -errno;
        server->size = (uint64_t)status.st_size;
        int r = http_library_load(&server->http, reason);
        r = r ?: page_server_make_nonce(server);
        r = r ?: page_frame_make(server->kind, options->title, server->nonce, &server->document);
        r = r ?: page_frame_make_policy(server->kind, server->nonce, &server->policy);
        r = r ?: page_server_start(server, reason);
        if (r == 0)
                *ret = TAKE_PTR(server);
        return r;
}

PageServer *page_server_free(PageServer *server) {
        if (!server)
                return NULL;
        if (server->daemon)
                server->http.stop_daemon(server->daemon); /* closes the socket, ends the threads */
        (void)pthread_cond_destroy(&server->changed);
        (void)pthread_mutex_destroy(&server->mutex);
        free(server->document);
        free(server->policy);
        free(server);
        return NULL;
}

uint16_t page_server_get_port(const PageServer *server) {
        return server->port;
}

/* Waits up to RELOAD_SEC for an open page. The caller holds the mutex. */
static bool page_server_comes_back(PageServer *server) {
        struct timespec until;
        int r = 0;

        (void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail with this clock */
        until.tv_sec += RELOAD_SEC;
        while (server->n_pages == 0 && r == 0)
                r = pthread_cond_timedwait(&server->changed, &server->mutex, &until);
        return server->n_pages > 0;
}

void page_server_wait(PageServer *server) {
        (void)pthread_mutex_lock(&server->mutex);
        do {
                while (!server->was_open || server->n_pages > 0)
                        (void)pthread_cond_wait(&server->changed, &server->mutex);
        } while (page_server_comes_back(server));
        (void)pthread_mutex_unlock(&server->mutex);
}
