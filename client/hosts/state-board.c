/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shows the states of the machines of a recording while it runs, for hosts-record.c. A terminal
 * shows a table, which is drawn in place: first a line with the number of machines in each state,
 * then a line for each machine, those that need attention first, as many as fit. Other outputs get
 * a line for each change. Control characters were removed from all texts of machines. At most one
 * board exists. */

#include "hosts/state-board.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "terminal/message.h"
#include "terminal/table.h"

struct StateBoard {
        const Member *members;
        size_t n_members;
        bool is_quiet, is_terminal;
        unsigned n_drawn; /* lines */
        unsigned n_columns;
};

/* In this order they are shown. */
static const MemberState state_board_order[] = { MEMBER_FAILED,
        MEMBER_CONNECTING,
        MEMBER_ARMING,
        MEMBER_ARMED,
        MEMBER_ENDING,
        MEMBER_RECORDING,
        MEMBER_DONE };

static void state_board_clear_lines(void *userdata) {
        state_board_clear(userdata);
}

int state_board_new(const Member *members, size_t n_members, bool is_quiet, StateBoard **ret) {
        StateBoard *board = malloc(sizeof(*board));

        if (!board)
                return -ENOMEM;
        *board = (StateBoard){ .members = members,
                .n_members = n_members,
                .is_quiet = is_quiet,
                .is_terminal = isatty(STDERR_FILENO) };
        message_set_before(state_board_clear_lines, board);
        *ret = board;
        return 0;
}

/* "web1  recording  1.2 MB  clock +-35 us", cut at the terminal's width. */
static void state_board_format(const Member *member, char *out, size_t size) {
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

void state_board_note(StateBoard *board, const Member *member) {
        if (board->is_quiet || board->is_terminal)
                return;
        message_print("%s: %s%s%s",
                        member->name,
                        member_state_to_string(member->state),
                        member->state == MEMBER_FAILED && member->why[0] ? ": " : "",
                        member->state == MEMBER_FAILED ? member->why : "");
}

static void state_board_draw_line(StateBoard *board, const char *text) {
        (void)fprintf(stderr, "%.*s\033[K\n", (int)board->n_columns, text);
        board->n_drawn++;
}

static void state_board_draw_counts(StateBoard *board) {
        char text[256];
        int used = snprintf(text, sizeof(text), "%zu machines", board->n_members);

        for (size_t i = 0; i < ELEMENTSOF(state_board_order); i++) {
                size_t n = 0;

                for (size_t j = 0; j < board->n_members; j++)
                        n += board->members[j].state == state_board_order[i];
                if (n > 0 && (size_t)used < sizeof(text))
                        used += snprintf(text + used,
                                        sizeof(text) - (size_t)used,
                                        ", %zu %s",
                                        n,
                                        member_state_to_string(state_board_order[i]));
        }
        state_board_draw_line(board, text);
}

void state_board_draw(StateBoard *board) {
        struct winsize size = {};

        if (board->is_quiet || !board->is_terminal)
                return;
        state_board_clear(board);
        (void)ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
        unsigned n_rows = size.ws_row > 4 ? size.ws_row - 2U : 22;
        board->n_columns = size.ws_col > 0 ? size.ws_col - 1U : 79;
        state_board_draw_counts(board);
        for (size_t i = 0; i < ELEMENTSOF(state_board_order); i++)
                for (size_t j = 0; j < board->n_members && board->n_drawn < n_rows; j++) {
                        char text[512];

                        if (board->members[j].state != state_board_order[i])
                                continue;
                        state_board_format(&board->members[j], text, sizeof(text));
                        state_board_draw_line(board, text);
                }
        (void)fflush(stderr);
}

void state_board_clear(StateBoard *board) {
        if (board->n_drawn > 0)
                (void)fprintf(stderr, "\033[%uA\033[J", board->n_drawn);
        (void)fflush(stderr);
        board->n_drawn = 0;
}

StateBoard *state_board_free(StateBoard *board) {
        if (!board)
                return NULL;
        state_board_clear(board);
        message_set_before(NULL, NULL);
        free(board);
        return NULL;
}
