/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/session-parts.h"
#include "session/session.h"

int session_open_stream(Session *session, ControlSink kind, Request *request, Reason *reason);
/* The stream and the marker pipes of such a session; consumes fd on 0. */
int session_adopt_stream(Session *session, int fd);
/* A stream into that entry; consumed, whatever it returns. */
int session_feed_spool(Session *session, SpoolEntry *entry, Reason *reason);
/* The consumer of a session whose histograms are counted; before its first start. */
int session_begin_counting(Session *session, Reason *reason);
/* What a feed that was made after the session was armed has to know. */
void session_arm_feed(Session *session);
/* The stream that is there, at a start: exits are recorded again since the members were proven. */
void session_arm_feed_again(Session *session);
