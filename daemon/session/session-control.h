/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session.h"

/* patterns: names or globs of events in the grant, NULL-terminated. */
int session_switch_events(Session *session,
                char *const *patterns,
                bool on,
                Request *request,
                Reason *reason);
/* Sets the buffer's size on each CPU, in kB. Fails with KT_E_LIMIT_REACHED at the limit of the
 * grant, of all sessions together, or of the kernel's memory. Then the size is unchanged. */
int session_resize(Session *session, uint64_t kb, Request *request, Reason *reason);
/* Drops the data that was not read yet. */
int session_clear(Session *session, Request *request, Reason *reason);
/* Call it while no plan is in flight. Notes which events are off, for Describe. */
void session_note_switches(Session *session);
