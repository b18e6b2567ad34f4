/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/queue.h>

#include "call/proxy-backend.h"
#include "call/varlink-link.h"

/* Shared by the files of the Varlink backend. */

/* A call without an answer yet. */
typedef struct ProxyVarlinkCall {
        TAILQ_ENTRY(ProxyVarlinkCall) entry;
        const ProxyMethod *method;
        ProxyPending *pending; /* NULL: the caller gave up; the answer still comes */
        uint64_t deadline_usec;
        sd_event_source *timer;
} ProxyVarlinkCall;

/* A session's signals, or the notices of a watch, over their own connection. */
typedef struct ProxyVarlinkSignals {
        TAILQ_ENTRY(ProxyVarlinkSignals) entry;
        struct ProxyVarlink *owner;
        char *session; /* NULL: a watch */
        bool watches_all;
        bool may_ask;      /* polkit may ask for a password; only for the first answer */
        VarlinkLink *link; /* NULL: the connection is broken or closed */
        sd_event_source *source;
        bool is_tied; /* the session ends with our connection */
        bool is_ended_by_us;
        bool is_answered;
        bool is_end_reported;
        bool is_over;
        int result; /* from the first answer */
        Reason reason;
} ProxyVarlinkSignals;

typedef struct ProxyVarlink {
        Proxy proxy; /* first, so that a Proxy * can be cast */
        char *path;
        VarlinkLink *link; /* NULL: ktraced has hung up */
        sd_event_source *source;
        bool is_known; /* the daemon has answered since it came */
        TAILQ_HEAD(ProxyVarlinkCalls, ProxyVarlinkCall) calls;
        TAILQ_HEAD(, ProxyVarlinkSignals) signals;
        sd_event_source *retry_timer;
        uint64_t retry_usec;
} ProxyVarlink;

/* {"method": "org.ktrace1.METHOD", "parameters": {"session": ID, …}} */
int proxy_varlink_make_call(const ProxyRequest *request, bool wants_more, json_object **ret);

/* Adds the connection of the calls to the loop. */
int proxy_varlink_watch_link(ProxyVarlink *self);

/* Whether its socket exists, even if no process listens. */
bool proxy_varlink_is_there(void);
int proxy_varlink_open(Proxy **ret, Reason *reason);
int proxy_varlink_open_running(Proxy **ret, Reason *reason);
