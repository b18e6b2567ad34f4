/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One connection of a client. Created by the server when it admits the client. Closes itself in an
 * event-loop turn of its own, never while a function of server.h is running.
 *
 * Handles one message per turn of the loop, so that connections take turns. While a call waits for
 * its answer, or a complete message waits to be handled, nothing is read: further pipelined calls
 * stay in the kernel's buffer, one per connection. A client that shut down its sending side still
 * gets the answers to its calls. A client that has left is closed at once, together with the calls
 * queued after a waiting call.
 *
 * Descriptors that a client sends are never received. A first look at the data (MSG_PEEK), without
 * room for descriptors, shows by MSG_CTRUNC that the data carries some, and stops after the bytes
 * that they came with. If it does not, exactly the bytes seen are received. A plain recv() would
 * drop the descriptors in this thread, and dropping the last descriptor of a file can take hours:
 * see closer.c. */

#include "varlink/connection.h"

#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/log.h"
#include "varlink/server.h"
#include "varlink/service.h"
#include "varlink/varlink-call.h"

#define ROOM_MIN ((size_t)4096)
#define ROOM_MAX (VARLINK_MESSAGE_MAX + 1)

/* Updates the user's account of the bytes that wait on this connection. Up to ROOM_MIN input bytes
 * are free, so that one program of a user cannot block all others of that user. */
static bool account(VarlinkConnection *connection) {
        size_t n = MAX_OF(connection->in_room, ROOM_MIN) - ROOM_MIN + connection->out.n_bytes;

        connection->user->n_bytes += n - connection->n_bytes;
        connection->n_bytes = n;
        return connection->user->n_bytes <= VARLINK_USER_BYTES_MAX;
}

/* During a step no wakeup is needed: step() checks at its end. */
static void wake(VarlinkConnection *connection) {
        if (!connection->is_stepping)
                varlink_server_add_ready(connection->server, connection);
}

void varlink_connection_break(VarlinkConnection *connection, const char *reason) {
        if (connection->is_broken)
                return;
        connection->is_broken = true;
        varlink_server_complain(connection->server, connection->user->uid, reason);
        wake(connection);
}

/* The client has left or is leaving, which is normal and not logged. */
static void leave(VarlinkConnection *connection) {
        connection->is_broken = true;
        wake(connection);
}

void varlink_connection_send(VarlinkConnection *connection, const char *text, size_t size, int fd) {
        bool has_room = connection->user->n_bytes <= VARLINK_USER_BYTES_MAX;
        size_t before = connection->out.n_bytes;
        int r;

        if (connection->is_broken) {
                close_cleanup(&fd);
                return;
        }
        connection->n_fds_out += fd >= 0;
        r = varlink_outbox_add(&connection->out, text, size, fd);
        if (r == 0)
                r = varlink_outbox_flush(&connection->out, connection->fd);
        (void)account(connection);
        /* A single long answer may exceed VARLINK_OUT_MAX: it already exists in memory. */
        if (r < 0)
                leave(connection);
        else if ((!has_room && connection->out.n_bytes > 0) ||
                        (before > 0 && connection->out.n_bytes > VARLINK_OUT_MAX))
                varlink_connection_break(connection, "does not read its answers");
        else if (!varlink_outbox_is_empty(&connection->out))
                wake(connection);
}

void varlink_connection_finish(VarlinkConnection *connection) {
        connection->call = NULL;
        connection->is_ahead = false;
        wake(connection);
}

/* Returns the end of the first message, or NULL. */
static char *connection_find_end(VarlinkConnection *connection) {
        size_t n = connection->in_end - connection->in_seen;
        char *end = n > 0 ? memchr(connection->in + connection->in_seen, '\0', n) : NULL;

        connection->in_seen = end ? (size_t)(end - connection->in) : connection->in_end;
        return end;
}

static int connection_make_room(VarlinkConnection *connection) {
        size_t n = connection->in_end - connection->in_begin, room = connection->in_room;
        char *in;

        if (connection->in_begin > 0)
                memmove(connection->in, connection->in + connection->in_begin, n);
        connection->in_seen -= connection->in_begin;
        connection->in_begin = 0;
        connection->in_end = n;
        if (room - n >= ROOM_MIN / 2)
                return 0;
        if (room == ROOM_MAX)
                return n < room ? 0 : -EMSGSIZE;
        room = MIN_OF(MAX_OF(room * 2, ROOM_MIN), ROOM_MAX);
        in = realloc(connection->in, room);
        if (!in)
                return -ENOMEM;
        connection->in = in;
        connection->in_room = room;
        return account(connection) || room <= ROOM_MIN ? 0 : -EDQUOT;
}

/* Frees the buffer of a long message after it was handled. */
static void give_back_room(VarlinkConnection *connection) {
        if (connection->in_begin < connection->in_end || connection->in_room <= ROOM_MIN)
                return;
        free(connection->in);
        connection->in = NULL;
        connection->in_room = connection->in_begin = connection->in_seen = connection->in_end = 0;
        (void)account(connection);
}

/* Returns the number of bytes that can be received without descriptors; 0: end of the stream;
 * -EBADMSG: the data carries descriptors. */
static ssize_t connection_look(int sock, char *data, size_t size) {
        struct iovec iov = { .iov_base = data, .iov_len = size };
        struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
        ssize_t n = recvmsg(sock, &message, MSG_PEEK | MSG_DONTWAIT);

        if (n < 0)
                return -errno;
        return message.msg_flags & MSG_CTRUNC ? -EBADMSG : n;
}

static ssize_t connection_take(int sock, char *data, size_t size) {
        ssize_t n = connection_look(sock, data, size);

        if (n <= 0)
                return n;
        n = recv(sock, data, (size_t)n, MSG_DONTWAIT);
        return n < 0 ? -errno : n;
}

static void connection_read_some(VarlinkConnection *connection) {
        ssize_t n = connection_make_room(connection);

        if (n == 0)
                n = connection_take(connection->fd,
                                connection->in + connection->in_end,
                                connection->in_room - connection->in_end);
        if (n > 0)
                connection->in_end += (size_t)n;
        else if (n == 0)
                connection->is_at_end = true;
        else if (n == -EBADMSG) {
                varlink_connection_break(connection, "descriptors with a call");
        } else if (n == -EMSGSIZE)
                varlink_connection_break(connection, "a message longer than 1 MiB");
        else if (n == -EDQUOT)
                varlink_connection_break(connection, "more than 8 MiB wait of this user");
        else if (n != -EAGAIN && n != -EINTR)
                leave(connection);
}

static void connection_handle(VarlinkConnection *connection, const VarlinkMessage *message) {
        VarlinkCall *call = calloc(1, sizeof(*call));

        if (!call) {
                varlink_connection_break(connection, "no memory for a call");
                return;
        }
        call->connection = connection;
        call->more = message->more;
        call->oneway = message->oneway;
        connection->call = call;
        if (message->upgrade)
                varlink_call_error_with(call,
                                VARLINK_SERVICE_ERROR("MethodNotImplemented"),
                                "method",
                                message->method);
        else
                varlink_service_dispatch(
                                connection->server, call, message->method, message->parameters);
}

/* Handles the first message, which ends at `end`. */
static void handle_message(VarlinkConnection *connection, const char *end) {
        const char *text = connection->in + connection->in_begin;
        VarlinkMessage message = {};
        Reason reason = {};
        int r = varlink_message_parse(
                        text, (size_t)(end - text), VARLINK_VALUES_MAX, &message, &reason);

        connection->in_begin = connection->in_seen = (size_t)(end - connection->in) + 1;
        give_back_room(connection);
        if (r == 0)
                connection_handle(connection, &message);
        else
                varlink_connection_break(connection, r > 0 ? reason.text : "no memory for a call");
        varlink_message_clear(&message);
}

/* Sets the events to wait for. While a call waits for its answer, EPOLLIN stays enabled until data
 * arrives, so that a waiting client costs no system call. */
static void listen_to(VarlinkConnection *connection, bool reads) {
        uint32_t events = (reads ? EPOLLIN : 0) |
                          (varlink_outbox_is_empty(&connection->out) ? 0 : EPOLLOUT);
        uint32_t now = 0;

        (void)sd_event_source_get_io_events(connection->io, &now);
        if (now != events)
                (void)sd_event_source_set_io_events(connection->io, events);
}

/* If the user has used up its time, the connection is not served at all; even a hangup is not
 * noticed. */
static bool pause_when_due(VarlinkConnection *connection) {
        VarlinkServer *server = connection->server;

        connection->is_paused = !varlink_server_may_call(server, connection->user->uid);
        (void)sd_event_source_set_enabled(
                        connection->io, connection->is_paused ? SD_EVENT_OFF : SD_EVENT_ON);
        if (connection->is_paused)
                varlink_server_wait(server);
        return connection->is_paused;
}

/* The kernel limits the descriptors in flight per user (unix(7), ETOOMANYREFS) and counts those
 * that lie unread in a socket as root's; descriptors in our outbox count as ours. So a client with
 * too many unread descriptors gets no further answers. No event reports that the client has read
 * them, so a timer checks again. */
static bool pause_while_unread(VarlinkConnection *connection) {
        int unread = 0;

        if (connection->n_fds_out < VARLINK_UNREAD_FDS_MAX)
                return false;
        if (varlink_outbox_is_empty(&connection->out) &&
                        ioctl(connection->fd, SIOCOUTQ, &unread) == 0 && unread == 0) {
                connection->n_fds_out = 0;
                return false;
        }
        connection->is_paused = true;
        (void)sd_event_source_set_io_events(
                        connection->io, varlink_outbox_is_empty(&connection->out) ? 0 : EPOLLOUT);
        varlink_server_wait(connection->server);
        return true;
}

/* Makes one step and sets up the wait for the next one. May free the connection: the caller must
 * not use it afterwards. is_admitted: its user has time in this turn. */
static void step(VarlinkConnection *connection, bool is_admitted) {
        char *end = connection_find_end(connection);

        connection->is_stepping = true;
        if (!connection->is_broken && !connection->call && end && !pause_while_unread(connection) &&
                        (is_admitted || !pause_when_due(connection))) {
                handle_message(connection, end);
                end = connection_find_end(connection);
        }
        connection->is_stepping = false;
        if (!connection->call && !end && connection->is_at_end &&
                        varlink_outbox_is_empty(&connection->out))
                connection->is_broken = true; /* an incomplete message is ignored */
        if (connection->is_broken) {
                varlink_connection_close(connection);
                return;
        }
        if (connection->is_paused)
                return;
        if (!connection->call && end)
                wake(connection);
        listen_to(connection, !end && !connection->is_at_end && !connection->is_ahead);
}

void varlink_connection_step(VarlinkConnection *connection) {
        step(connection, false);
}

/* Reads if no message is waiting or being handled, and the user has time. */
static bool read_when_due(VarlinkConnection *connection) {
        connection->is_ahead = connection->call || connection_find_end(connection);
        if (connection->is_broken || connection->is_ahead || connection->is_at_end ||
                        pause_when_due(connection))
                return false;
        connection_read_some(connection);
        return true;
}

static void connection_write_some(VarlinkConnection *connection) {
        VarlinkServer *server = connection->server;

        if (varlink_outbox_flush(&connection->out, connection->fd) < 0)
                leave(connection);
        (void)account(connection);
        if (!connection->is_broken && varlink_outbox_is_empty(&connection->out) &&
                        server->options.handlers.on_drained)
                server->options.handlers.on_drained(connection, server->options.userdata);
}

static int connection_on_io(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        VarlinkConnection *connection = userdata;
        bool is_admitted = false;

        connection->is_stepping = true;
        if (revents & EPOLLOUT)
                connection_write_some(connection);
        /* The client cannot read any answer. Calls that arrived before are still handled, in
         * order. */
        if ((revents & (EPOLLHUP | EPOLLERR)) && (connection->call || connection->is_at_end))
                leave(connection);
        else if (revents & (EPOLLIN | EPOLLHUP | EPOLLERR))
                is_admitted = read_when_due(connection);
        step(connection, is_admitted);
        return 0;
}

void varlink_connection_resume(VarlinkConnection *connection) {
        if (!connection->is_paused)
                return;
        connection->is_paused = false;
        (void)sd_event_source_set_enabled(connection->io, SD_EVENT_ON);
        wake(connection);
}

int varlink_connection_new(const VarlinkListener *listener, VarlinkUser *user, int fd) {
        VarlinkServer *server = listener->server;
        VarlinkConnection *connection = calloc(1, sizeof(*connection));
        int r;

        if (!connection) {
                varlink_server_close_socket(server, user, fd);
                return -ENOMEM;
        }
        connection->server = server;
        connection->user = user;
        connection->as = listener->as;
        connection->fd = fd;
        varlink_outbox_init(&connection->out);
        TAILQ_INSERT_TAIL(&server->connections, connection, entry);
        server->n_counted += user->uid != 0;
        r = sd_event_add_io(server->options.event,
                        &connection->io,
                        fd,
                        EPOLLIN,
                        connection_on_io,
                        connection);
        if (r >= 0 && server->options.handlers.on_connect)
                r = server->options.handlers.on_connect(connection, server->options.userdata);
        connection->is_told = r >= 0;
        if (r < 0)
                varlink_connection_close(connection);
        return r < 0 ? r : 0;
}

void varlink_connection_close(VarlinkConnection *connection) {
        VarlinkServer *server = connection->server;

        sd_event_source_disable_unref(connection->io);
        varlink_server_remove_ready(server, connection);
        if (connection->call)
                connection->call->connection = NULL;
        TAILQ_REMOVE(&server->connections, connection, entry);
        server->n_counted -= connection->user->uid != 0;
        if (connection->is_told && server->options.handlers.on_disconnect)
                server->options.handlers.on_disconnect(connection, server->options.userdata);
        varlink_outbox_clear(&connection->out);
        free(connection->in);
        connection->in_room = 0;
        connection->in = NULL;
        (void)account(connection);
        varlink_server_close_socket(server, connection->user, connection->fd);
        free(connection);
}

void varlink_connection_set_userdata(VarlinkConnection *connection, void *userdata) {
        connection->userdata = userdata;
}

void *varlink_connection_get_userdata(const VarlinkConnection *connection) {
        return connection->userdata;
}

int varlink_connection_get_fd(const VarlinkConnection *connection) {
        return connection->fd;
}

uid_t varlink_connection_get_uid(const VarlinkConnection *connection) {
        return connection->user->uid;
}

uid_t varlink_connection_get_as(const VarlinkConnection *connection) {
        return connection->as;
}

size_t varlink_connection_count_unsent(const VarlinkConnection *connection) {
        return connection->out.n_bytes;
}
