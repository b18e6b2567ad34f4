/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "base/caller.h"
#include "interfaces/spec.h"
#include "policy/policy.h"

/* The sessions that a look-up may find, for users other than root. */
typedef enum SessionReach {
        REACH_OWN, /* the user's own sessions */
        REACH_ALL, /* all sessions; only to manage them, with polkit's permission */
} SessionReach;

typedef struct ProbeFile ProbeFile;
typedef struct Request Request;
typedef struct Session Session;

/* One call and its answer. The door that makes the request fills the first part. The answer arrives
 * by `done`, exactly once, from the event loop, and never before the verb has returned. The
 * implementation of `done` frees the request. */
struct Request {
        Subject subject;
        char *peer;            /* unique name (auth.h) for lifetime `client`; may be NULL */
        bool is_administrator; /* polkit lets this connection manage sessions */
        Caller caller;         /* create: the pids are in its namespace; may be unknown */
        void (*done)(Request *request, int result, const Reason *reason);
        void *userdata;
        /* Updates the subject to the caller's current state. KT_E_CANCELLED: the caller has left.
         * NULL: the subject stays as it is. */
        int (*renew)(Request *request);

        /* create: asks polkit about `wanted`. If it returns 0, it has taken over request and spec,
         * and the same request may try again with is_authorized. If ask is NULL, the request is
         * refused with KT_E_AUTH_REQUIRED. */
        int (*ask)(Request *request, Spec *spec, Reason *reason);
        Grant *wanted;
        bool is_authorized; /* polkit has allowed `wanted` */

        Session *session; /* create: the new session; valid during `done` */
        char *text;       /* add_probe: the name of its event */
        uint32_t ticket;  /* inspections_open: of the expected file */
        ProbeFile *file;  /* add_probe: the file that probe_inspect found for a path */
        ProbeFile *(*free_file)(ProbeFile *file); /* see probe_file_give() */
        json_object *list; /* get_histogram: its rows; look: the description; check: the decision */
        int fd; /* open_stream: the client's end; `done` takes it with TAKE_FD, or request_free
                   closes it */
};

Request *request_new(const Subject *subject, const char *peer);
Request *request_free(Request *request);
DEFINE_CLEANUP(Request, request_free);
/* For a call that has waited, before its rights are checked. */
int request_renew(Request *request);
/* Consumes the request. Does nothing if *request is NULL. reason may be NULL. */
void request_answer(Request **request, int result, const Reason *reason);
/* Answers a call whose session has ended. why: "" if the owner destroyed it. */
void request_answer_cancelled(Request **request, const char *why);
