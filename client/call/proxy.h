/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "interfaces/json.h"
#include "interfaces/names.h"

typedef struct ProxyRequest ProxyRequest;

/* How ktraced is reached. The methods are the same over both ways: arguments and results have the
 * names of interfaces/org.ktrace1.*.xml. proxy-method.c lists the methods that are used; to use
 * another one, add a line there. Sessions are named by id. */
typedef enum ProxyDoor {
        PROXY_DOOR_BUS, /* Varlink early at boot, before there is a bus */
        PROXY_DOOR_VARLINK,
} ProxyDoor;

/* Signals and reports of the daemon. They come only when a loop is attached. */
typedef struct ProxyListener {
        /* {"state": TEXT}, {"notice": {…}} or {"ended": {"code", "reason"}}: for each session that
         * this proxy created or subscribed to. signal is borrowed. */
        void (*on_signal)(const char *session, json_object *signal, void *userdata);
        /* The daemon has left, or the next one has started. */
        void (*on_daemon)(bool is_there, void *userdata);
        /* An object of Manager.Notified, after proxy_watch. {"failed": TEXT}: the next daemon has
         * refused the watch, which has ended. NULL: not needed. notice is borrowed. */
        void (*on_notice)(json_object *notice, void *userdata);
        void *userdata;
} ProxyListener;

/* The connection to ktraced and, when attached, the caller's event loop. */
typedef struct Proxy {
        const struct ProxyBackend *backend;
        sd_event *event;       /* borrowed; NULL: calls block */
        const bool *cancelled; /* borrowed; a waiting call ends when it becomes true */
        ProxyListener listener;
        bool lost;             /* the bus has closed the connection */
        bool may_ask;          /* a call may ask for a password if it needs one */
        uint64_t timeout_usec; /* of a call; 0: the default */
} Proxy;

/* Functions that can fail return 0, -errno, or KT_E_* with a reason that says what to do. */
int proxy_open(ProxyDoor door, Proxy **ret, Reason *reason);
Proxy *proxy_free(Proxy *proxy);
DEFINE_CLEANUP(Proxy, proxy_free);
/* From now on calls run the loop while they wait. They end with KT_E_CANCELLED when *cancelled is
 * true. event: NULL: the bus is in another loop of the caller, and calls still block. */
int proxy_attach(Proxy *proxy,
                sd_event *event,
                const bool *cancelled,
                const ProxyListener *listener);

typedef struct ProxyCall {
        const char *session; /* id; NULL: not a method of a session */
        const char *method;
        json_object *arguments; /* by name; NULL: none. Borrowed */

        /* When the call needs a password and the proxy may_ask, it is sent again with an agent. The
         * other values are for calls that must not be sent twice. */
        enum {
                PROXY_ASKS_AGAIN,
                PROXY_ASKS_NEVER, /* returns KT_E_AUTH_REQUIRED to the caller */
                PROXY_ASKS_NOW,   /* starts an agent before the call */
        } asking;
} ProxyCall;

typedef struct ProxyAnswer {
        json_object *object; /* the results by name */
        int fd;              /* -1: none. The object contains its index */
} ProxyAnswer;

/* The call with all parameters. The functions below are shorter forms. */
int proxy_perform(Proxy *proxy, const ProxyCall *call, ProxyAnswer *ret, Reason *reason);
void proxy_answer_done(ProxyAnswer *answer);

/* arguments: by name, borrowed, or NULL. ret: all results by name; may be NULL. */
int proxy_call(Proxy *proxy,
                const char *session,
                const char *method,
                json_object *arguments,
                json_object **ret,
                Reason *reason);
/* For a method with at most one argument, which is text or NULL. Ignores the results. */
int proxy_order(Proxy *proxy,
                const char *session,
                const char *method,
                const char *text,
                Reason *reason);
/* The same, and returns the only result. */
int proxy_get(Proxy *proxy,
                const char *session,
                const char *method,
                const char *text,
                json_object **ret,
                Reason *reason);
/* OpenStream, OpenSink or Snapshot. option: a flag to set, or NULL. The caller owns the fd. */
int proxy_open_fd(Proxy *proxy,
                const char *session,
                const char *method,
                const char *option,
                int *ret_fd,
                Reason *reason);
/* Configures one key. Consumes value. */
int proxy_configure(Proxy *proxy,
                const char *session,
                const char *key,
                json_object *value,
                Reason *reason);

/* A call whose answer comes from the loop. Its caller frees it. When it is freed before the answer,
 * the answer is ignored. */
typedef struct ProxyPending ProxyPending;

/* result: 0, or as above with reason. object: the results by name, borrowed. The handler may free
 * the pending. */
typedef void (*ProxyHandler)(int result, const Reason *reason, json_object *object, void *userdata);
int proxy_begin(Proxy *proxy,
                const ProxyCall *call,
                ProxyHandler handler,
                void *userdata,
                ProxyPending **ret);
ProxyPending *proxy_pending_free(ProxyPending *pending);
DEFINE_CLEANUP(ProxyPending, proxy_pending_free);

/* Like proxy_open, but does not start ktraced. Sets *ret to NULL when ktraced does not run. */
int proxy_open_running(ProxyDoor door, Proxy **ret, Reason *reason);
/* Turns an errno of the connection into a code and a reason. */
int proxy_refuse(const Proxy *proxy, int r, Reason *reason);

/* Makes {key: value}. Consumes value. */
int proxy_make_object(const char *key, json_object *value, json_object **ret);
/* Refuses an answer that does not contain the expected result. */
int proxy_refuse_answer(const char *method, Reason *reason);
/* Takes the only result of a method out of its object. */
int proxy_take_result(json_object *object, const char *method, json_object **ret, Reason *reason);
/* Begins a call and calls turn until the answer comes. turn returns 0 or -errno. */
int proxy_await(Proxy *proxy,
                const ProxyRequest *request,
                int (*turn)(Proxy *proxy),
                ProxyAnswer *ret,
                Reason *reason);
/* The backend has freed its slot. Takes the contents of answer. */
void proxy_pending_settle(ProxyPending *pending,
                int result,
                const Reason *reason,
                ProxyAnswer *answer);
