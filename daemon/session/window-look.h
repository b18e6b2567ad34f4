/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/session.h"
#include "trace/trace.h"

void windows_clear(TraceWindows *windows);
/* Returns whether the session has triggers with something to look at now. */
bool session_has_windows(const Session *session);
/* Looks, and answers with the session's description in request->list. */
int session_look(Session *session, Request *request, Reason *reason);
/* Cancels the waiting calls. A look in flight no longer uses the session. */
void session_forget_looks(Session *session);
/* Describes windows and left, as of the last look. */
int windows_describe(const Session *session, json_object *object);
