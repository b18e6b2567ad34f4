/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/share-state.h"

/* Makes a share without viewers, and consumes `shared`. */
int share_make(const ShareOptions *options, uid_t uid, Shared *shared, Share **ret);
/* The trace of the first viewer is in the kernel. */
void share_learn(Share *share, const Trace *trace);
/* Starts the reader, unless there is one or the viewers are still being adopted. */
int share_start(Share *share, const Trace *trace, Reason *reason);
/* Takes the reader of the last daemon, if it still runs. */
int share_adopt_reader(Share *share);
/* All viewers are adopted. */
void share_resume_reader(Share *share);
/* Sends the reader what has waited for it. */
void share_advance(Share *share, ShareViewer *viewer);
void share_ask(Share *share, ShareViewer *viewer);
/* The oldest request is answered, or its answer will be ignored. */
void share_note_answer(Share *share);
/* The viewer has ended. */
void share_tell_end(Share *share, unsigned number);
void share_forget_reader(Share *share);
/* Ends the sessions of all viewers. It may free the share. */
void share_fail(Share *share, const char *text);
