/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "fleet/member.h"

/* The table of all machines on standard error: redrawn on a terminal, else a line for each
 * change. */
typedef struct Board Board;

/* members: borrowed. */
int board_new(const Member *members, size_t n_members, bool is_quiet, Board **ret);
/* A machine has another state. */
void board_note(Board *board, const Member *member);
/* Draws the table again. It is cleared before each message. */
void board_draw(Board *board);
/* Removes it from the terminal, before other text is printed. */
void board_clear(Board *board);
Board *board_free(Board *board);
DEFINE_CLEANUP(Board, board_free);
