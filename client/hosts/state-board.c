/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shows the states of the machines of a recording while it runs, for hosts-record.c. A terminal
 * shows a table, which is drawn in place: first a line with the number of machines in each state,
 * then a line for each machine, those that need attention first, as many as fit. Other outputs get
 * a line for each change. Control characters were removed from all texts of machines. What it draws
 * goes through the loop's outlet: a stuck terminal stops nothing. Owns only itself. */

#include "hosts/state-board.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "terminal/table.h"

struct StateBoard {
        HostsLoop *loop;
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

int state_board_new(HostsLoop *loop,
                const Member *members,
                size_t n_members,
                bool is_quiet,
                StateBoard **ret) {
        StateBoard *board = malloc(sizeof(*board));

        if (!board)
                return -ENOMEM;
        *board = (StateBoard){ .loop = loop,
                .members = members,
                .n_members = n_members,
                .is_quiet = is_quiet,
                .is_terminal = isatty(STDERR_FILENO) };
        *ret = board;
        return 0;
}

static void state_board_put(StateBoard *board, const char *text) {
        (void)outlet_put(board->loop->sinks[1].outlet, text, strlen(text));
}

/* "web1  recording  1.2 MB  clock +-35 us", cut at the terminal's width. */
static void state_board_format(const Member *member, char *out, size_t size) {
        char bytes[TABLE_NUMBER_MAX], clock[64] = "";

        if (member->clocks.track.n > 0)
                (void)snprintf(clock,
                                sizeof(clock),
                                "clock +-%" PRId64 " us",
                                member->clocks.track.points[member->clocks.track.n - 1].bound /
                                                                1000 +
                                                1);
        (void)snprintf(out,
                        size,
                        "%-24s %-10s %10s  %s%s",
                        member->name,
                        member_state_to_string(member->state),
                        table_format_bytes(bytes, member->n_bytes),
                        clock,
                        member->state == MEMBER_FAILED ? member_get_why(member) : "");
}

void state_board_note(StateBoard *board, const Member *member) {
        if (member->state == MEMBER_FAILED) {
                state_board_clear(board);
                hosts_loop_print(board->loop,
                                "%s: %s",
                                member->name,
                                member->is_why_printed ? member_state_to_string(member->state)
                                                       : member_get_why(member));
        } else if (!board->is_quiet && !board->is_terminal) {
                hosts_loop_print(board->loop,
                                "%s: %s",
                                member->name,
                                member_state_to_string(member->state));
        }
}

static void state_board_draw_line(StateBoard *board, const char *text) {
        char line[640];

        (void)snprintf(line, sizeof(line), "%.*s\033[K\n", (int)board->n_columns, text);
        state_board_put(board, line);
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

        if (board->is_quiet || !board->is_terminal || !hosts_loop_is_flushed(board->loop))
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
}

void state_board_clear(StateBoard *board) {
        char text[32];

        if (board->n_drawn == 0)
                return;
        (void)snprintf(text, sizeof(text), "\033[%uA\033[J", board->n_drawn);
        state_board_put(board, text);
        board->n_drawn = 0;
}

StateBoard *state_board_free(StateBoard *board) {
        free(board);
        return NULL;
}
