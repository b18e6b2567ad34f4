/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session.h"

/* For mode flight. Makes a stream of the data in the buffer. The stream ends by itself. */
int session_snapshot(Session *session, ControlSink kind, Request *request, Reason *reason);
/* Cancels the snapshots that have not begun. Returns whether all are over. */
bool session_end_snapshots(Session *session);
/* The daemon ends. */
void session_free_snapshots(Session *session);
