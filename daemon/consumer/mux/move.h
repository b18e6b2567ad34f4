/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/mux/viewer.h"

/* The viewer moves to an instance that has recorded the same since this time (> 0). Then all rings
 * must be read, and move_end() must follow. If an earlier reader was killed in between, this
 * repeats what it began. */
void move_begin(MuxViewer *viewer, uint64_t nsec);
/* From now on the viewer gets nothing here. passed_nsec: how long after move_begin() the last
 * reading of all rings began. */
void move_end(MuxViewer *viewer, uint64_t passed_nsec);
/* This process reads the instance to which the viewer has moved. Must come before the rings. */
void move_arrive(MuxViewer *viewer);
/* Chooses viewer->part: what the viewer gets of the batch. */
void move_choose_part(MuxViewer *viewer, const Batch *batch);
