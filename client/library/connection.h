/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/queue.h>

#include "call/proxy.h"
#include "interfaces/ktrace.h"
#include "library/notice-queue.h"

struct ktrace_session {
        TAILQ_ENTRY(ktrace_session) entry;
        ktrace *connection;
        char *id;
        NoticeQueue notices;
};

struct ktrace {
        Proxy *proxy;
        sd_event *event;       /* the connection's own loop, whose descriptor callers wait for */
        sd_event_source *io;   /* of the loop that ktrace_attach() was given */
        bool is_in_their_loop; /* the caller's bus belongs to the caller's loop */
        TAILQ_HEAD(Sessions, ktrace_session) sessions;
        bool watches;
        NoticeQueue notices; /* of the watch */
};

/* Makes an object of JSON from a text of the caller. NULL is none. `what` names it in messages. */
int connection_parse(const char *what, const char *text, json_object **ret, Reason *reason);
/* Makes a text for the caller. */
int connection_print(json_object *object, char **ret);
