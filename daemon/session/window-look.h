/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/session.h"
#include "trace/trace.h"

void windows_clear(TraceWindows *windows);
/* Has it triggers of which there is something to look at now? */
bool session_has_windows(const Session *session);
/* Looks, and answers with the session's description in request->list. */
int session_look(Session *session, Request *request, Reason *reason);
/* Answers those that wait; what is in flight looks at the session no more. */
void session_forget_looks(Session *session);
/* windows and left, as last looked at. */
int windows_describe(const Session *session, json_object *object);
