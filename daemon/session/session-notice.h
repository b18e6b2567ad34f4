/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session-parts.h"
#include "session/session.h"

/* NULL: nobody is told any more, but for the creator. */
void session_unsubscribe(Session *session, const char *peer);
void session_unsubscribe_at(Session *session, size_t i);
/* From now on `peer` (a unique name) is told what the creator is told, until it leaves. */
int session_subscribe(Session *session, const char *peer, Reason *reason);
/* The creator while it is there, and all that subscribed. */
void session_visit_peers(const Session *session,
                void (*visit)(const char *peer, void *userdata),
                void *userdata);
/* So many hits more of a notify trigger. */
void session_take_hits(Session *session, size_t trigger, uint64_t n, uint32_t pid);
/* What is told of it on its own: made once it exists, looked for while it runs. */
void session_make_notices(Session *session);
void session_start_notices(Session *session);
/* Looks once more, and tells what waits. */
void session_stop_notices(Session *session);
/* Lets go what it has of the instance, which is about to be removed. */
void session_release_notices(Session *session);
void session_free_notices(Session *session);
/* What others have changed, and it goes on. */
void session_report_changes(Session *session, const TraceLedger *found, const char *text);
/* Of an end by its guard, by interference or by a limit; before it ends. */
void session_report_end(Session *session, const char *code, const char *text);
