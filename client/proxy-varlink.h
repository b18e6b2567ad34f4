/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/queue.h>

#include "proxy-backend.h"
#include "varlink-link.h"

/* What the files of the Varlink backend share. */

/* A call that is not answered yet. */
typedef struct ProxyVarlinkCall {
        TAILQ_ENTRY(ProxyVarlinkCall) entry;
        const ProxyMethod *method;
        ProxyPending *pending; /* NULL: nobody waits any more; its answer still comes first */
        uint64_t deadline_usec;
        sd_event_source *timer;
} ProxyVarlinkCall;

/* A session whose signals come, over a connection of its own. */
typedef struct ProxyVarlinkSignals {
        TAILQ_ENTRY(ProxyVarlinkSignals) entry;
        struct ProxyVarlink *owner;
        char *session;
        VarlinkLink *link; /* NULL: broken, or over */
        sd_event_source *source;
        bool is_tied; /* it ends with our connection */
        bool is_ended_by_us;
        bool is_answered;
        bool is_end_told;
        bool is_over;
        int result; /* of the first answer */
        Reason reason;
} ProxyVarlinkSignals;

typedef struct ProxyVarlink {
        Proxy proxy; /* first: the one is the other */
        char *path;
        VarlinkLink *link; /* NULL: ktraced has hung up */
        sd_event_source *source;
        bool is_known; /* that the daemon is there: it has answered since it came */
        TAILQ_HEAD(ProxyVarlinkCalls, ProxyVarlinkCall) calls;
        TAILQ_HEAD(, ProxyVarlinkSignals) signals;
        sd_event_source *retry_timer;
        uint64_t retry_usec;
} ProxyVarlink;

/* {"method": "org.ktrace1.METHOD", "parameters": {"session": ID, …}} */
int proxy_varlink_make_call(const ProxyRequest *request, bool wants_more, json_object **ret);

/* The connection of the calls, taken into the loop. */
int proxy_varlink_watch_link(ProxyVarlink *self);

/* Its socket is, whoever listens. */
bool proxy_varlink_is_there(void);
int proxy_varlink_open(Proxy **ret, Reason *reason);
int proxy_varlink_open_running(Proxy **ret, Reason *reason);
