/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/feed-setup.h"
#include "session/registry.h"
#include "session/session.h"

/* One user's part of a snapshot of the black box. */
typedef struct SnapshotView {
        uid_t uid;
        uint64_t max_streams; /* of the user, that are still being read */
        FeedView feed;        /* its fds are borrowed for the call */
} SnapshotView;

/* For mode flight. Makes a stream of the data in the buffer. The stream ends by itself. view: NULL
 * for all records. */
int session_snapshot(Session *session,
                ControlSink kind,
                const SnapshotView *view,
                Request *request,
                Reason *reason);
/* Ends the snapshots of users: their records may have other times or another order. */
void session_end_views(Session *session, const char *text);
/* Cancels the snapshots that have not begun. Returns whether all are over. */
bool session_end_snapshots(Session *session);
/* The daemon ends. */
void session_free_snapshots(Session *session);
