/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/queue.h>

#include "call/proxy.h"
#include "interfaces/ktrace.h"

/* A notice that the caller has not taken yet. */
typedef struct Notice {
        STAILQ_ENTRY(Notice) entry;
        json_object *object;
} Notice;

struct ktrace_session {
        TAILQ_ENTRY(ktrace_session) entry;
        ktrace *connection;
        char *id;
        STAILQ_HEAD(Notices, Notice) notices;
        size_t n_notices, n_dropped;
};

struct ktrace {
        Proxy *proxy;
        sd_event *event;       /* the connection's own loop, whose descriptor callers wait for */
        sd_event_source *io;   /* of the loop that ktrace_attach() was given */
        bool is_in_their_loop; /* the caller's bus belongs to the caller's loop */
        TAILQ_HEAD(Sessions, ktrace_session) sessions;
};

/* Makes an object of JSON from a text of the caller. NULL is none. `what` names it in messages. */
int connection_parse(const char *what, const char *text, json_object **ret, Reason *reason);
/* Makes a text for the caller. */
int connection_print(json_object *object, char **ret);
