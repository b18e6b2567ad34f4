/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "interfaces/varlink-message.h"

typedef struct VarlinkUser VarlinkUser;

/* A Varlink server (varlink.org): messages are JSON objects terminated by NUL. The calls of one
 * connection are handled in order, each one after the previous one is answered. */
typedef struct VarlinkServer VarlinkServer;
typedef struct VarlinkConnection VarlinkConnection;
/* One call. The handler that receives it owns it until it is answered. */
typedef struct VarlinkCall VarlinkCall;

/* Size of one message without its NUL: fits 4096 events with a filter of 200 bytes each. */
#define VARLINK_MESSAGE_MAX ((size_t)1024 * 1024)
/* JSON values per message; json-c uses up to 800 bytes for each while a call is handled. */
#define VARLINK_VALUES_MAX           ((size_t)32 * 1024)
#define VARLINK_USER_CONNECTIONS_MAX 64
#define VARLINK_ROOT_CONNECTIONS_MAX 512
#define VARLINK_CONNECTIONS_MAX      1024 /* does not count those of uid 0 */
/* Bytes that wait to be sent to one client, in addition to one message. */
#define VARLINK_OUT_MAX ((size_t)1024 * 1024)
/* Descriptors that one client has not read. Its next call waits until it has read them. */
#define VARLINK_UNREAD_FDS_MAX 8
/* Bytes that wait in both directions on all connections of one user, in addition to one message. */
#define VARLINK_USER_BYTES_MAX ((size_t)8 * 1024 * 1024)

/* What a parameter must be before its handler is called: json_type_object and so on. An integer is
 * accepted as a double; an optional parameter may be null, which is the same as absent. */
typedef struct VarlinkParameter {
        const char *name; /* NULL ends a list */
        enum json_type type;
        bool is_optional;
} VarlinkParameter;

/* Must answer the call exactly once, now or later, with varlink_call_reply or varlink_call_error.
 * `parameters` is an object (empty if the call has none) that matches the table and has no other
 * keys. It is freed after the handler returns, unless the handler takes a reference. */
typedef void (*VarlinkHandler)(VarlinkCall *call, json_object *parameters, void *userdata);

typedef struct VarlinkMethod {
        const char *name;
        VarlinkHandler handler;             /* NULL: MethodNotImplemented */
        const VarlinkParameter *parameters; /* NULL: no parameters */
        bool needs_more;                    /* calls without "more" fail with ExpectedMore */
        const void *data;                   /* for the handler */
} VarlinkMethod;

typedef struct VarlinkInterface {
        const char *name;
        const char *description; /* its IDL text */
        const VarlinkMethod *methods;
        size_t n_methods;
} VarlinkInterface;

/* Each may be NULL. Functions of this header do not call them, except for varlink_server_free. */
typedef struct VarlinkHandlers {
        /* A client has connected; < 0 refuses it. */
        int (*on_connect)(VarlinkConnection *connection, void *userdata);
        /* The client has left. Answers to its calls are dropped from now on, but the calls must
         * still be answered. */
        void (*on_disconnect)(VarlinkConnection *connection, void *userdata);
        /* Called before any data of this user is read or handled, once per turn of the loop. false:
         * the connection waits, and this is called again later. */
        bool (*may_call)(uid_t uid, void *userdata);
        /* The client has read all that waited for it. Called in a turn of the loop. */
        void (*on_drained)(VarlinkConnection *connection, void *userdata);
} VarlinkHandlers;

/* All pointers are borrowed and must outlive the server. */
typedef struct VarlinkOptions {
        sd_event *event;
        const char *vendor, *product, *version, *url;
        const VarlinkInterface *interfaces; /* without org.varlink.service */
        size_t n_interfaces;
        VarlinkHandlers handlers;
        void *userdata; /* for the handlers and all methods */
} VarlinkOptions;

int varlink_server_new(const VarlinkOptions *options, VarlinkServer **ret);
/* Closes all connections (on_disconnect). Calls that are still open may be answered afterwards. */
VarlinkServer *varlink_server_free(VarlinkServer *server);
DEFINE_CLEANUP(VarlinkServer, varlink_server_free);
/* Listens on a bound AF_UNIX stream socket. Consumes fd, also on failure. as: all clients of this
 * socket count as this user; -1: each counts as its own. */
int varlink_server_listen_fd(VarlinkServer *server, int fd, uid_t as);
/* Binds a socket at path that all users may connect to; replaces an existing file. */
int varlink_server_listen_path(VarlinkServer *server, const char *path);

/* Closes a socket without dropping a client's descriptors in this thread. Consumes sock. */
void varlink_server_close_socket(VarlinkServer *server, VarlinkUser *user, int sock);
void varlink_server_complain(VarlinkServer *server, uid_t uid, const char *what);
/* Schedules a step of the connection in one of the next turns. */
void varlink_server_add_ready(VarlinkServer *server, VarlinkConnection *connection);
void varlink_server_remove_ready(VarlinkServer *server, VarlinkConnection *connection);
/* Schedules another check of all waiting connections. */
void varlink_server_wait(VarlinkServer *server);
bool varlink_server_may_call(VarlinkServer *server, uid_t uid);
