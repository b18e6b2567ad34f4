/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/share.h"

/* The move of a viewer to an instance of its own. It records on meanwhile, and loses nothing:
 *
 *   share_begin_move()    makes the next share, which no other session can join
 *   share_plan_move()     the kernel records for the viewer in both instances
 *   share_move()          the readers hand the viewer over
 *   share_plan_unmove()   the kernel records no longer in the instance that the viewer has left; if
 *                         share_move() was not called, in the next one
 *   share_end_move()      frees the share that the viewer is not in */

/* Returns whether the viewer can move now. */
bool share_may_move(const ShareViewer *viewer);
int share_begin_move(ShareViewer *viewer, const ShareOptions *options, Reason *reason);
void share_plan_move(ShareViewer *viewer, Plan *plan);
/* `then` as in share_join(). */
void share_move(ShareViewer *viewer, ShareThen then);
void share_plan_unmove(ShareViewer *viewer, Plan *plan);
/* The same without a worker: the daemon ends. Returns 0 or -errno, also without a move. */
int share_unmove_now(ShareViewer *viewer);
/* Without a move it does nothing. */
void share_end_move(ShareViewer *viewer);
/* From share_begin_move() to share_end_move(). */
bool share_is_moving(const ShareViewer *viewer);

/* For share-reader.c: the reader of the earlier share has let the viewer go, or has failed. */
void share_take_over(ShareViewer *viewer);
void share_take_back(ShareViewer *viewer);
