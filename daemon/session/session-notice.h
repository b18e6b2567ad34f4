/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session.h"

/* Passing NULL unsubscribes everyone except the creator. */
void session_unsubscribe(Session *session, const char *peer);
void session_unsubscribe_at(Session *session, size_t i);
/* From now on `peer` (a unique name) gets the same notices as the creator, until it leaves. */
int session_subscribe(Session *session, const char *peer, Reason *reason);
/* Visits the creator while it is there, and all subscribers. */
void session_visit_peers(const Session *session,
                void (*visit)(const char *peer, void *userdata),
                void *userdata);
/* Adds n hits of a notify trigger. */
void session_take_hits(Session *session, size_t trigger, uint64_t n, uint32_t pid);
/* session_make_notices: when the session exists. session_start_notices: when it runs. */
void session_make_notices(Session *session);
void session_start_notices(Session *session);
/* Looks one last time and sends the pending notices. */
void session_stop_notices(Session *session);
/* Releases what it holds of the instance, because the instance is about to be removed. */
void session_release_notices(Session *session);
void session_free_notices(Session *session);
/* Reports changes by others. The session continues. */
void session_report_changes(Session *session, const TraceLedger *found, const char *text);
/* Reports an end by the guard, by interference or by a limit. Call it before the session ends. */
void session_report_end(Session *session, const char *code, const char *text);
