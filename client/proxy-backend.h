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

int proxy_bus_open(Proxy **ret, Reason *reason);
/* *ret stays NULL where no daemon runs. */
int proxy_bus_open_running(Proxy **ret, Reason *reason);
/* Somebody listens at the system bus's address. */
bool proxy_bus_is_there(void);
/* Its socket is, whoever listens. */
bool proxy_varlink_is_there(void);
int proxy_varlink_open(Proxy **ret, Reason *reason);
int proxy_varlink_open_running(Proxy **ret, Reason *reason);

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
