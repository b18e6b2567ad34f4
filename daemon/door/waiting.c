/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Turns a call into a Request, and its result into the answer, for every door. The desk owns the
 * list of waiting calls and counts them per user. Owns the door's data of the call until the
 * answer. */
#include "door/waiting.h"

#include <errno.h>
#include <inttypes.h>

#include "door/desk.h"
#include "session/registry.h"

Request *waiting_free(Request *request) {
        Waiting *waiting = request ? request->userdata : NULL;

        if (waiting) {
                if (waiting->desk)
                        TAILQ_REMOVE(&waiting->desk->waiting, waiting, others);
                waiting->free(waiting);
        }
        return request_free(request);
}

static void waiting_on_done(Request *request, int result, const Reason *reason) {
        Waiting *waiting = request->userdata;

        waiting->answer(waiting, request, result, reason);
        waiting_free(request);
}

static int waiting_renew(Request *request) {
        const Waiting *waiting = request->userdata;

        return waiting->desk ? desk_renew_subject(waiting->desk, request) : KT_E_CANCELLED;
}

/* Checks the limit before any work is done for the call. root has no limit. */
static int waiting_check_number(const Desk *desk, uid_t uid, Reason *reason) {
        uint64_t limit = registry_get_limits(desk->registry)->max_calls_per_uid, n = 0;
        const Waiting *waiting;

        if (uid == 0)
                return 0;
        TAILQ_FOREACH(waiting, &desk->waiting, others)
                n += waiting->uid == uid;
        if (n < limit)
                return 0;
        return reason_set(reason,
                        KT_E_LIMIT_REACHED,
                        "%" PRIu64
                        " calls of yours wait for their answer (max-calls-per-uid): wait for one of them",
                        n);
}

static int waiting_make_request(Desk *desk, const Peer *peer, Request **ret, Reason *reason) {
        if (!peer)
                return KT_E_ACCESS_DENIED;
        int r = waiting_check_number(desk, peer->subject.uid, reason);
        if (r != 0)
                return r;
        *ret = request_new(&peer->subject, peer->unique_name);
        return *ret ? 0 : -ENOMEM;
}

int waiting_new(Desk *desk, const Peer *peer, Waiting *waiting, Request **ret, Reason *reason) {
        Request *request = NULL;

        int r = waiting_make_request(desk, peer, &request, reason);
        if (r != 0)
                return r;
        waiting->desk = desk;
        waiting->uid = peer->subject.uid;
        TAILQ_INSERT_TAIL(&desk->waiting, waiting, others);
        request->userdata = waiting;
        request->done = waiting_on_done;
        request->renew = waiting_renew;
        request->is_administrator = peer->is_administrator;
        request->caller = (Caller){ peer->pid, peer->start };
        *ret = request;
        return 0;
}

bool waiting_may_prompt(const Request *request) {
        return ((const Waiting *)request->userdata)->may_prompt;
}

void waiting_forget_all(WaitingList *list) {
        Waiting *waiting;

        while ((waiting = TAILQ_FIRST(list))) {
                TAILQ_REMOVE(list, waiting, others);
                waiting->desk = NULL;
        }
}
