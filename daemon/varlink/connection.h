/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/queue.h>

#include "interfaces/error.h"
#include "varlink/closer.h"
#include "varlink/outbox.h"
#include "varlink/server.h"

/* Declarations shared by the files of the server. The floor above uses only server.h. */

/* A user with connections, or with sockets that are being closed. */
typedef struct VarlinkUser {
        TAILQ_ENTRY(VarlinkUser) entry;
        VarlinkServer *server;
        uid_t uid;
        size_t n_connections;
        size_t n_bytes; /* waiting in all of them */
} VarlinkUser;

/* A socket that clients connect to. */
typedef struct VarlinkListener {
        TAILQ_ENTRY(VarlinkListener) entry;
        VarlinkServer *server;
        int fd;
        char *path; /* path that we bound; NULL: the socket was passed to us */
        uid_t as;   /* whose connections all of its connections are; -1: those of the clients */
        sd_event_source *io;
} VarlinkListener;

struct VarlinkServer {
        VarlinkOptions options;
        VarlinkCloser *closer;
        TAILQ_HEAD(, VarlinkListener) listeners;
        sd_event_source *timer; /* enabled while a connection waits */
        int wake_fd;            /* eventfd: readable while `ready` is not empty */
        sd_event_source *wake;
        TAILQ_HEAD(, VarlinkUser) users;
        TAILQ_HEAD(, VarlinkConnection) connections;
        TAILQ_HEAD(, VarlinkConnection) ready; /* have work to do without an event */
        size_t n_counted;                      /* connections of users other than uid 0 */
        uint64_t told_usec;                    /* time of the last warning in the journal */
        size_t n_untold;
};

struct VarlinkConnection {
        TAILQ_ENTRY(VarlinkConnection) entry, ready_entry;
        VarlinkServer *server;
        VarlinkUser *user;
        uid_t as; /* of its listener */
        int fd;
        sd_event_source *io;
        /* Input: handled bytes, then complete messages or the start of one (no end of a message
         * before in_seen). */
        char *in;
        size_t in_room, in_begin, in_seen, in_end;
        VarlinkOutbox out;
        size_t n_bytes;    /* of in and out, as counted for the user */
        size_t n_fds_out;  /* sent since the client last read everything */
        VarlinkCall *call; /* the call that waits for its answer */
        void *userdata;
        bool is_told;   /* on_connect succeeded */
        bool is_at_end; /* the client has shut down its sending side */
        bool is_broken; /* to be closed in the next turn */
        bool is_ahead;  /* has sent data before its answer: not read until then */
        bool is_paused; /* its user is out of time */
        bool is_ready;  /* in the server's list */
        bool is_stepping;
};

struct VarlinkCall {
        VarlinkConnection *connection; /* NULL: the connection is closed */
        const VarlinkMethod *method;
        bool more, oneway;
};

/* Consumes fd, also on failure. */
int varlink_connection_new(const VarlinkListener *listener, VarlinkUser *user, int fd);
/* Calls on_disconnect. */
void varlink_connection_close(VarlinkConnection *connection);
/* Called by the server when it is the turn of this connection. */
void varlink_connection_step(VarlinkConnection *connection);
/* Resumes a paused connection, which then checks again whether it may continue. */
void varlink_connection_resume(VarlinkConnection *connection);
/* Closes the connection in the next turn and logs `reason`. */
void varlink_connection_break(VarlinkConnection *connection, const char *reason);
/* Sends a message; text includes its NUL. Consumes fd. */
void varlink_connection_send(VarlinkConnection *connection, const char *text, size_t size, int fd);
/* Called when its call is answered. */
void varlink_connection_finish(VarlinkConnection *connection);

void varlink_connection_set_userdata(VarlinkConnection *connection, void *userdata);
void *varlink_connection_get_userdata(const VarlinkConnection *connection);
/* Only for SO_PEERCRED and similar queries: the caller must not read, write or close it. */
int varlink_connection_get_fd(const VarlinkConnection *connection);
uid_t varlink_connection_get_uid(const VarlinkConnection *connection);
/* Returns what varlink_server_listen_fd got. */
uid_t varlink_connection_get_as(const VarlinkConnection *connection);
/* The bytes that the client's socket has not accepted yet. */
size_t varlink_connection_count_unsent(const VarlinkConnection *connection);
