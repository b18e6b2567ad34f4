/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/session.h"

/* A verb on a session: those of session.h, and one for each kind of descriptor that the client
 * gets. */
typedef int (*Verb)(Session *session, Request *request, Reason *reason);

int verb_open_pipe(Session *session, Request *request, Reason *reason);
int verb_open_socket(Session *session, Request *request, Reason *reason);
int verb_snapshot_pipe(Session *session, Request *request, Reason *reason);
int verb_snapshot_socket(Session *session, Request *request, Reason *reason);
