/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/share.h"
#include "session/session.h"

/* Lets a new session share an instance, if its spec asks for it and nothing speaks against it. The
 * trace is bound and not in the kernel yet. Returns -errno on failure. */
int session_choose_share(Session *session, const ShareHandlers *handlers);
/* Puts a session of the last daemon into its shared instance again, if it had one: what
 * session_keep_share() has stored. Its trace is read. Returns -ENOENT or another error if something
 * is missing. */
int session_adopt_share(Session *session, json_object *kept, const ShareHandlers *handlers);
int session_keep_share(const Session *session, json_object *object);
/* The instance is there. Without a share it does nothing and returns 0. */
int session_begin_share(Session *session, Reason *reason);
/* `then` is called when the session gets the records, or no longer; without a share at once. */
void session_join_share(Session *session, void (*then)(Session *session, int result));
void session_leave_share(Session *session, void (*then)(Session *session, int result));
/* The readers hand the session over to the next instance (feed/share-move.h). */
void session_hand_over(Session *session, void (*then)(Session *session, int result));
ShareOptions session_get_share_options(Registry *registry);
int session_describe_share(const Session *session, json_object *object);
