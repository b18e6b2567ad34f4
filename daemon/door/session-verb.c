/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verbs of the table of methods that are about one session: read the parameters and ask the
 * session floor. The desk has already decided that the caller may use the session. */
#include "door/session-verb.h"

#include <errno.h>

#include "door/change.h"
#include "door/parameter.h"
#include "session/session-control.h"
#include "session/session-describe.h"
#include "session/session-end.h"
#include "session/session-histogram.h"
#include "session/session-notice.h"
#include "session/session-run.h"
#include "session/session-snapshot.h"
#include "session/session-stream.h"
#include "session/window-look.h"

/* kind: what the client gets. */
static int session_verb_open(MethodCall *call, ControlSink kind, Reason *reason) {
        int r = parameter_read_flag(method_call_get(call, "options"), NULL, NULL, reason);

        r = r ?: method_call_wait(call, reason);
        return r ?: session_open_stream(call->session, kind, call->request, reason);
}

int verb_open_stream(MethodCall *call, Reason *reason) {
        return session_verb_open(call, CONTROL_SINK_PIPE, reason);
}

int verb_open_sink(MethodCall *call, Reason *reason) {
        return session_verb_open(call, CONTROL_SINK_SOCKET, reason);
}

int verb_snapshot(MethodCall *call, Reason *reason) {
        bool by_sink = false;

        int r = parameter_read_flag(method_call_get(call, "options"), "sink", &by_sink, reason);
        r = r ?: method_call_wait(call, reason);
        return r
                               ?: session_snapshot(call->session,
                                                  by_sink ? CONTROL_SINK_SOCKET : CONTROL_SINK_PIPE,
                                                  NULL,
                                                  call->request,
                                                  reason);
}

int verb_configure(MethodCall *call, Reason *reason) {
        _cleanup_(change_clear) Change change = {};

        int r = change_from_json(method_call_get(call, "changes"), &change, reason);
        r = r ?: method_call_wait(call, reason);
        return r ?: change_apply(call->session, &change, call->request, reason);
}

int verb_mark(MethodCall *call, Reason *reason) {
        return session_mark(call->session, method_call_get_text(call, "text"), reason);
}

int verb_open_marker(MethodCall *call, Reason *reason) {
        return session_open_marker(call->session, &call->fd, reason);
}

int verb_subscribe(MethodCall *call, Reason *reason) {
        const char *peer = call->peer->unique_name;
        int r = session_peer_back(call->session, peer);

        return r == -ENOENT ? session_subscribe(call->session, peer, reason) : r;
}

int verb_describe(MethodCall *call, Reason *reason) {
        if (!session_has_windows(call->session))
                return session_describe(call->session, &call->value);
        int r = method_call_wait(call, reason);
        return r ?: session_look(call->session, call->request, reason);
}

int verb_get_statistics(MethodCall *call, Reason *reason _unused_) {
        return session_statistics(call->session, &call->value);
}

int verb_get_metadata(MethodCall *call, Reason *reason _unused_) {
        return session_metadata(call->session, &call->fd);
}

int verb_get_histogram(MethodCall *call, Reason *reason) {
        const char *name = method_call_get_text(call, "name");

        int r = method_call_wait(call, reason);
        return r ?: session_get_histogram(call->session, name, call->request, reason);
}
