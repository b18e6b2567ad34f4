/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call/proxy-method.h"
#include "call/proxy.h"

/* One call for a backend. Its arguments are checked and its method is looked up. */
typedef struct ProxyRequest {
        const ProxyMethod *method;
        const char *session;
        json_object *arguments; /* NULL: none */
        bool is_interactive;    /* polkit may ask for a password */
        uint64_t timeout_usec;
} ProxyRequest;

struct ProxyPending {
        Proxy *proxy;
        const ProxyMethod *method;
        ProxyHandler handler;
        /* Called instead of the handler when the caller needs the fd, too. */
        void (*on_answer)(int result, const Reason *reason, ProxyAnswer *answer, void *userdata);
        void *userdata;
        void *slot; /* owned by the backend */
};

/* One way to reach ktraced. Each backend has its own struct, which begins with Proxy. */
typedef struct ProxyBackend {
        void (*free)(Proxy *proxy);
        /* The caller has set proxy->event and the listener. */
        int (*attach)(Proxy *proxy);
        /* Blocks. Used when no loop is attached. */
        int (*call)(Proxy *proxy, const ProxyRequest *request, ProxyAnswer *ret, Reason *reason);
        /* Calls proxy_pending_settle() when the answer comes or the connection breaks, but never
         * before `begin` returns. */
        int (*begin)(Proxy *proxy,
                        const ProxyRequest *request,
                        ProxyPending *pending,
                        Reason *reason);
        void (*forget)(ProxyPending *pending);
        /* The loop must be attached. */
        int (*subscribe)(Proxy *proxy, const char *session, Reason *reason);
        /* The loop must be attached. Continues with the next daemon. */
        int (*watch)(Proxy *proxy, bool is_of_all, Reason *reason);
        /* Called after a session was created with this spec. NULL: the backend needs to do
         * nothing. */
        int (*adopt)(Proxy *proxy, const char *session, json_object *spec);
        /* Checks whether a password can be requested. NULL when the backend itself has a way to do
         * this. */
        int (*check_agent)(Proxy *proxy, Reason *reason);
        int (*refuse)(const Proxy *proxy, int r, Reason *reason);
} ProxyBackend;
