/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/queue.h>

#include "auth/auth.h"
#include "session/session.h"

typedef struct Desk Desk;
typedef struct Waiting Waiting;
typedef TAILQ_HEAD(WaitingList, Waiting) WaitingList;

/* A call that waits for its answer. The first part is filled in by the caller of waiting_new. */
struct Waiting {
        bool may_prompt; /* polkit may ask a human */
        /* Called exactly once. result 0: the request contains the answer. */
        void (*answer)(Waiting *waiting, Request *request, int result, const Reason *reason);
        void (*free)(Waiting *waiting);

        Desk *desk; /* NULL: gone */
        uid_t uid;
        TAILQ_ENTRY(Waiting) others;
};

/* Creates a request from this peer (NULL: not known) that answers the call when it completes. Fails
 * with KT_E_LIMIT_REACHED if the user has too many waiting calls. Owns `waiting` if it returns
 * 0. */
int waiting_new(Desk *desk, const Peer *peer, Waiting *waiting, Request **ret, Reason *reason);
/* Frees a request that waiting_new made, and its waiting call. */
Request *waiting_free(Request *request);
DEFINE_CLEANUP(Request, waiting_free);
bool waiting_may_prompt(const Request *request);
void waiting_forget_all(WaitingList *list);
