/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sessions that share an instance: who may, and the way in and out. The doors and the other verbs
 * of a session call it in the event loop. feed/share.c has the process that reads the instance.
 *
 * A start joins before the events are turned on, and a stop leaves after they are off for this
 * session. So a session gets what an instance of its own would have recorded. */

#include "session/session-share.h"

#include <errno.h>

#include "base/describe.h"
#include "policy/grant-share.h"
#include "session/registry.h"

int session_choose_share(Session *session, const ShareHandlers *handlers) {
        Registry *registry = session->registry;
        Trace *trace = &session->trace;

        if (!session->spec->shares)
                return 0;
        /* The removal of a probe empties the ring of each instance that had it. */
        trace->exclusive = trace->n_probes > 0
                                           ? "probes"
                                           : grant_find_exclusive(session->spec, session->grant);
        if (trace->exclusive)
                return 0;
        const ShareOptions options = {
                .launcher = &registry->options.launcher,
                .worker = registry->worker,
                .tracefs = registry->tracefs,
                .list = &registry->shares,
        };
        uid_t uid = session->owner.uid;
        Share *share = share_find(&registry->shares, uid, session->spec);
        int r = share ? 0 : share_new(&options, uid, session->spec, &share);
        return r ?: share_take(share, trace, handlers, session, &session->share);
}

int session_begin_share(Session *session, Reason *reason) {
        return session->share ? share_begin(session->share, reason) : 0;
}

static void session_on_share(int result, void *userdata) {
        Session *session = userdata;
        void (*then)(Session *, int) = session->after_share;

        session->after_share = NULL;
        then(session, result);
}

void session_join_share(Session *session, void (*then)(Session *session, int result)) {
        if (!session->share) {
                then(session, 0);
                return;
        }
        session->after_share = then;
        share_join(session->share, session_on_share);
}

void session_leave_share(Session *session, void (*then)(Session *session, int result)) {
        if (!share_has_joined(session->share)) {
                then(session, 0);
                return;
        }
        session->after_share = then;
        share_leave(session->share, session_on_share);
}

/* How many others share the instance is not shown: it would reveal what they do. */
int session_describe_share(const Session *session, json_object *object) {
        const char *id = share_get_id(session->share);

        if (session->trace.exclusive)
                return describe_put(object,
                                "exclusive",
                                json_object_new_string(session->trace.exclusive));
        return id ? describe_put(object, "shared-instance", json_object_new_string(id)) : 0;
}
