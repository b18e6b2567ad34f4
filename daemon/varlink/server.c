/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A Varlink server, because systemd's library has none before version 257. Created by the manager;
 * knows nothing about tracing. Owns the listening sockets and the clients' connections, accounts
 * them per user, and admits clients within the limits: a user that opens connections without limit
 * cannot take those of other users, nor more memory than VARLINK_USER_BYTES_MAX.
 *
 * Never blocks on a client. Logs at most one warning per second. */

#include "varlink/server.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "base/log.h"
#include "varlink/connection.h"

#define SECOND     UINT64_C(1000000)
#define WAIT_USEC  (SECOND / 20)
#define DRAIN_SIZE 4096
/* Further clients wait in connect(2) until there is room. A longer queue could be filled as well,
 * and would take longer to process. */
#define BACKLOG 128

static uint64_t server_get_now_usec(void) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec / 1000;
}

void varlink_server_complain(VarlinkServer *server, uid_t uid, const char *what) {
        LogContext context = { .uid = uid };
        uint64_t now = server_get_now_usec();

        if (server->told_usec > 0 && now - server->told_usec < SECOND) {
                server->n_untold++;
                return;
        }
        log_write(LOG_NOTICE,
                        &context,
                        "varlink: connection of uid %u closed: %s (%zu more since the last time)",
                        (unsigned)uid,
                        what,
                        server->n_untold);
        server->told_usec = now;
        server->n_untold = 0;
}

bool varlink_server_may_call(VarlinkServer *server, uid_t uid) {
        const VarlinkOptions *options = &server->options;

        return !options->handlers.may_call || options->handlers.may_call(uid, options->userdata);
}

void varlink_server_wait(VarlinkServer *server) {
        int enabled = SD_EVENT_OFF;

        (void)sd_event_source_get_enabled(server->timer, &enabled);
        if (enabled != SD_EVENT_OFF)
                return;
        (void)sd_event_source_set_time_relative(server->timer, WAIT_USEC);
        (void)sd_event_source_set_enabled(server->timer, SD_EVENT_ONESHOT);
}

/* A socket is used as wakeup, not sd_event_add_defer: sd-event regards a deferred source that is
 * always enabled as the one that waited longest, so a client that sent many calls at once would
 * always come before all others. The eventfd has the same priority as the clients' sockets. */
void varlink_server_add_ready(VarlinkServer *server, VarlinkConnection *connection) {
        if (connection->is_ready)
                return;
        if (TAILQ_EMPTY(&server->ready))
                (void)eventfd_write(server->wake_fd, 1);
        connection->is_ready = true;
        TAILQ_INSERT_TAIL(&server->ready, connection, ready_entry);
}

void varlink_server_remove_ready(VarlinkServer *server, VarlinkConnection *connection) {
        if (!connection->is_ready)
                return;
        connection->is_ready = false;
        TAILQ_REMOVE(&server->ready, connection, ready_entry);
}

static int on_wake(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        VarlinkServer *server = userdata;
        VarlinkConnection *connection = TAILQ_FIRST(&server->ready);
        eventfd_t n;

        /* When this is the last connection of the list, clear the eventfd. If the connection adds
         * itself to the list again, that sets the eventfd again. */
        if (!connection || !TAILQ_NEXT(connection, ready_entry))
                (void)eventfd_read(fd, &n);
        if (!connection)
                return 0;
        varlink_server_remove_ready(server, connection);
        varlink_connection_step(connection);
        return 0;
}

static int server_on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        VarlinkServer *server = userdata;
        VarlinkConnection *connection;
        VarlinkListener *listener;

        TAILQ_FOREACH(listener, &server->listeners, entry)
                (void)sd_event_source_set_enabled(listener->io, SD_EVENT_ON);
        TAILQ_FOREACH(connection, &server->connections, entry)
                varlink_connection_resume(connection);
        return 0;
}

static VarlinkUser *get_user(VarlinkServer *server, uid_t uid) {
        VarlinkUser *user;

        TAILQ_FOREACH(user, &server->users, entry)
                if (user->uid == uid)
                        return user;
        user = calloc(1, sizeof(*user));
        if (!user)
                return NULL;
        user->server = server;
        user->uid = uid;
        TAILQ_INSERT_TAIL(&server->users, user, entry);
        return user;
}

/* Called when one socket of this user is closed. */
static void leave_user(void *userdata) {
        VarlinkUser *user = userdata;

        if (--user->n_connections > 0)
                return;
        TAILQ_REMOVE(&user->server->users, user, entry);
        free(user);
}

/* Empties the receive queue of a socket that was shut down. Returns false if a client's descriptors
 * are in the queue; they stay there. */
static bool server_drain(int sock) {
        char data[DRAIN_SIZE];
        ssize_t n;

        for (;;) {
                struct iovec iov = { .iov_base = data, .iov_len = sizeof(data) };
                struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

                n = recvmsg(sock, &message, MSG_PEEK | MSG_DONTWAIT);
                if (n <= 0)
                        return true;
                if (message.msg_flags & MSG_CTRUNC)
                        return false;
                n = recv(sock, data, (size_t)n, MSG_DONTWAIT);
                if (n <= 0)
                        return true;
        }
}

/* Closing a socket drops its queue, so a queue with descriptors goes to the closer. */
void varlink_server_close_socket(VarlinkServer *server, VarlinkUser *user, int sock) {
        (void)shutdown(sock, SHUT_RDWR);
        if (server_drain(sock)) {
                close(sock);
                leave_user(user);
        } else {
                varlink_closer_add(server->closer, sock, leave_user, user);
        }
}

static bool server_has_room(const VarlinkServer *server, const VarlinkUser *user) {
        if (user->uid == 0)
                return user->n_connections < VARLINK_ROOT_CONNECTIONS_MAX;
        return user->n_connections < VARLINK_USER_CONNECTIONS_MAX &&
               server->n_counted < VARLINK_CONNECTIONS_MAX;
}

/* Consumes fd. */
static void varlink_server_admit(const VarlinkListener *listener, int fd) {
        VarlinkServer *server = listener->server;
        struct ucred credentials = {};
        socklen_t size = sizeof(credentials);
        VarlinkUser *user = NULL;
        bool is_known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 &&
                        size == sizeof(credentials) && credentials.uid != (uid_t)-1;

        varlink_closer_reap(server->closer);
        /* A client without credentials is accounted to uid -1 and disconnected. */
        user = get_user(server,
                        is_known && listener->as == (uid_t)-1 ? credentials.uid : listener->as);
        if (!user)
                return; /* out of memory: close() might block, a leaked descriptor does not */
        /* Admitting a client takes time too, so a user that connects all the time is refused when
         * out of time. */
        bool is_let_in = is_known && varlink_server_may_call(server, user->uid) &&
                         server_has_room(server, user);
        user->n_connections++;
        if (is_let_in) {
                (void)varlink_connection_new(listener, user, fd);
                return;
        }
        varlink_server_complain(server, user->uid, "too many connections, or calls");
        varlink_server_close_socket(server, user, fd);
}

/* Accepts all waiting clients. With one client per turn, a client queued after many short-lived
 * connections would also wait for all of their calls. */
static int on_listen(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        VarlinkListener *listener = userdata;

        for (int i = 0; i < BACKLOG; i++) {
                int sock = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

                if (sock >= 0) {
                        varlink_server_admit(listener, sock);
                } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
                                errno == ENOBUFS) {
                        /* The socket stays readable and would wake us in every turn: try again
                         * later. */
                        log_errno(-errno, LOG_WARNING, NULL, "varlink: cannot take a connection");
                        (void)sd_event_source_set_enabled(listener->io, SD_EVENT_OFF);
                        varlink_server_wait(listener->server);
                        break;
                } else if (errno != ECONNABORTED && errno != EINTR) {
                        break;
                }
        }
        return 0;
}

static int server_add_sources(VarlinkServer *server) {
        sd_event *event = server->options.event;
        int r;

        r = sd_event_add_io(event, &server->wake, server->wake_fd, EPOLLIN, on_wake, server);
        if (r >= 0)
                r = sd_event_add_time_relative(event,
                                &server->timer,
                                CLOCK_MONOTONIC,
                                WAIT_USEC,
                                0,
                                server_on_timer,
                                server);
        if (r >= 0)
                r = sd_event_source_set_enabled(server->timer, SD_EVENT_OFF);
        return r;
}

int varlink_server_new(const VarlinkOptions *options, VarlinkServer **ret) {
        _cleanup_(varlink_server_free_cleanup) VarlinkServer *server = calloc(1, sizeof(*server));
        int r;

        if (!server)
                return -ENOMEM;
        server->options = *options;
        server->wake_fd = -1;
        TAILQ_INIT(&server->listeners);
        TAILQ_INIT(&server->users);
        TAILQ_INIT(&server->ready);
        TAILQ_INIT(&server->connections);
        r = varlink_closer_new(&server->closer);
        if (r < 0)
                return r;
        server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (server->wake_fd < 0)
                return -errno;
        r = server_add_sources(server);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(server);
        return 0;
}

static VarlinkListener *listener_free(VarlinkListener *listener) {
        if (!listener)
                return NULL;
        sd_event_source_disable_unref(listener->io);
        close_cleanup(&listener->fd);
        if (listener->path)
                (void)unlink(listener->path);
        free(listener->path);
        free(listener);
        return NULL;
}

DEFINE_CLEANUP(VarlinkListener, listener_free);

VarlinkServer *varlink_server_free(VarlinkServer *server) {
        VarlinkListener *listener;
        VarlinkUser *user;

        if (!server)
                return NULL;
        while ((listener = TAILQ_FIRST(&server->listeners))) {
                TAILQ_REMOVE(&server->listeners, listener, entry);
                listener_free(listener);
        }
        while (!TAILQ_EMPTY(&server->connections))
                varlink_connection_close(TAILQ_FIRST(&server->connections));
        sd_event_source_disable_unref(server->timer);
        sd_event_source_disable_unref(server->wake);
        close_cleanup(&server->wake_fd);
        varlink_closer_free(server->closer);
        while ((user = TAILQ_FIRST(&server->users))) {
                TAILQ_REMOVE(&server->users, user, entry);
                free(user);
        }
        free(server);
        return NULL;
}

static int listener_check(int fd) {
        int type = 0, domain = 0;
        socklen_t type_size = sizeof(type), domain_size = sizeof(domain);

        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) < 0 ||
                        getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) < 0)
                return -errno;
        /* The kernel provides peer credentials only for AF_UNIX stream sockets. */
        return type == SOCK_STREAM && domain == AF_UNIX ? 0 : -EPROTOTYPE;
}

/* Consumes fd. path: the caller bound it there; copied. */
static int server_listen(VarlinkServer *server, int fd, uid_t as, const char *path) {
        _cleanup_(listener_free_cleanup) VarlinkListener *listener = calloc(1, sizeof(*listener));

        if (!listener) {
                close(fd);
                return -ENOMEM;
        }
        *listener = (VarlinkListener){ .server = server, .fd = fd, .as = as };
        int r = listener_check(fd);
        if (r < 0)
                return r;
        if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
                        listen(fd, BACKLOG) < 0)
                return -errno;
        if (path && !(listener->path = strdup(path)))
                return -ENOMEM;
        r = sd_event_add_io(server->options.event, &listener->io, fd, EPOLLIN, on_listen, listener);
        if (r < 0)
                return r;
        TAILQ_INSERT_TAIL(&server->listeners, listener, entry);
        listener = NULL; /* owned by the server */
        return 0;
}

int varlink_server_listen_fd(VarlinkServer *server, int fd, uid_t as) {
        return server_listen(server, fd, as, NULL);
}

static int bind_path(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0)
                return -errno;
        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        strcpy(address.sun_path, path);
        if (unlink(path) < 0 && errno != ENOENT)
                return -errno;
        if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
                return -errno;
        /* Until here the umask has kept other users out. */
        if (chmod(path, 0666) < 0)
                return -errno;
        return TAKE_FD(fd);
}

int varlink_server_listen_path(VarlinkServer *server, const char *path) {
        int fd = bind_path(path);

        return fd < 0 ? fd : server_listen(server, fd, (uid_t)-1, path);
}
