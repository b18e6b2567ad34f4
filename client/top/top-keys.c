/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the keys of top do. Called by top-run.c with each byte. Changes the choice only. */

#include "top/top-keys.h"

#include <stdlib.h>
#include <string.h>

enum {
        KEY_ESCAPE = 0x1b,
        KEY_BACKSPACE = 0x08,
        KEY_DELETE = 0x7f,
};

bool top_keys_parse_interval(const char *text, uint64_t *ret_usec) {
        char *end;
        double seconds = strtod(text, &end);

        if (end == text || *end != '\0' ||
                        !(seconds * 1e6 >= (double)TOP_INTERVAL_MIN_USEC &&
                                        seconds * 1e6 <= (double)TOP_INTERVAL_MAX_USEC))
                return false;
        *ret_usec = (uint64_t)(seconds * 1e6);
        return true;
}

static void ask(TopKeys *keys, bool for_delay) {
        TopChoice *choice = keys->choice;

        keys->asks_for_delay = for_delay;
        (void)snprintf(choice->question,
                        sizeof(choice->question),
                        "%s",
                        for_delay ? "Seconds between refreshes: "
                                  : "Only names with (Enter alone: all): ");
        choice->input[0] = '\0';
}

static void take_answer(TopKeys *keys) {
        TopChoice *choice = keys->choice;

        choice->question[0] = '\0';
        if (!keys->asks_for_delay) {
                memcpy(choice->filter, choice->input, sizeof(choice->filter));
                return;
        }
        if (!top_keys_parse_interval(choice->input, keys->interval_usec))
                (void)snprintf(choice->note,
                                sizeof(choice->note),
                                "delay: expected 0.1 to 3600 seconds, got \"%s\"",
                                choice->input);
}

static TopAction take_input(TopKeys *keys, unsigned char byte) {
        char *input = keys->choice->input;
        size_t n = strlen(input);

        if (byte == KEY_ESCAPE)
                keys->choice->question[0] = '\0';
        else if (byte == '\n' || byte == '\r')
                take_answer(keys);
        else if ((byte == KEY_BACKSPACE || byte == KEY_DELETE) && n > 0)
                input[n - 1] = '\0';
        else if (byte >= ' ' && byte < KEY_DELETE && n + 1 < TOP_INPUT_MAX) {
                input[n] = (char)byte;
                input[n + 1] = '\0';
        }
        return TOP_ACTION_DRAW;
}

static void move_sort(TopChoice *choice, bool to_right, bool has_scheduler) {
        const TopView *view = top_view_get(choice->view);
        size_t at = choice->sort[choice->view];

        while (to_right ? at + 1 < view->n_columns : at > 0) {
                at += to_right ? 1 : (size_t)-1;
                if (has_scheduler || !view->columns[at].is_of_scheduler) {
                        choice->sort[choice->view] = at;
                        return;
                }
        }
}

static TopAction choose(TopKeys *keys, unsigned char byte, bool has_scheduler) {
        TopChoice *choice = keys->choice;

        choice->note[0] = '\0';
        switch (byte) {
        case 'q':
        case 'Q':
                return TOP_ACTION_QUIT;
        case 't':
                choice->view = TOP_VIEW_THREADS;
                break;
        case 'c':
                choice->view = TOP_VIEW_CALLS;
                break;
        case 'i':
                choice->view = TOP_VIEW_DEVICES;
                break;
        case '<':
        case '>':
                move_sort(choice, byte == '>', has_scheduler);
                break;
        case 'R':
                choice->is_reverse = !choice->is_reverse;
                break;
        case '/':
        case 'd':
                ask(keys, byte == 'd');
                break;
        case 'h':
        case '?':
                choice->has_help = !choice->has_help;
                return TOP_ACTION_DRAW;
        case ' ':
                return TOP_ACTION_REFRESH;
        default:
                return TOP_ACTION_NOTHING;
        }
        choice->has_help = false;
        return TOP_ACTION_DRAW;
}

/* Cursor keys send ESC [ C and ESC [ D. Other sequences end with a letter or ~, and do nothing. */
static TopAction take_escape(TopKeys *keys, unsigned char byte, bool has_scheduler) {
        keys->escape++;
        if (keys->escape == 2 && (byte == '[' || byte == 'O'))
                return TOP_ACTION_NOTHING;
        if (keys->escape > 2 && keys->escape < 16 && byte < '@')
                return TOP_ACTION_NOTHING;
        bool is_cursor = keys->escape == 3;

        keys->escape = 0;
        if (is_cursor && (byte == 'C' || byte == 'D'))
                return choose(keys, byte == 'C' ? '>' : '<', has_scheduler);
        return TOP_ACTION_NOTHING;
}

TopAction top_keys_take(TopKeys *keys, unsigned char byte, bool has_scheduler) {
        if (keys->choice->question[0])
                return take_input(keys, byte);
        if (keys->escape > 0)
                return take_escape(keys, byte, has_scheduler);
        if (byte == KEY_ESCAPE) {
                keys->escape = 1;
                return TOP_ACTION_NOTHING;
        }
        return choose(keys, byte, has_scheduler);
}
