/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sessions that share an instance: which sessions may, and how they join and leave. The doors and
 * the other verbs of a session call it in the event loop. feed/share-reader.c has the process that
 * reads the instance.
 *
 * A start joins when the events are on, so that a start that fails shows nothing of the others. It
 * is answered afterwards. A stop leaves after the events are off for this session. So from the
 * answer of its start to its stop, a session gets what an instance of its own would have recorded,
 * unless another session fills the ring, or the event of a module is removed. Both are reported to
 * all. */

#include "session/session-share.h"

#include <errno.h>
#include <string.h>

#include "base/describe.h"
#include "feed/share-adopt.h"
#include "feed/share-move.h"
#include "interfaces/ascii.h"
#include "interfaces/control.h"
#include "policy/grant-share.h"
#include "session/quota.h"
#include "session/registry.h"

ShareOptions session_get_share_options(Registry *registry) {
        return (ShareOptions){
                .launcher = &registry->options.launcher,
                .worker = registry->worker,
                .tracefs = registry->tracefs,
                .fd_store = registry->options.fd_store,
                .list = &registry->shares,
        };
}

/* The removal of an event empties the ring of each instance that had it. The kernel shows cheaply
 * which events were made at run time, but not which events belong to a module: when one of these is
 * removed, all viewers get a mark (trace-ledger.c). */
static const char *session_find_exclusive(const Session *session) {
        const Grant *grant = session->grant;

        if (!session->spec->shares)
                return NULL;
        if (session->trace.n_probes > 0)
                return "probes";
        const char *exclusive = grant_find_exclusive(session->spec, grant);
        for (size_t i = 0; !exclusive && i < grant->n_events; i++)
                if (event_cache_is_dynamic(session->registry->events,
                                    grant->events[i].system,
                                    grant->events[i].name))
                        exclusive = "events";
        return exclusive;
}

int session_choose_share(Session *session, const ShareHandlers *handlers) {
        Registry *registry = session->registry;
        Trace *trace = &session->trace;

        trace->exclusive = session_find_exclusive(session);
        if (!session->spec->shares || trace->exclusive)
                return 0;
        const ShareOptions options = session_get_share_options(registry);
        uint64_t most_kb = registry_get_share_room(session);
        Share *share = share_find(&registry->shares, trace, most_kb);
        int r = share ? 0 : share_new(&options, trace, &share);
        return r ?: share_take(share, trace, handlers, session, &session->share);
}

int session_keep_share(const Session *session, json_object *object) {
        json_object *values = NULL;
        ShareKept kept;

        if (!session->share)
                return 0;
        values = json_object_new_object();
        int r = describe_put(object, "shared", values);
        if (r < 0 || !share_get_kept(session->share, &kept))
                return r; /* without its place it cannot be taken over */
        r = describe_put(values, "protocol", json_object_new_uint64(CONTROL_VERSION));
        r = r ?: describe_put(values, "instance", json_object_new_string(kept.id));
        r = r ?: describe_put(values, "buffer-kb", json_object_new_uint64(kept.buffer_kb));
        r = r ?: describe_put(values, "viewer", json_object_new_uint64(kept.viewer));
        r = r ?: describe_put(values, "class", json_object_new_uint64(kept.class));
        return r ?: describe_put(values, "moved", json_object_new_boolean(kept.is_moved));
}

static bool session_read_number(json_object *values, const char *key, uint64_t *ret) {
        json_object *value = json_object_object_get(values, key);

        *ret = json_object_get_uint64(value);
        return json_object_is_type(value, json_type_int);
}

static int session_read_kept(json_object *values, ShareKept *ret) {
        const char *id = json_object_get_string(json_object_object_get(values, "instance"));
        uint64_t protocol, viewer, class;

        if (!session_read_number(values, "protocol", &protocol) || protocol != CONTROL_VERSION ||
                        !session_read_number(values, "buffer-kb", &ret->buffer_kb) ||
                        !session_read_number(values, "viewer", &viewer) ||
                        viewer >= SHARE_VIEWERS_MAX ||
                        !session_read_number(values, "class", &class) ||
                        class >= SHARE_VIEWERS_MAX || !id || !ascii_is_hex(id, KT_ID_DIGITS))
                return -EBADMSG;
        memcpy(ret->id, id, sizeof(ret->id));
        ret->viewer = (uint32_t)viewer;
        ret->class = (uint32_t) class;
        ret->is_moved = json_object_get_boolean(json_object_object_get(values, "moved"));
        return 0;
}

int session_adopt_share(Session *session, json_object *object, const ShareHandlers *handlers) {
        json_object *values = json_object_object_get(object, "shared");
        const ShareOptions options = session_get_share_options(session->registry);
        ShareKept kept = {};

        session->trace.exclusive = session_find_exclusive(session);
        if (!values)
                return 0;
        int r = session_read_kept(values, &kept);
        return r
                               ?: share_adopt(&options,
                                                  &kept,
                                                  &session->trace,
                                                  handlers,
                                                  session,
                                                  &session->share);
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

void session_hand_over(Session *session, void (*then)(Session *session, int result)) {
        session->after_share = then;
        share_hand_over(session->share, session_on_share);
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
