/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/session-parts.h"
#include "session/session.h"

/* Events of the grant by name or glob, NULL-terminated. */
int session_switch_events(Session *session,
                char *const *patterns,
                bool on,
                Request *request,
                Reason *reason);
/* The buffer's size on each CPU, in kB. KT_E_LIMIT_REACHED: by the grant, all sessions together, or
 * the kernel's memory; it is as it was. */
int session_resize(Session *session, uint64_t kb, Request *request, Reason *reason);
/* Drops what nobody has read. */
int session_clear(Session *session, Request *request, Reason *reason);
/* No plan is in flight: what Describe tells of events that are off. */
void session_note_switches(Session *session);
