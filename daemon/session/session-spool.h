/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/session-parts.h"

/* Recorded onto the disk. The entry, then the stream; ends with session_conclude_created. */
int session_begin_spool(Session *session, Reason *reason);
void session_forget_spool(Session *session);
/* Its disk has not answered in time. */
void session_give_up_spool(Session *session);
/* What the daemon before this one has begun; goes_on: its consumer is still there. */
int session_adopt_spool(Session *session, bool goes_on, SpoolEntry **ret);
/* Its consumer is not: with another one. */
int session_take_up_spool(Session *session, Reason *reason);
void session_on_spool(Feed *feed, FeedSpoolNews news, const char *text, void *userdata);
