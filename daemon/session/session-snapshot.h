/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/session-parts.h"
#include "session/session.h"

/* Of mode flight: a stream of what is there, which ends by itself. */
int session_snapshot(Session *session, ControlSink kind, Request *request, Reason *reason);
/* Those that have not begun are given up. Whether all are over. */
bool session_end_snapshots(Session *session);
/* The daemon ends. */
void session_free_snapshots(Session *session);
