/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session.h"

int session_start(Session *session, Request *request, Reason *reason);
int session_stop(Session *session, Request *request, Reason *reason);
/* Writes a line of text among the events of a running session. */
int session_mark(Session *session, const char *text, Reason *reason);
/* Returns the write end of a pipe. Each write is a mark. */
int session_open_marker(Session *session, int *ret_fd, Reason *reason);
/* Watches a session that the previous daemon has left in that state, as any other session. */
void session_resume(Session *session, SessionState state);
int session_adopt_marker(Session *session, int fd);
/* Watches what the kernel records from now on: the events are on. */
void session_watch(Session *session);
/* Continues a start or a stop that has waited. */
void session_continue_late(Session *session);
/* Fails with KT_E_BUSY while a plan is in flight or the session moves, and with KT_E_WRONG_STATE
 * while the session ends.
 */
int session_check_idle(const Session *session, Reason *reason);
/* The same check for calls that change a session. Fails with KT_E_LOCKED if this caller may no
 * longer change it. */
int session_check_control(const Session *session, const Request *request, Reason *reason);
/* The plan of a call is over: answers the call. After a success the session enters `state`. */
void session_conclude(Session *session, SessionState state, int result, const Reason *reason);
