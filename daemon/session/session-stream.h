/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session.h"

int session_open_stream(Session *session, ControlSink kind, Request *request, Reason *reason);
/* Takes over the stream of an adopted session. Consumes fd on 0. */
int session_adopt_stream(Session *session, int fd);
/* Makes a stream into that entry. Consumes the entry, also on failure. */
int session_feed_spool(Session *session, SpoolEntry *entry, Reason *reason);
/* Makes the consumer of a session with counted histograms. Call it before the first start. */
int session_begin_counting(Session *session, Reason *reason);
/* Informs a feed that was made after the session was armed. */
void session_arm_feed(Session *session);
/* Informs the current stream at a start: exits are recorded again since the members were proven. */
void session_arm_feed_again(Session *session);
/* Some births or exits are not recorded: no stream of the session shows pids of a container. Call
 * it only while no plan of the session is in flight. */
void session_end_inner_pids(Session *session);
