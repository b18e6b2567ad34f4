/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/share-state.h"

/* Makes a share without viewers, and consumes `shared`. */
int share_make(const ShareOptions *options, uid_t uid, Shared *shared, Share **ret);
/* Stores what the reader must know of the instance, which the trace has in the kernel. */
void share_learn(Share *share, const Trace *trace);
/* Starts the reader, unless there is one or the viewers are still being adopted. */
int share_start(Share *share, const Trace *trace, Reason *reason);
/* Takes the reader of the last daemon, if it still runs. */
int share_adopt_reader(Share *share);
/* Continues with the reader of the last daemon, or starts one. All viewers are adopted. */
void share_resume_reader(Share *share);
/* Gives the reader the viewers and the rings, when it is ready and there are viewers. */
void share_open_rings(Share *share);
/* Asks the reader for it. `then` is called when that is done. */
void share_request(ShareViewer *viewer, ControlType wanted, ShareThen then);
/* Sends the reader what has waited for it. */
void share_advance(Share *share, ShareViewer *viewer);
/* Sends the request of the viewer. */
void share_ask(Share *share, ShareViewer *viewer);
/* The oldest request is answered, or its answer will be ignored. */
void share_note_answer(Share *share);
/* Tells the reader that the viewer has ended. */
void share_tell_end(Share *share, unsigned number);
/* Ends the reader, if there is one. */
void share_forget_reader(Share *share);
/* One viewer less has not ended. Returns whether it was the last one: then the reader ends. */
bool share_drop_active(Share *share);
/* Ends the sessions of all viewers. It may free the share. */
void share_fail(Share *share, const char *text);
