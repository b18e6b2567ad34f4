/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session.h"

/* While a process holds one of its files, an instance cannot be removed. */
#define REMOVE_RETRY_USEC 50000
#define REMOVE_TRIES      100

/* Ends the session for any reason except the owner's own Destroy. The owner is notified. */
void session_end(Session *session, const char *code, const char *reason);
/* The daemon ends: does every step at once and blocks. Call it when the worker is gone. */
void session_end_now(Session *session);
/* The daemon ends and another one follows: the kernel and the consumers continue. Call it when the
 * worker is gone. */
void session_leave(Session *session);
/* For the lifetime unit: ends the session when the unit's last process has ended. That may be at
 * once. */
void session_watch_unit(Session *session);
/* The creator has left. `why` is the text for the notice. */
void session_peer_gone(Session *session, const char *why);
/* A connection subscribes while the session lingers: it takes the creator's place, and the session
 * stays as long as it is there. -ENOENT: the session does not linger. */
int session_peer_back(Session *session, const char *peer);
int session_destroy(Session *session, Request *request, Reason *reason);
/* Ends the session without a notice to its owner. */
void session_begin_end(Session *session, const char *code, const char *reason);
/* Removes the instance and frees the session. Tries again while a process holds the instance. */
void session_remove(Session *session);
/* Does the next step of an end in progress. Does nothing while a plan is in flight. */
void session_end_continue(Session *session);
/* For the timer of set-up, linger or the next rmdir. */
int session_on_timer(sd_event_source *source, uint64_t usec, void *userdata);
