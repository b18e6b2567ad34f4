/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session.h"

/* The number of the current second. */
uint64_t session_get_second(void);
/* Returns false if a call that changes or reads counts may begin now. Otherwise `then` is called
 * at the beginning of the next second. One wait at a time for each `then`. was_done: what the call
 * does was done in this second already. */
bool session_awaits_second(Session *session, bool was_done, void (*then)(Session *session));
void session_forget_seconds(Session *session);
