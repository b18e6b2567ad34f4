/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shows the states of the machines of a recording while it runs, for fleet-record.c. A terminal
 * shows a table, which is drawn in place: first a line with the number of machines in each state,
 * then a line for each machine, those that need attention first, as many as fit. Other outputs get
 * a line for each change. Control characters were removed from all texts of machines. At most one
 * board exists. */

#include "fleet/board.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "terminal/message.h"
#include "terminal/table.h"

struct Board {
        const Member *members;
        size_t n_members;
        bool is_quiet, is_terminal;
        unsigned n_drawn; /* lines */
        unsigned n_columns;
};

/* In this order they are shown. */
static const MemberState board_order[] = { MEMBER_FAILED,
        MEMBER_CONNECTING,
        MEMBER_ARMING,
        MEMBER_ARMED,
        MEMBER_ENDING,
        MEMBER_RECORDING,
        MEMBER_DONE };

static void board_clear_lines(void *userdata) {
        board_clear(userdata);
}

int board_new(const Member *members, size_t n_members, bool is_quiet, Board **ret) {
        Board *board = malloc(sizeof(*board));

        if (!board)
                return -ENOMEM;
        *board = (Board){ .members = members,
                .n_members = n_members,
                .is_quiet = is_quiet,
                .is_terminal = isatty(STDERR_FILENO) };
        message_set_before(board_clear_lines, board);
        *ret = board;
        return 0;
}

/* "web1  recording  1.2 MB  clock +-35 us", cut at the terminal's width. */
static void board_format(const Member *member, char *out, size_t size) {
        char bytes[TABLE_NUMBER_MAX], clock[64] = "";

        if (member->clock.n > 0)
                (void)snprintf(clock,
                                sizeof(clock),
                                "clock +-%" PRId64 " us",
                                member->clock.points[member->clock.n - 1].bound / 1000 + 1);
        (void)snprintf(out,
                        size,
                        "%-24s %-10s %10s  %s%s",
                        member->name,
                        member_state_to_string(member->state),
                        table_format_bytes(bytes, member->n_bytes),
                        clock,
                        member->state == MEMBER_FAILED ? member->why : "");
}

void board_note(Board *board, const Member *member) {
        if (board->is_quiet || board->is_terminal)
                return;
        message_print("%s: %s%s%s",
                        member->name,
                        member_state_to_string(member->state),
                        member->state == MEMBER_FAILED && member->why[0] ? ": " : "",
                        member->state == MEMBER_FAILED ? member->why : "");
}

static void board_draw_line(Board *board, const char *text) {
        (void)fprintf(stderr, "%.*s\033[K\n", (int)board->n_columns, text);
        board->n_drawn++;
}

static void board_draw_counts(Board *board) {
        char text[256];
        int used = snprintf(text, sizeof(text), "%zu machines", board->n_members);

        for (size_t i = 0; i < ELEMENTSOF(board_order); i++) {
                size_t n = 0;

                for (size_t j = 0; j < board->n_members; j++)
                        n += board->members[j].state == board_order[i];
                if (n > 0 && (size_t)used < sizeof(text))
                        used += snprintf(text + used,
                                        sizeof(text) - (size_t)used,
                                        ", %zu %s",
                                        n,
                                        member_state_to_string(board_order[i]));
        }
        board_draw_line(board, text);
}

void board_draw(Board *board) {
        struct winsize size = {};

        if (board->is_quiet || !board->is_terminal)
                return;
        board_clear(board);
        (void)ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
        unsigned n_rows = size.ws_row > 4 ? size.ws_row - 2U : 22;
        board->n_columns = size.ws_col > 0 ? size.ws_col - 1U : 79;
        board_draw_counts(board);
        for (size_t i = 0; i < ELEMENTSOF(board_order); i++)
                for (size_t j = 0; j < board->n_members && board->n_drawn < n_rows; j++) {
                        char text[512];

                        if (board->members[j].state != board_order[i])
                                continue;
                        board_format(&board->members[j], text, sizeof(text));
                        board_draw_line(board, text);
                }
        (void)fflush(stderr);
}

void board_clear(Board *board) {
        if (board->n_drawn > 0)
                (void)fprintf(stderr, "\033[%uA\033[J", board->n_drawn);
        (void)fflush(stderr);
        board->n_drawn = 0;
}

Board *board_free(Board *board) {
        if (!board)
                return NULL;
        board_clear(board);
        message_set_before(NULL, NULL);
        free(board);
        return NULL;
}
