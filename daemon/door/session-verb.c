/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verbs of a session that differ by what the client gets, in the one form that a door's table
 * of methods calls. Used by the doors. */
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
