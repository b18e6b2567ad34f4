/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session-parts.h"
#include "session/session.h"

/* Any reason but the owner's own Destroy; told to the owner. */
void session_end(Session *session, const char *code, const char *reason);
/* The daemon ends: everything at once, blocking. The worker is gone. */
void session_end_now(Session *session);
/* The daemon ends and another one follows: the kernel and the consumers go on. The worker is gone.
 */
void session_leave(Session *session);
/* Lifetime unit: ends it when the unit's last process is gone, which may be at once. */
void session_watch_unit(Session *session);
/* The creator has left: why, for its notice. */
void session_peer_gone(Session *session, const char *why);
int session_destroy(Session *session, Request *request, Reason *reason);
/* Without telling its owner. */
void session_begin_end(Session *session, const char *code, const char *reason);
/* The next step of an end that was begun; nothing while a plan is in flight. */
void session_end_continue(Session *session);
/* Set-up, linger, or the next rmdir. */
int session_on_timer(sd_event_source *source, uint64_t usec, void *userdata);
