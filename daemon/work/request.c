/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A call of a client, from the door that receives it to the answer. Doors create requests, verbs
 * answer each exactly once, and the door's `done` frees it. */

#include "work/request.h"

#include <stdlib.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "policy/grant.h"

Request *request_new(const Subject *subject, const char *peer) {
        _cleanup_(request_free_cleanup) Request *request = calloc(1, sizeof(*request));

        if (!request)
                return NULL;
        request->fd = -1;
        if (subject_copy(&request->subject, subject) < 0)
                return NULL;
        request->peer = peer ? strdup(peer) : NULL;
        if (peer && !request->peer)
                return NULL;
        return TAKE_PTR(request);
}

Request *request_free(Request *request) {
        if (!request)
                return NULL;
        subject_clear(&request->subject);
        grant_free(request->wanted);
        if (request->free_file)
                request->free_file(request->file);
        close_cleanup(&request->fd);
        free(request->peer);
        free(request->text);
        json_object_put(request->list);
        free(request);
        return NULL;
}

int request_renew(Request *request) {
        return request->renew ? request->renew(request) : 0;
}

void request_answer(Request **request, int result, const Reason *reason) {
        static const Reason none;
        Request *r = TAKE_PTR(*request);

        if (r)
                r->done(r, result, reason ?: &none);
}

void request_answer_cancelled(Request **request, const char *why) {
        Reason reason = {};
        int r = reason_set(
                        &reason, KT_E_CANCELLED, "the session ended: %s", *why ? why : "destroyed");

        request_answer(request, r, &reason);
}
