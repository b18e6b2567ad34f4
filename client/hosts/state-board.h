/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "hosts/hosts-loop.h"
#include "hosts/member.h"

/* The table of all machines on standard error: redrawn on a terminal, else a line for each
 * change. */
typedef struct StateBoard StateBoard;

/* loop, members: borrowed. */
int state_board_new(HostsLoop *loop,
                const Member *members,
                size_t n_members,
                bool is_quiet,
                StateBoard **ret);
/* A machine has another state. A failure is always reported, and only here. */
void state_board_note(StateBoard *board, const Member *member);
/* Draws the table again, unless other text still waits for the terminal: the table must be the last
 * thing there, so that it can be removed. */
void state_board_draw(StateBoard *board);
/* Removes it from the terminal, before other text is printed. */
void state_board_clear(StateBoard *board);
StateBoard *state_board_free(StateBoard *board);
DEFINE_CLEANUP(StateBoard, state_board_free);
