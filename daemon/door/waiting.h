/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/queue.h>

#include "auth/auth.h"
#include "session/session.h"

typedef struct Desk Desk;
typedef struct Waiting Waiting;
typedef TAILQ_HEAD(WaitingList, Waiting) WaitingList;

/* A call that waits for its answer. A door puts it first into what it remembers of the call, and
 * fills in the first part. */
struct Waiting {
        bool may_prompt; /* polkit may ask a human */
        /* 0: the request says what there is to answer. Exactly once. */
        void (*answer)(Waiting *waiting, Request *request, int result, const Reason *reason);
        void (*free)(Waiting *waiting);

        Desk *desk; /* NULL: gone */
        uid_t uid;
        TAILQ_ENTRY(Waiting) others;
};

/* A request that answers the call when it is done, from that peer (NULL: nobody).
 * KT_E_LIMIT_REACHED when as many of this user wait already. Consumes `waiting`, whatever it
 * returns. */
int waiting_new(Desk *desk, const Peer *peer, Waiting *waiting, Request **ret, Reason *reason);
/* Of a request that waiting_new made: both. */
Request *waiting_free(Request *request);
DEFINE_CLEANUP(Request, waiting_free);
bool waiting_may_prompt(const Request *request);
void waiting_forget_all(WaitingList *list);
