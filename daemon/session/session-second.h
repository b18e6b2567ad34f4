/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session.h"

/* The number of the current second. */
uint64_t session_get_second(void);
/* Returns false if a call that changes or reads counts may begin now. Otherwise it returns true,
 * and calls `then` at the beginning of the next second. Each `then` can wait once at a time.
 * was_done: the call did the same in this second already. */
bool session_defer_to_second(Session *session, bool was_done, void (*then)(Session *session));
void session_forget_seconds(Session *session);
