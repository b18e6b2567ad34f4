/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Gives the session verbs that differ in the client's descriptor one common form, which a door's
 * table of methods can call. Used by the doors. */
#include "door/session-verb.h"

#include "session/session-snapshot.h"
#include "session/session-stream.h"

int verb_open_pipe(Session *session, Request *request, Reason *reason) {
        return session_open_stream(session, CONTROL_SINK_PIPE, request, reason);
}

int verb_open_socket(Session *session, Request *request, Reason *reason) {
        return session_open_stream(session, CONTROL_SINK_SOCKET, request, reason);
}

int verb_snapshot_pipe(Session *session, Request *request, Reason *reason) {
        return session_snapshot(session, CONTROL_SINK_PIPE, request, reason);
}

int verb_snapshot_socket(Session *session, Request *request, Reason *reason) {
        return session_snapshot(session, CONTROL_SINK_SOCKET, request, reason);
}
