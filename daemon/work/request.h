/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "base/caller.h"
#include "interfaces/spec.h"
#include "policy/policy.h"

/* How far a look-up reaches, for others than root. */
typedef enum SessionReach {
        REACH_OWN, /* sessions of one's own */
        REACH_ALL, /* everybody's; for whom polkit lets manage them, and to no other end */
} SessionReach;

typedef struct ProbeFile ProbeFile;
typedef struct Request Request;
typedef struct Session Session;

/* One call on its way down and its answer on the way up. The door that made it fills the first
 * part; the answer comes by `done`, exactly once, from the event loop, never before the verb
 * returned. Whoever implements `done` frees the request. */
struct Request {
        Subject subject;
        char *peer;            /* unique name (auth.h) for lifetime `client`; NULL: none */
        bool is_administrator; /* polkit lets it manage sessions, for this connection */
        Caller caller;         /* create: in whose pid namespace pids are; may be unknown */
        void (*done)(Request *request, int result, const Reason *reason);
        void *userdata;

        /* create: polkit has to be asked about `wanted`. 0: request and spec are taken over, and
         * the same request may try again with is_authorized. NULL: it is refused, with
         * KT_E_AUTH_REQUIRED. */
        int (*ask)(Request *request, Spec *spec, Reason *reason);
        Grant *wanted;
        bool is_authorized; /* polkit has allowed `wanted` */

        Session *session; /* create: the new one; valid during `done` */
        char *text;       /* add_probe: the name of its event */
        uint32_t ticket;  /* inspections_open: of the file to come */
        ProbeFile *file;  /* add_probe: of a definition on a path, what probe_inspect has
                             found */
        ProbeFile *(*free_file)(ProbeFile *file); /* see probe_file_give() */
        json_object *list; /* get_histogram: its rows; look: the description; check: the decision */
        int fd; /* open_stream: the client's end; `done` takes it with TAKE_FD or request_free
                   closes it */
};

Request *request_new(const Subject *subject, const char *peer);
Request *request_free(Request *request);
DEFINE_CLEANUP(Request, request_free);
/* Takes the request. Does nothing if there is none. reason: NULL for none. */
void request_answer(Request **request, int result, const Reason *reason);
/* The session of the call has ended. why: "": its owner destroyed it. */
void request_answer_cancelled(Request **request, const char *why);
