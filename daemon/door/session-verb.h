/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/session.h"

/* What a method does with its session: as session.h has them, and those that take the kind of the
 * client's end. */
typedef int (*Verb)(Session *session, Request *request, Reason *reason);

int verb_open_pipe(Session *session, Request *request, Reason *reason);
int verb_open_socket(Session *session, Request *request, Reason *reason);
int verb_snapshot_pipe(Session *session, Request *request, Reason *reason);
int verb_snapshot_socket(Session *session, Request *request, Reason *reason);
