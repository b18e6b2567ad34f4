/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/queue.h>

#include "interfaces/error.h"
#include "varlink/closer.h"
#include "varlink/outbox.h"
#include "varlink/server.h"

/* What is shared by the files of the server; the floor above knows server.h alone. */

/* Who has connections, or sockets that are being closed. */
typedef struct VarlinkUser {
        TAILQ_ENTRY(VarlinkUser) entry;
        VarlinkServer *server;
        uid_t uid;
        size_t n_connections;
        size_t n_bytes; /* that wait in them */
} VarlinkUser;

struct VarlinkServer {
        VarlinkOptions options;
        VarlinkCloser *closer;
        int fd;
        char *path; /* where we have bound it; NULL: was given */
        sd_event_source *io;
        sd_event_source *timer; /* on: somebody is let wait */
        int wake_fd;            /* eventfd: readable while somebody is ready */
        sd_event_source *wake;
        TAILQ_HEAD(, VarlinkUser) users;
        TAILQ_HEAD(, VarlinkConnection) connections;
        TAILQ_HEAD(, VarlinkConnection) ready; /* have something to do without being told */
        size_t n_counted;                      /* connections of others than uid 0 */
        uint64_t told_usec;                    /* the last complaint in the journal */
        size_t n_untold;
};

struct VarlinkConnection {
        TAILQ_ENTRY(VarlinkConnection) entry, ready_entry;
        VarlinkServer *server;
        VarlinkUser *user;
        int fd;
        sd_event_source *io;
        /* What came: done, then whole messages or the beginning of one (known to be none up to
         * in_seen). */
        char *in;
        size_t in_room, in_begin, in_seen, in_end;
        VarlinkOutbox out;
        size_t n_bytes;    /* of in and out, as told to the user */
        size_t n_fds_out;  /* sent since all was read */
        VarlinkCall *call; /* that waits for its answer */
        void *userdata;
        bool is_told;   /* on_connect went well */
        bool is_at_end; /* the client sends no more */
        bool is_broken; /* is closed in the next turn */
        bool is_ahead;  /* sends before it is answered: left in the socket until then */
        bool is_paused; /* its user has called too much */
        bool is_ready;  /* in the server's list */
        bool is_stepping;
};

struct VarlinkCall {
        VarlinkConnection *connection; /* NULL: gone */
        bool more, oneway;
};

/* Consumes fd, also where it fails. */
int varlink_connection_new(VarlinkServer *server, VarlinkUser *user, int fd);
/* Tells of it. */
void varlink_connection_close(VarlinkConnection *connection);
/* Its turn has come. */
void varlink_connection_step(VarlinkConnection *connection);
/* Looks again whether it may go on. */
void varlink_connection_resume(VarlinkConnection *connection);
/* It is closed in the next turn, since `reason`. */
void varlink_connection_break(VarlinkConnection *connection, const char *reason);
/* The text of a message with its NUL. Consumes fd. */
void varlink_connection_send(VarlinkConnection *connection, const char *text, size_t size, int fd);
/* Its call is answered. */
void varlink_connection_finish(VarlinkConnection *connection);

void varlink_connection_set_userdata(VarlinkConnection *connection, void *userdata);
void *varlink_connection_get_userdata(const VarlinkConnection *connection);
/* For SO_PEERCRED and the like; not to be read, written or closed. */
int varlink_connection_get_fd(const VarlinkConnection *connection);
uid_t varlink_connection_get_uid(const VarlinkConnection *connection);
