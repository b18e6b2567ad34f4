/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "interfaces/json.h"
#include "interfaces/names.h"

typedef struct ProxyRequest ProxyRequest;

/* Which way ktraced is reached. Its verbs are the same behind both: what a method takes and gives
 * has the names that interfaces/org.ktrace1.*.xml gives its arguments (proxy-method.c lists the
 * methods that are used here: a new one is a line there). A session is named by its id. */
typedef enum ProxyDoor {
        PROXY_DOOR_BUS,
        PROXY_DOOR_VARLINK,
} ProxyDoor;

/* What comes unasked, once a loop is attached. */
typedef struct ProxyListener {
        /* {"state": TEXT}, {"notice": {…}} or {"ended": {"code", "reason"}}: of each session that
         * this proxy made or subscribed to. signal is borrowed. */
        void (*on_signal)(const char *session, json_object *signal, void *userdata);
        /* The daemon has gone, or the next one is there. */
        void (*on_daemon)(bool is_there, void *userdata);
        void *userdata;
} ProxyListener;

/* ktraced as seen from here: the connection and, once attached, the caller's event loop. */
typedef struct Proxy {
        const struct ProxyBackend *backend;
        sd_event *event;       /* borrowed; NULL: calls block */
        const bool *cancelled; /* borrowed; a waiting call gives up when it becomes true */
        ProxyListener listener;
        bool lost;    /* the bus has hung up */
        bool may_ask; /* calls that need a password may have it asked for */
} Proxy;

/* Where proxy_open() goes from now on; the bus, until told. */
void proxy_set_door(ProxyDoor door);

/* All that can fail returns 0, -errno, or KT_E_* with a reason that names the remedy. */
int proxy_open(Proxy **ret, Reason *reason);
Proxy *proxy_free(Proxy *proxy);
DEFINE_CLEANUP(Proxy, proxy_free);
/* From now on calls run the loop while they wait, and give up (KT_E_CANCELLED) when *cancelled. */
int proxy_attach(Proxy *proxy,
                sd_event *event,
                const bool *cancelled,
                const ProxyListener *listener);

typedef struct ProxyCall {
        const char *session; /* id; NULL: not of a session */
        const char *method;
        json_object *arguments; /* by name; NULL: none. Borrowed */

        /* When it needs a password, the same is sent again with an agent beside it, if the proxy
         * may_ask. For what cannot be sent twice: */
        enum {
                PROXY_ASKS_AGAIN,
                PROXY_ASKS_NEVER, /* KT_E_AUTH_REQUIRED is an answer */
                PROXY_ASKS_NOW,   /* with an agent */
        } asking;
} ProxyCall;

typedef struct ProxyAnswer {
        json_object *object; /* the results by name */
        int fd;              /* -1: none. The object has an index in its place */
} ProxyAnswer;

/* The call with all that there is to it; the ones below are shorter. */
int proxy_perform(Proxy *proxy, const ProxyCall *call, ProxyAnswer *ret, Reason *reason);
void proxy_answer_done(ProxyAnswer *answer);

/* arguments, borrowed: by name; NULL: none. ret may be NULL: all results by name. */
int proxy_call(Proxy *proxy,
                const char *session,
                const char *method,
                json_object *arguments,
                json_object **ret,
                Reason *reason);
/* Of a method with one argument at most, its text; NULL: none. No result is wanted. */
int proxy_order(Proxy *proxy,
                const char *session,
                const char *method,
                const char *text,
                Reason *reason);
/* The same; the one result. */
int proxy_get(Proxy *proxy,
                const char *session,
                const char *method,
                const char *text,
                json_object **ret,
                Reason *reason);
/* OpenStream, OpenSink or Snapshot; option: a flag to set, or NULL. The fd is the caller's. */
int proxy_open_fd(Proxy *proxy,
                const char *session,
                const char *method,
                const char *option,
                int *ret_fd,
                Reason *reason);
/* Configure: one key. consumes value. */
int proxy_configure(Proxy *proxy,
                const char *session,
                const char *key,
                json_object *value,
                Reason *reason);

/* A call whose answer comes from the loop. Freed by its caller, before the answer: it is forgotten.
 */
typedef struct ProxyPending ProxyPending;

/* result: 0, or as above with reason; object: the results by name, borrowed. May free the pending.
 */
typedef void (*ProxyHandler)(int result, const Reason *reason, json_object *object, void *userdata);
int proxy_begin(Proxy *proxy,
                const ProxyCall *call,
                ProxyHandler handler,
                void *userdata,
                ProxyPending **ret);
ProxyPending *proxy_pending_free(ProxyPending *pending);
DEFINE_CLEANUP(ProxyPending, proxy_pending_free);

/* proxy_open where ktraced runs already: starts nothing. *ret is NULL where it does not. */
int proxy_open_running(Proxy **ret, Reason *reason);
/* An errno of the connection as a code and a reason. */
int proxy_refuse(const Proxy *proxy, int r, Reason *reason);

/* {key: value}; consumes value. */
int proxy_make_object(const char *key, json_object *value, json_object **ret);
/* What is wanted is not in an answer. */
int proxy_refuse_answer(const char *method, Reason *reason);
/* The one result of a method out of its object. */
int proxy_take_result(json_object *object, const char *method, json_object **ret, Reason *reason);
/* Begins a call and takes turns until it is answered. turn: 0, -errno. */
int proxy_await(Proxy *proxy,
                const ProxyRequest *request,
                int (*turn)(Proxy *proxy),
                ProxyAnswer *ret,
                Reason *reason);
/* The backend's slot is gone; answer is taken from. */
void proxy_pending_settle(ProxyPending *pending,
                int result,
                const Reason *reason,
                ProxyAnswer *answer);
