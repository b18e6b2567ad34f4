/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/session-parts.h"
#include "session/session.h"

/* The table of the histogram with that name, or of that event; "": of the only one. Answers with
 * request->list: the head
 * {"name","event","keys","values","sort","size","hits","entries","told","dropped", "paused"}, then
 * its rows {"keys":{…},"hitcount","values":{…}}. KT_E_NO_SUCH_EVENT, KT_E_INVALID_SPEC (several are
 * meant), KT_E_WRONG_STATE (not laid yet), KT_E_FAILED. */
int session_get_histogram(Session *session, const char *name, Request *request, Reason *reason);
/* verb: "hist-clear", "hist-pause", "hist-continue". */
int session_change_histogram(Session *session,
                const char *name,
                const char *verb,
                Request *request,
                Reason *reason);
/* The same of calls for histograms: those that a plan works for follow. */
bool session_end_histograms(Session *session);
void session_free_histograms(Session *session);
