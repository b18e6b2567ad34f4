/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/share.h"

/* The move of a viewer to an instance of its own, while it records. The steps:
 *
 *   share_begin_move()        makes the next share, which no other session can join
 *   share_plan_enter_next()   the kernel records for the viewer in both instances
 *   share_hand_over()         the reader of the next share takes the viewer over
 *   share_plan_leave_other()  the kernel stops recording for the viewer in the share that the
 * viewer is not in: the earlier one, or the next one if there was no hand-over share_end_move()
 * frees that share */

/* Returns whether the viewer can move now. */
bool share_may_move(const ShareViewer *viewer);
int share_begin_move(ShareViewer *viewer, const ShareOptions *options, Reason *reason);
void share_plan_enter_next(ShareViewer *viewer, Plan *plan);
/* `then` as in share_join(). */
void share_hand_over(ShareViewer *viewer, ShareThen then);
void share_plan_leave_other(ShareViewer *viewer, Plan *plan);
/* The same without a worker: the daemon ends. Returns 0 or -errno, also without a move. */
int share_leave_other_now(ShareViewer *viewer);
/* Without a move it does nothing. */
void share_end_move(ShareViewer *viewer);
/* From share_begin_move() to share_end_move(). */
bool share_is_moving(const ShareViewer *viewer);

/* For share-reader.c: the reader of the earlier share has let the viewer go, or has failed. */
void share_take_over(ShareViewer *viewer);
void share_take_back(ShareViewer *viewer);
