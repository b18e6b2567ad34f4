/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session.h"

/* Reads the histogram with that name, or that of the event with that name. "" means the only one.
 * Answers with request->list: the head
 * {"name","event","keys","values","sort","size","hits","entries","told","dropped", "paused"}, then
 * its rows {"keys":{…},"hitcount","values":{…}}. Fails with KT_E_NO_SUCH_EVENT, KT_E_INVALID_SPEC
 * (the name is ambiguous), KT_E_WRONG_STATE (not set yet) or KT_E_FAILED. */
int session_get_histogram(Session *session, const char *name, Request *request, Reason *reason);
/* verb: "hist-clear", "hist-pause", "hist-continue". */
int session_change_histogram(Session *session,
                const char *name,
                const char *verb,
                Request *request,
                Reason *reason);
/* Cancels the calls for histograms. Returns whether all are over: a call with a plan in flight ends
 * later. */
bool session_end_histograms(Session *session);
void session_free_histograms(Session *session);
