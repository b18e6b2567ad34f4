/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/session-parts.h"
#include "session/session.h"

int session_start(Session *session, Request *request, Reason *reason);
int session_stop(Session *session, Request *request, Reason *reason);
/* A line of text among the events of a running session. */
int session_mark(Session *session, const char *text, Reason *reason);
/* The end of a pipe, a write a mark. */
int session_open_marker(Session *session, int *ret_fd, Reason *reason);
/* One that the daemon before this one has left in that state: watched as any other. */
void session_resume(Session *session, SessionState state);
int session_adopt_marker(Session *session, int fd);
/* KT_E_BUSY while a plan is in flight, KT_E_WRONG_STATE at its end. */
int session_check_idle(const Session *session, Reason *reason);
/* The same for what changes a session; KT_E_LOCKED: this caller may not, any more. */
int session_check_control(const Session *session, const Request *request, Reason *reason);
/* The plan of a call is over: answers it, and leads to `state` when it went well. */
void session_conclude(Session *session, SessionState state, int result, const Reason *reason);
