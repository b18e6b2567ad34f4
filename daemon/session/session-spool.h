/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"

/* Begins to record onto the disk: first the entry, then the stream. Ends with a call of
 * session_conclude_created. */
int session_begin_spool(Session *session, Reason *reason);
void session_forget_spool(Session *session);
/* The disk has not answered in time. */
void session_give_up_spool(Session *session);
/* Takes over the entry of the previous daemon. goes_on: its consumer still exists. */
int session_adopt_spool(Session *session, bool goes_on, SpoolEntry **ret);
/* Its consumer is gone: continues with another one. */
int session_take_up_spool(Session *session, Reason *reason);
void session_on_spool(Feed *feed, FeedSpoolNews news, const char *text, void *userdata);
