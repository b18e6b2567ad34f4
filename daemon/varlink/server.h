/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "interfaces/cleanup.h"

typedef struct VarlinkUser VarlinkUser;

/* A Varlink service (varlink.org): messages are JSON objects ended by NUL. The calls of one
 * connection are handled one by one, in order: the next one when the last one is answered. */
typedef struct VarlinkServer VarlinkServer;
typedef struct VarlinkConnection VarlinkConnection;
/* One call. Whoever got it owns it until it is answered. */
typedef struct VarlinkCall VarlinkCall;

#define VARLINK_SERVICE_ERROR(name) "org.varlink.service." name

/* Of one message without its NUL: 4096 events with a filter of 200 bytes each. */
#define VARLINK_MESSAGE_MAX ((size_t)1024 * 1024)
/* Of one message; json-c needs up to 800 bytes for each while a call is handled. */
#define VARLINK_VALUES_MAX           ((size_t)32 * 1024)
#define VARLINK_USER_CONNECTIONS_MAX 64
#define VARLINK_ROOT_CONNECTIONS_MAX 512
#define VARLINK_CONNECTIONS_MAX      1024 /* those of uid 0 are not counted */
/* What waits to be read by one client, beyond one message. */
#define VARLINK_OUT_MAX ((size_t)1024 * 1024)
/* Descriptors that one client has not read: until it has, its next call waits. */
#define VARLINK_UNREAD_FDS_MAX 8
/* What waits in both directions of all connections of one user, beyond one message. */
#define VARLINK_USER_BYTES_MAX ((size_t)8 * 1024 * 1024)

/* What is asked of a parameter before its handler sees it: json_type_object and the like. An
 * integer is a double too; an optional one may be null, which is the same as none. */
typedef struct VarlinkParameter {
        const char *name; /* NULL ends a list */
        enum json_type type;
        bool is_optional;
} VarlinkParameter;

/* To be answered once, now or later: varlink_call_reply or varlink_call_error. `parameters` is an
 * object (empty where the call has none) that has what the table says and nothing else; it is gone
 * after the handler, who wants to keep it takes a reference. */
typedef void (*VarlinkHandler)(VarlinkCall *call, json_object *parameters, void *userdata);

typedef struct VarlinkMethod {
        const char *name;
        VarlinkHandler handler;             /* NULL: MethodNotImplemented */
        const VarlinkParameter *parameters; /* NULL: it has none */
        bool needs_more;                    /* else ExpectedMore */
} VarlinkMethod;

typedef struct VarlinkInterface {
        const char *name;
        const char *description; /* its IDL */
        const VarlinkMethod *methods;
        size_t n_methods;
} VarlinkInterface;

/* Each may be NULL. None is called from within a function of this header, but for
 * varlink_server_free. */
typedef struct VarlinkHandlers {
        /* Somebody is there; < 0: is not let in. */
        int (*on_connect)(VarlinkConnection *connection, void *userdata);
        /* … and gone. Of its calls answers go nowhere from now on; they must be answered all the
         * same. */
        void (*on_disconnect)(VarlinkConnection *connection, void *userdata);
        /* Asked before anything is read or handled that this user sent, once in a turn of the
         * loop. false: it waits, and is asked for again some time later. */
        bool (*may_call)(uid_t uid, void *userdata);
} VarlinkHandlers;

/* All is borrowed and must outlive the server. */
typedef struct VarlinkOptions {
        sd_event *event;
        const char *vendor, *product, *version, *url;
        const VarlinkInterface *interfaces; /* without org.varlink.service */
        size_t n_interfaces;
        VarlinkHandlers handlers;
        void *userdata; /* of the handlers and of all methods */
} VarlinkOptions;

int varlink_server_new(const VarlinkOptions *options, VarlinkServer **ret);
/* Ends all connections (on_disconnect). Calls that were not answered may be so afterwards. */
VarlinkServer *varlink_server_free(VarlinkServer *server);
DEFINE_CLEANUP(VarlinkServer, varlink_server_free);
/* A bound AF_UNIX stream socket. Consumes fd, also where it fails. Once per server. */
int varlink_server_listen_fd(VarlinkServer *server, int fd);
/* Binds one there, for everybody to connect; what lies there is replaced. */
int varlink_server_listen_path(VarlinkServer *server, const char *path);

/* Closes without dropping anybody's descriptors in this thread. Consumes sock. */
void varlink_server_close_socket(VarlinkServer *server, VarlinkUser *user, int sock);
void varlink_server_complain(VarlinkServer *server, uid_t uid, const char *what);
/* It steps in one of the next turns. */
void varlink_server_add_ready(VarlinkServer *server, VarlinkConnection *connection);
void varlink_server_remove_ready(VarlinkServer *server, VarlinkConnection *connection);
/* Those who wait are looked at again some time later. */
void varlink_server_wait(VarlinkServer *server);
bool varlink_server_may_call(VarlinkServer *server, uid_t uid);
