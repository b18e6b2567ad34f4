/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "proxy-method.h"
#include "proxy.h"

/* One call on its way to a backend: checked, with the method looked up. */
typedef struct ProxyRequest {
        const ProxyMethod *method;
        const char *session;
        json_object *arguments; /* NULL: none */
        bool is_interactive;    /* polkit may ask */
        uint64_t timeout_usec;
} ProxyRequest;

struct ProxyPending {
        Proxy *proxy;
        const ProxyMethod *method;
        ProxyHandler handler;
        /* Instead of the handler: who wants the fd as well. */
        void (*on_answer)(int result, const Reason *reason, ProxyAnswer *answer, void *userdata);
        void *userdata;
        void *slot; /* the backend's */
};

/* How ktraced is reached. Each has a struct of its own that begins with Proxy. */
typedef struct ProxyBackend {
        void (*free)(Proxy *proxy);
        /* proxy->event and listener are set. */
        int (*attach)(Proxy *proxy);
        /* Blocks; where no loop is attached. */
        int (*call)(Proxy *proxy, const ProxyRequest *request, ProxyAnswer *ret, Reason *reason);
        /* proxy_pending_settle() when it is answered, also when the connection breaks; never
         * before it returns. */
        int (*begin)(Proxy *proxy,
                        const ProxyRequest *request,
                        ProxyPending *pending,
                        Reason *reason);
        void (*forget)(ProxyPending *pending);
        /* The loop is attached. */
        int (*subscribe)(Proxy *proxy, const char *session, Reason *reason);
        /* A session was made with this spec; NULL: nothing is to be done. */
        int (*adopt)(Proxy *proxy, const char *session, json_object *spec);
        /* Whether a password can be asked for, where that is not the backend's own way. */
        int (*check_agent)(Proxy *proxy, Reason *reason);
        int (*refuse)(const Proxy *proxy, int r, Reason *reason);
} ProxyBackend;
